/* Megatron's interleaved orders, with and without overlapped pairs. */
#ifndef PPSIM_SIM_SCHEDULE_BUILDERS_CHUNK_ROUNDS_H
#define PPSIM_SIM_SCHEDULE_BUILDERS_CHUNK_ROUNDS_H

#include "sim/order/order.h"
#include "sim/schedule/builders/params.h"

/* Makes the interleaved order. pairs: the warm-up has one forward more, so that each later forward
 * overlaps with the backward that follows it. name: the schedule, for messages.
 * Fails: USAGE when the microbatches make no groups, NOMEM. */
PP_MUST_CHECK pp_status pp_chunk_rounds_build(const pp_schedule_params *params, bool pairs,
                                              const char *name, pp_order **order_out, pp_err *err);

#endif
