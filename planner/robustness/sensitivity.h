/* How much the time of a step depends on the duration of each stage and link. Definitions:
 * docs/explanation/jitter.md. */
#ifndef PPSIM_PLANNER_ROBUSTNESS_SENSITIVITY_H
#define PPSIM_PLANNER_ROBUSTNESS_SENSITIVITY_H

#include "planner/robustness/jitter_subject.h"
#include "sim/analysis/robustness.h"

/* Without communication: the right-hand derivative of step_ns, which is the largest number of ops
 * of the stage (transfers of the link) on any critical path, and one critical path. With
 * communication: the growth of step_ns when each of them takes 1 ns longer. Owner frees with
 * pp_sensitivity_free. Fails: INPUT (times exceed 64 bits), INFEASIBLE, NOMEM. */
PP_MUST_CHECK pp_status pp_sensitivity_study(const pp_jitter_subject *subject,
                                             pp_sensitivity **sensitivity_out, pp_err *err);

#endif
