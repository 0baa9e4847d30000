/* How much the time of a step spreads when durations do: seeded Monte Carlo over the durations of
 * ops and transfers, one slow rank, one slow link. Method and definitions: docs/jitter.md. */
#ifndef PPSIM_PLANNER_ROBUSTNESS_JITTER_H
#define PPSIM_PLANNER_ROBUSTNESS_JITTER_H

#include "sim/analysis/report.h"

#define PP_JITTER_SCENARIOS_MAX 10000000
#define PP_JITTER_SIGMA_MAX 2.0
#define PP_JITTER_SLOW_MAX 1000.0
#define PP_JITTER_THREADS_MAX 1024

/* "compute=0.02,comm=0.1,slow-rank=3:1.3,slow-link=any:2,scenarios=1000"; F=, I=, W=, B= instead
 * of compute= set one class. What is not named does not vary; 1000 scenarios.
 * Fails: USAGE. */
PP_MUST_CHECK pp_status pp_jitter_parse(const char *text, pp_jitter_spec *out, pp_err *err);

/* One program and what is needed to run it again. */
typedef struct pp_jitter_subject {
    const pp_program *program;
    const pp_timeline *timeline; /* its timeline with `costs` as they are */
    const pp_costs *costs;
    bool step_sync;
    bool chained; /* without it: sim/analysis/step_tail.h */
} pp_jitter_subject;

/* step_ns_out: [spec->scenarios], in the order of the scenarios; scenario k does not depend on how
 * many there are, nor on `threads` (0 counts as 1).
 * Fails: USAGE (a slow rank or link that the program does not have), INPUT (times leave 52 bits),
 * INFEASIBLE (hangs), NOMEM. */
PP_MUST_CHECK pp_status pp_jitter_run(const pp_jitter_subject *subject, const pp_jitter_spec *spec,
                                      uint64_t seed, uint32_t threads, pp_ns *step_ns_out,
                                      pp_err *err);

/* Runs and summarises. Fails as above. */
PP_MUST_CHECK pp_status pp_jitter_study(const pp_jitter_subject *subject,
                                        const pp_jitter_spec *spec, uint64_t seed, uint32_t threads,
                                        pp_jitter_result *out, pp_err *err);

/* Puts the result into the report of one of so many replicas. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_jitter_report(const pp_jitter_result *result, int64_t replicas,
                                         pp_report *report, pp_err *err);

#endif
