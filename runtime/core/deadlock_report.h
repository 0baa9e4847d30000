/* Explains in words why the ranks of a run make no progress. */
#ifndef PPSIM_RUNTIME_CORE_DEADLOCK_REPORT_H
#define PPSIM_RUNTIME_CORE_DEADLOCK_REPORT_H

#include "runtime/core/progress.h"
#include "sim/program/program.h"

/* Sets *err to the reason why the ranks of `program` make no progress: the cycle of ranks that wait
 * for each other, or the rank that all others wait for in the end. now: [ranks], what each rank
 * does. known: [ranks], whether its entry of `now` is valid; NULL: all are valid. matched:
 * [transfers], whether both ends have met; NULL: not known. queues: whether the transport queues
 * groups (pp_transport.has_queues). now_ns: the present, on the clock of `now`. Returns INFEASIBLE,
 * or NOMEM. */
pp_status pp_deadlock_report(const pp_program *program, const pp_moment *now, const bool *known,
                             const bool *matched, bool queues, pp_ns now_ns, pp_err *err);

#endif
