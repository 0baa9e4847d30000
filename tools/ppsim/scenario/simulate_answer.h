/* The answer of `ppsim simulate` for people, in at most 15 lines. */
#ifndef PPSIM_TOOLS_PPSIM_SCENARIO_SIMULATE_ANSWER_H
#define PPSIM_TOOLS_PPSIM_SCENARIO_SIMULATE_ANSWER_H

#include "sim/base/text.h"
#include "tools/ppsim/scenario/scenario_run.h"

/* Appends what was simulated, its step, where the time goes, the memory, the lower bound and the
 * longest wait. s: was reported, with its longest waits. */
void pp_simulate_answer_print(const pp_scenario *s, const pp_why *why, pp_text *text);

#endif
