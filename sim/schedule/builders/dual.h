/* The eight steps that DualPipe and DualPipeV share (DeepSeek-AI DualPipe, dualpipe.py and
 * dualpipev.py). Microbatches pass a rank in two phases: through its first stage and its second
 * (DualPipeV), or in the two directions (DualPipe). */
#ifndef PPSIM_SIM_SCHEDULE_BUILDERS_DUAL_H
#define PPSIM_SIM_SCHEDULE_BUILDERS_DUAL_H

#include "sim/order/order.h"

/* One rank as the steps see it. */
typedef struct pp_dual_rank {
    uint32_t rank;
    uint32_t place, places; /* from where phase 0 enters (0) to where it turns (places - 1) */
    uint32_t count;         /* microbatches of a phase; at least 2 * places */
    uint32_t stage[2];      /* [phase] */
    uint32_t first[2];      /* [phase]: its first microbatch */
} pp_dual_rank;

/* Rank `rank` of a V over `ranks`; of two directions over `ranks`, an even number. */
pp_dual_rank pp_dual_v(uint32_t rank, uint32_t ranks, uint32_t microbatches);
pp_dual_rank pp_dual_directions(uint32_t rank, uint32_t ranks, uint32_t microbatches);

/* All ranks of `order`, which is empty. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_dual_fill(pp_order *order,
                                     pp_dual_rank rank_of(uint32_t rank, uint32_t ranks,
                                                          uint32_t microbatches),
                                     pp_err *err);

#endif
