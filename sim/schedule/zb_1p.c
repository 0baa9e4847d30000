/* ZB-1p (Qi et al. 2024, arXiv 2401.10241): the automatic schedule, limited to the memory
 * of p activations. */
#include "sim/schedule/builders/zero_bubble.h"
#include "sim/schedule/schedule.h"

static pp_status zb_1p_build(const pp_schedule_params *params, pp_order **order_out, pp_err *err)
{
    return pp_schedule_zb_build(params, params->ranks, order_out, err);
}

const pp_schedule pp_schedule_zb_1p = {
    .name = "zb-1p",
    .summary = "places the weight backwards by the durations of the ops, in the memory of p "
               "activations (Qi 2024, ZB-1p)",
    .placement = PP_PLACE_LOOP,
    .chunks = 1,
    .splits_backward = true,
    .uses_costs = true,
    .build = zb_1p_build,
};
