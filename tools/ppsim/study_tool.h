/* What simulate, run and plot share: what is to be looked at. tools/ppsim/study_options.def holds
 * the options of simulate and plot. */
#ifndef PPSIM_TOOLS_PPSIM_STUDY_TOOL_H
#define PPSIM_TOOLS_PPSIM_STUDY_TOOL_H

#include "sim/program/timeline.h"
#include "tools/ppsim/tool.h"

/* source_out: the only word, or --schedule; borrowed. Fails: USAGE when it is none or both. */
PP_MUST_CHECK pp_status pp_study_source(const pp_args *args, const char *command,
                                        const char **source_out, pp_err *err);

/* The source of pp_study_source: a plan, a schedule file, or a named schedule with --pp,
 * --microbatches, --vpp, --microbatch-group-size, --costs or --costs-file, --memory-costs.
 * written_out: the program of a file that communicates itself, else NULL. Both are the caller's.
 * Fails: USAGE, IO, INPUT, INFEASIBLE, NOMEM. */
PP_MUST_CHECK pp_status pp_study_load(const pp_args *args, const char *command, pp_plan **plan_out,
                                      pp_program **written_out, pp_err *err);
/* The same of a source by name. */
PP_MUST_CHECK pp_status pp_study_load_source(const pp_args *args, const char *source,
                                             pp_plan **plan_out, pp_program **written_out,
                                             pp_err *err);

/* A plan, or a schedule file without costs (plan->costs NULL). path: the first word. Fails: as
 * above.
 */
PP_MUST_CHECK pp_status pp_study_load_schedule(const pp_args *args, const char *path,
                                               pp_plan **plan_out, pp_program **written_out,
                                               pp_err *err);

/* What can be said of --schedule, --framework, --costs and sizes before anything is built.
 * Fails: USAGE. */
PP_MUST_CHECK pp_status pp_study_check_words(const pp_args *args, pp_err *err);

/* --forward-only. written: the program of a file that communicates itself, or NULL. */
PP_MUST_CHECK pp_status pp_study_forward_only(const pp_args *args, const pp_program *written,
                                              pp_plan *plan, pp_err *err);

/* --shapes, --host, --shape-message, --tensors-per-boundary; padding goes into the costs. written:
 * the program communicates itself. */
PP_MUST_CHECK pp_status pp_study_exchange(const pp_args *args, pp_plan *plan, bool written,
                                          pp_err *err);

/* Everything that is made on the way. Owner frees with pp_study_free. */
typedef struct pp_study {
    pp_plan *plan;
    pp_program *program; /* set early where a file communicates itself */
    pp_timeline *timeline;
    const pp_costs *costs; /* of the slowest replica; the plan's */
    bool tells_stale;      /* reading a plan does pp_study_tell_stale */
    bool every_framework;  /* --executor all */
} pp_study;

/* plan: as its file has it. Tells where that file's prediction is not what the plan gives: its
 * order or costs were edited. */
void pp_study_tell_stale(const pp_plan *plan, const char *path);
/* The same where the plan was simulated already. */
void pp_study_tell_if_stale(const pp_plan *plan, const pp_report *report, const char *path);

void pp_study_free(pp_study *s); /* for PP_CLEANUP */
/* The source with all options of tools/ppsim/study_options.def. Fails: as pp_study_load. */
PP_MUST_CHECK pp_status pp_study_read(const pp_args *args, const char *source, pp_study *s,
                                      pp_err *err);
/* Lowers and simulates it; the report is plan->prediction. Fails: as pp_plan_simulate. */
PP_MUST_CHECK pp_status pp_study_predict(pp_study *s, pp_err *err);
/* The source of simulate, read. Fails: as pp_study_load. */
PP_MUST_CHECK pp_status pp_study_prepare(const pp_args *args, pp_study *s, pp_err *err);
/* pp_study_predict, with the bound and all that the options ask of a report. Fails: USAGE too. */
PP_MUST_CHECK pp_status pp_study_report(const pp_args *args, pp_study *s, pp_err *err);
/* Above the memory limit the answer is a "no". Fails: INFEASIBLE. */
PP_MUST_CHECK pp_status pp_study_check_limit(const pp_report *report, pp_err *err);
/* Of the replica that was predicted. */
const pp_order *pp_study_order(const pp_study *s);

#endif
