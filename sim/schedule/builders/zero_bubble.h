/* Builds the automatic zero-bubble schedule under a memory limit (Qi et al. 2024, arXiv 2401.10241,
 * section 3.1; sail-sg zero-bubble, auto_schedule.py). */
#ifndef PPSIM_SIM_SCHEDULE_BUILDERS_ZERO_BUBBLE_H
#define PPSIM_SIM_SCHEDULE_BUILDERS_ZERO_BUBBLE_H

#include "sim/order/order.h"
#include "sim/schedule/builders/params.h"

/* limit: memory per rank, in forward activations. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_schedule_zb_build(const pp_schedule_params *params, uint32_t limit,
                                             pp_order **order_out, pp_err *err);

#endif
