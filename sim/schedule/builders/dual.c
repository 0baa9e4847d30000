/* Follows the eight steps of DualPipe (DeepSeek-AI, dualpipe.py: step, _forward_chunk,
 * _backward_chunk, _forward_backward_chunk), including the weight gradients that it postpones.
 * Linear in the ops. */
#include "sim/schedule/builders/dual.h"

#include "sim/base/alloc.h"

#include <stdlib.h>

typedef struct filling {
    pp_order *order;
    pp_dual_rank at;
    uint32_t next[PP_OP_KIND_COUNT][2]; /* [kind][phase]: of the next op; B uses I's entry */
    pp_op *open;                        /* [2 * count]: postponed W's, oldest first */
    uint32_t opened, closed;
} filling;

pp_dual_rank pp_dual_v(uint32_t rank, uint32_t ranks, uint32_t microbatches)
{
    return (pp_dual_rank){ .rank = rank,
                           .place = rank,
                           .places = ranks,
                           .count = microbatches,
                           .stage = { rank, 2 * ranks - 1 - rank } };
}

pp_dual_rank pp_dual_directions(uint32_t rank, uint32_t ranks, uint32_t microbatches)
{
    uint32_t mirror = ranks - 1 - rank;
    uint32_t half = microbatches / 2;
    pp_dual_rank at = { .rank = rank, .places = ranks / 2, .count = half };
    if (rank < mirror) {
        at.place = rank;
        at.stage[0] = rank;
        at.stage[1] = mirror;
        at.first[1] = half;
    } else { /* the direction that enters at the last rank comes first */
        at.place = mirror;
        at.stage[0] = mirror;
        at.stage[1] = rank;
        at.first[0] = half;
    }
    return at;
}

static void add(filling *f, pp_op_kind kind, int phase)
{
    uint32_t j = f->at.first[phase] + f->next[kind == PP_OP_B ? PP_OP_I : kind][phase]++;
    uint32_t stage = f->at.stage[phase];
    pp_order_add(f->order, f->at.rank, kind, stage, j);
    if (kind == PP_OP_I)
        f->open[f->opened++] = (pp_op){ .microbatch = j, .stage = (uint16_t)stage };
}

static void add_oldest_w(filling *f)
{
    pp_op w = f->open[f->closed++];
    pp_order_add(f->order, f->at.rank, PP_OP_W, w.stage, w.microbatch);
}

static void add_pair(filling *f, int forward_phase, bool overlaps)
{
    add(f, PP_OP_F, forward_phase);
    f->order->ops[f->order->rank_begin[f->order->ranks] - 1].paired = overlaps;
    add(f, PP_OP_B, 1 - forward_phase);
}

/* Adds place + 1 backwards of each phase. From the middle on, their W ops are deferred. */
static void turn_to_split(filling *f)
{
    uint32_t place = f->at.place;
    uint32_t middle = (place + 1) / 2;
    for (uint32_t k = 0; k <= place; k++) {
        bool split = k > middle || (k == middle && place % 2 == 1);
        add(f, split ? PP_OP_I : PP_OP_B, 1);
        add(f, k >= middle ? PP_OP_I : PP_OP_B, 0);
    }
}

static void fill_rank(filling *f)
{
    uint32_t place = f->at.place;
    uint32_t below = f->at.places - 1 - place;
    for (uint32_t k = 0; k < 2 * below; k++)
        add(f, PP_OP_F, 0);
    for (uint32_t k = 0; k <= place; k++) {
        add(f, PP_OP_F, 0);
        add(f, PP_OP_F, 1);
    }
    for (uint32_t k = 0; k < below; k++) {
        add(f, PP_OP_I, 1);
        add_oldest_w(f);
        add(f, PP_OP_F, 1);
    }
    for (uint32_t k = 0; k < f->at.count - 2 * f->at.places + place + 1; k++) {
        add_pair(f, 0, k > 0 || below > 0); /* farthest from the entry, the first does not
                                               overlap */
        add_pair(f, 1, true);
    }
    for (uint32_t k = 0; k < below; k++) {
        add(f, PP_OP_B, 1);
        add_pair(f, 1, true);
    }
    turn_to_split(f);
    for (uint32_t k = 0; k < below; k++) {
        add_oldest_w(f);
        add(f, PP_OP_I, 0);
    }
    while (f->closed < f->opened)
        add_oldest_w(f);
}

pp_status pp_dual_fill(pp_order *order,
                       pp_dual_rank rank_of(uint32_t rank, uint32_t ranks, uint32_t microbatches),
                       pp_err *err)
{
    pp_op *open = pp_alloc_array((size_t)2 * order->microbatches, sizeof *open);
    if (!open)
        return pp_err_nomem(err);
    for (uint32_t r = 0; r < order->ranks; r++) {
        filling f = { .order = order,
                      .at = rank_of(r, order->ranks, order->microbatches),
                      .open = open };
        fill_rank(&f);
    }
    free(open);
    return PP_OK;
}
