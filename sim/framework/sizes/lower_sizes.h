/* Adds a size protocol to a lowered program. */
#ifndef PPSIM_SIM_FRAMEWORK_SIZES_LOWER_SIZES_H
#define PPSIM_SIM_FRAMEWORK_SIZES_LOWER_SIZES_H

#include "sim/framework/sizes/size_protocol.h"

/* Does the work of pp_exchange_lower (sim/framework/framework.h) for a framework of that name.
 * support: NULL if its programs do not communicate.
 * Fails: like pp_exchange_lower. */
PP_MUST_CHECK pp_status pp_sizes_lower(const char *framework,
                                       const pp_size_protocol_support *support,
                                       const pp_exchange_options *exchange, const pp_costs *costs,
                                       pp_program *program, pp_err *err);

#endif
