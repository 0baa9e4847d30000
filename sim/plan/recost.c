/* Runs the cost model on the partition and the data that a plan has. */
#include "sim/plan/recost.h"

#include "sim/base/alloc.h"
#include "sim/base/field.h"

#include <stdlib.h>

static pp_status check(const pp_cost_context *context, const pp_plan *plan, pp_err *err)
{
    int64_t layers = 0;
    if (!plan->partition || !plan->workload.microbatch || !plan->workload.lengths)
        return pp_err_set(
            err, PP_USAGE, NULL,
            "the plan has no %s, so its costs cannot be computed again; make a plan with %s",
            plan->partition ? "sequences" : "partition", pp_err_name(err, PP_FIELD_ASK_PLAN));
    for (int64_t s = 0; s < plan->parallel.pp * plan->parallel.vpp; s++)
        layers += plan->partition[s].layers;
    if (layers == context->model->layers)
        return PP_OK;
    return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_MODEL),
                      "%s has %lld layers, but the plan has %lld; give the model of the plan",
                      context->model->name, (long long)context->model->layers, (long long)layers);
}

/* Computes the costs; with padding, those of the padded data. */
static pp_status build(const pp_cost_context *context, const pp_plan *plan, pp_costs **costs_out,
                       pp_err *err)
{
    const uint32_t stages = (uint32_t)(plan->parallel.pp * plan->parallel.vpp);
    pp_workload padded PP_CLEANUP(pp_workload_free) = { 0 };
    uint32_t distinct = 0;
    if (plan->sizes.kind < PP_SIZES_PADDED)
        return pp_cost_model_build_all(context, plan->partition, stages, &plan->workload, costs_out,
                                       err);
    pp_status status = pp_workload_pad(&plan->sizes, &plan->workload, &padded, &distinct, err);
    return status ? status
                  : pp_cost_model_build_padded(context, plan->partition, stages, &padded,
                                               &plan->workload, costs_out, err);
}

pp_status pp_plan_recost(const pp_cost_context *context, pp_plan *plan, pp_err *err)
{
    pp_status status = check(context, plan, err);
    if (status)
        return status;
    const uint32_t count = plan->workload.replicas;
    pp_costs **costs = pp_alloc_array(count, sizeof(pp_costs *));
    if (!costs)
        return pp_err_nomem(err);
    pp_cost_context own = *context;
    own.recomputed = plan->recomputed.of ? &plan->recomputed : NULL;
    own.pairs_hide = true;
    own.splits_late = false;
    own.late_too = pp_plan_splits_backward(plan);
    own.gathers_all = plan->framework && plan->framework->gathers_all;
    own.shards_ops = plan->framework && plan->framework->shards_ops;
    own.links_modelled = plan->framework && plan->framework->size_protocols;
    if ((status = build(&own, plan, costs, err))) {
        free(costs);
        return status;
    }
    for (uint32_t i = 0; plan->costs && i < plan->costs_count; i++)
        pp_costs_free(&plan->costs[i]);
    free(plan->costs);
    plan->costs = costs;
    plan->costs_count = count;
    return PP_OK;
}
