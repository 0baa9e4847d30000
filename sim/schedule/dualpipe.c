/* DualPipe (DeepSeek-AI DualPipe, dualpipe.py): the first half of the microbatches enters at rank 0
 * and the second half at the last rank, so that every stage is on two ranks. */
#include "sim/base/field.h"
#include "sim/schedule/builders/dual.h"
#include "sim/schedule/schedule.h"

#include <inttypes.h>

static pp_status refuse_ranks(uint32_t p, pp_err *err)
{
    if (p == 1)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_RANKS),
                          "dualpipe needs an even number of ranks, since rank r and rank p - 1 - r "
                          "hold the same stages: 1 is odd, and 2 is the nearest even number");
    return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_RANKS),
                      "dualpipe needs an even number of ranks, since rank r and rank p - 1 - r "
                      "hold the same stages: %" PRIu32
                      " is odd; the nearest even numbers are %" PRIu32 " and %" PRIu32,
                      p, p - 1, p + 1);
}

static pp_status check(uint32_t p, uint32_t m, pp_err *err)
{
    if (p % 2)
        return refuse_ranks(p, err);
    if (m < 2 * p)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_MICROBATCHES),
                          "dualpipe needs at least 2 microbatches per rank: at least %" PRIu32
                          " on %" PRIu32 " ranks, not %" PRIu32,
                          2 * p, p, m);
    if (m % 2)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_MICROBATCHES),
                          "dualpipe needs an even number of microbatches, half of them in each "
                          "direction: %" PRIu32 " is odd; the nearest even numbers are %" PRIu32
                          " and %" PRIu32,
                          m, m - 1, m + 1);
    return PP_OK;
}

static pp_status dualpipe_build(const pp_schedule_params *params, pp_order **order_out, pp_err *err)
{
    uint32_t p = params->ranks;
    uint32_t m = params->microbatches;
    pp_order *order PP_CLEANUP(pp_order_free) = NULL;
    pp_status status = check(p, m, err);
    if (status ||
        (status = pp_order_new(p, p, m, PP_PLACE_BIDIRECTIONAL, (size_t)3 * p * m, &order, err)) ||
        (status = pp_dual_fill(order, pp_dual_directions, err)))
        return status;
    *order_out = order;
    order = NULL; /* the caller's now */
    return PP_OK;
}

const pp_schedule pp_schedule_dualpipe = {
    .name = "dualpipe",
    .summary = "feeds microbatches from both ends at once, with every stage on two ranks "
               "(DeepSeek-AI); simulate only",
    .placement = PP_PLACE_BIDIRECTIONAL,
    .chunks = 1,
    .splits_backward = true,
    .simulate_only = true,
    .build = dualpipe_build,
};
