/* The breakdown of a step as part of a report. */
#ifndef PPSIM_SIM_ANALYSIS_TIME_BREAKDOWN_JSON_H
#define PPSIM_SIM_ANALYSIS_TIME_BREAKDOWN_JSON_H

#include "sim/analysis/time_breakdown.h"
#include "sim/base/json.h"

/* The object under the key "why". NULL when the build failed. */
pp_json *pp_why_write(const pp_why *why, pp_json_build *build);

#endif
