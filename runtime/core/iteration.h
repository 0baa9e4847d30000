/* Measured steps: from the record of one to the iteration that stands for the run. */
#ifndef PPSIM_RUNTIME_CORE_ITERATION_H
#define PPSIM_RUNTIME_CORE_ITERATION_H

#include "runtime/core/worker.h"

/* After a measured step, in the process of rank 0: makes an iteration of the group's record.
 * number: of the iteration, from 0. Fails: NOMEM; INFEASIBLE when the memory that was counted is
 * not what the simulator predicts. */
pp_status pp_worker_group_keep(pp_worker_group *group, uint32_t number, pp_err *err);

/* Counts the void iterations, and chooses the median by step time of the others; of all, where all
 * are void. */
void pp_run_choose_median(pp_run_result *result);

#endif
