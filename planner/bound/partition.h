/* Divides the layers of a model into stages. */
#ifndef PPSIM_PLANNER_BOUND_PARTITION_H
#define PPSIM_PLANNER_BOUND_PARTITION_H

#include "planner/bound/unit_weights.h"

typedef struct pp_partition_params {
    uint32_t ranks, chunks; /* p, v: p * v stages */
    pp_placement placement;
    /* The embedding, and the head with the loss, may be a stage of their own. */
    bool allow_empty_end_stages;
    const double *rank_speed; /* [ranks], by which weights are divided; NULL: all are 1 */
} pp_partition_params;

/* Places every unit of the model once, in order. The heaviest stage is as light as possible
 * (exact). Among those partitions, chunks = 1 takes the one with the least sum of squared stage
 * weights (exact up to 20 bits; above 4 M table entries, the left-packed one), and chunks > 1 takes
 * the one whose heaviest rank is lightest (exact when all layers weigh the same and all ranks are
 * equally fast, otherwise a local optimum). On ties, earlier stages have fewer units. No stage is
 * empty. stages_out: [ranks * chunks]; the caller frees it with free(). Fails: USAGE when there are
 * more stages than units, INPUT when a sum exceeds 64 bits, NOMEM. */
PP_MUST_CHECK pp_status pp_partition_balance(const pp_unit_weights *weights,
                                             const pp_partition_params *split,
                                             pp_stage **stages_out, pp_err *err);

/* Puts equally many layers on every stage, the embedding on the first stage, and MTP modules and
 * the loss on the last. Each `ranks` stages in a row have layers / chunks layers; if these do not
 * divide evenly, the last of these stages have one more, as in ColossalAI. stages_out:
 * [ranks * chunks]; the caller frees it with free(). Fails: USAGE when chunks do not divide the
 * layers, or a stage would be empty; NOMEM. */
PP_MUST_CHECK pp_status pp_partition_uniform(int64_t layers, int64_t mtp, uint32_t ranks,
                                             uint32_t chunks, pp_stage **stages_out, pp_err *err);

/* The times of the heaviest stage and of the heaviest rank. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_partition_heaviest(const pp_unit_weights *weights,
                                              const pp_partition_params *split,
                                              const pp_stage *stages, pp_ns *stage_ns_out,
                                              pp_ns *rank_ns_out, pp_err *err);

#endif
