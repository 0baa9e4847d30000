/* The front of step time against memory. All candidates that may fit are simulated once; then a
 * loop of requests, with memory limits 5 % apart, adds recomputation per stage and free orders to
 * the same pool; the points that no other one beats in both are kept. */
#include "planner/study/pareto.h"

#include "planner/candidate/budget.h"
#include "planner/candidate/evaluate.h"
#include "planner/refine/free_orders.h"
#include "planner/refine/recompute.h"
#include "planner/search/first_fit.h"
#include "planner/search/limit.h"
#include "planner/search/space.h"
#include "planner/study/budget_slice.h"
#include "planner/study/repair.h"
#include "sim/base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void pp_pareto_free(pp_pareto **pareto)
{
    if (!*pareto)
        return;
    free((*pareto)->point);
    free(*pareto);
    *pareto = NULL;
}

static int compare_points(const void *left, const void *right)
{
    const pp_candidate *a = &((const pp_pareto_point *)left)->candidate;
    const pp_candidate *b = &((const pp_pareto_point *)right)->candidate;
    double x = pp_candidate_score(a, a->step_ns);
    double y = pp_candidate_score(b, b->step_ns);
    if (x != y)
        return x < y ? -1 : 1;
    if (a->peak_bytes != b->peak_bytes)
        return a->peak_bytes < b->peak_bytes ? -1 : 1;
    return (a->setup > b->setup) - (a->setup < b->setup);
}

static pp_status add_point(pp_pareto *out, const pp_candidate *candidate, pp_err *err)
{
    void *grown = out->point;
    pp_status status = pp_grow(&grown, &out->capacity, out->count + 1, sizeof *out->point, err);
    if (status)
        return status;
    out->point = grown;
    out->point[out->count++] = (pp_pareto_point){ .candidate = *candidate };
    return PP_OK;
}

/* Everything that may fit is simulated: a slow candidate may be the one that needs least. A budget
 * ends it once something fits. */
static pp_status simulate_all(pp_search *search, pp_pareto *out, pp_err *err)
{
    for (size_t i = 0; i < search->pool.count; i++) {
        pp_candidate *c = &search->pool.candidate[i];
        if (c->status != PP_CANDIDATE_NOT_SIMULATED)
            continue;
        const bool unseen = search->pool.setup[c->setup].unseen || !pp_search_affords(search, c);
        out->stopped |= unseen || pp_search_is_over(search);
        if (unseen)
            continue;
        if (pp_search_is_over(search))
            break;
        pp_status status = pp_candidate_simulate(search, c, err);
        if (!status && c->status == PP_CANDIDATE_OK)
            status = add_point(out, c, err);
        if (status)
            return status;
    }
    out->simulated = search->progress.simulated;
    return PP_OK;
}

/* True if another point needs less memory and is as fast. Points must be sorted. */
static bool gains_nothing(const pp_pareto *out, size_t at)
{
    const pp_candidate *c = &out->point[at].candidate;
    const double most = pp_candidate_score(c, c->step_ns) * (1 + 1.0 / PP_MEASURABLE_PART);
    for (size_t i = at + 1; i < out->count; i++) {
        const pp_candidate *other = &out->point[i].candidate;
        if (pp_candidate_score(other, other->step_ns) > most)
            return false;
        if (other->peak_bytes < c->peak_bytes)
            return true;
    }
    return false;
}

/* A candidate keeps its place only if it needs less than all that are faster; a free order, only if
 * it is also measurably faster than all that need less. */
static void keep_front(int64_t limit_bytes, pp_pareto *out)
{
    size_t kept = 0;
    qsort(out->point, out->count, sizeof *out->point, compare_points);
    for (size_t i = 0; i < out->count; i++) {
        pp_pareto_point now = out->point[i];
        if (now.candidate.peak_bytes > limit_bytes ||
            (now.candidate.schedule == &pp_planned_schedule && gains_nothing(out, i)))
            continue;
        now.limit_bytes = limit_bytes;
        limit_bytes = now.candidate.peak_bytes - 1;
        out->point[kept++] = now;
        out->per_gpu |= pp_parallel_gpus(&now.candidate.parallel) !=
                        pp_parallel_gpus(&out->point[0].candidate.parallel);
    }
    out->count = kept;
}

/* The least bound of all setups, made for the point's limit, as long as there is time. */
static pp_status bound_point(const pp_search *search, pp_pareto_point *point, pp_err *err)
{
    const double gpus = (double)pp_parallel_gpus(&point->candidate.parallel);
    const pp_plan_problem limited = pp_plan_problem_limited(search->problem, point->limit_bytes);
    double least = pp_candidate_score(&point->candidate, point->candidate.step_ns);
    for (size_t i = 0; i < search->pool.setup_count; i++) {
        pp_setup setup = search->pool.setup[i];
        const pp_candidate on = { .parallel = setup.context.parallel };
        if (!setup.legal || pp_candidate_score(&on, setup.least_step_ns) >= least)
            continue; /* a smaller limit only raises it */
        pp_status status = PP_OK;
        if (!setup.unseen && !pp_budget_time_is_up(search->problem->request))
            status = pp_search_bound_again(&limited, &search->pool, &setup, err);
        if (status)
            return status;
        if (setup.bound.fits)
            least = fmin(least, pp_candidate_score(&on, setup.least_step_ns));
    }
    point->least_step_ns = (pp_ns)(least / gpus);
    return PP_OK;
}

/* Free orders are searched at limits that each decrease by one part of this many; where the step
 * has grown by 1 / STEEP since the limit before, and without a budget, by a quarter of that. */
enum { LIMIT_PARTS = 20, STEEP = 100 };

static int64_t limit_below(int64_t limit_bytes)
{
    return limit_bytes - limit_bytes / LIMIT_PARTS;
}

/* Makes the request at this limit, with an equal part of the budget that is left for each limit
 * down to `lowest`. Returns false if nothing is left. slice: must outlive it. */
static bool request_at(const pp_plan_request *asked, int64_t limit_bytes, int64_t lowest,
                       size_t simulated, pp_budget_slice *slice, pp_plan_request *at)
{
    int64_t limits = 1;
    *at = *asked;
    at->memory_limit_bytes = limit_bytes;
    while ((limit_bytes = limit_below(limit_bytes)) >= lowest && limit_bytes > LIMIT_PARTS)
        limits++;
    if (!pp_budget_slice_take(slice, asked, (size_t)limits, at))
        return false;
    if (!asked->max_simulations)
        return true;
    if (simulated >= asked->max_simulations)
        return false;
    uint64_t left = asked->max_simulations - simulated;
    at->max_simulations = simulated + (left + (uint64_t)limits - 1) / (uint64_t)limits;
    return true;
}

/* Searches the pool within the limit of one request: recomputation per stage, then free orders;
 * what fits becomes points. best_out: the best candidate; SIZE_MAX if none fits. */
static pp_status search_limit(pp_search *search, const pp_plan_request *at, size_t *best_out,
                              pp_pareto *out, pp_err *err)
{
    pp_free_orders_outcome orders;
    const size_t before = search->pool.count;
    pp_status status = pp_search_continue(search, at, err);
    if (status || (status = pp_search_lower_limit(search, best_out, err)) ||
        (status = pp_search_recompute(search, best_out, err)) ||
        (status = pp_search_plan_orders(search, best_out, &orders, err)))
        return status;
    for (size_t i = before; i < search->pool.count && !status; i++) {
        if (search->pool.candidate[i].status == PP_CANDIDATE_OK)
            status = add_point(out, &search->pool.candidate[i], err);
    }
    return status;
}

/* Makes a request for each limit, from the one asked for downwards, as long as a named schedule
 * fits: with less memory, microbatches run one after the other. If no named schedule fits at all,
 * it continues until nothing is found. watched: the request whose `found` is called. The requests
 * end with this function, so continue the search afterwards. */
static pp_status sweep(pp_search *search, const pp_plan_request *asked,
                       const pp_plan_request *watched, pp_pareto *out, pp_err *err)
{
    int64_t limit_bytes = search->problem->memory_limit_bytes;
    int64_t lowest = INT64_MAX;
    double before = 0; /* score of the best at the limit before */
    for (size_t i = 0; i < out->count; i++)
        lowest = out->point[i].candidate.peak_bytes < lowest ? out->point[i].candidate.peak_bytes
                                                             : lowest;
    for (size_t best = 0; best != SIZE_MAX && (limit_bytes >= lowest || lowest == INT64_MAX);) {
        pp_budget_slice slice;
        pp_plan_request at;
        if (!request_at(asked, limit_bytes, lowest, search->progress.simulated, &slice, &at)) {
            out->stopped = true;
            return PP_OK;
        }
        pp_status status = search_limit(search, &at, &best, out, err);
        if (status)
            return status;
        if (best == SIZE_MAX)
            continue;
        const pp_candidate *c = &search->pool.candidate[best];
        if (watched->found)
            watched->found(watched->context, c);
        const double score = pp_candidate_score(c, c->step_ns);
        const bool steep = before > 0 && score - before > before / STEEP;
        before = score;
        limit_bytes = steep && !pp_budget_is_limited(asked)
                          ? limit_bytes - limit_bytes / LIMIT_PARTS / 4
                          : limit_below(limit_bytes);
        limit_bytes = c->peak_bytes <= limit_bytes ? c->peak_bytes - 1 : limit_bytes;
    }
    return PP_OK;
}

/* When it is done, the search is that of `asked` again, with its bounds; the bounds of setups that
 * were added here are not known. */
static pp_status search_limits(pp_search *search, const pp_plan_request *asked,
                               const pp_plan_request *watched, pp_pareto *out, pp_err *err)
{
    const size_t count = search->pool.setup_count;
    pp_setup *before = pp_alloc_array(count, sizeof *before);
    if (!before)
        return pp_err_nomem(err);
    memcpy(before, search->pool.setup, count * sizeof *before);
    pp_status status = sweep(search, asked, watched, out, err);
    memcpy(search->pool.setup, before, count * sizeof *before);
    free(before);
    for (size_t i = count; i < search->pool.setup_count; i++)
        search->pool.setup[i].least_step_ns = 0;
    out->simulated = search->progress.simulated;
    return status ? status : pp_search_continue(search, asked, err);
}

/* With a budget a plain pipeline comes first, so that there is a point. */
static pp_status add_plain(const pp_plan_request *asked, pp_pareto *out, size_t *simulated,
                           pp_err *err)
{
    pp_found *plain PP_CLEANUP(pp_found_free) = NULL;
    if (!pp_budget_is_limited(asked))
        return PP_OK;
    pp_status status = pp_search_first_fit(asked, &plain, simulated, err);
    return status || !plain ? status
                            : add_point(out, &plain->search.pool.candidate[plain->best], err);
}

/* Simulates all candidates with named schedules, with half of the budget if orders follow. */
static pp_status search_named(pp_search *search, const pp_plan_request *asked, pp_pareto *out,
                              pp_err *err)
{
    pp_plan_request half = *asked;
    pp_budget_slice slice;
    size_t simulated = 0;
    pp_status status = add_plain(asked, out, &simulated, err);
    if (status || (status = pp_search_open(search, asked, err)) ||
        (status = pp_search_enumerate(search, err)))
        return status;
    search->progress.simulated = simulated;
    (void)pp_budget_slice_take(&slice, asked, 2, &half);
    if ((status = pp_search_continue(search, &half, err)) ||
        (status = simulate_all(search, out, err)))
        return status;
    return pp_search_continue(search, asked, err);
}

pp_status pp_pareto_find(const pp_plan_request *request, pp_pareto **pareto_out, pp_err *err)
{
    pp_search search PP_CLEANUP(pp_search_close) = { 0 };
    pp_pareto *pareto PP_CLEANUP(pp_pareto_free) = pp_alloc_array(1, sizeof *pareto);
    pp_plan_request asked = *request;
    if (!pareto)
        return pp_err_nomem(err);
    asked.found = NULL;
    pp_status status = search_named(&search, &asked, pareto, err);
    if (!status && (request->orders != PP_ORDERS_NAMED || request->schedule))
        status = search_limits(&search, &asked, request, pareto, err);
    if (status)
        return status;
    search.progress.stopped = pareto->stopped |= search.progress.unseen;
    if (!pareto->count)
        return pp_search_repair(&search, err);
    keep_front(search.problem->memory_limit_bytes, pareto);
    for (size_t i = 0; i < pareto->count && !status; i++)
        status = bound_point(&search, &pareto->point[i], err);
    if (status)
        return status;
    *pareto_out = pareto;
    pareto = NULL; /* the caller's now */
    return PP_OK;
}
