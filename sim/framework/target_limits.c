/* What a target does not have, in words. */
#include "sim/framework/target_limits.h"

#include "sim/base/field.h"
#include "sim/base/text.h"

pp_status pp_target_check_precision(const pp_target_limits *target, pp_precision precision,
                                    bool low_parameters, bool experts, pp_status refusal,
                                    const char *what, pp_err *err)
{
    pp_text known PP_CLEANUP(pp_text_free) = { 0 };
    const unsigned set = target->precisions | (experts ? 0 : target->dense_precisions);
    if (precision == PP_PRECISION_BF16)
        return PP_OK;
    if (set >> precision & 1)
        return low_parameters && !target->low_parameters
                   ? pp_err_set(err, refusal, what,
                                "target %s keeps weights in 16 bits, and quantizes them for each "
                                "product; plan with %s off",
                                target->name, pp_err_name(err, PP_FIELD_LOW_PARAMETERS))
                   : PP_OK;
    for (int k = PP_PRECISION_BF16 + 1; k < PP_PRECISIONS; k++) {
        if (set >> k & 1)
            pp_text_add(&known, ", %s", pp_recipe_of((pp_precision)k)->name);
    }
    if (experts && target->dense_precisions >> precision & 1)
        return pp_err_set(err, refusal, what,
                          "target %s leaves experts in 16 bits with %s; it takes models with "
                          "experts in bf16%s",
                          target->name, pp_recipe_of(precision)->name,
                          known.data ? known.data : "");
    return pp_err_set(err, refusal, what, "target %s takes %sbf16%s, not %s: %s", target->name,
                      experts ? "models with experts in " : "", known.data ? known.data : "",
                      pp_recipe_of(precision)->name, target->no_precision);
}

pp_status pp_target_check_state(const pp_target_limits *target, pp_dtype grad_dtype,
                                pp_moments moments, pp_status refusal, const char *what,
                                pp_err *err)
{
    if (!target->no_low_state || (grad_dtype != PP_DTYPE_BF16 && moments == PP_MOMENTS_FP32))
        return PP_OK;
    return pp_err_set(err, refusal, what, "target %s keeps gradients and optimizer in fp32: %s",
                      target->name, target->no_low_state);
}

pp_status pp_target_check_cp_comm(const pp_target_limits *target, pp_cp_comm kind,
                                  pp_status refusal, const char *what, pp_err *err)
{
    if (!target->no_cp_heads || kind == PP_CP_COMM_RING || kind == PP_CP_COMM_ALL_GATHER)
        return PP_OK;
    return pp_err_set(err, refusal, what,
                      "target %s has ring and all-gather for context parallelism, not %s",
                      target->name, pp_cp_comm_names()[kind]);
}

pp_status pp_target_check_dispatcher(const pp_target_limits *target, pp_dispatcher kind,
                                     pp_status refusal, const char *what, pp_err *err)
{
    pp_text known PP_CLEANUP(pp_text_free) = { 0 };
    if (target->dispatchers >> kind & 1)
        return PP_OK;
    for (int k = 0; pp_dispatcher_names()[k]; k++) {
        if (target->dispatchers >> k & 1)
            pp_text_add(&known, "%s%s", known.data ? ", " : "", pp_dispatcher_names()[k]);
    }
    return pp_err_set(err, refusal, what, "target %s has the dispatchers %s, not %s", target->name,
                      known.data ? known.data : "", pp_dispatcher_names()[kind]);
}

pp_status pp_target_check_told(const pp_target_limits *target, bool on, bool told,
                               const char *words, pp_status refusal, const char *what, pp_err *err)
{
    if (!on || told)
        return PP_OK;
    return pp_err_set(err, refusal, what, "target %s cannot be told to %s", target->name, words);
}

pp_status pp_target_check_graphs(const pp_target_limits *target, unsigned graphs, bool experts,
                                 bool pads, pp_status refusal, const char *what, pp_err *err)
{
    const char *option = pp_err_name(err, PP_FIELD_CUDA_GRAPHS);
    if (graphs && !target->cuda_graphs)
        return pp_err_set(err, refusal, what,
                          "target %s cannot be told to capture CUDA graphs; plan with %s off",
                          target->name, option);
    if (!(graphs & PP_GRAPHS_FULL) || !experts || pads || !target->full_graphs_pad)
        return PP_OK;
    return pp_err_set(err, refusal, what,
                      "target %s captures experts only if each has as many rows; add %s and %s on, "
                      "or plan with %s off or attn,moe_router",
                      target->name, pp_err_name(err, PP_FIELD_CAPACITY),
                      pp_err_name(err, PP_FIELD_PADS), option);
}
