/* Chooses the pipeline that batches are packed for: the one that a search finds for the first batch
 * or, of several pipelines that are nearly as good, the one that takes least for all batches, each
 * packed coarsely. */
#include "planner/study/pack_pipeline.h"

#include "planner/candidate/budget.h"
#include "planner/search/search.h"
#include "planner/study/plan_one.h"
#include "planner/study/repair.h"
#include "sim/base/field.h"

#include <math.h>
#include <string.h>

/* The most pipelines that are compared, and how far they may be behind the best one for the first
 * batch. */
enum { PIPELINES_MOST = 4 };
#define BEHIND_MOST 1.05

/* The most ops simulated for a batch while pipelines are compared. */
#define OPS_MOST 200000

pp_plan_request pp_request_pipeline(const pp_plan_request *request, const pp_candidate *c)
{
    pp_plan_request one = *request;
    one.packings = NULL;
    one.group_end = NULL;
    one.group_count = 0;
    one.orders = PP_ORDERS_NAMED;
    one.jitter = NULL;
    one.found = NULL;
    one.missed = NULL;
    one.no_advice = true;
    if (!c) {
        one.micro_batch_size = one.micro_batch_size ? one.micro_batch_size : 1;
        return one;
    }
    one.stop = NULL; /* one pipeline is a few simulations */
    one.spent = NULL;
    one.max_simulations = 0;
    one.parallel = c->parallel;
    one.micro_batch_size = c->micro_batch_size;
    one.schedule = c->schedule;
    one.group_size = 0;
    one.switches.given.recompute = true;
    one.switches.value.recompute =
        c->recompute == PP_RECOMPUTE_MICROBATCHES ? PP_RECOMPUTE_STAGES : c->recompute;
    if (c->partition != PP_PARTITION_SHIFTED) /* the search finds shifted layers again */
        one.partition = c->partition;
    return one;
}

/* The candidate that exceeds the memory limit by the least. First fit does not fit, but smaller
 * microbatches may. */
static size_t nearest_miss(const pp_pool *pool)
{
    size_t nearest = SIZE_MAX;
    for (size_t i = 0; i < pool->count; i++) {
        const pp_candidate *c = &pool->candidate[i];
        if (c->legal && !pool->setup[c->setup].unseen &&
            (nearest == SIZE_MAX || c->short_bytes < pool->candidate[nearest].short_bytes))
            nearest = i;
    }
    return nearest;
}

pp_status pp_packer_open(const pp_plan_request *request, pp_packer **packer_out, pp_err *err)
{
    pp_search search PP_CLEANUP(pp_search_close) = { 0 };
    pp_plan_request one = *request;
    size_t best = SIZE_MAX;
    one.recompute_constant = true; /* the microbatches will be others */
    pp_status status = pp_search_solve(&search, &one, &best, err);
    if (status)
        return status;
    const bool tight = best == SIZE_MAX;
    if (tight && (best = nearest_miss(&search.pool)) == SIZE_MAX)
        return pp_search_repair(&search, err);
    return pp_packer_new(&search, &one, best, tight, packer_out, err);
}

/* The request that the pipeline was chosen for, with the budget of another one: its own was a part
 * that is used up. */
static pp_plan_request with_budget_of(const pp_plan_request *request, const pp_plan_request *other)
{
    pp_plan_request one = *request;
    one.max_simulations = other->max_simulations;
    one.stop = other->stop;
    one.spent = other->spent;
    one.budget_s = other->budget_s;
    one.found = NULL;
    one.missed = NULL;
    one.context = other->context;
    return one;
}

pp_status pp_pack_advised(pp_packer *packer, const pp_plan_request *budget,
                          const pp_pack_task *task, pp_packed **packed_out, pp_err *err)
{
    pp_search_result *fits PP_CLEANUP(pp_search_result_free) = NULL;
    pp_err why = pp_err_like(err);
    pp_status status = pp_pack(packer, task, packed_out, &why);
    if (status == PP_INFEASIBLE && packer->tight && !packer->request.no_advice) {
        const pp_plan_request one = with_budget_of(&packer->request, budget);
        const pp_status advice = pp_plan_one(&one, &fits, err);
        if (advice == PP_UNDECIDED)
            return pp_err_set(err, PP_UNDECIDED, pp_err_name(err, PP_FIELD_BUDGET),
                              "%.300s; the budget ended before other pipelines were looked at; "
                              "increase it",
                              why.text);
        if (advice)
            return advice;
    }
    if (status)
        *err = why;
    return status;
}

/* The score of all batches together, packed coarsely; HUGE_VAL if one does not fit, or if the time
 * of the request is up. */
static pp_status total_of(const pp_plan_request *request, pp_packer *packer,
                          const pp_pack_batches *batches, double *total_out, pp_err *err)
{
    pp_pack_task task = { .count = batches->size, .coarse = true, .ops_most = OPS_MOST };
    memcpy(task.packings, batches->packings, sizeof task.packings);
    *total_out = 0;
    for (size_t k = 0; k < batches->count; k++) {
        pp_packed *packed PP_CLEANUP(pp_packed_free) = NULL;
        pp_err why = pp_err_like(err);
        task.lengths = batches->lengths + k * batches->size;
        pp_status status = pp_pack_advised(packer, request, &task, &packed, &why);
        if (status == PP_INFEASIBLE || (!status && pp_budget_time_is_up(request))) {
            *total_out = HUGE_VAL;
            return PP_OK;
        }
        if (status) {
            *err = why;
            return status;
        }
        *total_out += pp_candidate_score(&packer->candidate, packed->row[packed->best].step_ns);
    }
    return PP_OK;
}

static bool comes_before(const pp_candidate *a, const pp_candidate *b)
{
    const double x = pp_candidate_score(a, a->step_ns);
    const double y = pp_candidate_score(b, b->step_ns);
    return x != y ? x < y : a < b;
}

/* The next best named candidate after `last`; NULL if none is close enough to the first. */
static const pp_candidate *next_best(const pp_pool *pool, const pp_candidate *last, double first)
{
    const pp_candidate *next = NULL;
    for (size_t i = 0; i < pool->count; i++) {
        const pp_candidate *c = &pool->candidate[i];
        if (c->status == PP_CANDIDATE_OK && pp_candidate_is_named(c) &&
            (!last || comes_before(last, c)) && (!next || comes_before(c, next)))
            next = c;
    }
    return next && pp_candidate_score(next, next->step_ns) <= BEHIND_MOST * first ? next : NULL;
}

static void swap_packers(pp_packer **a, pp_packer **b)
{
    pp_packer *kept = *a;
    *a = *b;
    *b = kept;
}

pp_status pp_packer_open_for(const pp_plan_request *request, const pp_pack_batches *batches,
                             pp_packer **packer_out, pp_err *err)
{
    pp_packer *all PP_CLEANUP(pp_packer_close) = NULL;
    pp_packer *best PP_CLEANUP(pp_packer_close) = NULL;
    double least = HUGE_VAL;
    pp_status status = pp_packer_open(request, &all, err);
    if (status)
        return status;
    const double first = pp_candidate_score(&all->candidate, all->candidate.step_ns);
    const pp_candidate *c = NULL;
    for (int k = 0; k < PIPELINES_MOST && batches->count > 1 && !all->tight; k++) {
        pp_packer *one PP_CLEANUP(pp_packer_close) = NULL;
        double total;
        if (pp_budget_time_is_up(request) || !(c = next_best(&all->search.pool, c, first)))
            break;
        const pp_plan_request pipeline = pp_request_pipeline(request, c);
        if ((status = pp_packer_open(&pipeline, &one, err)) ||
            (status = total_of(request, one, batches, &total, err)))
            return status;
        if (total < least) {
            least = total;
            swap_packers(&best, &one);
        }
    }
    swap_packers(best ? &best : &all, packer_out);
    return PP_OK;
}
