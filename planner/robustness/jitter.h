/* How much the time of a step varies when durations do: a Monte Carlo simulation over the durations
 * of ops and transfers, one slow rank, one slow link. Definitions: docs/explanation/jitter.md. */
#ifndef PPSIM_PLANNER_ROBUSTNESS_JITTER_H
#define PPSIM_PLANNER_ROBUSTNESS_JITTER_H

#include "planner/robustness/jitter_subject.h"
#include "sim/analysis/report.h"

/* Runs spec->scenarios scenarios on `threads` threads and summarises them, or the first of them if
 * the subject's callback ends the study: out->spec.scenarios, which may be 0. threads: up to
 * PP_JITTER_THREADS_MAX; 0 means 1. Fails: like pp_jitter_run (planner/robustness/jitter_run.h). */
PP_MUST_CHECK pp_status pp_jitter_study(const pp_jitter_subject *subject,
                                        const pp_jitter_spec *spec, uint64_t seed, uint32_t threads,
                                        pp_jitter_result *out, pp_err *err);

/* Puts the result into the report of one of `replicas` replicas. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_jitter_report(const pp_jitter_result *result, int64_t replicas,
                                         pp_report *report, pp_err *err);

#endif
