/* Compares the modules of the last layer, by the bytes that need not be kept per second of their
 * forward, with the whole layer. Megatron-Core recomputes these modules (its recompute_modules). */
#include "sim/cost/modules.h"

#include "sim/cost/gpu_batch.h"
#include "sim/cost/layer.h"
#include "sim/cost/stage_memory.h"

unsigned pp_modules_worth(const pp_cost_context *context)
{
    const pp_model *m = context->model;
    pp_cost_context plain = *context, full = *context;
    pp_unit_cost cost = { 0 };
    unsigned modules = 0;
    if (!pp_model_layer_is_moe(m, m->layers) && m->attention != PP_ATTENTION_MLA)
        return PP_MODULES_CORE;
    plain.switches.recompute = PP_RECOMPUTE_NONE;
    full.switches.recompute = PP_RECOMPUTE_FULL;
    pp_gpu_batch local = pp_gpu_batch_of(&full, 4096, 4096 * 4096);
    local.recipe = pp_recipe_of(context->switches.precision);
    pp_layer_memory(&local, &cost);
    local.context = &plain;
    const double seconds = pp_layer_work(&local).f;
    for (int k = 0; k < PP_MODULES; k++) {
        const double bytes = pp_module_bytes(&local, (pp_recompute_module)k);
        const double price = pp_module_seconds(&local, (pp_recompute_module)k);
        if (k == PP_MODULE_SHARED_EXPERTS && context->switches.moe_shared_expert_overlap)
            continue; /* Megatron-Core does not do both */
        if (k == PP_MODULE_MOE && context->switches.graphs >> PP_GRAPH_ROUTER & 1)
            continue; /* nor these: a graph has the router */
        if (bytes > 0 && price * cost.recompute_bytes * PP_MODULE_WORTH < seconds * bytes)
            modules |= 1U << k;
    }
    return modules ? modules : PP_MODULES_CORE;
}
