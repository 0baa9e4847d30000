/* A size protocol as a pass over a lowered program. */
#ifndef PPSIM_SIM_FRAMEWORK_SIZES_LOWER_SIZES_H
#define PPSIM_SIM_FRAMEWORK_SIZES_LOWER_SIZES_H

#include "sim/framework/sizes/size_protocol.h"

/* Does the work of pp_exchange_lower (sim/framework/framework.h) for a framework of that name.
 * support: NULL when the framework has dependencies only. Fails: as that. */
PP_MUST_CHECK pp_status pp_sizes_lower(const char *framework,
                                       const pp_size_protocol_support *support,
                                       const pp_exchange_options *exchange, const pp_costs *costs,
                                       pp_program *program, pp_err *err);

#endif
