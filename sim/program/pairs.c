#include "sim/program/pairs.h"

#include "sim/base/alloc.h"
#include "sim/engine/engine.h"
#include "sim/program/transfer_costs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

pp_ns pp_pair_ns(const pp_program *program, const pp_costs *costs, size_t i)
{
    pp_op op = program->op[pp_pair_forward(program, i)];
    return costs->pair_ns[pp_cost_index(costs, op.stage, op.microbatch)];
}

static const char *print_pair(const pp_program *program, size_t i, char *buffer, size_t size)
{
    char a[32];
    char b[32];
    snprintf(buffer, size, "(%s;%s)", pp_op_print(program->op[i], a, sizeof a),
             pp_op_print(program->op[i + 1], b, sizeof b));
    return buffer;
}

pp_status pp_pairs_check(const pp_program *program, const pp_costs *costs, pp_err *err)
{
    char pair[72];
    for (size_t i = 0; i < program->count; i++) {
        if (!pp_pair_starts(program, costs, i))
            continue;
        pp_op a = program->op[i];
        pp_op b = program->op[i + 1];
        pp_op back = program->op[pp_pair_backward(program, i)];
        pp_ns back_ns = costs->b_ns[pp_cost_index(costs, back.stage, back.microbatch)];
        if (a.stage == b.stage && a.microbatch == b.microbatch)
            return pp_err_set(err, PP_INFEASIBLE, NULL,
                              "%s cannot overlap: the backward needs the forward of its own pair",
                              print_pair(program, i, pair, sizeof pair));
        if (pp_pair_ns(program, costs, i) < back_ns)
            return pp_err_set(err, PP_INPUT, NULL,
                              "the overlapped pair %s takes %" PRId64
                              " ns, less than its backward alone, %" PRId64
                              " ns; give a pair the time of its longer half at least",
                              print_pair(program, i, pair, sizeof pair),
                              pp_pair_ns(program, costs, i), back_ns);
    }
    return PP_OK;
}

typedef struct run {
    const pp_program *program;
    const pp_costs *costs;
    pp_timeline *timeline;
    size_t *next;    /* [ranks] */
    pp_ns *clock_ns; /* [ranks] */
    size_t done;
} run;

/* When the input of instruction i has arrived; false: not made yet. */
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

/* Where the first rank stands that did not finish. */
static pp_status report_stuck(const run *r, pp_err *err)
{
    char pair[72];
    uint32_t rank = 0;
    while (r->next[rank] == r->program->rank_begin[rank + 1] ||
           !pp_pair_starts(r->program, r->costs, r->next[rank]))
        rank++;
    return pp_err_set(err, PP_INFEASIBLE, NULL,
                      "the schedule cannot finish: on rank %" PRIu32
                      " the overlapped pair %s needs both of its inputs at once, and one of them "
                      "comes only after it; leave out the pair's own duration to run its halves "
                      "one after the other",
                      rank, print_pair(r->program, r->next[rank], pair, sizeof pair));
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
