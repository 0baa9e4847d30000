#include "sim/schedule.h"

static pp_status gpipe_build(const pp_shape *shape, pp_order **order_out, pp_err *err)
{
    uint32_t p = shape->ranks;
    uint32_t m = shape->microbatches;
    pp_order *order = NULL;
    pp_status status = pp_order_new(p, p, m, PP_PLACE_LOOP, (size_t)2 * p * m, &order, err);
    if (status)
        return status;
    for (uint32_t r = 0; r < p; r++) {
        for (uint32_t j = 0; j < m; j++)
            pp_order_add(order, r, PP_OP_F, r, j);
        for (uint32_t j = 0; j < m; j++)
            pp_order_add(order, r, PP_OP_B, r, j);
    }
    *order_out = order;
    return PP_OK;
}

const pp_schedule pp_schedule_gpipe = {
    .name = "gpipe",
    .summary = "all forwards, then all backwards (Huang 2019; PyTorch ScheduleGPipe)",
    .placement = PP_PLACE_LOOP,
    .chunks = 1,
    .build = gpipe_build,
};
