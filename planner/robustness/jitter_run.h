/* Runs a program once per scenario, with random durations. */
#ifndef PPSIM_PLANNER_ROBUSTNESS_JITTER_RUN_H
#define PPSIM_PLANNER_ROBUSTNESS_JITTER_RUN_H

#include "planner/robustness/jitter_kernel.h"

#define PP_JITTER_THREADS_MAX 1024
#define PP_JITTER_NOT_RUN ((pp_ns)-1)

/* step_ns_out: [spec->scenarios], in the order of the scenarios. Scenario k does not depend on how
 * many there are, nor on `threads` (0 counts as 1); PP_JITTER_NOT_RUN if the study was over before.
 * Fails: USAGE (a slow rank or link that the program does not have), INPUT (times exceed 52 bits),
 * INFEASIBLE (the program hangs), NOMEM. */
PP_MUST_CHECK pp_status pp_jitter_run(const pp_jitter_subject *subject, const pp_jitter_spec *spec,
                                      uint64_t seed, uint32_t threads, pp_ns *step_ns_out,
                                      pp_err *err);

/* Like pp_jitter_run, with this kernel for a program without communication, or with the engine
 * (NULL). */
PP_MUST_CHECK pp_status pp_jitter_run_by(pp_jitter_kernel *kernel, const pp_jitter_subject *subject,
                                         const pp_jitter_spec *spec, uint64_t seed,
                                         uint32_t threads, pp_ns *step_ns_out, pp_err *err);

#endif
