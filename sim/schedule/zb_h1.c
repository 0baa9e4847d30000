/* ZB-H1 (Qi et al. 2024, arXiv 2401.10241, section 2): the order of 1F1B with the backward split
 * into I and W. As long as there are forwards, rank r keeps r W's open; then one W follows every I.
 * It needs the memory of 1F1B. */
#include "sim/schedule/builders/fill.h"
#include "sim/schedule/schedule.h"

static void fill_rank(pp_order *order, uint32_t r, const pp_schedule_params *params)
{
    uint32_t p = params->ranks;
    uint32_t m = params->microbatches;
    uint32_t warmup = p - 1 - r < m ? p - 1 - r : m;
    uint32_t done = 0; /* W's */
    for (uint32_t j = 0; j < warmup; j++)
        pp_order_add(order, r, PP_OP_F, r, j);
    for (uint32_t j = 0; j < m; j++) {
        bool steady = j + warmup < m;
        if (steady)
            pp_order_add(order, r, PP_OP_F, r, j + warmup);
        pp_order_add(order, r, PP_OP_I, r, j);
        if (!steady || j + 1 - done > r)
            pp_order_add(order, r, PP_OP_W, r, done++);
    }
    while (done < m)
        pp_order_add(order, r, PP_OP_W, r, done++);
}

static pp_status zb_h1_build(const pp_schedule_params *params, pp_order **order_out, pp_err *err)
{
    return pp_schedule_fill(params, PP_PLACE_LOOP, 3, fill_rank, order_out, err);
}

const pp_schedule pp_schedule_zb_h1 = {
    .name = "zb-h1",
    .summary = "1F1B with each backward split into input and weight parts, in the memory of 1F1B "
               "(Qi 2024, ZB-H1)",
    .placement = PP_PLACE_LOOP,
    .chunks = 1,
    .splits_backward = true,
    .build = zb_h1_build,
};
