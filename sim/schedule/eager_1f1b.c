#include "sim/schedule.h"

/* 1F1B with min(m, 2 (p - 1 - r)) forwards before the first backward, so that a transfer has the
 * time of two ops (Zhuang 2022, arXiv 2211.05322). */
static void fill_rank(pp_order *order, uint32_t r, const pp_shape *shape)
{
    uint32_t m = shape->microbatches;
    uint32_t warmup = 2 * (shape->ranks - 1 - r) < m ? 2 * (shape->ranks - 1 - r) : m;
    for (uint32_t j = 0; j < warmup; j++)
        pp_order_add(order, r, PP_OP_F, r, j);
    for (uint32_t j = 0; j < m; j++) {
        if (j + warmup < m)
            pp_order_add(order, r, PP_OP_F, r, j + warmup);
        pp_order_add(order, r, PP_OP_B, r, j);
    }
}

static pp_status eager_1f1b_build(const pp_shape *shape, pp_order **order_out, pp_err *err)
{
    return pp_schedule_fill(shape, PP_PLACE_LOOP, 2, fill_rank, order_out, err);
}

const pp_schedule pp_schedule_eager_1f1b = {
    .name = "eager-1f1b",
    .summary = "1F1B with up to twice the warm-up, to hide transfers (Zhuang 2022)",
    .placement = PP_PLACE_LOOP,
    .chunks = 1,
    .build = eager_1f1b_build,
};
