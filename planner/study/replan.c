/* Plans one pipeline again for every batch.
 *
 * A recipe deals a batch into microbatches: first fit, equal work, or a ramp, with more or fewer of
 * them (planner/pack). For each recipe that is tried, a few policies make orders of all ranks
 * (planner/order); those of the recipe with the shortest makespan are then improved by changes of
 * policies and, if there is time for it, by the search for orders. Which recipes and policies come
 * first is learnt when the replanner is made, from the typical batch; afterwards it does not
 * change, so that an answer depends on batch, seed and effort alone.
 *
 * The order that was found is simulated under the framework and taken if it fits and ends earlier
 * than first fit with the pipeline's own schedule, which is simulated, too: no answer is slower.
 *
 * A policy costs O(ops log ranks), a recipe some policies and a table of costs, and the whole two
 * simulations of each replica beside the effort. */
#include "planner/study/replan.h"

#include "planner/candidate/evaluate.h"
#include "planner/order/dispatch.h"
#include "planner/order/iteration_budget.h"
#include "planner/order/problem_costs.h"
#include "planner/order/search.h"
#include "planner/pack/pack.h"
#include "planner/refine/order_reserve.h"
#include "planner/search/result.h"
#include "planner/study/pack_pipeline.h"
#include "sim/base/alloc.h"
#include "sim/base/minmax.h"
#include "sim/engine/replicas.h"
#include "sim/program/program_new.h"

#include <stdlib.h>
#include <string.h>

/* The parts of the effort after which no recipe is tried any more, changes of policies give way to
 * the search for orders, and that ends. The rest of the time simulates. */
#define RECIPES_END 0.4
#define CHANGES_END 0.6
#define ORDERS_END 0.8

/* The search for orders is worth its start if there is time for so many policies. */
enum { SEARCH_LEAST = 100 };

/* Of the memory limit, what orders leave free beside the buffers of the framework as they were
 * learnt, since other orders need other buffers. An order that lacks memory all the same is made
 * again with as much less. */
#define SLACK_PART 50
enum { RETRIES = 2 };

enum { HABITS = 4, FACTORS = 5, FIRSTS = 3, RECIPES = 1 + FACTORS * (1 + FIRSTS) };

/* How microbatches are made. */
typedef struct recipe {
    pp_packing packing;
    double factor;    /* microbatches over those of first fit */
    double first;     /* of a ramp: the share of the first and last microbatch */
    int64_t makespan; /* of the typical batch; INT64_MAX: it does not exist there */
} recipe;

/* A policy that did well. */
typedef struct habit {
    uint32_t rule;
    pp_policy_order order;
    int64_t makespan;
} habit;

struct pp_replanner {
    pp_packer *packer;
    size_t setup; /* whose orders are searched: that of the pipeline, or its twin, which splits
                     the backward */
    uint32_t *stage_rank;   /* [stages] */
    int64_t *reserve;       /* [ranks]: memory that the framework's buffers take */
    recipe recipe[RECIPES]; /* the best of the typical batch first */
    habit habit[HABITS];
};

/* The orders of one replica. */
typedef struct replica_orders {
    pp_order_problem *x;
    uint32_t *ops;    /* as pp_order_problem_print_orders takes them; the best so far */
    int64_t makespan; /* INT64_MAX: none */
} replica_orders;

/* A batch, packed by one recipe. */
typedef struct attempt {
    pp_grouping grouping;
    pp_cost_set set;
    replica_orders *replica; /* [set.count] */
    int64_t makespan;        /* of the slowest replica */
    pp_policy policy;        /* of the slowest replica's order, while only policies were tried */
} attempt;

/* One call of pp_replan. */
typedef struct replanning {
    pp_replanner *with;
    const pp_replan_task *task;
    pp_pack_case *batch;
    attempt best;
    const recipe *how; /* of the best */
    int64_t *reserve;  /* [ranks]: that of the replanner, more after orders that lacked memory */
    int64_t policies;  /* that were tried */
} replanning;

static void attempt_free(attempt *a)
{
    for (uint32_t i = 0; a->replica && i < a->set.count; i++) {
        pp_order_problem_free(&a->replica[i].x);
        free(a->replica[i].ops);
    }
    free(a->replica);
    pp_policy_free(&a->policy);
    pp_cost_set_free(&a->set);
    pp_grouping_free(&a->grouping);
    *a = (attempt){ .makespan = INT64_MAX };
}

static void replanning_close(replanning *r)
{
    attempt_free(&r->best);
    free(r->reserve);
}

void pp_replanner_free(pp_replanner **replanner)
{
    if (!*replanner)
        return;
    pp_packer_close(&(*replanner)->packer);
    free((*replanner)->stage_rank);
    free((*replanner)->reserve);
    free(*replanner);
    *replanner = NULL;
}

void pp_replanned_free(pp_replanned **replanned)
{
    pp_replanned *r = *replanned;
    if (!r)
        return;
    pp_plan_free(&r->plan);
    pp_program_free(&r->program);
    pp_timeline_free(&r->timeline);
    pp_grouping_free(&r->grouping);
    free(r);
    *replanned = NULL;
}

/* True if this part of the effort is used up. */
static bool is_over(const replanning *r, double part)
{
    const pp_replan_task *task = r->task;
    if (task->iterations)
        return (double)r->policies >= part * (double)task->iterations;
    return task->spent(task->context) >= part;
}

/* ---- recipes --------------------------------------------------------------------------------- */

static void list_recipes(recipe *list)
{
    static const double factors[FACTORS] = { 1, 1.125, 1.25, 1.5, 2 };
    static const double firsts[FIRSTS] = { 0.5, 0.25, 0.125 };
    size_t n = 0;
    list[n++] = (recipe){ .packing = PP_PACKING_FIRST_FIT };
    for (size_t f = 0; f < FACTORS; f++) {
        list[n++] = (recipe){ .packing = PP_PACKING_EQUAL, .factor = factors[f] };
        for (size_t k = 0; k < FIRSTS; k++)
            list[n++] =
                (recipe){ .packing = PP_PACKING_RAMPED, .factor = factors[f], .first = firsts[k] };
    }
}

/* Packs the batch. Fails: USAGE if the recipe does not exist for it, NOMEM. */
static pp_status deal(const pp_pack_case *c, const recipe *how, pp_grouping *out, pp_err *err)
{
    const uint32_t base = c->ff > c->fewest ? c->ff : c->fewest;
    const uint64_t step = c->packer->multiple_of;
    const uint64_t most = c->task->count / c->packer->replicas;
    uint64_t m = (uint64_t)(base * how->factor);
    m = m < c->fewest ? c->fewest : m;
    m = (m + step - 1) / step * step;
    if (how->packing == PP_PACKING_FIRST_FIT)
        return c->ff ? pp_grouping_copy(&c->first_fit, out, err)
                     : pp_err_set(err, PP_USAGE, NULL, "first fit leaves a replica without work");
    if (m > most || m * c->packer->replicas > (uint64_t)PP_MICROBATCHES_MAX)
        return pp_err_set(err, PP_USAGE, NULL, "there are too few sequences");
    return how->packing == PP_PACKING_EQUAL ? pp_group_equal(c, (uint32_t)m, out, err)
                                            : pp_group_ramped(c, (uint32_t)m, how->first, out, err);
}

/* ---- attempts -------------------------------------------------------------------------------- */

/* Runs a policy in one replica, and keeps its order if it is the shortest so far. */
static bool run_policy(replica_orders *o, pp_dispatch *dispatch, const pp_policy *policy)
{
    const int64_t makespan = pp_dispatch_run(dispatch, policy, o->makespan);
    if (makespan >= o->makespan)
        return false;
    o->makespan = makespan;
    memcpy(o->ops, pp_dispatch_ops(dispatch), o->x->ops * sizeof *o->ops);
    return true;
}

/* Tries the habits in one replica. policy_out: the one of the best; free it in any case. */
static pp_status try_habits(replanning *r, replica_orders *o, pp_policy *policy_out, pp_err *err)
{
    const habit *list = r->with->habit;
    pp_dispatch *dispatch PP_CLEANUP(pp_dispatch_free) = NULL;
    pp_policy now PP_CLEANUP(pp_policy_free) = { 0 };
    uint32_t *ascending PP_CLEANUP(pp_free_array) =
        pp_alloc_array((size_t)o->x->microbatches + 1, sizeof *ascending);
    pp_status status = ascending ? PP_OK : pp_err_nomem(err);
    if (status || (status = pp_dispatch_new(o->x, &dispatch, err)) ||
        (status = pp_policy_new(o->x, &now, err)) ||
        (status = pp_policy_new(o->x, policy_out, err)))
        return status;
    pp_policy_sort(o->x, ascending);
    for (size_t k = 0; k < HABITS; k++, r->policies++) {
        pp_policy_set_order(o->x, list[k].order, ascending, &now);
        pp_policy_set_rule(o->x, list[k].rule, list[k].order, o->x->microbatches, &now);
        if (run_policy(o, dispatch, &now))
            pp_policy_copy(o->x, policy_out, &now);
    }
    return PP_OK;
}

/* Makes the costs of a grouping, and the ordering problem of each replica. */
static pp_status open_attempt(replanning *r, attempt *a, pp_err *err)
{
    pp_replanner *w = r->with;
    pp_search *search = &w->packer->search;
    pp_status status =
        pp_packer_set_data(w->packer, r->task->lengths, &a->grouping, 0, w->packer->replicas, err);
    if (!status)
        status = pp_pool_costs(&search->pool, &search->pool.setup[w->setup], &a->set, err);
    if (status)
        return status;
    a->replica = pp_alloc_array(a->set.count, sizeof *a->replica);
    if (!a->replica)
        return pp_err_nomem(err);
    for (uint32_t i = 0; i < a->set.count && !status; i++) {
        replica_orders *o = &a->replica[i];
        o->makespan = INT64_MAX;
        status = pp_order_problem_from_costs(a->set.costs[i], w->stage_rank,
                                             search->pool.setup[w->setup].split,
                                             search->problem->memory_limit_bytes, &o->x, err);
        if (status)
            return status;
        o->ops = pp_alloc_array((size_t)o->x->ops + 1, sizeof *o->ops);
        if (!o->ops)
            return pp_err_nomem(err);
        pp_order_reserve_take(r->reserve, o->x);
    }
    return status;
}

static uint32_t slowest_of(const attempt *a)
{
    uint32_t slowest = 0;
    for (uint32_t i = 1; i < a->set.count; i++)
        slowest = a->replica[i].makespan > a->replica[slowest].makespan ? i : slowest;
    return slowest;
}

/* Packs by a recipe and runs policies; keeps it if it is the best. *makespan_out: INT64_MAX if the
 * recipe or an order does not exist. */
static pp_status try_recipe(replanning *r, const recipe *how, int64_t *makespan_out, pp_err *err)
{
    attempt a PP_CLEANUP(attempt_free) = { .makespan = INT64_MAX };
    pp_err why = pp_err_like(err);
    *makespan_out = INT64_MAX;
    pp_status status = deal(r->batch, how, &a.grouping, &why);
    if (status == PP_USAGE)
        return PP_OK;
    if (!status)
        status = open_attempt(r, &a, &why);
    if (status == PP_INPUT) /* too large for an ordering problem */
        return PP_OK;
    if (status) {
        *err = why;
        return status;
    }
    for (uint32_t i = 0; i < a.set.count; i++) {
        pp_policy policy PP_CLEANUP(pp_policy_free) = { 0 };
        status = try_habits(r, &a.replica[i], &policy, err);
        if (status)
            return status;
        if (i && a.replica[i].makespan <= a.makespan)
            continue;
        a.makespan = a.replica[i].makespan; /* the slowest so far */
        pp_policy_free(&a.policy);
        a.policy = policy;
        policy = (pp_policy){ 0 };
    }
    *makespan_out = a.makespan;
    if (a.makespan >= r->best.makespan)
        return PP_OK;
    const attempt worse = r->best;
    r->best = a;
    r->how = how;
    a = worse;
    return PP_OK;
}

/* Changes the policy of the slowest replica as long as there is time for changes. */
static pp_status change_policies(replanning *r, double part, pp_err *err)
{
    attempt *a = &r->best;
    const uint32_t slowest = slowest_of(a);
    replica_orders *o = &a->replica[slowest];
    pp_dispatch *dispatch PP_CLEANUP(pp_dispatch_free) = NULL;
    pp_policy now PP_CLEANUP(pp_policy_free) = { 0 };
    pp_rng rng = { r->task->seed };
    pp_status status = pp_dispatch_new(o->x, &dispatch, err);
    if (status || (status = pp_policy_new(o->x, &now, err)))
        return status;
    for (; !is_over(r, part); r->policies++) {
        pp_policy_copy(o->x, &now, &a->policy);
        for (uint32_t k = 1 + pp_rng_below(&rng, 3); k > 0; k--)
            pp_policy_change(o->x, &rng, &now);
        if (run_policy(o, dispatch, &now))
            pp_policy_copy(o->x, &a->policy, &now);
    }
    a->makespan = a->replica[slowest_of(a)].makespan;
    return PP_OK;
}

/* Searches the order of the slowest replica from the one that it has on. */
static pp_status search_orders(replanning *r, pp_err *err)
{
    attempt *a = &r->best;
    replica_orders *o = &a->replica[slowest_of(a)];
    const pp_replan_task *task = r->task;
    pp_found_order *found PP_CLEANUP(pp_found_order_free) = NULL;
    pp_order_bounds bounds;
    pp_time_share rest = { task->spent, task->context, 0, ORDERS_END };
    pp_order_search_options how = { .start = o->ops, .seed = task->seed };
    if (task->iterations)
        how.iterations = task->iterations - r->policies;
    else
        rest.from = task->spent(task->context);
    if (how.iterations < 1 && (task->iterations || rest.from >= rest.to))
        return PP_OK;
    if (!task->iterations) {
        how.spent = pp_time_share_spent;
        how.context = &rest;
    }
    pp_err why = pp_err_like(err);
    pp_status status = pp_order_bounds_find(o->x, &bounds, &why);
    if (!status)
        status = pp_order_search(o->x, bounds.ticks, &how, &found, &why);
    if (status == PP_INFEASIBLE) /* a microbatch alone does not fit beside the buffers */
        return PP_OK;
    if (status) {
        *err = why;
        return status;
    }
    if (found->makespan < o->makespan) {
        o->makespan = found->makespan;
        memcpy(o->ops, found->ops, o->x->ops * sizeof *o->ops);
    }
    a->makespan = a->replica[slowest_of(a)].makespan;
    return PP_OK;
}

/* Finds the best packing and orders within the effort; r->best has none if no recipe gave one. */
static pp_status find_orders(replanning *r, pp_err *err)
{
    const pp_replanner *w = r->with;
    pp_status status = PP_OK;
    for (size_t k = 0; k < RECIPES && !status; k++) {
        int64_t makespan;
        if (r->best.makespan < INT64_MAX && is_over(r, RECIPES_END))
            break;
        status = try_recipe(r, &w->recipe[k], &makespan, err);
    }
    if (status || r->best.makespan == INT64_MAX)
        return status;
    const double gone = r->task->iterations ? 0 : r->task->spent(r->task->context);
    const bool long_enough =
        r->task->iterations ||
        (gone < ORDERS_END &&
         (double)r->policies * (ORDERS_END - gone) / (gone + 1e-9) > SEARCH_LEAST);
    status = change_policies(r, long_enough ? CHANGES_END : ORDERS_END, err);
    return status || !long_enough ? status : search_orders(r, err);
}

/* ---- plans ----------------------------------------------------------------------------------- */

/* Begins the plan of a candidate for a grouping: all but its orders and its prediction. */
static pp_status begin_plan(replanning *r, const pp_candidate *c, const pp_grouping *grouping,
                            pp_replanned *answer, pp_err *err)
{
    pp_packer *packer = r->with->packer;
    pp_search *search = &packer->search;
    pp_setup *setup = &search->pool.setup[c->setup];
    pp_data *data = &search->pool.data[packer->data];
    const size_t stages = (size_t)(setup->context.parallel.pp * setup->context.parallel.vpp);
    const bool late = setup->context.splits_late;
    pp_cost_set set = { 0 };
    pp_plan_free(&answer->plan);
    pp_program_free(&answer->program);
    pp_timeline_free(&answer->timeline);
    pp_grouping_free(&answer->grouping);
    pp_status status = pp_plan_new(&answer->plan, err);
    if (status || (status = pp_grouping_copy(grouping, &answer->grouping, err)) ||
        (status = pp_packer_set_data(packer, r->task->lengths, grouping, 0, packer->replicas, err)))
        return status;
    pp_plan *plan = answer->plan;
    pp_search_describe(search, c, plan);
    plan->global_batch_size = (int64_t)r->task->count;
    plan->seed = r->task->seed;
    plan->partition = pp_alloc_array(stages, sizeof *plan->partition);
    if (!plan->partition)
        return pp_err_nomem(err);
    memcpy(plan->partition, setup->stages, stages * sizeof *plan->partition);
    setup->context.splits_late = false; /* plans have both, see pp_search_result_new */
    status = pp_pool_costs(&search->pool, setup, &set, err);
    setup->context.splits_late = late;
    plan->costs = set.costs;
    plan->costs_count = set.count;
    if (status)
        return status;
    pp_workload *real = data->real.microbatch ? &data->real : &data->workload;
    plan->workload = *real; /* the pipeline gets other data before it is simulated again */
    *real = (pp_workload){ 0 };
    plan->order = pp_alloc_array(plan->costs_count, sizeof *plan->order);
    return plan->order ? PP_OK : pp_err_nomem(err);
}

/* Simulates the plan. Sets *fits_out. */
static pp_status end_plan(const replanning *r, pp_replanned *answer, bool *fits_out, pp_err *err)
{
    pp_plan *plan = answer->plan;
    const pp_costs *costs;
    uint32_t rank;
    pp_err why = pp_err_like(err);
    *fits_out = false;
    pp_status status = pp_plan_simulate(plan, &answer->program, &answer->timeline, &costs,
                                        &plan->prediction, &why);
    if (!status)
        status = pp_replicas_orders_meet(plan->framework, plan->order, plan->order_count,
                                         plan->costs, plan->costs_count, &why);
    if (status == PP_NOMEM)
        return pp_err_nomem(err);
    if (status) /* it cannot run: as if it did not fit */
        return PP_OK;
    answer->step_ns = plan->prediction->step_ns;
    *fits_out = pp_report_excess(plan->prediction,
                                 r->with->packer->search.problem->memory_limit_bytes, &rank) <= 0;
    return PP_OK;
}

/* Raises the reserve of every rank that exceeds its limit by as much, and a quarter. */
static void reserve_more(replanning *r, const pp_replanned *answer)
{
    const pp_plan *plan = answer->plan;
    const int64_t limit_bytes = r->with->packer->search.problem->memory_limit_bytes;
    for (uint32_t rank = 0; rank < plan->prediction->ranks; rank++) {
        const int64_t limit = pp_costs_limit(plan->costs[0], rank, limit_bytes);
        const int64_t excess = plan->prediction->per_rank[rank].memory.total_bytes - limit;
        r->reserve[rank] += limit && excess > 0 ? excess + excess / 4 : 0;
    }
}

/* Makes the plan of the orders that were found. */
static pp_status plan_found(replanning *r, pp_replanned *answer, bool *fits_out, pp_err *err)
{
    const pp_replanner *w = r->with;
    const attempt *a = &r->best;
    pp_candidate c = w->packer->candidate;
    c.schedule = &pp_planned_schedule;
    c.group_size = 0;
    c.setup = (uint32_t)w->setup;
    c.microbatches = a->grouping.microbatches;
    pp_status status = begin_plan(r, &c, &a->grouping, answer, err);
    if (status)
        return status;
    pp_plan *plan = answer->plan;
    plan->order_count = a->set.count;
    for (uint32_t i = 0; i < a->set.count && !status; i++)
        status = pp_order_problem_to_order(a->replica[i].x, a->replica[i].ops,
                                           w->packer->search.pool.setup[w->setup].split,
                                           &plan->order[i], err);
    return status ? status : end_plan(r, answer, fits_out, err);
}

/* Makes the plan of the pipeline's own schedule for a grouping. */
static pp_status plan_named(replanning *r, const pp_grouping *grouping, pp_replanned *answer,
                            bool *fits_out, pp_err *err)
{
    pp_packer *packer = r->with->packer;
    pp_candidate c = packer->candidate;
    c.microbatches = grouping->microbatches;
    c.group_size = packer->request.group_size;
    pp_status status = begin_plan(r, &c, grouping, answer, err);
    if (status)
        return status;
    pp_plan *plan = answer->plan;
    plan->order_count = 1;
    status = pp_candidate_order(packer->search.problem, &c, pp_plan_costs(plan, 0), &plan->order[0],
                                err);
    return status ? status : end_plan(r, answer, fits_out, err);
}

/* The same for a grouping that was simulated before and fits. */
static pp_status plan_surely(replanning *r, const pp_grouping *grouping, pp_replanned *answer,
                             pp_err *err)
{
    bool fits;
    pp_status status = plan_named(r, grouping, answer, &fits, err);
    if (!status && !fits)
        return pp_err_set(err, PP_INTERNAL, NULL, "a plan that fits was made again and does not");
    return status;
}

static bool time_is_up(void *context)
{
    return is_over(context, 1);
}

/* Nothing that was tried fits: packs with all means, or says why nothing fits. */
static pp_status pack_thoroughly(replanning *r, pp_replanned *answer, pp_err *err)
{
    pp_packed *packed PP_CLEANUP(pp_packed_free) = NULL;
    const pp_pack_task task = { .lengths = r->task->lengths,
                                .count = r->task->count,
                                .packings = { [PP_PACKING_FIRST_FIT] = true,
                                              [PP_PACKING_EQUAL] = true,
                                              [PP_PACKING_RAMPED] = true },
                                .stop = r->task->iterations ? NULL : time_is_up,
                                .context = r,
                                .seed = r->task->seed };
    pp_status status = pp_pack(r->with->packer, &task, &packed, err);
    return status ? status : plan_surely(r, &packed->grouping, answer, err);
}

/* Simulates first fit with the pipeline's own schedule. */
static pp_status judge_first_fit(replanning *r, pp_replanned *answer, pp_err *err)
{
    pp_pack_verdict verdict;
    if (!r->batch->ff)
        return PP_OK;
    pp_status status =
        pp_pack_judge(r->with->packer, r->task->lengths, &r->batch->first_fit, &verdict, err);
    if (!status && verdict.short_bytes <= 0)
        answer->first_fit_ns = verdict.step_ns;
    return status;
}

/* Makes the orders of the best recipe again, within the memory that is left now. */
static pp_status retry(replanning *r, pp_err *err)
{
    int64_t makespan;
    attempt_free(&r->best);
    pp_status status = try_recipe(r, r->how, &makespan, err);
    if (status || r->best.makespan == INT64_MAX)
        return status;
    return change_policies(r, ORDERS_END, err);
}

/* True if orders were found that the request allows: a target may want one for all replicas. */
static bool has_orders(const replanning *r)
{
    const pp_packer *packer = r->with->packer;
    return r->best.makespan < INT64_MAX && !(packer->request.one_order && packer->replicas > 1);
}

static pp_status replan(replanning *r, pp_replanned *answer, pp_err *err)
{
    bool fits = false;
    pp_status status = judge_first_fit(r, answer, err);
    if (status || (status = find_orders(r, err)))
        return status;
    const pp_ns limit_ns = answer->first_fit_ns ? answer->first_fit_ns : INT64_MAX;
    for (int k = 0; has_orders(r) && k <= RETRIES; k++) {
        status = plan_found(r, answer, &fits, err);
        if (status || (fits && answer->step_ns <= limit_ns))
            return status;
        if (fits || !answer->plan->prediction)
            break;
        reserve_more(r, answer);
        status = retry(r, err);
        if (status)
            return status;
    }
    if (r->best.makespan < INT64_MAX) {
        status = plan_named(r, &r->best.grouping, answer, &fits, err);
        if (status || (fits && answer->step_ns <= limit_ns))
            return status;
    }
    return answer->first_fit_ns ? plan_surely(r, &r->batch->first_fit, answer, err)
                                : pack_thoroughly(r, answer, err);
}

/* Opens the batch. The failure of first fit shows what is wrong with the lengths; USAGE only means
 * that there is no such packing. */
static pp_status open_batch(pp_pack_case *batch, pp_packer *packer, const pp_pack_task *task,
                            pp_err *err)
{
    pp_err why = pp_err_like(err);
    pp_status status = pp_pack_case_open(batch, packer, task, err);
    if (status)
        return status;
    status = pp_group_first_fit(batch, &batch->first_fit, &why);
    if (status && status != PP_USAGE) {
        *err = why;
        return status;
    }
    batch->ff = status ? 0 : batch->first_fit.microbatches;
    return PP_OK;
}

static pp_status copy_reserve(replanning *r, pp_err *err)
{
    const size_t ranks = (size_t)r->with->packer->candidate.parallel.pp;
    r->reserve = pp_alloc_array(ranks, sizeof *r->reserve);
    if (!r->reserve)
        return pp_err_nomem(err);
    memcpy(r->reserve, r->with->reserve, ranks * sizeof *r->reserve);
    return PP_OK;
}

pp_status pp_replan(pp_replanner *replanner, const pp_replan_task *task,
                    pp_replanned **replanned_out, pp_err *err)
{
    pp_replanned *answer PP_CLEANUP(pp_replanned_free) = pp_alloc_array(1, sizeof *answer);
    pp_pack_case batch PP_CLEANUP(pp_pack_case_free) = { .packer = replanner->packer };
    const pp_pack_task lengths = { .lengths = task->lengths, .count = task->count };
    replanning r PP_CLEANUP(replanning_close) = {
        .with = replanner, .task = task, .batch = &batch, .best.makespan = INT64_MAX
    };
    if (!answer)
        return pp_err_nomem(err);
    pp_status status = open_batch(&batch, replanner->packer, &lengths, err);
    if (status || (status = copy_reserve(&r, err)) || (status = replan(&r, answer, err)))
        return status;
    *replanned_out = answer;
    answer = NULL;
    return PP_OK;
}

/* ---- making one ------------------------------------------------------------------------------ */

static int compare_recipes(const void *left, const void *right)
{
    const recipe *a = left;
    const recipe *b = right;
    if (a->makespan != b->makespan)
        return a->makespan < b->makespan ? -1 : 1;
    return (a->factor > b->factor) - (a->factor < b->factor);
}

static int compare_habits(const void *left, const void *right)
{
    const habit *a = left;
    const habit *b = right;
    if (a->makespan != b->makespan)
        return a->makespan < b->makespan ? -1 : 1;
    return (a->rule > b->rule) - (a->rule < b->rule);
}

/* Runs all rules with all orders of microbatches on a recipe, and keeps the best as habits. Those
 * that take a tenth longer than the best before them are not run to their end. */
static pp_status learn_habits(replanning *r, const recipe *how, pp_err *err)
{
    pp_replanner *w = r->with;
    attempt a PP_CLEANUP(attempt_free) = { .makespan = INT64_MAX };
    pp_dispatch *dispatch PP_CLEANUP(pp_dispatch_free) = NULL;
    pp_policy now PP_CLEANUP(pp_policy_free) = { 0 };
    habit *all PP_CLEANUP(pp_free_array) =
        pp_alloc_array(PP_POLICY_RULES * PP_POLICY_ORDERS, sizeof *all);
    uint32_t *ascending PP_CLEANUP(pp_free_array) = NULL;
    pp_status status = all ? deal(r->batch, how, &a.grouping, err) : pp_err_nomem(err);
    if (status || (status = open_attempt(r, &a, err)))
        return status;
    const pp_order_problem *x = a.replica[0].x;
    int64_t best = INT64_MAX / 2;
    size_t count = 0;
    ascending = pp_alloc_array((size_t)x->microbatches + 1, sizeof *ascending);
    if (!ascending)
        return pp_err_nomem(err);
    if ((status = pp_dispatch_new(x, &dispatch, err)) || (status = pp_policy_new(x, &now, err)))
        return status;
    pp_policy_sort(x, ascending);
    for (int order = 0; order < PP_POLICY_ORDERS; order++) {
        pp_policy_set_order(x, (pp_policy_order)order, ascending, &now);
        for (uint32_t rule = 0; rule < PP_POLICY_RULES; rule++) {
            pp_policy_set_rule(x, rule, (pp_policy_order)order, x->microbatches, &now);
            const int64_t makespan = pp_dispatch_run(dispatch, &now, best + best / 10);
            all[count++] = (habit){ rule, (pp_policy_order)order, makespan };
            best = pp_min(best, makespan);
        }
    }
    qsort(all, count, sizeof *all, compare_habits);
    memcpy(w->habit, all, sizeof w->habit);
    return PP_OK;
}

/* Ranks the recipes by their orders of the typical batch. */
static pp_status learn_recipes(replanning *r, pp_err *err)
{
    pp_replanner *w = r->with;
    pp_status status = PP_OK;
    for (size_t k = 0; k < RECIPES && !status; k++)
        status = try_recipe(r, &w->recipe[k], &w->recipe[k].makespan, err);
    qsort(w->recipe, RECIPES, sizeof *w->recipe, compare_recipes);
    attempt_free(&r->best);
    return status;
}

/* Measures what the framework's buffers take beside the ops, in the pipeline's own schedule. */
static pp_status learn_reserve(replanning *r, const recipe *how, pp_err *err)
{
    pp_replanner *w = r->with;
    pp_search *search = &w->packer->search;
    attempt a PP_CLEANUP(attempt_free) = { .makespan = INT64_MAX };
    pp_order *order PP_CLEANUP(pp_order_free) = NULL;
    pp_candidate c = w->packer->candidate;
    pp_status status = deal(r->batch, how, &a.grouping, err);
    if (status || (status = open_attempt(r, &a, err)))
        return status;
    c.microbatches = a.grouping.microbatches;
    c.group_size = w->packer->request.group_size;
    status = pp_candidate_order(search->problem, &c, a.set.costs[0], &order, err);
    if (status)
        return status;
    const pp_reserved_order of = { .problem = search->problem,
                                   .setup = &search->pool.setup[w->setup],
                                   .candidate = &c,
                                   .costs = a.set.costs[0],
                                   .order = order };
    status = pp_order_reserve_grow(&of, a.replica[0].x, w->reserve, err);
    for (int64_t k = 0; k < w->packer->candidate.parallel.pp; k++) {
        w->reserve[k] += search->problem->memory_limit_bytes / SLACK_PART;
        r->reserve[k] = w->reserve[k];
    }
    return status;
}

/* Learns from the typical batch. Where no order can be searched, packings alone are chosen. */
static pp_status learn(pp_replanner *w, const pp_plan_request *request, pp_err *err)
{
    const pp_pack_task lengths = { .lengths = request->lengths, .count = request->length_count };
    const pp_replan_task task = { .lengths = lengths.lengths, .count = lengths.count };
    pp_pack_case batch PP_CLEANUP(pp_pack_case_free) = { .packer = w->packer };
    replanning r PP_CLEANUP(replanning_close) = {
        .with = w, .task = &task, .batch = &batch, .best.makespan = INT64_MAX
    };
    pp_err why = pp_err_like(err);
    pp_status status = open_batch(&batch, w->packer, &lengths, err);
    if (status || (status = copy_reserve(&r, err)))
        return status;
    const recipe first = { .packing = batch.ff ? PP_PACKING_FIRST_FIT : PP_PACKING_EQUAL,
                           .factor = 1 };
    if ((status = learn_reserve(&r, &first, &why)) || (status = learn_habits(&r, &first, &why)) ||
        (status = learn_recipes(&r, &why)) || (status = learn_habits(&r, &w->recipe[0], &why)) ||
        (status = learn_recipes(&r, &why))) {
        if (status == PP_NOMEM)
            return pp_err_nomem(err);
    }
    return PP_OK;
}

static pp_status find_stage_ranks(pp_replanner *w, pp_err *err)
{
    const pp_cost_context *context = &w->packer->search.pool.setup[w->setup].context;
    const uint32_t ranks = (uint32_t)context->parallel.pp;
    const uint32_t stages = ranks * (uint32_t)context->parallel.vpp;
    w->stage_rank = pp_alloc_array(stages, sizeof *w->stage_rank);
    w->reserve = pp_alloc_array(ranks, sizeof *w->reserve);
    if (!w->stage_rank || !w->reserve)
        return pp_err_nomem(err);
    for (uint32_t s = 0; s < stages; s++)
        w->stage_rank[s] = pp_placement_rank(context->placement, s, ranks);
    return PP_OK;
}

pp_status pp_replanner_new(const pp_plan_request *request, pp_replanner **replanner_out,
                           pp_err *err)
{
    pp_replanner *w PP_CLEANUP(pp_replanner_free) = pp_alloc_array(1, sizeof *w);
    if (!w)
        return pp_err_nomem(err);
    pp_status status = pp_packer_open(request, &w->packer, err);
    if (status)
        return status;
    pp_search *search = &w->packer->search;
    const pp_setup *setup = &search->pool.setup[w->packer->candidate.setup];
    w->setup = w->packer->candidate.setup;
    if (!setup->split && !request->no_split && !setup->context.splits_late) {
        if ((status = pp_search_add_twin(search, w->setup, err)))
            return status;
        w->setup = search->pool.setup_count - 1;
    }
    for (size_t i = 0; i < search->pool.setup_count; i++) { /* as the costs of plans have it */
        search->pool.setup[i].context.pairs_hide = true;
        search->pool.setup[i].context.late_too = !search->pool.setup[i].context.splits_late;
    }
    list_recipes(w->recipe);
    if ((status = find_stage_ranks(w, err)) || (status = learn(w, request, err)))
        return status;
    *replanner_out = w;
    w = NULL;
    return PP_OK;
}
