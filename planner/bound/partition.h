/* Which layers make which stage. Units are embedding, layers, MTP modules and head with loss; every
 * unit is placed once, in order. Algorithm and proofs: docs/planning.md. */
#ifndef PPSIM_PLANNER_BOUND_PARTITION_H
#define PPSIM_PLANNER_BOUND_PARTITION_H

#include "sim/base/units.h"
#include "sim/job/job.h"

/* What the partition balances: forward + backward of one average microbatch. */
typedef struct pp_weights {
    int64_t layers, mtp;
    const pp_ns *layer_ns; /* [layers] */
    pp_ns embedding_ns, loss_ns;
    pp_ns mtp_ns;   /* of each module */
    pp_ns stage_ns; /* fixed, per stage */
} pp_weights;

typedef struct pp_partition_params {
    uint32_t ranks, chunks; /* p, v: p * v stages */
    pp_placement placement;
    bool
        allow_empty_end_stages; /* the embedding, and head with loss, may be a stage of their own */
    const double *rank_speed;   /* [ranks], by which weights are divided; NULL: all are 1 */
} pp_partition_params;

/* The heaviest stage is as light as it can be (exact); among those partitions v = 1 takes the one
 * with the least sum of squared stage weights (exact up to 20 bits; above 4 M table entries the
 * left-packed one), v > 1 the one whose heaviest rank is lightest (exact when all layers weigh the
 * same and all ranks are equally fast, otherwise a local optimum). Ties: fewer units on earlier
 * stages. stages_out: [ranks * chunks], the caller's to free(). No stage is empty. Fails: USAGE
 * when there are more stages than units, INPUT when a sum leaves 64 bits, NOMEM. */
PP_MUST_CHECK pp_status pp_partition_balance(const pp_weights *weights,
                                             const pp_partition_params *split,
                                             pp_stage **stages_out, pp_err *err);

/* Equally many layers on every stage; embedding on the first, MTP and loss on the last.
 * Fails: USAGE when it does not divide, with the nearest numbers that do; NOMEM. */
PP_MUST_CHECK pp_status pp_partition_uniform(int64_t layers, int64_t mtp, uint32_t ranks,
                                             uint32_t chunks, pp_stage **stages_out, pp_err *err);

pp_ns pp_partition_stage_ns(const pp_weights *weights, const pp_stage *stage);
/* The heaviest stage and the heaviest rank. */
PP_MUST_CHECK pp_status pp_partition_heaviest(const pp_weights *weights,
                                              const pp_partition_params *split,
                                              const pp_stage *stages, pp_ns *stage_ns_out,
                                              pp_ns *rank_ns_out, pp_err *err);

#endif
