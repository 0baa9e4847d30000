/* Waits as part of a report. */
#ifndef PPSIM_SIM_ANALYSIS_WAITS_JSON_H
#define PPSIM_SIM_ANALYSIS_WAITS_JSON_H

#include "sim/analysis/waits.h"
#include "sim/base/json.h"

/* An array with one object per wait. NULL when the build failed. */
pp_json *pp_blocked_write(const pp_blocked_list *list, pp_json_build *build);

#endif
