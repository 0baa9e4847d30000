/* Fills an order rank by rank, in time proportional to its ops. The 1F1B pattern is that of
 * PipeDream (Narayanan et al. 2019); with all forwards in the warm-up it is GPipe (Huang et al.
 * 2019). */
#include "sim/schedule/builders/fill.h"

pp_status pp_schedule_fill(const pp_schedule_params *params, pp_placement placement, size_t ops,
                           pp_fill_rank fill, pp_order **order_out, pp_err *err)
{
    uint32_t stages = params->ranks * params->chunks;
    pp_order *order = NULL;
    pp_status status = pp_order_new(params->ranks, stages, params->microbatches, placement,
                                    ops * stages * params->microbatches, &order, err);
    if (status)
        return status;
    for (uint32_t r = 0; r < params->ranks; r++)
        fill(order, r, params);
    pp_order_end(order);
    *order_out = order;
    return PP_OK;
}

void pp_schedule_fill_1f1b(pp_order *order, uint32_t r, const pp_schedule_params *params,
                           uint32_t warmup)
{
    const uint32_t m = params->microbatches;
    const uint32_t ahead = warmup < m ? warmup : m;
    for (uint32_t j = 0; j < ahead; j++)
        pp_order_add(order, r, PP_OP_F, r, j);
    for (uint32_t j = 0; j < m; j++) {
        if (j + ahead < m)
            pp_order_add(order, r, PP_OP_F, r, j + ahead);
        pp_order_add(order, r, PP_OP_B, r, j);
    }
}
