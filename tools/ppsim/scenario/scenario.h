/* Loads a scenario: a plan, a schedule file, or a named schedule with its costs. */
#ifndef PPSIM_TOOLS_PPSIM_SCENARIO_SCENARIO_H
#define PPSIM_TOOLS_PPSIM_SCENARIO_SCENARIO_H

#include "sim/plan/plan.h"
#include "tools/ppsim/base/command.h"

/* Finds what is to be loaded: the only word of the command line, or --schedule; borrowed. Fails:
 * USAGE when there is neither or both. */
PP_MUST_CHECK pp_status pp_scenario_source(const pp_args *args, const char *command,
                                           const char **source_out, pp_err *err);

/* Loads the source that pp_scenario_source finds: a plan, a schedule file, or a named schedule with
 * --pp, --microbatches, --vpp, --microbatch-group-size, --costs or --costs-file, --memory-costs.
 * written_out: the program of a file with communication of its own, else NULL. Both belong to the
 * caller. Fails: USAGE, IO, INPUT, INFEASIBLE, NOMEM. */
PP_MUST_CHECK pp_status pp_scenario_load(const pp_args *args, const char *command,
                                         pp_plan **plan_out, pp_program **written_out, pp_err *err);
/* Does the same for a given source. Fails: as pp_scenario_load. */
PP_MUST_CHECK pp_status pp_scenario_load_source(const pp_args *args, const char *source,
                                                pp_plan **plan_out, pp_program **written_out,
                                                pp_err *err);

/* Loads a plan, or a schedule file without costs, for which plan->costs may be NULL. Fails: as
 * pp_scenario_load. */
PP_MUST_CHECK pp_status pp_scenario_load_schedule(const pp_args *args, const char *path,
                                                  pp_plan **plan_out, pp_program **written_out,
                                                  pp_err *err);

/* Checks --schedule, --executor, --costs and sizes as far as that is possible without building the
 * order. Fails: USAGE, INPUT. */
PP_MUST_CHECK pp_status pp_scenario_check_words(const pp_args *args, pp_err *err);

/* Applies --forward-only. `written` is the program of a file with communication of its own, or
 * NULL. Fails: USAGE, NOMEM. */
PP_MUST_CHECK pp_status pp_scenario_forward_only(const pp_args *args, const pp_program *written,
                                                 pp_plan *plan, pp_err *err);

/* Applies --shapes, --host, --shape-message and --tensors-per-boundary. A protocol with padding
 * changes the costs. `written`: the file has communication of its own. Fails: USAGE, NOMEM. */
PP_MUST_CHECK pp_status pp_scenario_exchange(const pp_args *args, pp_plan *plan, bool written,
                                             pp_err *err);

#endif
