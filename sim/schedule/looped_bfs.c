/* Breadth-first pipeline parallelism (Lamy-Poirier 2023, arXiv 2211.05953; PyTorch
 * ScheduleLoopedBFS): rank r runs all microbatches through its first stage, then through its
 * next, and backwards in the reverse order. */
#include "sim/schedule/schedule.h"

static pp_status looped_bfs_build(const pp_schedule_params *params, pp_order **order_out,
                                  pp_err *err)
{
    uint32_t p = params->ranks;
    uint32_t v = params->chunks;
    uint32_t m = params->microbatches;
    pp_order *order = NULL;
    pp_status status = pp_order_new(p, p * v, m, PP_PLACE_LOOP, (size_t)2 * p * v * m, &order, err);
    if (status)
        return status;
    for (uint32_t r = 0; r < p; r++) {
        for (uint32_t c = 0; c < v; c++) {
            for (uint32_t j = 0; j < m; j++)
                pp_order_add(order, r, PP_OP_F, c * p + r, j);
        }
        for (uint32_t c = v; c-- > 0;) {
            for (uint32_t j = m; j-- > 0;)
                pp_order_add(order, r, PP_OP_B, c * p + r, j);
        }
    }
    *order_out = order;
    return PP_OK;
}

const pp_schedule pp_schedule_looped_bfs = {
    .name = "looped-bfs",
    .summary = "runs all microbatches through one stage of a rank before its next stage "
               "(Lamy-Poirier 2023; PyTorch LoopedBFS)",
    .placement = PP_PLACE_LOOP,
    .build = looped_bfs_build,
};
