/* 1F1B (PipeDream-Flush, Narayanan et al. 2021, arXiv 2006.09503; Megatron-LM
 * forward_backward_pipelining_without_interleaving): rank r runs min(p - 1 - r, m) forwards,
 * then one forward and one backward alternately, then the remaining backwards. */
#include "sim/schedule/builders/fill.h"
#include "sim/schedule/schedule.h"

static void fill_rank(pp_order *order, uint32_t r, const pp_schedule_params *params)
{
    pp_schedule_fill_1f1b(order, r, params, params->ranks - 1 - r);
}

static pp_status one_f_one_b_build(const pp_schedule_params *params, pp_order **order_out,
                                   pp_err *err)
{
    return pp_schedule_fill(params, PP_PLACE_LOOP, 2, fill_rank, order_out, err);
}

const pp_schedule pp_schedule_one_f_one_b = {
    .name = "1f1b",
    .summary = "alternates one forward with one backward after a warm-up (PipeDream-Flush; "
               "Megatron, DeepSpeed, PyTorch)",
    .placement = PP_PLACE_LOOP,
    .chunks = 1,
    .build = one_f_one_b_build,
};
