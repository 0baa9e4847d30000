/* Prints a report as text. */
#ifndef PPSIM_TOOLS_PPSIM_REPORT_REPORT_PRINT_H
#define PPSIM_TOOLS_PPSIM_REPORT_REPORT_PRINT_H

#include "sim/base/text.h"
#include "sim/plan/plan.h"

/* Writes a report as text. */
void pp_report_print(const pp_report *report, pp_text *text);
/* Writes the first rank that exceeds the memory limit, as "over limit first by rank 0 while 4F0
 * runs, at 3.2 ms: ...", or nothing when all ranks fit. */
void pp_over_limit_print(const pp_report *report, pp_text *text);
/* Writes a table of the parts of a step of `step_ns`. */
void pp_why_print(const pp_why *why, pp_ns step_ns, pp_text *text);

#endif
