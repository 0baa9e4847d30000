/* Measures how much memory the buffers of a framework take beside the ops: the order is simulated
 * under the framework, and the peak of each rank is compared with that of its ops alone, which the
 * ordering problem adds up without times. One simulation. */
#include "planner/refine/order_reserve.h"

#include "planner/candidate/evaluate.h"
#include "planner/order/problem_costs.h"
#include "sim/base/alloc.h"
#include "sim/base/minmax.h"
#include "sim/program/program_new.h"

#include <stdlib.h>

void pp_order_used(const pp_order_problem *x, const uint32_t *ops, int64_t *used_out)
{
    uint32_t k = 0;
    for (uint32_t r = 0; r < x->ranks; r++) {
        int64_t held = 0;
        used_out[r] = 0;
        for (; k < x->ops && x->task[ops[k]].rank == r; k++) {
            const pp_task_memory *memory = &x->memory[ops[k]];
            used_out[r] = pp_max(used_out[r], held + memory->need);
            held += memory->delta;
        }
    }
}

static pp_status grow(const pp_reserved_order *of, const pp_order_problem *x,
                      const pp_report *report, int64_t *reserve, pp_err *err)
{
    uint32_t *ops PP_CLEANUP(pp_free_array) = pp_alloc_array((size_t)x->ops + 1, sizeof *ops);
    int64_t *used PP_CLEANUP(pp_free_array) = pp_alloc_array(x->ranks, sizeof *used);
    if (!ops || !used)
        return pp_err_nomem(err);
    pp_order_problem_from_order(x, of->order, ops);
    pp_order_used(x, ops, used);
    for (uint32_t r = 0; r < x->ranks; r++) {
        const int64_t limit = pp_costs_limit(of->costs, r, of->problem->memory_limit_bytes);
        const int64_t fixed = limit - x->room[r];
        const int64_t buffers = report->per_rank[r].memory.total_bytes - fixed - used[r];
        if (x->room[r] > 0 && x->room[r] < PP_ORDER_PROBLEM_BYTES_MAX)
            reserve[r] = pp_max(reserve[r], buffers);
    }
    return PP_OK;
}

pp_status pp_order_reserve_grow(const pp_reserved_order *of, const pp_order_problem *x,
                                int64_t *reserve, pp_err *err)
{
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
    pp_report *report PP_CLEANUP(pp_report_free) = NULL;
    pp_err why = pp_err_like(err);
    pp_status status = pp_candidate_run(of->problem, of->setup, of->candidate, of->order, of->costs,
                                        &program, &timeline, &report, &why);
    if (status == PP_NOMEM)
        return pp_err_nomem(err);
    return status || !report->has_memory ? PP_OK : grow(of, x, report, reserve, err);
}

void pp_order_reserve_take(const int64_t *reserve, pp_order_problem *x)
{
    for (uint32_t r = 0; r < x->ranks; r++) {
        if (x->room[r] < PP_ORDER_PROBLEM_BYTES_MAX)
            x->room[r] = pp_max(x->room[r] - reserve[r], 0);
    }
}
