/* Distributes the points of a sweep and collects their lines. */
#ifndef PPSIM_TOOLS_PPSIM_SWEEP_WORK_H
#define PPSIM_TOOLS_PPSIM_SWEEP_WORK_H

#include "tools/ppsim/sweep/file.h"

/* Hands out points and collects their lines. Any thread may use it. */
typedef struct pp_sweep_work pp_sweep_work;

/* Makes the work of the points without a line. `sweep`, `file` and `lines` are borrowed. Fails:
 * NOMEM. */
PP_MUST_CHECK pp_status pp_sweep_work_new(const pp_sweep *sweep, pp_sweep_file *file,
                                          pp_sweep_lines *lines, pp_sweep_work **work_out,
                                          pp_err *err);
void pp_sweep_work_free(pp_sweep_work **work); /* for PP_CLEANUP */
/* Returns the result of the work. Fails: as the point or file that failed. */
PP_MUST_CHECK pp_status pp_sweep_result(pp_sweep_work *work, pp_err *err);
/* Returns whether points are left, and ends the line of progress then. done_out, wanted_out: the
 * points of this shard that have a line, and all of them. */
bool pp_sweep_unfinished(pp_sweep_work *work, uint32_t *done_out, uint32_t *wanted_out);
/* Computes points with `threads` threads of this process, the caller included, until there are
 * none. */
void pp_sweep_compute(pp_sweep_work *work, uint32_t threads);

#endif
