/* Builds orders whose ranks can be written one after the other. */
#ifndef PPSIM_SIM_SCHEDULE_BUILDERS_FILL_H
#define PPSIM_SIM_SCHEDULE_BUILDERS_FILL_H

#include "sim/order/order.h"
#include "sim/schedule/builders/params.h"

/* Appends all ops of `rank`. */
typedef void (*pp_fill_rank)(pp_order *order, uint32_t rank, const pp_schedule_params *params);

/* Makes an order of p v stages with up to `ops` ops per stage and microbatch, and calls `fill` for
 * each rank.
 * Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_schedule_fill(const pp_schedule_params *params, pp_placement placement,
                                         size_t ops, pp_fill_rank fill, pp_order **order_out,
                                         pp_err *err);

/* Appends the 1F1B pattern of stage r: min(warmup, m) forwards, then one forward and one backward
 * alternately, then the remaining backwards. With warmup = m this is GPipe. */
void pp_schedule_fill_1f1b(pp_order *order, uint32_t r, const pp_schedule_params *params,
                           uint32_t warmup);

#endif
