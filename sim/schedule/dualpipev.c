/* DualPipeV (DeepSeek-AI DualPipe, dualpipev.py; the same as PyTorch ScheduleDualPipeV).
 * a: stage r, b: stage 2p - 1 - r of rank r; (x & y) is a pair that runs overlapped. */
#include "sim/alloc.h"
#include "sim/schedule.h"

#include <inttypes.h>
#include <stdlib.h>

typedef struct filling {
    pp_order *order;
    uint32_t rank;
    uint32_t next[PP_OP_KIND_COUNT][2]; /* microbatch of the next op, by chunk; I and B share I's */
    pp_op *open;                        /* W's that were put off, oldest first: [2m] */
    uint32_t opened, closed;
} filling;

enum { A, B };

static void add(filling *f, pp_op_kind kind, int chunk)
{
    uint32_t j = f->next[kind == PP_OP_B ? PP_OP_I : kind][chunk]++;
    uint32_t stage = chunk == A ? f->rank : f->order->stages - 1 - f->rank;
    pp_order_add(f->order, f->rank, kind, stage, j);
    if (kind == PP_OP_I)
        f->open[f->opened++] = (pp_op){ .microbatch = j, .stage = (uint16_t)stage };
}

static void add_oldest_w(filling *f)
{
    pp_op w = f->open[f->closed++];
    pp_order_add(f->order, f->rank, PP_OP_W, w.stage, w.microbatch);
}

static void add_pair(filling *f, int forward_chunk)
{
    add(f, PP_OP_F, forward_chunk);
    f->order->ops[f->order->rank_begin[f->rank + 1] - 1].paired = 1;
    add(f, PP_OP_B, 1 - forward_chunk);
}

/* r + 1 backwards of both chunks; W's are put off from the middle on. */
static void turn_to_split(filling *f)
{
    uint32_t r = f->rank;
    uint32_t middle = (r + 1) / 2;
    for (uint32_t k = 0; k <= r; k++) {
        bool b_split = k > middle || (k == middle && r % 2 == 1);
        add(f, b_split ? PP_OP_I : PP_OP_B, B);
        add(f, k >= middle ? PP_OP_I : PP_OP_B, A);
    }
}

static void fill_rank(filling *f, uint32_t p, uint32_t m)
{
    uint32_t r = f->rank;
    for (uint32_t k = 0; k < 2 * (p - r - 1); k++)
        add(f, PP_OP_F, A);
    for (uint32_t k = 0; k <= r; k++) {
        add(f, PP_OP_F, A);
        add(f, PP_OP_F, B);
    }
    for (uint32_t k = 0; k < p - r - 1; k++) {
        add(f, PP_OP_I, B);
        add_oldest_w(f);
        add(f, PP_OP_F, B);
    }
    for (uint32_t k = 0; k < m - 2 * p + r + 1; k++) {
        add_pair(f, A);
        if (k == 0 && r == p - 1) /* its first pair runs one half after the other */
            f->order->ops[f->order->rank_begin[r + 1] - 2].paired = 0;
        add_pair(f, B);
    }
    for (uint32_t k = 0; k < p - r - 1; k++) {
        add(f, PP_OP_B, B);
        add_pair(f, B);
    }
    turn_to_split(f);
    for (uint32_t k = 0; k < p - r - 1; k++) {
        add_oldest_w(f);
        add(f, PP_OP_I, A);
    }
    while (f->closed < f->opened)
        add_oldest_w(f);
}

static pp_status dualpipev_build(const pp_shape *shape, pp_order **order_out, pp_err *err)
{
    uint32_t p = shape->ranks;
    uint32_t m = shape->microbatches;
    pp_order *order = NULL;
    if (m < 2 * p)
        return pp_err_set(err, PP_USAGE, "--microbatches",
                          "dualpipev needs m >= 2p, at least 2 microbatches per rank: %" PRIu32
                          " on %" PRIu32 " ranks, not %" PRIu32,
                          2 * p, p, m);
    pp_op *open = pp_alloc_array((size_t)2 * m, sizeof *open);
    if (!open)
        return pp_err_nomem(err);
    pp_status status = pp_order_new(p, 2 * p, m, PP_PLACE_V, (size_t)6 * p * m, &order, err);
    for (uint32_t r = 0; r < p && !status; r++) {
        filling f = { .order = order, .rank = r, .open = open };
        fill_rank(&f, p, m);
    }
    free(open);
    if (!status)
        *order_out = order;
    return status;
}

const pp_schedule pp_schedule_dualpipev = {
    .name = "dualpipev",
    .summary = "forward and backward overlapped in pairs on a V (DeepSeek-AI; PyTorch DualPipeV)",
    .placement = PP_PLACE_V,
    .chunks = 2,
    .splits_backward = true,
    .build = dualpipev_build,
};
