/* Times a program whose overlapped pairs have durations of their own. It passes over the ranks,
 * each of which runs until an input is missing; a pair waits for the inputs of both halves. */
#include "sim/engine/pair_engine.h"

#include "sim/base/alloc.h"
#include "sim/program/pairs.h"
#include "sim/program/transfer_costs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct run {
    const pp_program *program;
    const pp_costs *costs;
    pp_timeline *timeline;
    size_t *next;    /* [ranks] */
    pp_ns *clock_ns; /* [ranks] */
    size_t done;
} run;

/* Finds when the input of instruction i arrives. Returns false if it is not computed yet. */
static bool arrives(const run *r, size_t i, pp_ns *at_ns)
{
    const pp_program *program = r->program;
    uint32_t source = program->source[i];
    if (source == PP_NO_SOURCE)
        return true;
    if (source >= r->next[pp_program_rank(program, program->op[source])])
        return false;
    pp_ns there_ns = r->timeline->end_ns[source] + pp_edge_latency(program, r->costs, i);
    if (there_ns > *at_ns)
        *at_ns = there_ns;
    return true;
}

static pp_ns alone_ns(const run *r, size_t i)
{
    const pp_costs *costs = r->costs;
    const pp_ns *table[] = { costs->f_ns, costs->i_ns, costs->w_ns, costs->b_ns };
    pp_op op = r->program->op[i];
    return table[op.kind][pp_cost_index(costs, op.stage, op.microbatch)];
}

static void run_rank(run *r, uint32_t rank)
{
    size_t i = r->next[rank];
    while (i < r->program->rank_begin[rank + 1]) {
        bool pair = pp_pair_starts(r->program, r->costs, i);
        pp_ns start_ns = r->clock_ns[rank];
        if (!arrives(r, i, &start_ns) || (pair && !arrives(r, i + 1, &start_ns)))
            break;
        pp_ns end_ns = start_ns + (pair ? pp_pair_ns(r->program, r->costs, i) : alone_ns(r, i));
        r->timeline->start_ns[i] = start_ns;
        r->timeline->end_ns[i] = r->clock_ns[rank] = end_ns;
        if (pair)
            r->timeline->start_ns[i + 1] = r->timeline->end_ns[i + 1] = end_ns;
        r->done += pair ? 2 : 1;
        i += pair ? 2 : 1;
        r->next[rank] = i;
    }
}

/* Reports the op at which the first unfinished rank stopped. */
static pp_status report_stuck(const run *r, pp_err *err)
{
    char pair[72];
    uint32_t rank = 0;
    while (r->next[rank] == r->program->rank_begin[rank + 1] ||
           !pp_pair_starts(r->program, r->costs, r->next[rank]))
        rank++;
    return pp_err_set(
        err, PP_INFEASIBLE, NULL,
        "the schedule cannot finish: on rank %" PRIu32
        " the overlapped pair %s needs both of its inputs at once, and one of them comes only "
        "after the pair; leave out the duration of the pair to run its halves one after the other",
        rank, pp_pair_print(r->program, r->next[rank], pair, sizeof pair));
}

pp_status pp_simulate_pairs(const pp_program *program, const pp_costs *costs, const pp_ns *begin_ns,
                            pp_timeline *timeline, pp_err *err)
{
    run r = { .program = program, .costs = costs, .timeline = timeline };
    r.next = pp_alloc_array(program->ranks, sizeof *r.next);
    r.clock_ns = pp_alloc_array(program->ranks, sizeof *r.clock_ns);
    pp_status status = r.next && r.clock_ns ? PP_OK : pp_err_nomem(err);
    if (!status)
        memcpy(r.next, program->rank_begin, program->ranks * sizeof *r.next);
    if (!status)
        memcpy(r.clock_ns, begin_ns, program->ranks * sizeof *r.clock_ns);
    while (!status && r.done < program->count) {
        size_t before = r.done;
        for (uint32_t rank = 0; rank < program->ranks; rank++)
            run_rank(&r, rank);
        if (r.done == before)
            status = report_stuck(&r, err);
    }
    free(r.next);
    free(r.clock_ns);
    return status;
}
