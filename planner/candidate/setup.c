/* Costs of one setup, and what they show about the step before anything is simulated. */
#include "planner/candidate/setup.h"

#include "sim/base/alloc.h"

#include <stdlib.h>

void pp_setup_free(pp_setup *setup)
{
    free(setup->stages);
    pp_free_recomputed(&setup->recomputed);
}

void pp_free_recomputed(pp_recompute_table **table)
{
    if (*table)
        pp_recompute_table_free(*table);
    free(*table);
    *table = NULL;
}

void pp_recompute_block(const pp_switches *switches, pp_stage *stages, size_t count)
{
    const int64_t layers =
        switches->recompute == PP_RECOMPUTE_STAGES ? switches->recompute_layers : 0;
    for (size_t s = 0; s < count && layers; s++)
        stages[s].full = layers < stages[s].layers ? layers : stages[s].layers;
}

bool pp_same_stages(const pp_stage *a, const pp_stage *b, size_t count)
{
    for (size_t s = 0; s < count; s++) {
        if (a[s].first_layer != b[s].first_layer || a[s].layers != b[s].layers ||
            a[s].mtp != b[s].mtp || a[s].embedding != b[s].embedding || a[s].loss != b[s].loss ||
            a[s].full != b[s].full || a[s].selective != b[s].selective)
            return false;
    }
    return true;
}

bool pp_setup_costs_alike(const pp_setup *a, const pp_setup *b)
{
    const pp_cost_context *x = &a->context;
    const pp_cost_context *y = &b->context;
    return a->data == b->data && x->placement == y->placement && x->parallel.tp == y->parallel.tp &&
           x->parallel.vpp == y->parallel.vpp && x->switches.recompute == y->switches.recompute &&
           x->recomputed == y->recomputed &&
           pp_same_stages(a->stages, b->stages, (size_t)(x->parallel.pp * x->parallel.vpp));
}

pp_status pp_setup_costs(const pp_setup *setup, const pp_data *data, pp_unit_cache *units,
                         pp_cost_set *set_out, pp_err *err)
{
    pp_cost_context context = setup->context;
    const pp_workload *workload = &data->workload;
    pp_cost_set set PP_CLEANUP(pp_cost_set_free) = {
        .costs = pp_alloc_array(workload->replicas, sizeof *set.costs),
        .count = workload->replicas,
    };
    if (!set.costs)
        return pp_err_nomem(err);
    uint32_t stages = (uint32_t)(setup->context.parallel.pp * setup->context.parallel.vpp);
    context.units = units;
    /* padding trains nothing: throughput counts the real tokens */
    const pp_workload *real = &data->real;
    pp_status status =
        pp_cost_model_build_padded(&context, setup->stages, stages, workload,
                                   real->microbatch ? real : workload, set.costs, err);
    if (status)
        return status;
    *set_out = set;
    set = (pp_cost_set){ 0 };
    return PP_OK;
}

void pp_cost_set_free(pp_cost_set *set)
{
    for (uint32_t i = 0; set->costs && i < set->count; i++)
        pp_costs_free(&set->costs[i]);
    free(set->costs);
    *set = (pp_cost_set){ 0 };
}

/* Finds the least shortfall of a setup in which no order fits. It is that of the rank on which one
 * microbatch alone exceeds the limit by the most. */
static void explain_floor(const pp_plan_problem *problem, const pp_costs *costs,
                          const uint32_t *stage_rank, pp_setup *setup)
{
    for (uint32_t s = 0; s < costs->stages; s++) {
        uint32_t r = stage_rank[s];
        for (uint32_t class = 0; class < costs->classes; class ++) {
            size_t row = (size_t) class * costs->stages + s;
            int64_t bytes[PP_MEMORY_COUNT];
            pp_memory_set_static(costs, r, false, bytes);
            pp_memory_add_unsharded(costs, s, true, bytes);
            bytes[PP_MEMORY_ACTIVATIONS] = costs->activation_bytes[row];
            bytes[PP_MEMORY_RECOMPUTE] = costs->recompute_bytes[row];
            bytes[PP_MEMORY_LOGITS] = costs->logits_bytes[row];
            bytes[PP_MEMORY_TEMPORARIES] = costs->temporary_bytes[row];
            const int64_t sum =
                pp_memory_total(bytes) - pp_costs_limit(costs, r, problem->memory_limit_bytes);
            if (sum <= setup->short_bytes)
                continue;
            setup->short_bytes = sum;
            setup->short_rank = r;
            setup->reason = pp_reason_short(pp_memory_shortage_of(r, sum, bytes));
            setup->reason.shortage.alone = true;
        }
    }
}

/* The bound of any one replica bounds the step, so only two are examined: the one with the most
 * work, and the one with the largest microbatch if that is another. The search simulates all of
 * them. */
typedef struct bounded {
    uint32_t replica[2];
    uint32_t count;
} bounded;

static bounded replicas_to_bound(const pp_workload *workload, const pp_model *model)
{
    /* A dense layer's forward has 24 h^2 FLOPs per token and 4 h per unit of the square sum, which
     * thus counts as 1 / (6 h) tokens. */
    const double tokens_per_square = 1 / (6 * (double)model->hidden);
    double most_work = 0;
    int64_t most_tokens = 0;
    int64_t tokens_of_first = 0; /* the largest microbatch of the replica with the most work */
    bounded list = { .count = 1 };
    for (uint32_t r = 0; r < workload->replicas; r++) {
        const pp_microbatch *list_of_r = workload->microbatch + (size_t)r * workload->microbatches;
        double work = 0;
        int64_t tokens = 0;
        for (uint32_t j = 0; j < workload->microbatches; j++) {
            work += (double)list_of_r[j].tokens;
            work += (double)list_of_r[j].square_sum * tokens_per_square;
            tokens = list_of_r[j].tokens > tokens ? list_of_r[j].tokens : tokens;
        }
        if (work > most_work) {
            most_work = work;
            tokens_of_first = tokens;
            list.replica[0] = r;
        }
        if (tokens > most_tokens) {
            most_tokens = tokens;
            list.replica[1] = r;
        }
    }
    if (tokens_of_first < most_tokens)
        list.count = 2;
    return list;
}

/* The bound of the step is the largest of any replica. */
static void take_bound(const pp_bound *bound, pp_ns boundary_ns, pp_bound *most, pp_ns *step_ns)
{
    const bool fits = most->fits && bound->fits;
    if (bound->ns + boundary_ns > *step_ns) {
        *step_ns = bound->ns + boundary_ns;
        *most = *bound;
    }
    most->fits = fits;
}

static pp_status bound_replica(const pp_plan_problem *problem, const pp_cost_context *context,
                               pp_setup *setup, const pp_workload *workload, uint32_t replica,
                               const uint32_t *stage_rank, pp_err *err)
{
    pp_costs *costs PP_CLEANUP(pp_costs_free) = NULL;
    uint32_t stages = (uint32_t)(setup->context.parallel.pp * setup->context.parallel.vpp);
    pp_bound bound;
    pp_bound twin = { 0 };
    pp_status status =
        pp_cost_model_tables(context, setup->stages, stages, workload, replica, &costs, err);
    if (!status)
        status = pp_bound_makespan(costs, stage_rank, setup->split, problem->memory_limit_bytes,
                                   &bound, err);
    if (!status && setup->twin.wanted)
        status = pp_bound_makespan(costs, stage_rank, !setup->split, problem->memory_limit_bytes,
                                   &twin, err);
    if (status)
        return status;
    const pp_ns boundary_ns = pp_bound_boundary(costs, !problem->request->no_step_sync);
    setup->classes += costs->classes;
    take_bound(&bound, boundary_ns, &setup->bound, &setup->least_step_ns);
    take_bound(&twin, boundary_ns, &setup->twin.bound, &setup->twin.least_step_ns);
    if (!bound.fits)
        explain_floor(problem, costs, stage_rank, setup);
    return PP_OK;
}

pp_status pp_setup_find_bound(pp_setup *setup, const pp_plan_problem *problem, const pp_data *data,
                              pp_unit_cache *units, pp_err *err)
{
    pp_cost_context context = setup->context;
    const pp_parallel *parallel = &context.parallel;
    uint32_t stages = (uint32_t)(parallel->pp * parallel->vpp);
    const pp_workload *workload = &data->workload;
    uint32_t *stage_rank = pp_alloc_array(stages, sizeof *stage_rank);
    if (!stage_rank)
        return pp_err_nomem(err);
    for (uint32_t s = 0; s < stages; s++)
        stage_rank[s] = pp_placement_rank(setup->context.placement, s, (uint32_t)parallel->pp);
    context.units = units;
    bounded list = replicas_to_bound(workload, problem->request->model);
    pp_status status = PP_OK;
    setup->bound.fits = setup->twin.bound.fits = true;
    for (uint32_t i = 0; i < list.count && !status; i++)
        status =
            bound_replica(problem, &context, setup, workload, list.replica[i], stage_rank, err);
    free(stage_rank);
    return status;
}
