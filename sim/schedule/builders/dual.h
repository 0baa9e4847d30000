/* The eight steps that DualPipe and DualPipeV share (DeepSeek-AI DualPipe, dualpipe.py and
 * dualpipev.py). Microbatches pass a rank in two phases: through its first stage and its second
 * (DualPipeV), or in the two directions (DualPipe). */
#ifndef PPSIM_SIM_SCHEDULE_BUILDERS_DUAL_H
#define PPSIM_SIM_SCHEDULE_BUILDERS_DUAL_H

#include "sim/order/order.h"

/* What the eight steps need to know about a rank. */
typedef struct pp_dual_rank {
    uint32_t rank;
    uint32_t place, places; /* distance from the entry of phase 0, 0 to places - 1 */
    uint32_t count;         /* microbatches per phase; at least 2 * places */
    uint32_t stage[2];      /* [phase]: the stage that its microbatches pass */
    uint32_t first[2];      /* [phase]: its first microbatch */
} pp_dual_rank;

/* Rank `rank` in a V of `ranks` ranks, and in two directions over an even number of `ranks`. */
pp_dual_rank pp_dual_v(uint32_t rank, uint32_t ranks, uint32_t microbatches);
pp_dual_rank pp_dual_directions(uint32_t rank, uint32_t ranks, uint32_t microbatches);

/* Fills all ranks of an empty order. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_dual_fill(pp_order *order,
                                     pp_dual_rank rank_of(uint32_t rank, uint32_t ranks,
                                                          uint32_t microbatches),
                                     pp_err *err);

#endif
