/* The answer of `ppsim plan` for people, in about 15 lines. */
#ifndef PPSIM_TOOLS_PPSIM_PLAN_SUMMARY_H
#define PPSIM_TOOLS_PPSIM_PLAN_SUMMARY_H

#include "planner/search/result.h"
#include "sim/base/text.h"

/* A result and the facts of its command line that are printed. */
typedef struct pp_plan_view {
    const pp_search_result *result;
    const char *plan_file;   /* the file to which the command line writes the plan; NULL: none */
    const char *hardware;    /* the name or file the figures come from; NULL: all are measured */
    bool is_file;            /* `hardware` is a file of the user */
    const char *alias;       /* the other name of the hardware that was typed; NULL: none */
    const char *model_alias; /* the same of the model */
    const char *profile;     /* the file of measurements; NULL: none */
    bool packing;            /* --packing was given */
    bool verbose;
} pp_plan_view;

/* Appends what to run, its speed, where the time goes, the memory, why this plan, how sure all this
 * is, and what to type next. Requests of the command line beyond a plan get lines of their own. */
void pp_plan_summary_print(const pp_plan_view *view, pp_text *text);

#endif
