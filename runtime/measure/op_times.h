/* What ops take on this machine, measured one after the other. */
#ifndef PPSIM_RUNTIME_MEASURE_OP_TIMES_H
#define PPSIM_RUNTIME_MEASURE_OP_TIMES_H

#include "runtime/measure/execution.h"

/* Writes the mean durations of F, I, W and B of every stage and class of microbatches into
 * x->costs, in ns, measured while as many other threads compute as there will be ranks here. x: as
 * pp_execution_prepare leaves it. Fails: as the compute; INFEASIBLE when the stop flag rises;
 * NOMEM. */
PP_MUST_CHECK pp_status pp_measure_ops(const pp_run_plan_options *options, pp_execution *x,
                                       pp_err *err);

#endif
