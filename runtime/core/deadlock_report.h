/* Explains in words why the ranks of a run stand still. */
#ifndef PPSIM_RUNTIME_CORE_DEADLOCK_REPORT_H
#define PPSIM_RUNTIME_CORE_DEADLOCK_REPORT_H

#include "runtime/core/progress.h"
#include "sim/program/program.h"

/* Sets *err to the reason why the ranks of `program` stand still: the circle of ranks that wait for
 * each other, or the rank that all others wait for in the end.
 * now: [ranks], what each does. known: [ranks], whose entry of `now` is valid; NULL: all are.
 * matched: [transfers], whether both ends have met; NULL: not known. now_ns: the present, on the
 * clock of `now`. Returns INFEASIBLE. */
pp_status pp_deadlock_report(const pp_program *program, const pp_moment *now, const bool *known,
                             const bool *matched, pp_ns now_ns, pp_err *err);

#endif
