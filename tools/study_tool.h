/* What simulate and run share: what is to be looked at. */
#ifndef PPSIM_TOOLS_STUDY_TOOL_H
#define PPSIM_TOOLS_STUDY_TOOL_H

#include "tools/tool.h"

/* The first word, or --schedule: a plan, a schedule file, or a named schedule with --pp,
 * --microbatches, --vpp, --microbatch-group-size, --costs or --costs-file, --memory-costs.
 * written_out: the program of a file that communicates itself, else NULL. Both are the caller's.
 * Fails: USAGE, IO, INPUT, INFEASIBLE, NOMEM. */
PP_MUST_CHECK pp_status pp_study_load(const pp_args *args, const char *command, pp_plan **plan_out,
                                      pp_program **written_out, pp_err *err);

/* A plan, or a schedule file without costs (plan->costs NULL). path: the first word. Fails: as
 * above.
 */
PP_MUST_CHECK pp_status pp_study_load_schedule(const pp_args *args, const char *path,
                                               pp_plan **plan_out, pp_program **written_out,
                                               pp_err *err);

/* --forward-only. written: the program of a file that communicates itself, or NULL. */
PP_MUST_CHECK pp_status pp_study_forward_only(const pp_args *args, const pp_program *written,
                                              pp_plan *plan, pp_err *err);

/* --shapes, --host, --shape-message, --tensors-per-boundary; padding goes into the costs. written:
 * the program communicates itself. */
PP_MUST_CHECK pp_status pp_study_exchange(const pp_args *args, pp_plan *plan, bool written,
                                          pp_err *err);

#endif
