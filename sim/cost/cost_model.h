/* From model, hardware, split and data to pp_costs. Formulas and sources: docs/cost-model.md. */
#ifndef PPSIM_SIM_COST_COST_MODEL_H
#define PPSIM_SIM_COST_COST_MODEL_H

#include "sim/cost/costs.h"
#include "sim/cost/rank_overrides.h"
#include "sim/job/hardware.h"
#include "sim/job/model.h"
#include "sim/job/parallel.h"
#include "sim/job/recompute.h"
#include "sim/job/software.h"
#include "sim/job/stage.h"
#include "sim/job/workload.h"

/* Everything a cost depends on besides the partition and the data. Pointers are borrowed. */
typedef struct pp_cost_context {
    const pp_model *model;
    const pp_hardware *hardware;
    pp_parallel parallel;
    pp_switches switches;
    pp_placement placement;
    const pp_rank_overrides *overrides; /* of single pipeline ranks; NULL: all are alike */
    bool no_collectives; /* inside ops (tp, cp, ep): left out, to find how much of an op they are */
    const pp_recompute_table *recomputed; /* with PP_RECOMPUTE_MICROBATCHES, of the same workload */
} pp_cost_context;

/* Fails: USAGE when the split is impossible (heads not divisible by tp, tp beyond a node's GPUs
 * is allowed but slow, ep not dividing experts, ...), with the legal values. */
PP_MUST_CHECK pp_status pp_cost_context_check(const pp_cost_context *context, pp_err *err);

/* One indivisible part of the model. */
typedef enum pp_unit_kind {
    PP_UNIT_EMBEDDING,
    PP_UNIT_LAYER,
    PP_UNIT_MTP,
    PP_UNIT_LOSS
} pp_unit_kind;

/* Cost of one unit for one microbatch, one GPU. Seconds and bytes; sums over the units of a stage
 * (plus the stage's fixed overhead) give the stage. */
typedef struct pp_unit_cost {
    double f_s, i_s, w_s; /* recomputation is part of i_s */
    double saved_s;       /* a fused backward takes i_s + w_s less this */
    double activation_bytes, stash_bytes, recompute_bytes, logits_bytes;
    double temporary_bytes, output_bytes;
    double parameters;        /* on this GPU, replicated parts included */
    double expert_parameters; /* the part of them that is sharded over ep */
    double model_flops;       /* forward + backward, whole model-parallel group, no recompute */
} pp_unit_cost;

/* layer: used for PP_UNIT_LAYER only.  tokens, square_sum: of the microbatch, before cp. */
PP_MUST_CHECK pp_status pp_cost_unit(const pp_cost_context *context, pp_unit_kind kind,
                                     int64_t layer, int64_t tokens, int64_t square_sum,
                                     pp_unit_cost *cost_out, pp_err *err);

/* Tables for one replica of `workload` (0-based); step boundary, flops and tokens are those of the
 * whole job.  stages: [stage_count].  Fails: USAGE, INPUT (a duration overflows), NOMEM. */
PP_MUST_CHECK pp_status pp_cost_model_build(const pp_cost_context *context, const pp_stage *stages,
                                            uint32_t stage_count, const pp_workload *workload,
                                            uint32_t replica, pp_costs **costs_out, pp_err *err);

/* The same for every replica; flops and tokens are summed once.
 * costs_out: [workload->replicas], each the caller's to free. */
PP_MUST_CHECK pp_status pp_cost_model_build_all(const pp_cost_context *context,
                                                const pp_stage *stages, uint32_t stage_count,
                                                const pp_workload *workload, pp_costs **costs_out,
                                                pp_err *err);

/* The same for padded data, where the step counts the flops and tokens of the `real` ones. */
PP_MUST_CHECK pp_status pp_cost_model_build_padded(const pp_cost_context *context,
                                                   const pp_stage *stages, uint32_t stage_count,
                                                   const pp_workload *padded,
                                                   const pp_workload *real, pp_costs **costs_out,
                                                   pp_err *err);

/* pp_cost_model_build without flops and tokens (0), in time that does not depend on the number of
 * replicas. */
PP_MUST_CHECK pp_status pp_cost_model_tables(const pp_cost_context *context, const pp_stage *stages,
                                             uint32_t stage_count, const pp_workload *workload,
                                             uint32_t replica, pp_costs **costs_out, pp_err *err);

#endif
