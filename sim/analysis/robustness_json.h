/* Robustness as part of a report. */
#ifndef PPSIM_SIM_ANALYSIS_ROBUSTNESS_JSON_H
#define PPSIM_SIM_ANALYSIS_ROBUSTNESS_JSON_H

#include "sim/analysis/robustness.h"
#include "sim/base/json.h"

/* Adds the keys "jitter" and "sensitivity", if known, to the object of a report. */
void pp_robustness_put(const pp_robustness *robustness, pp_json *object, pp_json_build *build);

#endif
