/* Names of settings of the training software. */
#include "sim/job/software.h"

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
