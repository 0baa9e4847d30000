/* Sums the time of every rank by cause, from its ops and the waits that the engine recorded, and
 * scales the mean over ranks so that the parts sum to the step exactly. Linear in the program. */
#include "sim/analysis/time_breakdown.h"

#include "sim/analysis/report.h"
#include "sim/base/alloc.h"
#include "sim/base/minmax.h"
#include "sim/program/comm.h"
#include "sim/program/pairs.h"
#include "sim/program/transfer_costs.h"

#include <stdlib.h>

typedef struct parts {
    pp_ns ns[PP_WHY_COUNT];
    pp_ns exchange_ns[PP_EXCHANGE_KINDS]; /* of its ops */
} parts;

const char *pp_why_text(pp_why_part part)
{
    static const char *const texts[PP_WHY_COUNT] = {
#define PP_WHY_TEXT(name, key, text) text,
        PP_WHY_MAP(PP_WHY_TEXT)
#undef PP_WHY_TEXT
    };
    return texts[part];
}

/* When the input of instruction `i` arrives, and how long its transfer takes. */
typedef struct arrival {
    pp_ns at_ns, latency_ns;
} arrival;

static arrival arrival_of(const pp_program *program, const pp_timeline *timeline,
                          const pp_costs *costs, size_t i)
{
    uint32_t source = program->source[i];
    pp_ns latency_ns = pp_edge_latency(program, costs, i);
    pp_ns made_ns = source == PP_NO_SOURCE ? 0 : timeline->end_ns[source];
    return (arrival){ made_ns + latency_ns, latency_ns };
}

/* Splits the waits of a program without communication: the last part of a wait is the exposed
 * latency of the input. */
static void add_gaps(const pp_program *program, const pp_timeline *timeline, const pp_costs *costs,
                     uint32_t rank, parts *out)
{
    pp_ns clock_ns = 0;
    size_t begin = program->rank_begin[rank];
    for (size_t i = begin; i < program->rank_begin[rank + 1]; i++) {
        pp_ns wait_ns = timeline->start_ns[i] - clock_ns;
        clock_ns = timeline->end_ns[i];
        if (wait_ns <= 0)
            continue;
        arrival last = arrival_of(program, timeline, costs, i);
        if (pp_pair_starts(program, costs, i)) {
            arrival other = arrival_of(program, timeline, costs, i + 1);
            last = other.at_ns > last.at_ns ? other : last;
        }
        pp_ns travels_ns = pp_min(wait_ns, last.latency_ns);
        out->ns[PP_WHY_P2P] += travels_ns;
        out->ns[i == begin ? PP_WHY_WARM_UP : PP_WHY_DATA] += wait_ns - travels_ns;
    }
}

/* Divides the waits for data into those before the first op and those between ops; the rest is at
 * the end. Waits for a link without a transfer are for the parameters of a stage, or for the
 * reduction of its gradients. */
static void add_waits(const pp_comm_timeline *comm, const pp_report *report, parts *list)
{
    for (size_t i = 0; i < comm->wait_count; i++) {
        const pp_wait *wait = &comm->wait[i];
        const pp_rank_report *rank = &report->per_rank[wait->rank];
        if (wait->cause == PP_IDLE_LINK && wait->transfer == PP_NO_SOURCE)
            list[wait->rank].ns[PP_WHY_SHARDING] += wait->waits_ns;
        if (wait->cause != PP_IDLE_DATA || wait->at_ns >= rank->last_end_ns)
            continue;
        bool before = wait->at_ns < rank->first_start_ns;
        list[wait->rank].ns[before ? PP_WHY_WARM_UP : PP_WHY_DATA] += wait->waits_ns;
    }
}

static pp_ns op_ns(const pp_costs *costs, pp_op op)
{
    const pp_ns *const table[PP_OP_KIND_COUNT] = {
        [PP_OP_F] = costs->f_ns,
        [PP_OP_I] = costs->i_ns,
        [PP_OP_W] = costs->w_ns,
        [PP_OP_B] = costs->b_ns,
    };
    return table[op.kind][pp_cost_index(costs, op.stage, op.microbatch)];
}

/* The time that one kind of exchange adds to the ops of a rank. */
static pp_ns exchange_of(const pp_program *program, const pp_costs *costs, const pp_costs *bare,
                         uint32_t rank)
{
    pp_ns sum_ns = 0;
    for (size_t i = program->rank_begin[rank]; i < program->rank_begin[rank + 1]; i++) {
        if (pp_pair_starts(program, costs, i)) { /* what it hides takes no time */
            sum_ns += pp_pair_ns(program, costs, i) - pp_pair_ns(program, bare, i);
            i++;
        } else {
            sum_ns += op_ns(costs, program->op[i]) - op_ns(bare, program->op[i]);
        }
    }
    return sum_ns < 0 ? 0 : sum_ns;
}

/* Omits one kind after the other, so that the parts sum to the whole even though some times, such
 * as the exposed part of a ring, are not sums. */
static void add_exchange(const pp_program *program, const pp_costs *costs,
                         const pp_costs *const bare[PP_EXCHANGE_KINDS], const pp_report *report,
                         uint32_t rank, parts *out)
{
    const pp_costs *with = costs;
    pp_ns sum_ns = 0;
    for (int k = 0; k < PP_EXCHANGE_KINDS; k++) {
        if (!bare[k])
            continue;
        out->exchange_ns[k] = exchange_of(program, with, bare[k], rank);
        with = bare[k];
    }
    if (with != costs)
        sum_ns = exchange_of(program, costs, with, rank);
    out->ns[PP_WHY_COLLECTIVES] = pp_min(sum_ns, report->per_rank[rank].busy_ns);
}

/* Divides `all_ns` in proportion to the weights, exactly: the remainder of rounding goes to the
 * largest weight. */
static void divide(pp_ns all_ns, const double weight[PP_EXCHANGE_KINDS],
                   pp_ns part_ns[PP_EXCHANGE_KINDS])
{
    double sum = 0;
    int largest = 0;
    pp_ns left_ns = all_ns;
    for (int k = 0; k < PP_EXCHANGE_KINDS; k++) {
        sum += weight[k];
        largest = weight[k] > weight[largest] ? k : largest;
    }
    for (int k = 0; k < PP_EXCHANGE_KINDS; k++) {
        part_ns[k] = k == largest || sum <= 0 ? 0 : (pp_ns)((double)all_ns * (weight[k] / sum));
        left_ns -= part_ns[k];
    }
    part_ns[largest] = left_ns;
}

static void divide_exchange(const parts *list, uint32_t ranks, pp_why *why)
{
    double weight[PP_EXCHANGE_KINDS] = { 0 };
    double slowest[PP_EXCHANGE_KINDS];
    for (int k = 0; k < PP_EXCHANGE_KINDS; k++) {
        for (uint32_t r = 0; r < ranks; r++)
            weight[k] += (double)list[r].exchange_ns[k];
        slowest[k] = (double)list[why->slowest].exchange_ns[k];
    }
    divide(why->mean_ns[PP_WHY_COLLECTIVES], weight, why->exchange_mean_ns);
    divide(why->slowest_ns[PP_WHY_COLLECTIVES], slowest, why->exchange_slowest_ns);
}

/* Derives all parts from the waits for data. most_ns: compute time of the busiest rank. */
static void complete(const pp_report *report, uint32_t r, pp_ns most_ns, parts *out)
{
    const pp_rank_report *rank = &report->per_rank[r];
    const pp_step_tail *b = &report->boundary;
    const pp_ns *idle_ns = rank->idle_ns;
    pp_ns seen_ns = out->ns[PP_WHY_WARM_UP] + out->ns[PP_WHY_DATA] + out->ns[PP_WHY_P2P];
    out->ns[PP_WHY_COMPUTE] = rank->busy_ns - out->ns[PP_WHY_COLLECTIVES];
    out->ns[PP_WHY_COOL_DOWN] = idle_ns[PP_IDLE_DATA] - seen_ns;
    out->ns[PP_WHY_IMBALANCE] = pp_min(out->ns[PP_WHY_DATA], most_ns - rank->busy_ns);
    out->ns[PP_WHY_DATA] -= out->ns[PP_WHY_IMBALANCE];
    out->ns[PP_WHY_BUFFER] = idle_ns[PP_IDLE_BUFFER];
    out->ns[PP_WHY_P2P] += idle_ns[PP_IDLE_LINK] - out->ns[PP_WHY_SHARDING];
    out->ns[PP_WHY_HOST] = idle_ns[PP_IDLE_HOST];
    out->ns[PP_WHY_SYNC] = idle_ns[PP_IDLE_SYNC];
    out->ns[PP_WHY_GRAD_SYNC] = b->grad_sync_ns;
    out->ns[PP_WHY_TIED] = b->tied_ns;
    out->ns[PP_WHY_OPTIMIZER] = b->optimizer_ns;
    out->ns[PP_WHY_FIXED] = b->fixed_ns;
}

/* Averages over ranks. Quotients are rounded down, and the nanoseconds that are left go to the
 * parts with the largest remainders, so that the sum is that of every rank. */
static void average(const parts *list, uint32_t ranks, pp_ns *mean_ns)
{
    pp_ns rest[PP_WHY_COUNT] = { 0 };
    pp_ns left = 0;
    for (int c = 0; c < PP_WHY_COUNT; c++) {
        mean_ns[c] = 0;
        for (uint32_t r = 0; r < ranks; r++) { /* no sum over ranks: it could leave 64 bits */
            rest[c] += list[r].ns[c] % ranks;
            mean_ns[c] += list[r].ns[c] / ranks + rest[c] / ranks;
            rest[c] %= ranks;
        }
        left += rest[c];
    }
    for (left /= ranks; left > 0; left--) {
        int most = 0;
        for (int c = 1; c < PP_WHY_COUNT; c++)
            most = rest[c] > rest[most] ? c : most;
        mean_ns[most]++;
        rest[most] = 0;
    }
}

pp_status pp_report_why(const pp_report *report, const pp_program *program,
                        const pp_timeline *timeline, const pp_costs *costs,
                        const pp_costs *const bare[PP_EXCHANGE_KINDS], pp_why *why_out, pp_err *err)
{
    parts *list = pp_alloc_array(report->ranks, sizeof *list);
    if (!list)
        return pp_err_nomem(err);
    pp_why why = { .has_collectives = bare != NULL, .has_sharding = costs->sharded };
    if (timeline->comm)
        add_waits(timeline->comm, report, list);
    for (uint32_t r = 0; r < report->ranks; r++) {
        if (report->per_rank[r].busy_ns > report->per_rank[why.slowest].busy_ns)
            why.slowest = r;
        if (!timeline->comm)
            add_gaps(program, timeline, costs, r, &list[r]);
        if (bare)
            add_exchange(program, costs, bare, report, r, &list[r]);
    }
    for (uint32_t r = 0; r < report->ranks; r++)
        complete(report, r, report->per_rank[why.slowest].busy_ns, &list[r]);
    average(list, report->ranks, why.mean_ns);
    for (int c = 0; c < PP_WHY_COUNT; c++)
        why.slowest_ns[c] = list[why.slowest].ns[c];
    divide_exchange(list, report->ranks, &why);
    free(list);
    *why_out = why;
    return PP_OK;
}
