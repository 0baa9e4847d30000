/* What generators emit and schedule files hold: for each rank the order of its compute ops. */
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
#define PP_OPS_MAX (1u << 28)

/* Owner frees with pp_order_free. */
typedef struct pp_order {
    uint32_t ranks, stages, microbatches;
    uint32_t *stage_rank;   /* [stages]; of microbatches below mirrored_from */
    uint32_t mirrored_from; /* from this microbatch on ranks are mirrored; microbatches: none is */
    size_t *rank_begin;     /* [ranks + 1], into ops */
    pp_op *ops; /* [capacity]; rank r: ops[rank_begin[r]] up to ops[rank_begin[r + 1]] */
    size_t capacity;
} pp_order;

/* The rank that runs `stage` of `microbatch`. */
static inline uint32_t pp_order_rank(const pp_order *order, uint32_t stage, uint32_t microbatch)
{
    uint32_t rank = order->stage_rank[stage];
    return microbatch < order->mirrored_from ? rank : order->ranks - 1 - rank;
}

/* All ranks empty. capacity: ops that will be added at most. Stages are placed by `placement`;
 * bidirectional: the second half of the microbatches runs on mirrored ranks.
 * Fails: NOMEM; INPUT beyond the limits above. */
PP_MUST_CHECK pp_status pp_order_new(uint32_t ranks, uint32_t stages, uint32_t microbatches,
                                     pp_placement placement, size_t capacity, pp_order **order_out,
                                     pp_err *err);
void pp_order_free(pp_order **order); /* for PP_CLEANUP; *order NULL is fine */

/* Appends to `rank`; ranks are filled in ascending order, each in one go. */
void pp_order_add(pp_order *order, uint32_t rank, pp_op_kind kind, uint32_t stage,
                  uint32_t microbatch);
/* Ranks after the last one filled become empty; call once after the last pp_order_add. */
void pp_order_end(pp_order *order);

/* One cell of a schedule row: "3F7", or "(1F2;0B3)OVERLAP_F_B" where the op at `i` is paired with
 * the next. Returns the number of ops printed, 1 or 2. A buffer of 80 bytes is enough. */
size_t pp_cell_print(const pp_order *order, size_t i, char *buffer, size_t size);
/* The inverse: 1 or 2 ops into ops_out; 0 when the text is no cell. */
size_t pp_cell_parse(const char *text, size_t bytes, pp_op ops_out[2]);

/* true when the order's map is a named one (loop where several fit). */
bool pp_order_placement(const pp_order *order, pp_placement *placement_out);

/* Has it forwards and nothing else? */
bool pp_order_forward_only(const pp_order *order);
/* The same order without its I, W and B. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_order_drop_backward(const pp_order *order, pp_order **order_out,
                                               pp_err *err);

/* Fails: INFEASIBLE when a stage lives on two ranks (bidirectional), with the way out. where: what
 * cannot take such an order. */
PP_MUST_CHECK pp_status pp_order_one_rank(const pp_order *order, const char *where, pp_err *err);

bool pp_order_equal(const pp_order *a, const pp_order *b);

#endif
