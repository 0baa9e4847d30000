/* Names of settings of the training software. */
#include "sim/job/software.h"

#include "sim/base/field.h"
#include "sim/base/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *const *pp_communicators_names(void)
{
    static const char *const names[] = { "world", "pp", "per-edge", NULL };
    return names;
}

const char *const *pp_p2p_names(void)
{
    static const char *const names[] = { "send-recv", "all-gather", "all-reduce", NULL };
    return names;
}

const char *const *pp_cp_comm_names(void)
{
    static const char *const names[] = { "ring", "all-to-all", "all-gather", "hierarchical", NULL };
    return names;
}

const char *const *pp_dispatcher_names(void)
{
    static const char *const names[] = { "alltoall",  "allgather", "deepep",
                                         "deepep-ll", "hybridep",  NULL };
    return names;
}

bool pp_dispatcher_has_fp8(pp_dispatcher kind)
{
    return kind == PP_DISPATCHER_DEEPEP || kind == PP_DISPATCHER_DEEPEP_LL ||
           kind == PP_DISPATCHER_HYBRIDEP;
}

const char *const *pp_dtype_names(void)
{
    static const char *const names[] = { "bf16", "fp16", "fp32", NULL };
    return names;
}

const char *const *pp_moments_names(void)
{
    static const char *const names[] = { "fp32", "bf16", "fp16", "fp8", NULL };
    return names;
}

double pp_moment_bytes(pp_moments moments)
{
    return moments == PP_MOMENTS_FP32 ? 4 : moments == PP_MOMENTS_FP8 ? 1 : 2;
}

int64_t pp_dtype_bytes(pp_dtype dtype)
{
    return dtype == PP_DTYPE_FP64 ? 8 : dtype == PP_DTYPE_FP32 ? 4 : 2;
}

double pp_weight_bytes(const pp_switches *switches)
{
    const pp_recipe *recipe = pp_recipe_of(switches->precision);
    const double plain = (double)pp_dtype_bytes(switches->dtype);
    return recipe->format ? 2 * recipe->element_bytes + (switches->low_parameters ? 0 : plain)
                          : plain;
}

/* OptimizerConfig.store_param_remainders (megatron/core/optimizer/optimizer_config.py). */
double pp_optimizer_bytes(const pp_switches *switches)
{
    const bool remainders = switches->moments != PP_MOMENTS_FP32 &&
                            switches->dtype == PP_DTYPE_BF16 && !switches->low_parameters;
    return (remainders ? 2 : 4) + 2 * pp_moment_bytes(switches->moments);
}

pp_status pp_reshard_parse(const char *text, int64_t *reshard_out, pp_err *err)
{
    int64_t gpus = 0;
    if (strcmp(text, "never") == 0 || strcmp(text, "always") == 0)
        gpus = *text == 'n' ? PP_RESHARD_NEVER : PP_RESHARD_ALWAYS;
    else if (pp_parse_int(text, NULL, 2, 1 << 20, &gpus, NULL))
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_RESHARD),
                          "'%.40s' is neither never nor always nor a number of GPUs, 2 or more",
                          text);
    *reshard_out = gpus;
    return PP_OK;
}

const char *pp_reshard_print(int64_t reshard, char *buffer, size_t size)
{
    if (reshard > 0)
        snprintf(buffer, size, "%" PRId64, reshard);
    else
        snprintf(buffer, size, "%s", reshard == PP_RESHARD_ALWAYS ? "always" : "never");
    return buffer;
}
