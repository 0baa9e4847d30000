/* ZB-H2 (Qi 2024, arXiv 2401.10241, section 2): 2 (p - r) - 1 forwards before the first backward
 * of rank r, then 2r W's stay open until all I's are run. Holds up to 2p - 1 activations. */
#include "sim/schedule.h"

static void fill_rank(pp_order *order, uint32_t r, uint32_t p, uint32_t m)
{
    uint32_t warmup = 2 * (p - r) - 1 < m ? 2 * (p - r) - 1 : m;
    uint32_t done = 0; /* W's */
    for (uint32_t j = 0; j < warmup; j++)
        pp_order_add(order, r, PP_OP_F, r, j);
    for (uint32_t j = 0; j < m; j++) {
        pp_order_add(order, r, PP_OP_I, r, j);
        if (j + 1 - done > 2 * r)
            pp_order_add(order, r, PP_OP_W, r, done++);
        if (j + warmup < m)
            pp_order_add(order, r, PP_OP_F, r, j + warmup);
    }
    while (done < m)
        pp_order_add(order, r, PP_OP_W, r, done++);
}

static pp_status zb_h2_build(const pp_shape *shape, pp_order **order_out, pp_err *err)
{
    uint32_t p = shape->ranks;
    uint32_t m = shape->microbatches;
    pp_order *order = NULL;
    pp_status status = pp_order_new(p, p, m, PP_PLACE_LOOP, (size_t)3 * p * m, &order, err);
    if (status)
        return status;
    for (uint32_t r = 0; r < p; r++)
        fill_rank(order, r, p, m);
    *order_out = order;
    return PP_OK;
}

const pp_schedule pp_schedule_zb_h2 = {
    .name = "zb-h2",
    .summary = "no bubble at F = I = W, up to 2p - 1 activations per rank (Qi 2024, ZB-H2)",
    .placement = PP_PLACE_LOOP,
    .chunks = 1,
    .splits_backward = true,
    .build = zb_h2_build,
};
