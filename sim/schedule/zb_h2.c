/* ZB-H2 (Qi et al. 2024, arXiv 2401.10241, section 2): rank r runs 2 (p - r) - 1 forwards before
 * its first backward, and then keeps 2r W's open until all I's have run. It holds up to 2p - 1
 * activations. */
#include "sim/schedule/builders/fill.h"
#include "sim/schedule/schedule.h"

static void fill_rank(pp_order *order, uint32_t r, const pp_schedule_params *params)
{
    uint32_t p = params->ranks;
    uint32_t m = params->microbatches;
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

static pp_status zb_h2_build(const pp_schedule_params *params, pp_order **order_out, pp_err *err)
{
    return pp_schedule_fill(params, PP_PLACE_LOOP, 3, fill_rank, order_out, err);
}

const pp_schedule pp_schedule_zb_h2 = {
    .name = "zb-h2",
    .summary = "has no bubble if F, I and W take equally long, with up to 2p - 1 activations per "
               "rank (Qi 2024, ZB-H2)",
    .placement = PP_PLACE_LOOP,
    .chunks = 1,
    .splits_backward = true,
    .build = zb_h2_build,
};
