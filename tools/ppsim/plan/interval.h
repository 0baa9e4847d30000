/* The interval of a predicted step: asked of sim/cost/step_interval.h for a plan, and in words. */
#ifndef PPSIM_TOOLS_PPSIM_PLAN_INTERVAL_H
#define PPSIM_TOOLS_PPSIM_PLAN_INTERVAL_H

#include "planner/search/result.h"
#include "sim/base/text.h"

/* Sets plan->interval. hardware: its name in traces/data/hardware; NULL: it is a file of the user.
 */
void pp_plan_find_interval(const char *hardware, pp_search_result *result);

/* Appends "; 80 % interval 15.6 to 17.0 s (+/- 4.2 %): stack 4.1 (11 published steps, mean error 1
 * %, at most 1 %), shape 1.0"; nothing if there is no interval. */
void pp_plan_interval_say(const pp_search_result *result, pp_text *words);

#endif
