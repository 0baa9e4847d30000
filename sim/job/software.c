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
 * each.
 *
 * ZeRO-1: in both papers every replica holds the whole optimizer state: 2021 measures ZeRO as
 * another system (section 5.2), and figure 1 of 2022 counts it undivided. Current runs divide it:
 * Megatron-Core's --use-distributed-optimizer, DeepSeek-V3's "ZeRO-1 data parallelism" (arXiv
 * 2412.19437, section 3.2), torchtitan's FSDP (arXiv 2410.06511). */
static const struct {
    const char *name;
    pp_stack_features has;
    pp_switches switches;
} stacks[] = {
    {
        .name = "megatron-2021",
        .switches = { .grad_dtype = PP_DTYPE_FP16, .dtype = PP_DTYPE_FP16, .scatter_gather = true },
    },
    {
        .name = "megatron-2022",
        .has = { .sequence_parallel = true, .selective_recompute = true },
        .switches = { .tp_overlap = true,
                      .fused_wgrad = true,
                      .grad_dtype = PP_DTYPE_FP32,
                      .dtype = PP_DTYPE_FP16,
                      .scatter_gather = true },
    },
    {
        .name = "current",
        .has = { .sequence_parallel = true,
                 .distributed_optimizer = true,
                 .context_parallel = true,
                 .expert_parallel = true,
                 .selective_recompute = true,
                 .free_schedules = true },
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

const pp_stack_features *pp_stack_features_of(const char *name)
{
    for (size_t i = 0; i < sizeof stacks / sizeof stacks[0]; i++) {
        if (strcmp(stacks[i].name, name) == 0)
            return &stacks[i].has;
    }
    return NULL;
}

pp_status pp_stack_find(const char *name, const pp_parallel *parallel, pp_switches *switches_out,
                        pp_err *err)
{
    for (size_t i = 0; i < sizeof stacks / sizeof stacks[0]; i++) {
        if (strcmp(stacks[i].name, name) != 0)
            continue;
        *switches_out = stacks[i].switches;
        switches_out->recompute = PP_RECOMPUTE_AUTO;
        switches_out->sequence_parallel = stacks[i].has.sequence_parallel && parallel->tp > 1;
        switches_out->zero = stacks[i].has.distributed_optimizer && parallel->dp * parallel->cp > 1;
        return PP_OK;
    }
    const char *near = pp_text_nearest(name, stack_names);
    return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_STACK),
                      "unknown stack \"%.64s\"%s%s%s known: megatron-2021, megatron-2022, current",
                      name, near ? ", did you mean " : "", near ? near : "", near ? "?" : ";");
}
