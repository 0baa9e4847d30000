/* What a plan recomputes, as people read it. */
#ifndef PPSIM_TOOLS_PPSIM_REPORT_RECOMPUTE_PRINT_H
#define PPSIM_TOOLS_PPSIM_REPORT_RECOMPUTE_PRINT_H

#include "sim/base/text.h"
#include "sim/plan/plan.h"

/* "recompute": a word for all stages; their layers, stage by stage; a table where microbatches have
 * their own. */
void pp_recompute_print(const pp_plan *plan, pp_text *text);

#endif
