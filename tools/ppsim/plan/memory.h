/* Tables of the memory of a plan. */
#ifndef PPSIM_TOOLS_PPSIM_PLAN_MEMORY_H
#define PPSIM_TOOLS_PPSIM_PLAN_MEMORY_H

#include "sim/analysis/report.h"
#include "sim/base/text.h"

/* Adds a table of the memory of each rank at its peak, by component. */
void pp_plan_memory_print(const pp_report *report, pp_text *text);
/* For pp_plan_request.missed: prints to stderr the memory of the candidate that exceeds the limit
 * by the least, and the op at which it first does. The context is not used. */
void pp_plan_miss_print(void *context, const pp_report *nearest);

#endif
