/* What one rank of a replica shares with the same rank of the other replicas: the update of the
 * parameters (ZeRO 1), gradients, too (2), or also the parameters themselves (3); with 0 every
 * replica has all. The blocks of a stage (pp_compute.block) are divided into equal parts, one per
 * replica.
 *
 * Gradients of all replicas are summed in the order of the replicas, part by part, so that the sum
 * is that of a sequential run to the bit. */
#ifndef PPSIM_RUNTIME_CORE_SHARDING_H
#define PPSIM_RUNTIME_CORE_SHARDING_H

#include "runtime/core/compute.h"
#include "runtime/core/progress.h"
#include "runtime/core/transport.h"
#include "sim/analysis/memory_change.h"

/* A part of a stage, in the memory of the compute's arrays. */
typedef struct pp_shard {
    char *parameters; /* ZeRO 3: this replica's part; else NULL */
    char *gradients;  /* ZeRO 2 and 3: likewise, once they are reduced */
} pp_shard;

/* The caller sets the fields up to `progress`, and frees with pp_sharding_free. */
typedef struct pp_sharding {
    const pp_transport *transport;
    pp_world *world;
    const pp_compute *compute;
    const pp_compute_work *work; /* has replicas */
    void *worker;
    uint32_t rank;
    pp_progress *progress;
    pp_shard *shard; /* [stages] */
    char *buffer;    /* parts of all replicas */
    char *staged;    /* a block, in the host's memory; NULL: blocks are there themselves */
} pp_sharding;

/* Takes this replica's parts out of the worker, which then holds what ZeRO leaves it. Once per
 * worker. Fails: as pp_compute.take. */
PP_MUST_CHECK pp_status pp_sharding_prepare(pp_sharding *sharding, pp_err *err);
void pp_sharding_free(pp_sharding *sharding); /* before the worker is closed */

/* The following fail as transport and compute. They add what they take and give back to `bytes`.
 *
 * Gathers, frees, or reduces as `mark` says. */
PP_MUST_CHECK pp_status pp_sharding_mark(pp_sharding *sharding, pp_mark mark, uint32_t stage,
                                         int64_t bytes[PP_MEMORY_COUNT], pp_err *err);
/* Makes room for the gradients of the op's stage, if it is the first that needs them. */
PP_MUST_CHECK pp_status pp_sharding_before(pp_sharding *sharding, pp_op op,
                                           int64_t bytes[PP_MEMORY_COUNT], pp_err *err);
/* Ends the step: reduces what is not reduced yet, and updates the parameters. */
PP_MUST_CHECK pp_status pp_sharding_end(pp_sharding *sharding, pp_err *err);
/* After the last step: gathers all parameters and gradients, so that they can be read. */
PP_MUST_CHECK pp_status pp_sharding_restore(pp_sharding *sharding, pp_err *err);

#endif
