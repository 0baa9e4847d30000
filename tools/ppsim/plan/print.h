/* Prints the result of a plan. */
#ifndef PPSIM_TOOLS_PPSIM_PLAN_PRINT_H
#define PPSIM_TOOLS_PPSIM_PLAN_PRINT_H

#include "tools/ppsim/plan/summary.h"

/* Appends the summary, the tables of --why and --jitter if these were given, and with --verbose
 * everything else that is known. */
void pp_plan_print(const pp_plan_view *view, pp_text *text);

#endif
