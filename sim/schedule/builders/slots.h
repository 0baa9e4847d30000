/* Ops on a grid of ranks and unit slots, at most one op in each: for the generators that shift a
 * repeating pattern, whatever the durations. a: stage r, b: stage 2p - 1 - r of rank r. */
#ifndef PPSIM_SIM_SCHEDULE_BUILDERS_SLOTS_H
#define PPSIM_SIM_SCHEDULE_BUILDERS_SLOTS_H

#include "sim/order/order.h"
#include "sim/schedule/builders/params.h"

/* In the order in which a microbatch meets them; the backward of a chunk is I. */
enum { PP_SLOT_FA, PP_SLOT_FB, PP_SLOT_IB, PP_SLOT_IA, PP_SLOT_WB, PP_SLOT_WA, PP_SLOT_TYPES };

typedef struct pp_slots {
    uint32_t ranks, microbatches;
    uint32_t length; /* slots per rank */
    uint32_t *cell;  /* [ranks][length]: 0 is free, otherwise 1 + type * microbatches + j */
    uint32_t *slot;  /* [ranks][PP_SLOT_TYPES][microbatches]: where the op is, when it is placed */
} pp_slots;

/* All slots free. Fails: USAGE when the grid has more than 2^30 slots, NOMEM. */
PP_MUST_CHECK pp_status pp_slots_new(const pp_schedule_params *params, uint64_t length,
                                     pp_slots **slots_out, pp_err *err);
void pp_slots_free(pp_slots **slots); /* for PP_CLEANUP; *slots NULL is fine */

static inline uint32_t *pp_slots_cell(const pp_slots *slots, uint32_t rank, uint32_t at)
{
    return &slots->cell[(size_t)rank * slots->length + at];
}

/* Of the op that a cell holds. */
static inline uint32_t *pp_slots_slot(const pp_slots *slots, uint32_t rank, uint32_t cell)
{
    return &slots->slot[(size_t)rank * PP_SLOT_TYPES * slots->microbatches + cell - 1];
}

static inline uint32_t pp_slots_op(const pp_slots *slots, uint32_t type, uint32_t microbatch)
{
    return 1 + type * slots->microbatches + microbatch;
}

void pp_slots_put(pp_slots *slots, uint32_t rank, uint32_t at, uint32_t op);
void pp_slots_move(pp_slots *slots, uint32_t rank, uint32_t from, uint32_t to);

/* The orders of all ranks. fused: I becomes B, W is left out. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_slots_order(const pp_slots *slots, bool fused, pp_order **order_out,
                                       pp_err *err);

#endif
