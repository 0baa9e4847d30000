/* Interleaved 1F1B (Narayanan et al. 2021, arXiv 2104.04473, section 2.2; PyTorch's
 * ScheduleInterleaved1F1B is the same). builders/chunk_rounds.c has the method. */
#include "sim/schedule/builders/chunk_rounds.h"
#include "sim/schedule/schedule.h"

static pp_status interleaved_build(const pp_schedule_params *params, pp_order **order_out,
                                   pp_err *err)
{
    return pp_chunk_rounds_build(params, false, "interleaved", order_out, err);
}

const pp_schedule pp_schedule_interleaved = {
    .name = "interleaved",
    .summary = "1F1B with several stages per rank, which shortens the warm-up (Narayanan 2021; "
               "Megatron, PyTorch Interleaved1F1B)",
    .placement = PP_PLACE_LOOP,
    .grouped = true,
    .build = interleaved_build,
};
