/* Reads the distributions of --jitter. */
#ifndef PPSIM_PLANNER_ROBUSTNESS_JITTER_SPEC_H
#define PPSIM_PLANNER_ROBUSTNESS_JITTER_SPEC_H

#include "sim/analysis/robustness.h"
#include "sim/base/status.h"

#define PP_JITTER_SCENARIOS_MAX 10000000
#define PP_JITTER_SIGMA_MAX 2.0
#define PP_JITTER_SLOW_MAX 1000.0

/* "compute=0.02,comm=0.1,slow-rank=3:1.3,slow-link=any:2,scenarios=1000"; F=, I=, W=, B= in place
 * of compute= set one class. Durations that are not named do not vary. The default is 1000
 * scenarios. Fails: USAGE. */
PP_MUST_CHECK pp_status pp_jitter_parse(const char *text, pp_jitter_spec *out, pp_err *err);

#endif
