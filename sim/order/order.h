/* For each rank, the order of its compute ops: what schedules generate and schedule files contain.
 */
#ifndef PPSIM_SIM_ORDER_ORDER_H
#define PPSIM_SIM_ORDER_ORDER_H

#include "sim/base/status.h"
#include "sim/job/parallel.h"
#include "sim/order/op.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PP_RANKS_MAX 65535u
#define PP_STAGES_MAX 65535u
#define PP_OPS_MAX (1u << 25)

/* Owner frees with pp_order_free. */
typedef struct pp_order {
    uint32_t ranks, stages, microbatches;
    uint32_t *stage_rank;   /* [stages]: for microbatches below mirrored_from */
    uint32_t mirrored_from; /* from this microbatch on, rank r is replaced by ranks - 1 - r; equal
                               to `microbatches` if there is none (not bidirectional) */
    size_t *rank_begin;     /* [ranks + 1]: index in `ops` of the first op of each rank */
    pp_op *ops;             /* [capacity], rank after rank */
    size_t capacity;
} pp_order;

/* The rank that runs `stage` of `microbatch`. */
static inline uint32_t pp_order_rank(const pp_order *order, uint32_t stage, uint32_t microbatch)
{
    uint32_t rank = order->stage_rank[stage];
    return microbatch < order->mirrored_from ? rank : order->ranks - 1 - rank;
}

/* An order without ops. capacity: the largest number of ops that will be added. Stages are placed
 * by `placement`; if bidirectional, the second half of the microbatches runs on mirrored ranks.
 * Fails: NOMEM; INPUT beyond the limits above. */
PP_MUST_CHECK pp_status pp_order_new(uint32_t ranks, uint32_t stages, uint32_t microbatches,
                                     pp_placement placement, size_t capacity, pp_order **order_out,
                                     pp_err *err);
void pp_order_free(pp_order **order); /* for PP_CLEANUP; *order NULL is fine */

/* Appends an op to `rank`. Fill ranks in ascending order and each one completely. Until
 * pp_order_end, rank_begin[ranks] is the number of ops and rank_begin[rank + 1] the end of the last
 * rank so far. */
static inline void pp_order_add(pp_order *order, uint32_t rank, pp_op_kind kind, uint32_t stage,
                                uint32_t microbatch)
{
    const size_t at = order->rank_begin[order->ranks];
    order->ops[at] =
        (pp_op){ .microbatch = microbatch, .stage = (uint16_t)stage, .kind = (uint8_t)kind };
    order->rank_begin[order->ranks] = at + 1;
    order->rank_begin[rank + 1] = at + 1;
}
/* Ends the filling: later ranks have no ops. Call it once after the last pp_order_add. */
void pp_order_end(pp_order *order);

/* Prints one cell of a schedule row: "3F7", or "(1F2;0B3)OVERLAP_F_B" if the op at `i` is paired
 * with the next. Returns the number of ops printed, 1 or 2. A buffer of 80 bytes suffices. */
size_t pp_cell_print(const pp_order *order, size_t i, char *buffer, size_t size);
/* Parses a cell. Returns the number of ops written to ops_out, or 0 when the text is not a cell. */
size_t pp_cell_parse(const char *text, size_t bytes, pp_op ops_out[2]);

/* Makes the order of `runs` runs of the order, which is not bidirectional, one after the other: run
 * k has its microbatches from k * microbatches on. Fails: INPUT beyond the limits above; NOMEM. */
PP_MUST_CHECK pp_status pp_order_repeat(const pp_order *order, uint32_t runs, pp_order **order_out,
                                        pp_err *err);

/* Finds the placement of the order's stages, LOOP if several match. Returns false if none does. */
bool pp_order_placement(const pp_order *order, pp_placement *placement_out);

/* Returns true if the order contains only forward ops. */
bool pp_order_forward_only(const pp_order *order);
/* Returns true if backwards are of two parts, I and W, for some stage. */
bool pp_order_splits_backward(const pp_order *order);
/* Makes a copy of the order without its I, W and B. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_order_drop_backward(const pp_order *order, pp_order **order_out,
                                               pp_err *err);

/* Fails: INFEASIBLE when a stage is on two ranks (bidirectional). where: what cannot take such an
 * order, for err. */
PP_MUST_CHECK pp_status pp_order_one_rank(const pp_order *order, const char *where, pp_err *err);

bool pp_order_equal(const pp_order *a, const pp_order *b);

#endif
