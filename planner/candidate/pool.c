/* The data, setups and candidates of one search, in arrays that grow. */
#include "planner/candidate/pool.h"

#include "sim/base/alloc.h"

#include <math.h>
#include <stdlib.h>

static void planned_free(pp_planned *planned)
{
    for (uint32_t i = 0; i < planned->count; i++)
        pp_order_free(&planned->order[i]);
    free(planned->order);
    *planned = (pp_planned){ 0 };
}

void pp_pool_free(pp_pool *pool)
{
    for (size_t i = 0; i < pool->data_count; i++) {
        pp_workload_free(&pool->data[i].workload);
        pp_workload_free(&pool->data[i].real);
    }
    for (size_t i = 0; i < pool->setup_count; i++)
        pp_setup_free(&pool->setup[i]);
    for (size_t i = 0; i < pool->planned_count; i++)
        planned_free(&pool->planned[i]);
    free(pool->data);
    free(pool->setup);
    free(pool->candidate);
    free(pool->planned);
    *pool = (pp_pool){ 0 };
}

double pp_pool_least(const pp_pool *pool)
{
    double least = HUGE_VAL;
    for (size_t i = 0; i < pool->setup_count; i++) {
        const pp_setup *setup = &pool->setup[i];
        const pp_candidate on = { .parallel = setup->context.parallel };
        if (setup->legal && setup->bound.fits && !setup->unseen)
            least = fmin(least, pp_candidate_score(&on, setup->least_step_ns));
    }
    return least;
}

pp_status pp_pool_append_setup(pp_pool *pool, pp_setup setup, pp_err *err)
{
    void *grown = pool->setup;
    pp_status status =
        pp_grow(&grown, &pool->setup_capacity, pool->setup_count + 1, sizeof *pool->setup, err);
    if (status) {
        pp_setup_free(&setup);
        return status;
    }
    pool->setup = grown;
    pool->setup[pool->setup_count++] = setup;
    return PP_OK;
}

pp_status pp_pool_costs(const pp_pool *pool, const pp_setup *setup, pp_cost_set *set_out,
                        pp_err *err)
{
    return pp_setup_costs(setup, &pool->data[setup->data], NULL, set_out, err);
}

pp_status pp_pool_add_candidate(pp_pool *pool, const pp_plan_problem *problem,
                                const pp_schedule *schedule, size_t setup_index, pp_err *err)
{
    void *grown = pool->candidate;
    pp_status status =
        pp_grow(&grown, &pool->capacity, pool->count + 1, sizeof *pool->candidate, err);
    if (status)
        return status;
    pool->candidate = grown;
    const pp_setup *setup = &pool->setup[setup_index];
    pp_candidate *c = &pool->candidate[pool->count++];
    bool possible = setup->legal && setup->bound.fits;
    const pp_workload *workload = setup->unseen ? NULL : &pool->data[setup->data].workload;
    *c = (pp_candidate){
        .parallel = setup->context.parallel,
        .micro_batch_size = setup->micro_batch_size,
        .microbatches = workload ? workload->microbatches : 0,
        .group_size = problem->request->group_size,
        .recompute = setup->context.switches.recompute,
        .partition = setup->partition,
        .schedule = schedule,
        .status = possible ? PP_CANDIDATE_NOT_SIMULATED : PP_CANDIDATE_INFEASIBLE,
        .legal = setup->legal,
        .reason = setup->reason,
        .least_step_ns = setup->least_step_ns,
        .bound = setup->bound.part,
        .bound_rank = setup->bound.part_rank[setup->bound.part],
        .short_bytes = setup->short_bytes,
        .peak_rank = setup->short_rank,
        .copies = setup->context.switches.dp_replicate,
        .unshard_lookahead = problem->request->exchange.pytorch.unshard_lookahead,
        .setup = (uint32_t)setup_index,
    };
    if (c->short_bytes) {
        const int64_t own_bytes =
            pp_rank_overrides_memory_bytes(setup->context.overrides, setup->short_rank);
        c->peak_bytes = (own_bytes ? own_bytes : problem->memory_limit_bytes) + c->short_bytes;
    }
    return PP_OK;
}

pp_planned *pp_pool_planned(const pp_pool *pool, size_t index)
{
    for (size_t i = 0; i < pool->planned_count; i++) {
        if (pool->planned[i].candidate == index)
            return &pool->planned[i];
    }
    return NULL;
}
