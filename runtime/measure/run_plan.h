/* Executes a plan, measures it, and predicts the same program for comparison. */
#ifndef PPSIM_RUNTIME_MEASURE_RUN_PLAN_H
#define PPSIM_RUNTIME_MEASURE_RUN_PLAN_H

#include "runtime/measure/execution.h"

/* Executes a plan and measures it. written: a program with communication that is executed
 * unchanged; NULL: the plan's order is lowered by framework ppsim (by zero-bubble if the transport
 * has queues), with the plan's size protocol, comm and tensors. Fails: USAGE (a compute or
 * transport that cannot do this), UNAVAILABLE, INPUT, INFEASIBLE (it cannot finish; it hung;
 * verification failed), NOMEM. execution_out is set even after a failure, with the results so
 * far. */
PP_MUST_CHECK pp_status pp_run_plan(const pp_plan *plan, pp_program *written,
                                    const pp_run_plan_options *options, pp_execution *execution_out,
                                    pp_err *err);
#endif
