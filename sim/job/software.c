/* Names of settings of the training software, and the settings of known versions of Megatron-LM. */
#include "sim/job/software.h"

#include "sim/base/field.h"
#include "sim/base/text.h"

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

int64_t pp_dtype_bytes(pp_dtype dtype)
{
    return dtype == PP_DTYPE_FP64 ? 8 : dtype == PP_DTYPE_FP32 ? 4 : 2;
}

/* The settings in Narayanan et al. 2021 (arXiv 2104.04473), in Korthikanti et al. 2022 (arXiv
 * 2205.05198), and in current Megatron-Core. docs/explanation/cost-model.md explains the cost of
 * each. */
static const struct {
    const char *name;
    bool knows_sequence_parallel;
    pp_switches switches;
} stacks[] = {
    {
        .name = "megatron-2021",
        .switches = { .grad_dtype = PP_DTYPE_FP16, .dtype = PP_DTYPE_FP16, .scatter_gather = true },
    },
    {
        .name = "megatron-2022",
        .knows_sequence_parallel = true,
        .switches = { .tp_overlap = true,
                      .fused_wgrad = true,
                      .grad_dtype = PP_DTYPE_FP32,
                      .dtype = PP_DTYPE_FP16,
                      .scatter_gather = true },
    },
    {
        .name = "current",
        .knows_sequence_parallel = true,
        .switches = { .flash_attention = true,
                      .grad_sync_overlap = true,
                      .p2p_overlap = true,
                      .tp_overlap = true,
                      .fused_wgrad = true,
                      .grad_dtype = PP_DTYPE_FP32,
                      .dtype = PP_DTYPE_BF16 },
    },
};

static const char *const stack_names[] = { "megatron-2021", "megatron-2022", "current", NULL };

const char *const *pp_stack_names(void)
{
    return stack_names;
}

pp_status pp_stack_find(const char *name, int64_t tp, pp_switches *switches_out, pp_err *err)
{
    for (size_t i = 0; i < sizeof stacks / sizeof stacks[0]; i++) {
        if (strcmp(stacks[i].name, name) != 0)
            continue;
        *switches_out = stacks[i].switches;
        switches_out->recompute = PP_RECOMPUTE_AUTO;
        switches_out->sequence_parallel = stacks[i].knows_sequence_parallel && tp > 1;
        return PP_OK;
    }
    const char *near = pp_text_nearest(name, stack_names);
    return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_STACK),
                      "unknown stack \"%.64s\"%s%s%s known: megatron-2021, megatron-2022, current",
                      name, near ? ", did you mean " : "", near ? near : "", near ? "?" : ";");
}
