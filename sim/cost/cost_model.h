/* The cost model: makes pp_costs from model, hardware, parallel degrees and data.
 * docs/explanation/cost-model.md has its formulas and sources. */
#ifndef PPSIM_SIM_COST_COST_MODEL_H
#define PPSIM_SIM_COST_COST_MODEL_H

#include "sim/cost/costs.h"
#include "sim/cost/rank_overrides.h"
#include "sim/job/expert_tokens.h"
#include "sim/job/hardware.h"
#include "sim/job/model.h"
#include "sim/job/parallel.h"
#include "sim/job/recompute.h"
#include "sim/job/software.h"
#include "sim/job/stage.h"
#include "sim/job/workload.h"

/* The exchange between GPUs that is a part of ops, by the group in which it takes place; a set is
 * the sum of 1 << kind. */
typedef enum pp_exchange_kind {
    PP_EXCHANGE_TP,
    PP_EXCHANGE_CP,
    PP_EXCHANGE_EP,
    PP_EXCHANGE_KINDS,
} pp_exchange_kind;

/* How many stages of a rank PyTorch's pipeline runtime keeps gathered (max_active_stages). */
#define PP_GATHERED_STAGES 3

typedef struct pp_unit_cache pp_unit_cache; /* sim/cost/unit_cache.h */

/* Everything a cost depends on besides the partition and the data. Pointers are borrowed. */
typedef struct pp_cost_context {
    const pp_model *model;
    const pp_hardware *hardware;
    pp_parallel parallel;
    pp_switches switches;
    pp_placement placement;
    const pp_rank_overrides *overrides; /* for single pipeline ranks; NULL: all are alike */
    bool pairs_hide;     /* costs have what pairs hide, for executors that overlap them */
    bool splits_late;    /* I and W are those of an executor that splits late (framework.h) */
    bool late_too;       /* costs have those of such an executor beside their own */
    bool gathers_all;    /* with zero 3: all stages of a rank stay gathered, not the largest
                            PP_GATHERED_STAGES */
    bool shards_ops;     /* with zero 2 and 3: costs have pp_costs.shards_ops */
    bool links_modelled; /* the executor has ranks wait for exchanges where its framework does */
    unsigned omitted;    /* the kinds of exchange that take no time, to find their share of an op */
    const pp_expert_tokens *expert_tokens; /* the imbalance of each microbatch; NULL: that of the
                                              switches */
    const pp_recompute_table *recomputed;  /* for PP_RECOMPUTE_MICROBATCHES: of the same workload */
    pp_unit_cache *units; /* for contexts that differ at most in vpp, placement and overrides; not
                             shared by threads; NULL: none */
} pp_cost_context;

/* Fails: USAGE when the degrees of parallelism are impossible (tp does not divide the heads, ep
 * does not divide the experts, ...), with the legal values. tp may exceed a node's GPUs; it is slow
 * then. */
PP_MUST_CHECK pp_status pp_cost_context_check(const pp_cost_context *context, pp_err *err);

/* Layers of one kind cost the same: those of one type of the model, each in the precision of the
 * run or, at the ends of the model, in 16 bits. */
enum { PP_LAYER_KINDS = 2 * PP_LAYER_TYPES_MAX };
/* From 0 to PP_LAYER_KINDS - 1: twice the type, plus one at an end. layer: 0-based. */
int pp_layer_kind(const pp_cost_context *context, int64_t layer);

/* One indivisible part of the model. */
typedef enum pp_unit_kind {
    PP_UNIT_EMBEDDING,
    PP_UNIT_LAYER,
    PP_UNIT_MTP,
    PP_UNIT_LOSS
} pp_unit_kind;

/* Cost of one unit for one microbatch on one GPU, in seconds and bytes. The cost of a stage is the
 * sum over its units plus a fixed overhead. */
typedef struct pp_unit_cost {
    double f_s, i_s, w_s; /* recomputation is part of i_s */
    double saved_s;       /* a fused backward takes i_s + w_s - saved_s */
    double hidden_s;      /* by which an overlapped pair is shorter than F and B */
    double again_s;       /* its recomputation once for every op with weights */
    double activation_bytes, stash_bytes, recompute_bytes, logits_bytes;
    double weight_gradient_bytes; /* gradients of the outputs of linear layers and norms */
    double again_bytes;           /* what those recomputations hold after the last of them, */
    double again_once_bytes;      /* and in addition before it */
    double temporary_bytes, output_bytes;
    double parameters;        /* on this GPU, including replicated parts */
    double expert_parameters; /* the part of `parameters` that is sharded over ep */
    double low_parameters;    /* the part of `parameters` that is quantized for its GEMMs */
    double model_flops;       /* forward + backward of the whole model-parallel group, without
                                 recomputation */
} pp_unit_cost;

/* The cost of one unit. layer: 0-based, used for PP_UNIT_LAYER only. tokens and square_sum (of the
 * lengths): of the microbatch, before it is divided by cp.
 * Fails: USAGE, like pp_cost_context_check. */
PP_MUST_CHECK pp_status pp_cost_unit(const pp_cost_context *context, pp_unit_kind kind,
                                     int64_t layer, int64_t tokens, int64_t square_sum,
                                     pp_unit_cost *cost_out, pp_err *err);

/* Makes the costs of one replica (0-based) of `workload`. The end of the step, FLOPs and tokens are
 * those of the whole job. stages: [stage_count].
 * Fails: USAGE, INPUT (a duration overflows), NOMEM. */
PP_MUST_CHECK pp_status pp_cost_model_build(const pp_cost_context *context, const pp_stage *stages,
                                            uint32_t stage_count, const pp_workload *workload,
                                            uint32_t replica, pp_costs **costs_out, pp_err *err);

/* Like pp_cost_model_build, for all replicas; FLOPs and tokens are summed once.
 * costs_out: [workload->replicas]; the caller frees each with pp_costs_free. */
PP_MUST_CHECK pp_status pp_cost_model_build_all(const pp_cost_context *context,
                                                const pp_stage *stages, uint32_t stage_count,
                                                const pp_workload *workload, pp_costs **costs_out,
                                                pp_err *err);

/* Like pp_cost_model_build_all, for padded data; FLOPs and tokens are counted from `real`, the data
 * without padding. */
PP_MUST_CHECK pp_status pp_cost_model_build_padded(const pp_cost_context *context,
                                                   const pp_stage *stages, uint32_t stage_count,
                                                   const pp_workload *padded,
                                                   const pp_workload *real, pp_costs **costs_out,
                                                   pp_err *err);

/* Like pp_cost_model_build, but leaves FLOPs and tokens 0, so that its time does not depend on the
 * number of replicas. */
PP_MUST_CHECK pp_status pp_cost_model_tables(const pp_cost_context *context, const pp_stage *stages,
                                             uint32_t stage_count, const pp_workload *workload,
                                             uint32_t replica, pp_costs **costs_out, pp_err *err);

#endif
