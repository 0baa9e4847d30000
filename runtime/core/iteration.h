/* Measured steps: makes an iteration of the record of each, and chooses the one that represents the
 * run. */
#ifndef PPSIM_RUNTIME_CORE_ITERATION_H
#define PPSIM_RUNTIME_CORE_ITERATION_H

#include "runtime/core/worker.h"

/* Makes iteration `number` (from 0) of the group's record. Called in the process of rank 0 after a
 * measured step. Fails: NOMEM; INFEASIBLE when the memory that was counted is not what the
 * simulator predicts. */
pp_status pp_worker_group_keep(pp_worker_group *group, uint32_t number, pp_err *err);

/* Counts the void iterations and chooses the one with the median step time among the others, or
 * among all if all are void. */
void pp_run_choose_median(pp_run_result *result);

#endif
