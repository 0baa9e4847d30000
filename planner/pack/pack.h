/* Which sequences of a global batch share a microbatch, which replica gets it, and in what order:
 * judged by the simulated step. Method and measurements: docs/explanation/planning-packing.md.
 */
#ifndef PPSIM_PLANNER_PACK_PACK_H
#define PPSIM_PLANNER_PACK_PACK_H

#include "planner/pack/pack_bound.h"
#include "planner/pack/pack_case.h"
#include "planner/pack/pack_group.h"

/* One way to pack the batch. */
typedef struct pp_pack_row {
    pp_packing_method method; /* for moves and swaps: the method that they began with */
    bool fits;
    uint32_t microbatches; /* per replica; 0: this packing does not exist */
    pp_ns step_ns;         /* 0: not simulated */
    pp_ns mean_step_ns;    /* mean over the replicas; step_ns is that of the slowest one */
    double bubble_fraction;
    int64_t peak_bytes;
    pp_reason reason; /* why it does not fit or exist */
} pp_pack_row;

/* The result for one batch. Owner frees with pp_packed_free. */
typedef struct pp_packed {
    pp_pack_row *row; /* [count]: everything that was tried */
    size_t count, capacity;
    size_t best;          /* the fastest row that fits */
    size_t today;         /* first fit in its own order of microbatches; SIZE_MAX: there is none */
    pp_grouping grouping; /* of the best row */
    pp_pack_bound bound;
    int64_t simulated; /* steps of one replica */
    bool stopped;      /* time ended the moves and swaps */
} pp_packed;

/* Uses no clock: equal tasks give equal answers, unless `stop` ends one earlier. First fit is tried
 * in any case. Fails: USAGE (too few sequences), INPUT (a sequence beyond seq_length), INFEASIBLE
 * (nothing fits), UNDECIDED (nothing did before the time was up), NOMEM. */
PP_MUST_CHECK pp_status pp_pack(pp_packer *packer, const pp_pack_task *task, pp_packed **packed_out,
                                pp_err *err);
void pp_packed_free(pp_packed **packed); /* for PP_CLEANUP; *packed NULL is fine */

#endif
