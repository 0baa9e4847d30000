/* Prints what a plan recomputes. */
#ifndef PPSIM_TOOLS_PPSIM_REPORT_RECOMPUTE_PRINT_H
#define PPSIM_TOOLS_PPSIM_REPORT_RECOMPUTE_PRINT_H

#include "sim/base/text.h"
#include "sim/plan/plan.h"

/* Writes the line "recompute": one word if all stages do the same, otherwise the layers of each
 * stage, or a table if microbatches differ. */
void pp_recompute_print(const pp_plan *plan, pp_text *text);

#endif
