/* A grid of ranks and slots of unit time with at most one op in each slot, for generators that
 * shift a repeating pattern and do not depend on durations. Chunk a of rank r is stage r, chunk b
 * is stage 2p - 1 - r. */
#ifndef PPSIM_SIM_SCHEDULE_BUILDERS_SLOTS_H
#define PPSIM_SIM_SCHEDULE_BUILDERS_SLOTS_H

#include "sim/order/order.h"
#include "sim/schedule/builders/params.h"

/* Types of ops: the kind and the chunk, in the order in which a microbatch runs them. */
enum { PP_SLOT_FA, PP_SLOT_FB, PP_SLOT_IB, PP_SLOT_IA, PP_SLOT_WB, PP_SLOT_WA, PP_SLOT_TYPES };

typedef struct pp_slots {
    uint32_t ranks, microbatches;
    uint32_t length; /* slots per rank */
    uint32_t *cell;  /* [ranks][length]: 0 is free, otherwise 1 + type * microbatches + j */
    uint32_t *slot;  /* [ranks][PP_SLOT_TYPES][microbatches]: the slot of an op that is placed */
} pp_slots;

/* A grid of free slots. Fails: USAGE when it has more than 2^30 slots, NOMEM. */
PP_MUST_CHECK pp_status pp_slots_new(const pp_schedule_params *params, uint64_t length,
                                     pp_slots **slots_out, pp_err *err);
void pp_slots_free(pp_slots **slots); /* for PP_CLEANUP; *slots NULL is fine */

static inline uint32_t *pp_slots_cell(const pp_slots *slots, uint32_t rank, uint32_t at)
{
    return &slots->cell[(size_t)rank * slots->length + at];
}

/* The entry of `slot` for the op in a cell. */
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

/* Makes the order of the placed ops. fused: I becomes B, and W is omitted. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_slots_order(const pp_slots *slots, bool fused, pp_order **order_out,
                                       pp_err *err);

#endif
