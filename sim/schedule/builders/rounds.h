/* PyTorch's rule for the microbatch groups of interleaved schedules. */
#ifndef PPSIM_SIM_SCHEDULE_BUILDERS_ROUNDS_H
#define PPSIM_SIM_SCHEDULE_BUILDERS_ROUNDS_H

#include "sim/base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Computes the group m / R, where R = max(1, m div p) must divide m. name: the schedule, for the
 * message. takes_group: the message suggests setting the group size. Fails: USAGE. */
PP_MUST_CHECK pp_status pp_rounds_group(const char *name, bool takes_group, uint32_t ranks,
                                        uint32_t microbatches, uint32_t *group_out, pp_err *err);

#endif
