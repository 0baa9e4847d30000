/* One search, from request to result. The request becomes a problem, and the problem a space of
 * candidates with their bounds. Those that can still win are simulated. The best are refined by
 * recomputation per stage and microbatch, and by partitions that the simulated step decides. It
 * uses neither clock nor random numbers of its own, so equal requests give equal answers unless
 * `stop` ends it. Method: docs/explanation/planning.md. */
#include "planner/search/search.h"

#include "planner/refine/layer_shift.h"
#include "planner/refine/recompute.h"
#include "planner/search/branch_and_bound.h"
#include "planner/search/space.h"

static void note_pruned(const pp_search *search, pp_candidate *c, const pp_candidate *best)
{
    if (search->pool.setup[c->setup].unseen)
        c->reason.kind = PP_REASON_UNSEEN;
    else if (!best || search->progress.stopped)
        c->reason.kind = PP_REASON_BUDGET;
    else
        c->reason = (pp_reason){
            .kind = PP_REASON_SLOWER,
            .best_step_ns = best->step_ns,
            .other_gpus = pp_parallel_gpus(&c->parallel) != pp_parallel_gpus(&best->parallel),
        };
}

static void note_all_pruned(pp_search *search, size_t best)
{
    for (size_t i = 0; i < search->pool.count; i++) {
        pp_candidate *c = &search->pool.candidate[i];
        if (c->status == PP_CANDIDATE_NOT_SIMULATED)
            note_pruned(search, c, best == SIZE_MAX ? NULL : &search->pool.candidate[best]);
    }
}

/* min_bounded: the number of usable setups that are bounded even if the time is up. */
static pp_status solve(pp_search *search, const pp_plan_request *request, size_t min_bounded,
                       size_t *best_out, pp_err *err)
{
    size_t best = SIZE_MAX;
    pp_status status = pp_search_open(search, request, err);
    if (status || (status = pp_search_enumerate(search, min_bounded, err)) ||
        (status = pp_branch_and_bound(search, &best, err)) ||
        (status = pp_search_recompute(search, &best, err)))
        return status;
    if (!(request->score_limit > 0))
        status = pp_search_shift(search, &best, err);
    if (status)
        return status;
    note_all_pruned(search, best);
    *best_out = best;
    return PP_OK;
}

pp_status pp_search_solve(pp_search *search, const pp_plan_request *request, size_t *best_out,
                          pp_err *err)
{
    for (size_t min_bounded = 1;; min_bounded *= 4) {
        pp_status status = solve(search, request, min_bounded, best_out, err);
        if (status || *best_out != SIZE_MAX || !search->progress.unseen)
            return status;
        pp_search_close(search);
    }
}
