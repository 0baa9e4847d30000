/* DualPipeV (DeepSeek-AI DualPipe, dualpipev.py; the same as PyTorch ScheduleDualPipeV). */
#include "sim/base/field.h"
#include "sim/schedule/builders/dual.h"
#include "sim/schedule/schedule.h"

#include <inttypes.h>

static pp_status dualpipev_build(const pp_schedule_params *params, pp_order **order_out,
                                 pp_err *err)
{
    uint32_t p = params->ranks;
    uint32_t m = params->microbatches;
    pp_order *order PP_CLEANUP(pp_order_free) = NULL;
    if (m < 2 * p)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_MICROBATCHES),
                          "dualpipev needs at least 2 microbatches per rank: at least %" PRIu32
                          " on %" PRIu32 " ranks, not %" PRIu32,
                          2 * p, p, m);
    pp_status status = pp_order_new(p, 2 * p, m, PP_PLACE_V, (size_t)6 * p * m, &order, err);
    if (status || (status = pp_dual_fill(order, pp_dual_v, err)))
        return status;
    *order_out = order;
    order = NULL; /* the caller's now */
    return PP_OK;
}

const pp_schedule pp_schedule_dualpipev = {
    .name = "dualpipev",
    .summary = "overlaps a forward with a backward, with two stages per rank on a V (DeepSeek-AI; "
               "PyTorch DualPipeV)",
    .placement = PP_PLACE_V,
    .chunks = 2,
    .splits_backward = true,
    .build = dualpipev_build,
};
