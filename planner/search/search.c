/* One search, from request to result. The request becomes a problem, and the problem a space of
 * candidates with their bounds. Those that can still win are simulated. The best are refined by
 * recomputation per stage and microbatch, and by partitions that the simulated step decides. It
 * uses neither clock nor random numbers of its own, so equal requests give equal answers unless
 * `stop` ends it. Method: docs/explanation/planning.md. */
#include "planner/search/search.h"

#include "planner/refine/layer_shift.h"
#include "planner/refine/recompute.h"
#include "planner/search/branch_and_bound.h"
#include "planner/search/first_fit.h"
#include "planner/search/space.h"

#include <math.h>

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

/* simulated: iterations of the budget that were used before; found: for a pipeline that fits. If
 * none is left then, bounds are of no use. */
static pp_status solve(pp_search *search, const pp_plan_request *request, size_t simulated,
                       bool found, size_t *best_out, pp_err *err)
{
    size_t best = SIZE_MAX;
    pp_status status = pp_search_open(search, request, err);
    search->progress.simulated = simulated;
    search->progress.unseen =
        found && request->max_simulations && simulated >= request->max_simulations;
    if (status || (status = pp_search_enumerate(search, err)) ||
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

static double score_of(const pp_search *search, size_t index)
{
    const pp_candidate *c = index == SIZE_MAX ? NULL : &search->pool.candidate[index];
    return c ? pp_candidate_score(c, c->step_ns) : HUGE_VAL;
}

/* Puts the plain pipeline in the place of a search that ended before it found anything as good. */
static pp_status keep_better(pp_search *search, const pp_plan_request *request, pp_found *plain,
                             size_t *best, pp_err *err)
{
    const pp_progress progress = search->progress;
    if (score_of(search, *best) <= score_of(&plain->search, plain->best))
        return PP_OK;
    pp_search_close(search);
    *search = plain->search;
    plain->search = (pp_search){ 0 };
    *best = plain->best;
    search->progress.simulated = progress.simulated;
    search->progress.unseen = progress.unseen;
    search->progress.stopped = progress.stopped;
    note_all_pruned(search, *best);
    return pp_search_continue(search, request, err);
}

pp_status pp_search_solve(pp_search *search, const pp_plan_request *request, size_t *best_out,
                          pp_err *err)
{
    pp_found *plain PP_CLEANUP(pp_found_free) = NULL;
    const bool limited = request->stop || request->max_simulations;
    size_t simulated = 0;
    pp_status status = PP_OK;
    if (limited && !(request->score_limit > 0))
        status = pp_search_first_fit(request, &plain, &simulated, err);
    if (!status && plain && request->found)
        request->found(request->context, &plain->search.pool.candidate[plain->best]);
    if (!status)
        status = solve(search, request, simulated, plain != NULL, best_out, err);
    return status || !plain ? status : keep_better(search, request, plain, best_out, err);
}
