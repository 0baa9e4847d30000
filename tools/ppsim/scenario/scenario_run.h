/* Simulates a scenario with the options of tools/ppsim/scenario/options.def. */
#ifndef PPSIM_TOOLS_PPSIM_SCENARIO_SCENARIO_RUN_H
#define PPSIM_TOOLS_PPSIM_SCENARIO_SCENARIO_RUN_H

#include "sim/plan/plan.h"
#include "sim/program/timeline.h"
#include "tools/ppsim/base/command.h"

/* A scenario: the plan that is simulated, and its results. The owner frees it with
 * pp_scenario_free. */
typedef struct pp_scenario {
    pp_plan *plan;
    pp_program
        *program; /* set when it is lowered, or read for a file with communication of its own */
    pp_timeline *timeline;
    const pp_costs *costs; /* of the slowest replica; owned by the plan */
    bool tells_stale;      /* pp_scenario_tell_stale is called when a plan is read */
    bool every_framework;  /* --executor all */
} pp_scenario;

/* Warns when the prediction in the file `path` is not what its order and costs give, because these
 * were edited or another version predicted it. `plan` is the file's, before any option is
 * applied. */
void pp_scenario_tell_stale(const pp_plan *plan, const char *path);
/* Does the same for a plan that was already simulated, with its report. */
void pp_scenario_tell_if_stale(const pp_plan *plan, const pp_report *report, const char *path);

void pp_scenario_free(pp_scenario *s); /* for PP_CLEANUP */
/* Loads the source and applies all options of tools/ppsim/scenario/options.def. Fails: as
 * pp_scenario_load. */
PP_MUST_CHECK pp_status pp_scenario_read(const pp_args *args, const char *source, pp_scenario *s,
                                         pp_err *err);
/* Lowers and simulates the plan; the report is plan->prediction. Fails: as pp_plan_simulate. */
PP_MUST_CHECK pp_status pp_scenario_predict(pp_scenario *s, pp_err *err);
/* Reads the source of the command simulate. Fails: as pp_scenario_load. */
PP_MUST_CHECK pp_status pp_scenario_prepare(const pp_args *args, pp_scenario *s, pp_err *err);
/* Does the same as pp_scenario_predict and adds to the report the lower bound and what the options
 * ask for. Fails: as pp_scenario_predict, USAGE, NOMEM. */
PP_MUST_CHECK pp_status pp_scenario_report(const pp_args *args, pp_scenario *s, pp_err *err);
/* Checks the report against its memory limit. Fails: INFEASIBLE when a rank exceeds it. */
PP_MUST_CHECK pp_status pp_scenario_check_limit(const pp_report *report, pp_err *err);
/* Returns the order of the replica that was predicted. */
const pp_order *pp_scenario_order(const pp_scenario *s);

#endif
