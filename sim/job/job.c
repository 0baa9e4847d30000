#include "sim/job/job.h"

#include "sim/base/alloc.h"
#include "sim/base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int64_t pp_parallel_gpus(const pp_parallel *parallel)
{
    return parallel->pp * parallel->tp * parallel->cp * parallel->dp;
}

uint32_t pp_placement_rank(pp_placement placement, uint32_t stage, uint32_t ranks)
{
    uint32_t at = stage % ranks;
    bool backwards = placement == PP_PLACE_V && stage / ranks % 2 == 1;
    return backwards ? ranks - 1 - at : at;
}

bool pp_placement_holds(pp_placement placement, uint32_t stage, uint32_t ranks, uint32_t rank)
{
    uint32_t first = pp_placement_rank(placement, stage, ranks);
    return rank == first || (placement == PP_PLACE_BIDIRECTIONAL && rank == ranks - 1 - first);
}

const char *pp_placement_name(pp_placement placement)
{
    static const char *const names[] = {
        [PP_PLACE_LOOP] = "loop", [PP_PLACE_V] = "v", [PP_PLACE_BIDIRECTIONAL] = "bidirectional"
    };
    return names[placement];
}

const char *const *pp_communicators_names(void)
{
    static const char *const names[] = { "world", "pp", "per-edge", NULL };
    return names;
}

const char *const *pp_recompute_names(void)
{
    static const char *const names[] = { "none",      "selective",      "full", "auto",
                                         "per-stage", "per-microbatch", NULL };
    return names;
}

const char *pp_recompute_name(pp_recompute recompute)
{
    return recompute == PP_RECOMPUTE_UNKNOWN ? "" : pp_recompute_names()[recompute];
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

/* Narayanan et al. 2021 (arXiv 2104.04473), Korthikanti et al. 2022 (arXiv 2205.05198), and what
 * Megatron-Core does today; docs/cost-model.md says what each switch costs. */
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
    return pp_err_set(err, PP_USAGE, "--stack",
                      "unknown stack \"%.64s\"%s%s%s; known: megatron-2021, megatron-2022, current",
                      name, near ? ", did you mean " : "", near ? near : "", near ? "?" : "");
}

static size_t count_of(const pp_recompute_table *table)
{
    return (size_t)table->replicas * table->microbatches * table->stages;
}

pp_status pp_recompute_table_new(uint32_t replicas, uint32_t microbatches, uint32_t stages,
                                 pp_recompute_table *table_out, pp_err *err)
{
    pp_recompute_table made = { .replicas = replicas,
                                .microbatches = microbatches,
                                .stages = stages };
    made.of = pp_alloc_array(count_of(&made), sizeof *made.of);
    if (!made.of)
        return pp_err_nomem(err);
    *table_out = made;
    return PP_OK;
}

void pp_recompute_table_free(pp_recompute_table *table)
{
    free(table->of);
    *table = (pp_recompute_table){ 0 };
}

pp_recomputed *pp_recompute_table_at(const pp_recompute_table *table, uint32_t replica,
                                     uint32_t microbatch)
{
    return &table->of[((size_t)replica * table->microbatches + microbatch) * table->stages];
}

bool pp_recompute_table_alike(const pp_recompute_table *table)
{
    const size_t others = count_of(table) - table->stages;
    return memcmp(table->of, table->of + table->stages, others * sizeof *table->of) == 0;
}

pp_status pp_recompute_table_check(const pp_recompute_table *table, const pp_stage *stages,
                                   uint32_t stage_count, const pp_workload *workload,
                                   uint32_t replica, pp_err *err)
{
    const pp_recompute_table none = { 0 };
    const pp_recompute_table *t = table ? table : &none;
    if (t->replicas != workload->replicas || t->microbatches != workload->microbatches ||
        t->stages != stage_count)
        return pp_err_set(err, PP_USAGE, "--recompute",
                          "is said for %u replicas of %u microbatches on %u stages; there are %u, "
                          "%u and %u",
                          t->replicas, t->microbatches, t->stages, workload->replicas,
                          workload->microbatches, stage_count);
    for (uint32_t j = 0; j < t->microbatches; j++) {
        const pp_recomputed *of = pp_recompute_table_at(t, replica, j);
        for (uint32_t s = 0; s < stage_count; s++) {
            if (of[s].full < 0 || of[s].selective < 0 ||
                (int64_t)of[s].full + of[s].selective > stages[s].layers)
                return pp_err_set(err, PP_INPUT, NULL,
                                  "stage %u recomputes %" PRId32 " + %" PRId32 " of its %" PRId64
                                  " layers for microbatch %u of replica %u",
                                  s, of[s].full, of[s].selective, stages[s].layers, j, replica);
        }
    }
    return PP_OK;
}
