/* The watchdog of a run: waits for the ranks of this process, and reports why they make no
 * progress. */
#ifndef PPSIM_RUNTIME_CORE_WATCHDOG_H
#define PPSIM_RUNTIME_CORE_WATCHDOG_H

#include "runtime/core/worker.h"

/* Returns when all ranks of this process have ended. If some thread does not end it is given up:
 * *given_up_out is true, and what the thread uses must be kept. Fails: as the rank that failed
 * first; INFEASIBLE when a rank makes no progress, when another process ended the run, or when the
 * stop flag is set; NOMEM. */
pp_status pp_worker_group_watch(pp_worker_group *group, bool *given_up_out, pp_err *err);

#endif
