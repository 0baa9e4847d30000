/* The result of `ppsim plan` for people. */
#ifndef PPSIM_TOOLS_PPSIM_PLAN_PRINT_H
#define PPSIM_TOOLS_PPSIM_PLAN_PRINT_H

#include "planner/study/plan_search.h"
#include "sim/base/text.h"

/* Adds the plan that was chosen and the alternatives to `text`, in 80 columns. */
void pp_search_result_print(const pp_search_result *choice, pp_text *text);

#endif
