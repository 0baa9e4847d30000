/* Measures how long ops take on this machine. */
#ifndef PPSIM_RUNTIME_MEASURE_OP_TIMES_H
#define PPSIM_RUNTIME_MEASURE_OP_TIMES_H

#include "runtime/measure/execution.h"

/* Sets the durations of F, I, W and B of every stage and class of microbatches in x->costs to the
 * measured means, in ns. Other threads compute meanwhile, as many as there will be ranks here. x:
 * as pp_execution_prepare leaves it. Fails: as the compute; INFEASIBLE when the stop flag is set;
 * NOMEM. */
PP_MUST_CHECK pp_status pp_measure_ops(const pp_run_plan_options *options, pp_execution *x,
                                       pp_err *err);

#endif
