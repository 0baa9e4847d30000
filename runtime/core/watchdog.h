/* Watchdog of a run: waits for the ranks of this process, and finds out why they stand still. */
#ifndef PPSIM_RUNTIME_CORE_WATCHDOG_H
#define PPSIM_RUNTIME_CORE_WATCHDOG_H

#include "runtime/core/worker.h"

/* Returns when all ranks of this process have ended, or are given up: then *given_up_out is true,
 * some thread does not end, and what it uses must stay.
 * Fails: as the rank that failed first; INFEASIBLE when a rank stands still, when another process
 * ended the run, or when the stop flag rose; NOMEM. */
pp_status pp_worker_group_watch(pp_worker_group *group, bool *given_up_out, pp_err *err);

#endif
