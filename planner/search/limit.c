/* Lowers the memory limit of a search that goes on with its pool. Bounds only rise with a smaller
 * limit, so those that are too high already stay. O(candidates + setups), and the bounds. */
#include "planner/search/limit.h"

#include <math.h>

pp_status pp_search_bound_again(const pp_plan_problem *problem, const pp_pool *pool,
                                pp_setup *setup, pp_err *err)
{
    setup->bound = (pp_bound){ 0 };
    setup->least_step_ns = 0;
    setup->twin = (pp_twin_bound){ .wanted = false };
    return pp_setup_find_bound(setup, problem, &pool->data[setup->data], NULL, err);
}

pp_status pp_search_lower_limit(pp_search *search, size_t *best_out, pp_err *err)
{
    const int64_t limit_bytes = search->problem->memory_limit_bytes;
    const double score_limit = search->problem->request->score_limit;
    double least = score_limit > 0 ? score_limit : HUGE_VAL;
    *best_out = SIZE_MAX;
    search->progress.stopped = false;
    for (size_t i = 0; i < search->pool.count; i++) {
        pp_candidate *c = &search->pool.candidate[i];
        double score = pp_candidate_score(c, c->step_ns);
        if (c->status != PP_CANDIDATE_OK)
            continue;
        if (c->peak_bytes > limit_bytes) {
            c->status = PP_CANDIDATE_INFEASIBLE;
            c->short_bytes = c->peak_bytes - limit_bytes;
        } else if (score < least) {
            *best_out = i;
        }
        least = c->status == PP_CANDIDATE_OK ? fmin(least, score) : least;
    }
    for (size_t i = 0; i < search->pool.setup_count; i++) {
        pp_setup *setup = &search->pool.setup[i];
        const pp_candidate on = { .parallel = setup->context.parallel };
        if (!setup->legal || setup->unseen || pp_search_is_over(search) ||
            pp_candidate_score(&on, setup->least_step_ns) >= least)
            continue; /* a smaller limit only raises it, so it stays a bound */
        pp_status status = pp_search_bound_again(search->problem, &search->pool, setup, err);
        if (status)
            return status;
    }
    return PP_OK;
}
