/* Activation recomputation: what the backward computes again instead of keeping it. The choice is
 * the same for all layers, or differs by stage, or by stage and microbatch. */
#ifndef PPSIM_SIM_JOB_RECOMPUTE_H
#define PPSIM_SIM_JOB_RECOMPUTE_H

#include "sim/job/stage.h"
#include "sim/job/workload.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum pp_recompute {
    PP_RECOMPUTE_NONE,
    PP_RECOMPUTE_SELECTIVE,    /* some modules of a layer: the attention core (Korthikanti et al.
                                  2022),    or those of a set of pp_recompute_module */
    PP_RECOMPUTE_FULL,         /* everything in a layer; only its input is kept */
    PP_RECOMPUTE_AUTO,         /* the planner chooses; the cost model does not accept it */
    PP_RECOMPUTE_STAGES,       /* each pp_stage says how many of its layers */
    PP_RECOMPUTE_MICROBATCHES, /* a pp_recompute_table says how many layers, per microbatch */
    PP_RECOMPUTE_UNKNOWN,      /* a plan does not state it; the cost model does not accept it */
} pp_recompute;

/* A part of a layer that selective recomputation may recompute. */
typedef enum pp_recompute_module {
    PP_MODULE_CORE_ATTN,
    PP_MODULE_LAYERNORM,   /* the outputs of both norms */
    PP_MODULE_MLA_UP_PROJ, /* queries, keys and values, of what is compressed (MLA) */
    PP_MODULE_MLP,         /* of a dense layer */
    PP_MODULE_MOE_ACT,     /* the activation function of experts */
    PP_MODULE_SHARED_EXPERTS,
    PP_MODULE_MOE, /* of a layer with experts: router, exchange, and all experts */
    PP_MODULES,
} pp_recompute_module;

/* A set of modules has the bit 1 << module of each. */
#define PP_MODULES_CORE (1U << PP_MODULE_CORE_ATTN)

/* Megatron-Core's names (recompute_modules): "core_attn", "layernorm", "mla_up_proj", "mlp",
 * "moe_act", "shared_experts", "moe", NULL; a name's index is its module. */
const char *const *pp_recompute_module_names(void);

/* The names of all values but UNKNOWN, in their order, ends with NULL: none, selective, full, auto,
 * per-stage, per-microbatch. */
const char *const *pp_recompute_names(void);
/* The name of a value; "" for UNKNOWN. */
const char *pp_recompute_name(pp_recompute recompute);

/* What a stage recomputes for one microbatch: everything in its first `full` layers, and the
 * attention core in the next `selective` ones. */
typedef struct pp_recomputed {
    int32_t full, selective;
} pp_recomputed;

/* What is recomputed, by replica, microbatch and stage. Owner frees with pp_recompute_table_free.
 */
typedef struct pp_recompute_table {
    uint32_t replicas, microbatches, stages; /* the first two are those of the workload */
    pp_recomputed *of; /* [(replica * microbatches + microbatch) * stages + stage] */
} pp_recompute_table;

/* A table in which nothing is recomputed. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_recompute_table_new(uint32_t replicas, uint32_t microbatches,
                                               uint32_t stages, pp_recompute_table *table_out,
                                               pp_err *err);
void pp_recompute_table_free(pp_recompute_table *table); /* for PP_CLEANUP; all zero is fine */

/* The entries of one microbatch: [table->stages]. They belong to the table and may be changed. */
pp_recomputed *pp_recompute_table_at(const pp_recompute_table *table, uint32_t replica,
                                     uint32_t microbatch);
/* Returns true if all microbatches of all replicas have the same entries. */
bool pp_recompute_table_alike(const pp_recompute_table *table);
/* Fails: USAGE when the table is NULL or its sizes are not those of workload and stages; INPUT when
 * a stage recomputes more layers than it has for a microbatch of `replica`. */
PP_MUST_CHECK pp_status pp_recompute_table_check(const pp_recompute_table *table,
                                                 const pp_stage *stages, uint32_t stage_count,
                                                 const pp_workload *workload, uint32_t replica,
                                                 pp_err *err);

#endif
