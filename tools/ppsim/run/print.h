/* Prints the result of `ppsim run`. */
#ifndef PPSIM_TOOLS_PPSIM_RUN_PRINT_H
#define PPSIM_TOOLS_PPSIM_RUN_PRINT_H

#include "runtime/measure/compare.h"
#include "sim/base/json.h"

/* The execution to print, and how it was done. */
typedef struct pp_run_print {
    const pp_execution *execution;
    const pp_run_plan_options *options;
    const char *planned_framework; /* the plan's, if the run used another one; otherwise NULL */
    bool is_predicted;             /* the plan has a prediction */
    bool compare, verbose;
} pp_run_print;

/* Appends the result as text. */
void pp_run_text(const pp_run_print *run, const pp_comparison *comparison, pp_text *text);
/* Returns the report with the additional key "execution" (docs/reference/formats.md). */
pp_json *pp_run_json(const pp_run_print *run, const pp_comparison *comparison,
                     pp_json_build *build);

#endif
