/* Eager 1F1B (Zhuang et al. 2022, arXiv 2211.05322): min(m, 2 (p - 1 - r)) forwards before the
 * first backward of rank r, so that a transfer has the time of two ops. */
#include "sim/schedule/builders/fill.h"
#include "sim/schedule/schedule.h"

static void fill_rank(pp_order *order, uint32_t r, const pp_schedule_params *params)
{
    pp_schedule_fill_1f1b(order, r, params, 2 * (params->ranks - 1 - r));
}

static pp_status eager_1f1b_build(const pp_schedule_params *params, pp_order **order_out,
                                  pp_err *err)
{
    return pp_schedule_fill(params, PP_PLACE_LOOP, 2, fill_rank, order_out, err);
}

const pp_schedule pp_schedule_eager_1f1b = {
    .name = "eager-1f1b",
    .summary =
        "1F1B with up to twice the warm-up, which hides transfers behind compute (Zhuang 2022)",
    .placement = PP_PLACE_LOOP,
    .chunks = 1,
    .build = eager_1f1b_build,
};
