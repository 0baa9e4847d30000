/* The parts of `ppsim plan`. */
#ifndef PPSIM_TOOLS_PPSIM_PLAN_PLAN_H
#define PPSIM_TOOLS_PPSIM_PLAN_PLAN_H

#include "planner/study/cluster.h"
#include "planner/study/plan_search.h"
#include "planner/study/target.h"
#include "tools/ppsim/input/inputs.h"
#include "tools/ppsim/input/profile_args.h"

#include <signal.h>

/* What was asked, with what it points to. */
typedef struct pp_plan_input {
    const pp_inputs *inputs; /* what was read before; may be NULL. Set before reading */
    pp_model model;
    pp_hardware hardware;
    pp_cluster cluster; /* without classes where --hw is one machine */
    pp_hardware class_hardware[PP_CLUSTER_CLASSES_MAX];
    pp_profile_in_use profile;
    pp_lengths lengths;
    bool packings[PP_PACKING_COUNT];
    pp_jitter_spec jitter;
    pp_rank_overrides overrides;
    pp_notes assumptions;
    int64_t begin_ns, end_ns; /* of the wall-clock budget, on the clock of runtime/core/clock.h */
    double shown;             /* the last score shown while it was searched; 0: none */
    pp_plan_request request;  /* points into this object: do not copy */
    const pp_target_limits *target; /* NULL: none */
    pp_plan_request free_request;   /* with target: as if there were none */
} pp_plan_input;

/* Fails: USAGE, INPUT, IO, UNAVAILABLE, NOMEM. */
PP_MUST_CHECK pp_status pp_plan_input_read(const pp_args *args, pp_plan_input *input, pp_err *err);
/* The same of a command whose word is a file of lengths, instead of --lengths. */
PP_MUST_CHECK pp_status pp_plan_input_read_with(const pp_args *args, const char *lengths,
                                                pp_plan_input *input, pp_err *err);
/* --packing: *choice, of which `packings` are tried: one, or all with PP_PACKING_COUNT (auto).
 * Fails: USAGE. */
PP_MUST_CHECK pp_status pp_packing_read(const pp_args *args, int *choice,
                                        bool packings[PP_PACKING_COUNT], pp_err *err);
/* The same of a input with lengths. Fails: USAGE. */
PP_MUST_CHECK pp_status pp_plan_input_read_packing(const pp_args *args, pp_plan_input *input,
                                                   pp_err *err);
/* Where one framework, one protocol and one layout are needed. instead: what needs them. Fails:
 * USAGE when one of them is auto. */
PP_MUST_CHECK pp_status pp_plan_input_refuse_auto(const pp_plan_input *input, const char *instead,
                                                  pp_err *err);
void pp_plan_input_free(pp_plan_input *input); /* for PP_CLEANUP */

/* --budget: "20000it" sets *count, "5s" sets *time_ns; neither when it is not given. Fails: USAGE.
 */
PP_MUST_CHECK pp_status pp_budget_read(const pp_args *args, int64_t *count, pp_ns *time_ns,
                                       pp_err *err);

/* Between these the first SIGINT ends nothing but sets pp_interrupted: what has been found by then
 * is the result. The second one ends the program. */
void pp_interrupt_begin(struct sigaction *before);
void pp_interrupt_end(const struct sigaction *before);
bool pp_interrupted(void);

/* plan --instance FILE. Fails: USAGE, INPUT, IO, INFEASIBLE, NOMEM. */
PP_MUST_CHECK pp_status pp_plan_instance(const pp_args *args, const pp_option *options,
                                         pp_err *err);

/* plan --explain, of a request for which nothing fits. Fails: NOMEM, IO. */
PP_MUST_CHECK pp_status pp_plan_explain(const pp_args *args, const pp_plan_request *request,
                                        pp_err *err);

/* plan --pareto. Fails: as pp_pareto_find, IO. */
PP_MUST_CHECK pp_status pp_plan_pareto(const pp_args *args, pp_err *err);

/* Memory of each rank at its peak, by component. */
void pp_plan_memory_print(const pp_report *report, pp_text *text);
/* pp_plan_request.missed: that of the candidate that misses by least, and where it does first; to
 * stderr.
 */
void pp_plan_miss_print(void *context, const pp_report *nearest);

/* The plan as people read it, in 80 columns. */
void pp_search_result_print(const pp_search_result *choice, pp_text *text);

#endif
