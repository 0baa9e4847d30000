/* GPipe (Huang et al. 2019, arXiv 1811.06965; PyTorch ScheduleGPipe): every rank runs all
 * forwards, then all backwards. */
#include "sim/schedule/builders/fill.h"
#include "sim/schedule/schedule.h"

static void fill_rank(pp_order *order, uint32_t r, const pp_schedule_params *params)
{
    pp_schedule_fill_1f1b(order, r, params, params->microbatches);
}

static pp_status gpipe_build(const pp_schedule_params *params, pp_order **order_out, pp_err *err)
{
    return pp_schedule_fill(params, PP_PLACE_LOOP, 2, fill_rank, order_out, err);
}

const pp_schedule pp_schedule_gpipe = {
    .name = "gpipe",
    .summary = "runs all forwards, then all backwards, and keeps every activation until then "
               "(Huang 2019; PyTorch ScheduleGPipe)",
    .placement = PP_PLACE_LOOP,
    .chunks = 1,
    .build = gpipe_build,
};
