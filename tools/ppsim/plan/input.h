/* The request of `ppsim plan` to the planner, read from its command line. */
#ifndef PPSIM_TOOLS_PPSIM_PLAN_INPUT_H
#define PPSIM_TOOLS_PPSIM_PLAN_INPUT_H

#include "planner/study/cluster.h"
#include "planner/study/plan_search.h"
#include "planner/study/target.h"
#include "tools/ppsim/base/console.h"
#include "tools/ppsim/base/progress.h"
#include "tools/ppsim/input/inputs.h"
#include "tools/ppsim/input/profile_args.h"

/* The assumption that says how many sequences were cut by --truncate or --split-long. */
#define PP_NOTE_LONG "long sequences"

/* The request of the planner, with everything that it points to. */
typedef struct pp_plan_input {
    const pp_inputs *inputs; /* files that were read before, or NULL; set it before reading */
    pp_model model;
    pp_hardware hardware;
    pp_stack stack;
    pp_cluster cluster; /* has no classes if --hw is one machine */
    pp_hardware class_hardware[PP_CLUSTER_CLASSES_MAX];
    pp_profile_in_use profile;
    pp_lengths lengths;
    pp_expert_tokens expert_tokens;
    bool packings[PP_PACKING_COUNT];
    pp_jitter_spec jitter;
    pp_rank_overrides overrides;
    pp_notes assumptions;
    int64_t begin_ns, end_ns; /* of the wall-clock budget, on the clock of runtime/core/clock.h */
    double shown;             /* the last score that was shown during the search; 0: none */
    pp_progress_line progress;
    const pp_console *console;      /* of the thread that reads the request */
    pp_plan_request request;        /* points into this object: do not copy it */
    const pp_target_limits *target; /* NULL: none */
    pp_plan_request free_request;   /* with a target: the request without its limits */
} pp_plan_input;

/* Says on stderr which of the given degrees a search would not have chosen, and why. err: has the
 * names of fields. */
void pp_plan_remark_degrees(const pp_plan_request *request, pp_err *err);

/* Reads the whole command line of `ppsim plan`. *input is zero except for `inputs`; the owner frees
 * it with pp_plan_input_free. Fails: USAGE, INPUT, IO, UNAVAILABLE, NOMEM. */
PP_MUST_CHECK pp_status pp_plan_input_read(const pp_args *args, pp_plan_input *input, pp_err *err);
/* Does the same for a command that takes the file of lengths as a word, not by --lengths. */
PP_MUST_CHECK pp_status pp_plan_input_read_with(const pp_args *args, const char *lengths,
                                                pp_plan_input *input, pp_err *err);
/* Reads --packing. *choice receives the packing, or PP_PACKING_COUNT for auto; packings[k] receives
 * whether packing k is tried. Fails: USAGE. */
PP_MUST_CHECK pp_status pp_packing_read(const pp_args *args, int *choice,
                                        bool packings[PP_PACKING_COUNT], pp_err *err);
/* Reads --packing into an input that was read and may have lengths. Fails: USAGE. */
PP_MUST_CHECK pp_status pp_plan_input_read_packing(const pp_args *args, pp_plan_input *input,
                                                   pp_err *err);
/* Refuses a request that leaves framework, size protocol or layout open. instead: names what needs
 * one of each. Fails: USAGE when one of them is auto. */
PP_MUST_CHECK pp_status pp_plan_input_refuse_auto(const pp_plan_input *input, const char *instead,
                                                  pp_err *err);
/* Returns whether the program that calls ppsim has cancelled the search. */
bool pp_plan_input_is_cancelled(const pp_plan_input *input);
void pp_plan_input_free(pp_plan_input *input); /* for PP_CLEANUP */

/* Reads --budget: "20000it" sets *count, "5s" sets *time_ns; neither is set when it is not given.
 * Fails: USAGE. */
PP_MUST_CHECK pp_status pp_budget_read(const pp_args *args, int64_t *count, pp_ns *time_ns,
                                       pp_err *err);

#endif
