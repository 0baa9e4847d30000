#include "sim/schedule.h"

/* Rank r: min(p - 1 - r, m) forwards, then one forward and one backward in turn, then the rest of
 * the backwards (Megatron-LM forward_backward_pipelining_without_interleaving). */
static pp_status one_f_one_b_build(const pp_shape *shape, pp_order **order_out, pp_err *err)
{
    uint32_t p = shape->ranks;
    uint32_t m = shape->microbatches;
    pp_order *order = NULL;
    pp_status status = pp_order_new(p, p, m, PP_PLACE_LOOP, (size_t)2 * p * m, &order, err);
    if (status)
        return status;
    for (uint32_t r = 0; r < p; r++) {
        uint32_t warmup = p - 1 - r < m ? p - 1 - r : m;
        for (uint32_t j = 0; j < warmup; j++)
            pp_order_add(order, r, PP_OP_F, r, j);
        for (uint32_t j = 0; j < m; j++) {
            if (j + warmup < m)
                pp_order_add(order, r, PP_OP_F, r, j + warmup);
            pp_order_add(order, r, PP_OP_B, r, j);
        }
    }
    *order_out = order;
    return PP_OK;
}

const pp_schedule pp_schedule_one_f_one_b = {
    .name = "1f1b",
    .summary = "one forward, one backward in turn (PipeDream-Flush; Megatron, DeepSpeed, PyTorch)",
    .placement = PP_PLACE_LOOP,
    .chunks = 1,
    .build = one_f_one_b_build,
};
