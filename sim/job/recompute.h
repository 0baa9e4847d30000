/* What the backward pass computes again instead of keeping it: of all layers alike, stage by stage,
 * or stage by stage and microbatch by microbatch. */
#ifndef PPSIM_SIM_JOB_RECOMPUTE_H
#define PPSIM_SIM_JOB_RECOMPUTE_H

#include "sim/job/stage.h"
#include "sim/job/workload.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum pp_recompute {
    PP_RECOMPUTE_NONE,
    PP_RECOMPUTE_SELECTIVE,    /* the attention core (Korthikanti 2022) */
    PP_RECOMPUTE_FULL,         /* only the layer's input is kept */
    PP_RECOMPUTE_AUTO,         /* the planner chooses; never reaches the cost model */
    PP_RECOMPUTE_STAGES,       /* each pp_stage says it of its layers */
    PP_RECOMPUTE_MICROBATCHES, /* a pp_recompute_table says it of every microbatch */
    PP_RECOMPUTE_UNKNOWN,      /* of a plan that does not say it; never reaches the cost model */
} pp_recompute;

/* Names of those before UNKNOWN, in their order, ends with NULL: none, selective, full, auto,
 * per-stage, per-microbatch. */
const char *const *pp_recompute_names(void);
/* Of UNKNOWN it is "". */
const char *pp_recompute_name(pp_recompute recompute);

/* What a stage recomputes of one microbatch: so many of its first layers keep only their input, so
 * many after them all but the attention core. */
typedef struct pp_recomputed {
    int32_t full, selective;
} pp_recomputed;

/* Of every replica, microbatch and stage. Owner frees with pp_recompute_table_free. */
typedef struct pp_recompute_table {
    uint32_t replicas, microbatches, stages; /* the first two as the workload has them */
    pp_recomputed *of; /* [(replica * microbatches + microbatch) * stages + stage] */
} pp_recompute_table;

/* No layer of any. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_recompute_table_new(uint32_t replicas, uint32_t microbatches,
                                               uint32_t stages, pp_recompute_table *table_out,
                                               pp_err *err);
void pp_recompute_table_free(pp_recompute_table *table); /* for PP_CLEANUP; all zero is fine */

/* What the stages recompute of one microbatch: [table->stages]. */
pp_recomputed *pp_recompute_table_at(const pp_recompute_table *table, uint32_t replica,
                                     uint32_t microbatch);
/* Is there one column for all microbatches of all replicas? */
bool pp_recompute_table_alike(const pp_recompute_table *table);
/* Fails: USAGE when it has another shape than workload and stages; INPUT when a stage recomputes
 * more layers of a microbatch of `replica` than it has. table: NULL is one of no shape. */
PP_MUST_CHECK pp_status pp_recompute_table_check(const pp_recompute_table *table,
                                                 const pp_stage *stages, uint32_t stage_count,
                                                 const pp_workload *workload, uint32_t replica,
                                                 pp_err *err);

#endif
