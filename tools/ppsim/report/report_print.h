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
/* Writes the number of compiled graphs and the time to compile them, if there are any. */
void pp_graphs_print(const pp_report *report, pp_text *text);
/* Writes the time per step without a barrier, if it is known. */
void pp_period_print(const pp_report *report, pp_text *text);
/* Writes a table of the longest waits of the report. */
void pp_waits_print(const pp_report *report, pp_text *text);
/* Writes a table of the parts of a step of `step_ns`. */
void pp_why_print(const pp_why *why, pp_ns step_ns, pp_text *text);

#endif
