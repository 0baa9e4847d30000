/* What is looked at: a plan, a schedule file, or a named schedule with its costs. */
#ifndef PPSIM_TOOLS_PPSIM_SCENARIO_SCENARIO_H
#define PPSIM_TOOLS_PPSIM_SCENARIO_SCENARIO_H

#include "sim/plan/plan.h"
#include "tools/ppsim/base/command.h"

/* source_out: the only word, or --schedule; borrowed. Fails: USAGE when it is none or both. */
PP_MUST_CHECK pp_status pp_scenario_source(const pp_args *args, const char *command,
                                           const char **source_out, pp_err *err);

/* The source of pp_scenario_source: a plan, a schedule file, or a named schedule with --pp,
 * --microbatches, --vpp, --microbatch-group-size, --costs or --costs-file, --memory-costs.
 * written_out: the program of a file that communicates itself, else NULL. Both are the caller's.
 * Fails: USAGE, IO, INPUT, INFEASIBLE, NOMEM. */
PP_MUST_CHECK pp_status pp_scenario_load(const pp_args *args, const char *command,
                                         pp_plan **plan_out, pp_program **written_out, pp_err *err);
/* The same of a source by name. */
PP_MUST_CHECK pp_status pp_scenario_load_source(const pp_args *args, const char *source,
                                                pp_plan **plan_out, pp_program **written_out,
                                                pp_err *err);

/* A plan, or a schedule file without costs (plan->costs NULL). path: the first word. Fails: as
 * above.
 */
PP_MUST_CHECK pp_status pp_scenario_load_schedule(const pp_args *args, const char *path,
                                                  pp_plan **plan_out, pp_program **written_out,
                                                  pp_err *err);

/* Checks --schedule, --framework, --costs and sizes as far as that is possible before anything is
 * built. Fails: USAGE. */
PP_MUST_CHECK pp_status pp_scenario_check_words(const pp_args *args, pp_err *err);

/* --forward-only. written: the program of a file that communicates itself, or NULL. */
PP_MUST_CHECK pp_status pp_scenario_forward_only(const pp_args *args, const pp_program *written,
                                                 pp_plan *plan, pp_err *err);

/* --shapes, --host, --shape-message, --tensors-per-boundary; padding goes into the costs. written:
 * the program communicates itself. */
PP_MUST_CHECK pp_status pp_scenario_exchange(const pp_args *args, pp_plan *plan, bool written,
                                             pp_err *err);

#endif
