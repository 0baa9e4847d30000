/* Names of the kinds of recomputation, and tables of it by replica, microbatch and stage. */
#include "sim/job/recompute.h"

#include "sim/base/alloc.h"
#include "sim/base/field.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *const *pp_recompute_module_names(void)
{
    static const char *const names[] = { "core_attn", "layernorm",      "mla_up_proj", "mlp",
                                         "moe_act",   "shared_experts", "moe",         NULL };
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
        return pp_err_set(
            err, PP_USAGE, pp_err_name(err, PP_FIELD_RECOMPUTE),
            "is for %u replicas of %u microbatches on %u stages, but there are %u, %u and %u",
            t->replicas, t->microbatches, t->stages, workload->replicas, workload->microbatches,
            stage_count);
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
