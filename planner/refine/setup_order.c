/* The search for free orders in one setup. A short probe of a few policies rates the setup; the
 * full search (planner/order/search.h) then works on the slowest replica until another one is
 * slower. The cost is the budget of the setup. */
#include "planner/refine/setup_order.h"

#include "planner/candidate/budget.h"
#include "planner/candidate/evaluate.h"
#include "planner/order/movable_order.h"
#include "planner/order/problem_costs.h"
#include "planner/order/search.h"
#include "planner/refine/order_reserve.h"
#include "sim/base/alloc.h"
#include "sim/base/minmax.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Without a budget, iterations times ops: about a quarter of a second, proportionally less if the
 * bound leaves less than 1 / AMPLE_ROOM to gain. ITERATIONS_LEAST and ITERATIONS_MOST limit the
 * iterations. With more than SEARCHED_OPS ops, an order that is known will do. */
#define DEFAULT_WORK 3000000
enum { AMPLE_ROOM = 200, ITERATIONS_LEAST = 30, ITERATIONS_MOST = 6000, SEARCHED_OPS = 1000000 };

/* A search that is repeated gets this part of the iterations. */
enum { RETRY_PART = 3 };

/* The steps of the bisection for the least peak of an order of at most SHRUNK_OPS ops, each with a
 * part of the iterations of a search, and the part of the limit at which it ends. */
enum { SHRINK_STEPS = 4, SHRINK_PART = 6, SHRINK_FINE = 64, SHRUNK_OPS = 100000 };

/* The runners-up of a search that are simulated: OTHERS_LEAST, or more with fewer than OTHERS_WORK
 * ops in all. */
#define OTHERS_WORK 100000
enum { OTHERS_LEAST = 2, OTHERS_MOST = PP_ORDERING_OTHERS - 4 };

/* The probe of a setup: policies times ops. PROBE_LEAST and PROBE_MOST limit the policies. With
 * more than PROBE_WORK ops there is none if an order is known. */
#define PROBE_WORK 300000
enum { PROBE_LEAST = 4, PROBE_MOST = 64 };

static int64_t clamp(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

static double spent(void *context)
{
    const pp_budget_share *p = context;
    if (p->iterations)
        return 0;
    double gone = p->request->spent(p->request->context);
    return p->to > p->from ? (gone - p->from) / (p->to - p->from) : 1;
}

static void report_better(void *context, int64_t makespan)
{
    const pp_budget_share *p = context;
    pp_candidate now = *p->like;
    now.step_ns = makespan + p->end_ns;
    p->request->found(p->request->context, &now);
}

static void drop_others(pp_ordering *o)
{
    for (size_t i = 0; i < o->others; i++)
        pp_order_free(&o->other[i].order);
    o->others = 0;
}

void pp_ordering_free(pp_ordering *o)
{
    for (uint32_t i = 0; o->share && i < o->set.count; i++)
        pp_order_free(&o->share[i].order);
    drop_others(o);
    free(o->reserve);
    free(o->share);
    pp_order_free(&o->seed);
    pp_cost_set_free(&o->set);
}

static pp_status make_instance(const pp_ordering *o, uint32_t replica, pp_order_problem **x_out,
                               pp_err *err)
{
    const pp_cost_context *context = &pp_ordering_setup(o)->context;
    uint32_t stages = o->set.costs[replica]->stages;
    uint32_t *stage_rank PP_CLEANUP(pp_free_array) = pp_alloc_array(stages, sizeof *stage_rank);
    if (!stage_rank)
        return pp_err_nomem(err);
    for (uint32_t s = 0; s < stages; s++)
        stage_rank[s] = pp_placement_rank(context->placement, s, (uint32_t)context->parallel.pp);
    return pp_order_problem_from_costs(o->set.costs[replica], stage_rank, o->split,
                                       o->search->problem->memory_limit_bytes, x_out, err);
}

/* Makes the reserve at least what the framework's buffers take in this order. */
static pp_status reserve_for(pp_ordering *o, uint32_t replica, const pp_order *order, pp_err *err)
{
    pp_order_problem *x PP_CLEANUP(pp_order_problem_free) = NULL;
    const pp_reserved_order of = { .problem = o->search->problem,
                                   .setup = pp_ordering_setup(o),
                                   .candidate = &o->search->pool.candidate[o->at.like],
                                   .costs = o->set.costs[replica],
                                   .order = order };
    pp_status status = make_instance(o, replica, &x, err);
    return status ? status : pp_order_reserve_grow(&of, x, o->reserve, err);
}

/* Initialises a replica with the order of the named schedule and its makespan. */
static pp_status begin_replica(pp_ordering *o, uint32_t replica, pp_err *err)
{
    pp_order_problem *x PP_CLEANUP(pp_order_problem_free) = NULL;
    pp_movable_order *movable PP_CLEANUP(pp_movable_order_free) = NULL;
    uint32_t *ops PP_CLEANUP(pp_free_array) = NULL;
    pp_status status = make_instance(o, replica, &x, err);
    if (status || (status = pp_movable_order_new(x, &movable, err)))
        return status;
    ops = pp_alloc_array((size_t)x->ops + 1, sizeof *ops);
    if (!ops)
        return pp_err_nomem(err);
    pp_order_reserve_take(o->reserve, x);
    pp_order_problem_from_order(x, o->seed, ops);
    if (!pp_movable_order_set(movable, ops))
        return PP_OK; /* it fits only in the fused twin */
    o->share[replica].makespan = movable->makespan;
    return pp_order_problem_to_order(x, ops, o->split, &o->share[replica].order, err);
}

static uint32_t slowest_replica(const pp_ordering *o)
{
    uint32_t slowest = 0;
    for (uint32_t i = 1; i < o->set.count; i++)
        slowest = o->share[i].makespan > o->share[slowest].makespan ? i : slowest;
    return slowest;
}

/* Estimates the score of the orders of this setup, and a lower bound on it. The step tail is
 * assumed to be as long as that of the named order, not as short as it can be. */
static void rate(pp_ordering *o)
{
    const pp_setup *setup = pp_ordering_setup(o);
    const pp_candidate *like = &o->search->pool.candidate[o->at.like];
    const pp_candidate on = { .parallel = setup->context.parallel };
    const pp_ns boundary_ns = setup->least_step_ns - setup->bound.ns;
    const int64_t makespan = o->share[slowest_replica(o)].makespan;
    const int64_t bound = o->limits.ticks > setup->bound.ns ? o->limits.ticks : setup->bound.ns;
    pp_ns end_ns = boundary_ns;
    if (o->named && like->setup == o->at.setup && like->step_ns - o->named > end_ns)
        end_ns = like->step_ns - o->named;
    o->end_ns = end_ns;
    o->lost = o->named ? (double)(end_ns - boundary_ns) / (double)like->step_ns : 0;
    o->least = pp_candidate_score(&on, bound + boundary_ns);
    o->score = makespan == INT64_MAX ? HUGE_VAL : pp_candidate_score(&on, makespan + end_ns);
}

/* True if orders are simulated in a framework, which may rank them otherwise than the search. */
static bool is_judged(const pp_ordering *o)
{
    return o->set.count == 1 && o->search->progress.communicates;
}

/* Makes this the replica's order, unless the replica has a shorter one. */
static pp_status adopt(pp_ordering *o, const pp_order_problem *x, const pp_found_order *found,
                       pp_replica_order *part, pp_err *err)
{
    o->makespan = found->makespan < part->makespan ? found->makespan : part->makespan;
    pp_order_bounds_raise(&o->limits, found->bound);
    if (found->makespan >= part->makespan)
        return PP_OK;
    if (part->order && is_judged(o) && o->others < PP_ORDERING_OTHERS)
        o->other[o->others++] = *part; /* with which the search began */
    else
        pp_order_free(&part->order);
    part->order = NULL;
    part->makespan = found->makespan;
    return pp_order_problem_to_order(x, found->ops, o->split, &part->order, err);
}

/* Keeps orders of other chains. */
static pp_status keep_runners(pp_ordering *o, const pp_order_problem *x,
                              const pp_found_order *found, pp_err *err)
{
    pp_status status = PP_OK;
    for (uint32_t k = 0;
         k < found->runners && is_judged(o) && o->others < PP_ORDERING_OTHERS && !status; k++) {
        pp_replica_order *other = &o->other[o->others];
        *other = (pp_replica_order){ .makespan = found->runner[k] };
        status = pp_order_problem_to_order(x, found->runner_ops + (size_t)k * x->ops, o->split,
                                           &other->order, err);
        o->others += !status;
    }
    return status;
}

static pp_status search_replica(pp_ordering *o, const pp_order_search_options *given, int64_t work,
                                uint32_t replica, pp_err *err)
{
    pp_replica_order *part = &o->share[replica];
    pp_order_search_options budget = *given;
    pp_order_problem *x PP_CLEANUP(pp_order_problem_free) = NULL;
    pp_found_order *found PP_CLEANUP(pp_found_order_free) = NULL;
    uint32_t *ops PP_CLEANUP(pp_free_array) = NULL;
    pp_status status = make_instance(o, replica, &x, err);
    if (status || (status = pp_order_bounds_find(x, &o->limits, err)))
        return status;
    pp_order_reserve_take(o->reserve, x);
    ops = pp_alloc_array((size_t)x->ops + 1, sizeof *ops);
    if (!ops)
        return pp_err_nomem(err);
    if (part->order) {
        pp_order_problem_from_order(x, part->order, ops);
        budget.start = ops;
    }
    if (work) {
        double room = AMPLE_ROOM * (1 - (double)o->limits.ticks / (double)part->makespan);
        double fair = (double)work / (x->ops + 1.0) * (room < 1 ? room : 1);
        budget.iterations = clamp((int64_t)fair, ITERATIONS_LEAST, ITERATIONS_MOST);
    }
    if (is_judged(o))
        budget.runners =
            (uint32_t)clamp(OTHERS_WORK / ((int64_t)x->ops + 1), OTHERS_LEAST, OTHERS_MOST);
    status = pp_order_search(x, o->limits.ticks, &budget, &found, err);
    if (!status)
        status = keep_runners(o, x, found, err);
    return status ? status : adopt(o, x, found, part, err);
}

static int64_t shrink_iterations(const pp_ordering *o)
{
    const pp_costs *costs = o->set.costs[0];
    const int64_t ops = 3 * (int64_t)costs->stages * costs->microbatches;
    return clamp(DEFAULT_WORK / SHRINK_PART / (ops + 1), ITERATIONS_LEAST, ITERATIONS_MOST);
}

/* Bisects for the least limit within which a short search finds an order that ends as early. */
pp_status pp_ordering_shrink(pp_ordering *o, bool *shrunk_out, pp_err *err)
{
    const pp_plan_request *request = o->search->problem->request;
    pp_replica_order *part = &o->share[0];
    pp_order_problem *x PP_CLEANUP(pp_order_problem_free) = NULL;
    *shrunk_out = false;
    if (request->max_simulations || request->stop)
        return PP_OK;
    pp_status status = make_instance(o, 0, &x, err);
    if (status || x->room[0] >= PP_ORDER_PROBLEM_BYTES_MAX)
        return status;
    if (x->ops > SHRUNK_OPS)
        return PP_OK;
    drop_others(o);
    pp_order_reserve_take(o->reserve, x);
    uint32_t *ops PP_CLEANUP(pp_free_array) = pp_alloc_array((size_t)x->ops + 1, sizeof *ops);
    int64_t *room PP_CLEANUP(pp_free_array) = pp_alloc_array(x->ranks, sizeof *room);
    int64_t *used PP_CLEANUP(pp_free_array) = pp_alloc_array(x->ranks, sizeof *used);
    if (!ops || !room || !used)
        return pp_err_nomem(err);
    const int64_t limit = o->search->problem->memory_limit_bytes;
    memcpy(room, x->room, x->ranks * sizeof *room);
    pp_order_problem_from_order(x, part->order, ops);
    pp_order_used(x, ops, used);
    int64_t low = 0, high = limit; /* what is taken from every room: high is too much */
    for (uint32_t r = 0; r < x->ranks; r++) {
        const int64_t spare = room[r] - used[r];
        high = pp_min(high, room[r]);
        low = r ? pp_min(low, spare) : spare;
    }
    const int64_t fine = limit / SHRINK_FINE;
    if (o->seed) /* it needs little memory as a rule; a search ignores it where it does not fit */
        pp_order_problem_from_order(x, o->seed, ops);
    for (int k = 0; k < SHRINK_STEPS && high - low > fine; k++) {
        const int64_t middle = low + (high - low) / 2;
        pp_found_order *found PP_CLEANUP(pp_found_order_free) = NULL;
        const pp_order_search_options budget = { .iterations = shrink_iterations(o),
                                                 .start = o->seed ? ops : NULL,
                                                 .seed = request->seed,
                                                 .threads = request->threads };
        pp_err why = pp_err_like(err);
        const int64_t goal = pp_max(part->makespan, o->limits.ticks);
        pp_order_bounds least = { 0 };
        for (uint32_t r = 0; r < x->ranks; r++)
            x->room[r] = room[r] - middle;
        status = pp_order_bounds_find(x, &least, &why);
        if (!status && least.ticks <= part->makespan)
            status = pp_order_search(x, goal, &budget, &found, &why);
        if (status == PP_NOMEM)
            return pp_err_nomem(err);
        if (status || !found || found->makespan > part->makespan) {
            high = middle;
            continue;
        }
        if ((o->search->progress.communicates && o->others < PP_ORDERING_OTHERS) || !o->others)
            o->other[o->others++] = *part; /* its step may be the shortest: the end counts, too */
        else
            pp_order_free(&part->order);
        part->order = NULL;
        part->makespan = found->makespan;
        *shrunk_out = true;
        if ((status = pp_order_problem_to_order(x, found->ops, o->split, &part->order, err)))
            return status;
        low = middle;
    }
    o->makespan = part->makespan;
    return PP_OK;
}

typedef struct probe {
    int64_t left; /* policies */
    const pp_plan_request *request;
} probe;

static double probed(void *context)
{
    probe *g = context;
    const pp_plan_request *request = g->request;
    return g->left-- > 0 ? request->spent ? request->spent(request->context) : 0 : 1;
}

/* Bounds the orders of a replica. x_out: its problem. */
static pp_status bound_replica(pp_ordering *o, uint32_t replica, pp_order_problem **x_out,
                               pp_err *err)
{
    pp_status status = make_instance(o, replica, x_out, err);
    if (!status)
        status = pp_order_bounds_find(*x_out, &o->limits, err);
    o->makespan = o->share[replica].makespan;
    return status;
}

/* Finds the best of a few policies to begin a search with. It uses one thread, so that the result
 * is reproducible. seed_only: the order of the named schedule must do. */
static pp_status probe_replica(pp_ordering *o, bool seed_only, uint32_t replica, pp_err *err)
{
    pp_replica_order *part = &o->share[replica];
    pp_order_problem *x PP_CLEANUP(pp_order_problem_free) = NULL;
    pp_found_order *found PP_CLEANUP(pp_found_order_free) = NULL;
    pp_status status = bound_replica(o, replica, &x, err);
    if (status || seed_only || (part->order && x->ops > PROBE_WORK) ||
        part->makespan <= o->limits.ticks)
        return status;
    probe few = { clamp(PROBE_WORK / ((int64_t)x->ops + 1), PROBE_LEAST, PROBE_MOST),
                  o->search->problem->request };
    pp_order_reserve_take(o->reserve, x);
    const pp_order_search_options budget = { .iterations = INT32_MAX,
                                             .spent = probed,
                                             .context = &few,
                                             .seed = o->search->problem->request->seed };
    status = pp_order_search(x, o->limits.ticks, &budget, &found, err);
    bool worse = !status && part->makespan < INT64_MAX &&
                 found->makespan >= part->makespan - part->makespan / PP_MEASURABLE_PART;
    return status || worse ? status : adopt(o, x, found, part, err);
}

/* Whether the order that is known must do, since there is no budget. */
static bool is_too_large(const pp_ordering *o)
{
    const pp_plan_request *request = o->search->problem->request;
    const pp_costs *costs = o->set.costs[0];
    return o->named && 3 * (int64_t)costs->stages * costs->microbatches > SEARCHED_OPS &&
           request->orders != PP_ORDERS_PLANNED && !pp_budget_is_limited(request);
}

pp_status pp_ordering_open(pp_ordering *o, pp_search *search, const pp_setup_candidate *at,
                           bool seed_only, pp_err *err)
{
    pp_err why = pp_err_like(err);
    *o = (pp_ordering){ .search = search, .at = *at };
    pp_status status = pp_pool_costs(&search->pool, pp_ordering_setup(o), &o->set, err);
    if (status)
        return status;
    o->split = pp_ordering_setup(o)->split;
    o->share = pp_alloc_array(o->set.count, sizeof *o->share);
    o->reserve = pp_alloc_array(o->set.costs[0]->ranks, sizeof *o->reserve);
    if (!o->share || !o->reserve)
        return pp_err_nomem(err);
    for (uint32_t i = 0; i < o->set.count; i++)
        o->share[i].makespan = INT64_MAX;
    if (at->seeded)
        status = pp_candidate_order(search->problem, &search->pool.candidate[at->like],
                                    o->set.costs[0], &o->seed, err);
    if (status)
        return status;
    for (uint32_t i = 0; i < o->set.count && o->seed && !status; i++) {
        if (search->progress.communicates)
            status = reserve_for(o, i, o->seed, &why);
        if (!status)
            status = begin_replica(o, i, &why);
    }
    o->named = o->share[slowest_replica(o)].makespan;
    o->named = o->named == INT64_MAX ? 0 : o->named;
    for (uint32_t i = 0; i < o->set.count && !status; i++) {
        uint32_t slowest = slowest_replica(o);
        if (i && o->share[slowest].makespan < INT64_MAX)
            break;
        status = probe_replica(o, seed_only, slowest, &why);
        if (!status && search->progress.communicates && !o->seed)
            status = reserve_for(o, slowest, o->share[slowest].order, &why);
    }
    rate(o);
    o->done = status != PP_OK || is_too_large(o);
    if (!status || status == PP_INPUT || status == PP_INFEASIBLE)
        return PP_OK;
    *err = why;
    return status;
}

/* 1 when the caller has cancelled the search. */
static double cancelled(void *context)
{
    const pp_plan_request *request = ((const pp_budget_share *)context)->request;
    return request->cancelled(request->cancel_context) ? 1 : 0;
}

pp_status pp_ordering_search(pp_ordering *o, const pp_budget_share *budget_share, pp_err *err)
{
    const pp_plan_request *request = o->search->problem->request;
    const uint32_t count = o->set.count;
    const bool timed = budget_share->to > budget_share->from;
    /* a replica's makespan is not the step, and without the framework's communication neither is
     * any makespan */
    const bool reports = request->found && count == 1 && !o->search->progress.communicates;
    const pp_candidate like = { .parallel = pp_ordering_setup(o)->context.parallel,
                                .schedule = &pp_planned_schedule,
                                .least_step_ns = pp_ordering_setup(o)->least_step_ns };
    double (*ends)(void *context) = timed ? spent : request->cancelled ? cancelled : NULL;
    pp_status status = PP_OK;
    for (uint32_t i = 0; i < count; i++)
        o->share[i].searched = false;
    for (uint32_t n = 0; n < count && !status; n++) {
        uint32_t slowest = slowest_replica(o);
        if (o->share[slowest].searched)
            break;
        pp_budget_share one = *budget_share;
        one.like = &like;
        one.end_ns = o->end_ns;
        one.iterations = one.iterations / count + (one.iterations > 0);
        one.from += (one.to - one.from) * n / count;
        one.to = one.from + (budget_share->to - budget_share->from) / count;
        const pp_order_search_options budget = { .iterations = one.iterations,
                                                 .spent = ends,
                                                 .found = reports ? report_better : NULL,
                                                 .context = &one,
                                                 .seed = request->seed,
                                                 .threads = request->threads };
        int64_t work = timed || one.iterations ? 0 : DEFAULT_WORK / (o->retried ? RETRY_PART : 1);
        status = search_replica(o, &budget, work, slowest, err);
        if (!status && ends == cancelled && cancelled(&one) >= 1)
            status = pp_err_set(err, PP_CANCELLED, NULL, "the search was cancelled");
        o->share[slowest].searched = true;
    }
    rate(o);
    return status;
}

pp_status pp_ordering_retry(pp_ordering *o, pp_err *err)
{
    pp_status status = PP_OK;
    for (uint32_t i = 0; i < o->set.count && !status; i++)
        status = reserve_for(o, i, o->share[i].order, err);
    drop_others(o);
    o->retried = true;
    for (uint32_t i = 0; i < o->set.count && !status; i++) {
        pp_order_free(&o->share[i].order);
        o->share[i].makespan = INT64_MAX;
        if (o->seed)
            status = begin_replica(o, i, err);
    }
    return status;
}
