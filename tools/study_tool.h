/* What simulate and run share: what is to be looked at. */
#ifndef PPSIM_TOOLS_STUDY_TOOL_H
#define PPSIM_TOOLS_STUDY_TOOL_H

#include "sim/timeline.h"
#include "tools/tool.h"

/* The first word, or --schedule: a plan, a schedule file, or a named schedule with --pp,
 * --microbatches, --vpp, --microbatch-group-size, --costs or --costs-file, --memory-costs.
 * written_out: the program of a file that communicates itself, else NULL. Both are the caller's.
 * Fails: USAGE, IO, INPUT, INFEASIBLE, NOMEM. */
PP_MUST_CHECK pp_status pp_study_load(const pp_args *args, const char *command, pp_plan **plan_out,
                                      pp_program **written_out, pp_err *err);

/* What can be said of --schedule, --executor, --costs and sizes before anything is built.
 * Fails: USAGE. */
PP_MUST_CHECK pp_status pp_study_check_words(const pp_args *args, pp_err *err);

/* --forward-only. written: the program of a file that communicates itself, or NULL. */
PP_MUST_CHECK pp_status pp_study_forward_only(const pp_args *args, const pp_program *written,
                                              pp_plan *plan, pp_err *err);

/* --shapes, --host, --shape-message, --tensors-per-boundary; padding goes into the costs. written:
 * the program communicates itself. */
PP_MUST_CHECK pp_status pp_study_exchange(const pp_args *args, pp_plan *plan, bool written,
                                          pp_err *err);

/* A study on its way: all zero at first. Free with pp_study_free. */
typedef struct pp_study {
    pp_plan *plan; /* with its prediction, once there is one */
    pp_program *program;
    pp_timeline *timeline;
    const pp_costs *costs; /* of the slowest replica; the plan's */
} pp_study;

/* What the options of simulate ask for: a plan, and the program of a file that communicates itself.
 * Fails: as pp_study_load. */
PP_MUST_CHECK pp_status pp_study_prepare(const pp_args *args, pp_study *study, pp_err *err);
/* The rest, up to plan->prediction with its bound. Fails: USAGE, INFEASIBLE, INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_study_predict(const pp_args *args, pp_study *study, pp_err *err);
/* Of the slowest replica. */
const pp_order *pp_study_order(const pp_study *study);
/* Above the memory limit the answer is a "no". Fails: INFEASIBLE. */
PP_MUST_CHECK pp_status pp_study_check_limit(const pp_report *report, pp_err *err);
void pp_study_free(pp_study *study); /* for PP_CLEANUP */

#endif
