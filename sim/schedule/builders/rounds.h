/* PyTorch's rule for the microbatch groups of interleaved schedules. */
#ifndef PPSIM_SIM_SCHEDULE_BUILDERS_ROUNDS_H
#define PPSIM_SIM_SCHEDULE_BUILDERS_ROUNDS_H

#include "sim/base/status.h"

#include <stdint.h>

/* R = max(1, m div p) rounds must divide m; the group is m / R.
 * name: of the schedule. way_out: words that follow the nearest legal m, or "".
 * Fails: USAGE. */
PP_MUST_CHECK pp_status pp_rounds_group(const char *name, const char *way_out, uint32_t ranks,
                                        uint32_t microbatches, uint32_t *group_out, pp_err *err);

#endif
