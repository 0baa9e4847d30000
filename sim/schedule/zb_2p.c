/* ZB-2p (Qi et al. 2024, arXiv 2401.10241): the automatic schedule with the memory of 2p
 * activations. */
#include "sim/schedule/builders/zero_bubble.h"
#include "sim/schedule/schedule.h"

static pp_status zb_2p_build(const pp_schedule_params *params, pp_order **order_out, pp_err *err)
{
    return pp_schedule_zb_build(params, 2 * params->ranks, order_out, err);
}

const pp_schedule pp_schedule_zb_2p = {
    .name = "zb-2p",
    .summary = "places the weight backwards by the durations of the ops, in the memory of 2p "
               "activations (Qi 2024, ZB-2p)",
    .placement = PP_PLACE_LOOP,
    .chunks = 1,
    .splits_backward = true,
    .uses_costs = true,
    .build = zb_2p_build,
};
