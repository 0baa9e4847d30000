/* The entry of the planner. What the request leaves open decides which nested loops run the
 * searches: over frameworks, over splits of GPUs, over packings, and inside these one search. Free
 * orders and packings are searched last, for what came out best before, which may be something
 * worse with more iterations. So that these never find less, searches with 1, 2, 4, ... iterations
 * follow each other as long as they fit into the budget together, and the best answer is taken. */
#include "planner/study/plan_search.h"

#include "planner/candidate/budget.h"
#include "planner/study/framework_choice.h"
#include "planner/study/gpu_splits.h"

static pp_status plan(const pp_plan_request *request, pp_search_result **choice_out, pp_err *err)
{
    const pp_free_settings *f = &request->free;
    return f->framework || f->shapes || f->communicators
               ? pp_plan_frameworks(request, choice_out, err)
               : pp_plan_splits(request, choice_out, err);
}

/* True if the search that comes last depends on what the others found. */
static bool depends(const pp_plan_request *request)
{
    return request->orders == PP_ORDERS_PLANNED || (request->lengths && request->packings);
}

static pp_status plan_in_steps(const pp_plan_request *request, pp_search_result **choice_out,
                               pp_err *err)
{
    pp_search_result *best PP_CLEANUP(pp_search_result_free) = NULL;
    pp_plan_request one = *request;
    pp_err why = pp_err_like(err);
    uint64_t left = request->max_simulations;
    size_t simulated = 0;
    bool whole = false;
    pp_status status = PP_UNDECIDED;
    one.max_simulations = 1;
    while (left >= one.max_simulations && !whole &&
           (one.max_simulations == 1 || !pp_budget_time_is_up(request)) &&
           (!status || status == PP_UNDECIDED || status == PP_INFEASIBLE)) {
        pp_search_result *now PP_CLEANUP(pp_search_result_free) = NULL;
        const bool last = left < 3 * one.max_simulations;
        why = pp_err_like(err);
        one.no_advice = request->no_advice || !last;
        one.missed = last ? request->missed : NULL;
        status = plan(&one, &now, &why);
        left -= one.max_simulations;
        one.max_simulations *= 2;
        if (status)
            continue;
        whole = !now->stopped;
        simulated += now->simulated;
        if (!best || pp_search_result_fastest(now) < pp_search_result_fastest(best)) {
            pp_search_result_free(&best);
            best = now;
            now = NULL;
        }
    }
    if (!best || status == PP_NOMEM) {
        *err = why;
        return why.status;
    }
    best->stopped = !whole;
    best->simulated = simulated;
    *choice_out = best;
    best = NULL; /* the caller's now */
    return PP_OK;
}

pp_status pp_plan_search(const pp_plan_request *request, pp_search_result **choice_out, pp_err *err)
{
    return request->max_simulations && depends(request) ? plan_in_steps(request, choice_out, err)
                                                        : plan(request, choice_out, err);
}
