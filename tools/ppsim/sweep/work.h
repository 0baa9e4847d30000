/* Who computes which point of a sweep, and what becomes of its line. */
#ifndef PPSIM_TOOLS_PPSIM_SWEEP_WORK_H
#define PPSIM_TOOLS_PPSIM_SWEEP_WORK_H

#include "tools/ppsim/sweep/file.h"

/* Hands out points and collects their lines. Any thread may use it. */
typedef struct pp_sweep_work pp_sweep_work;

/* file, lines: borrowed. */
PP_MUST_CHECK pp_status pp_sweep_work_new(const pp_sweep *sweep, pp_sweep_file *file,
                                          pp_sweep_lines *lines, pp_sweep_work **work_out,
                                          pp_err *err);
void pp_sweep_work_free(pp_sweep_work **work); /* for PP_CLEANUP */
/* Takes the next point. Returns false if there is none. again: points that others have not answered
 * yet are handed out again. */
bool pp_sweep_take(pp_sweep_work *work, bool again, uint32_t *point_out);
/* Gives the line of a point, which is taken over; the second line of a point is dropped. */
void pp_sweep_give(pp_sweep_work *work, uint32_t point, char *line, size_t bytes);
/* Reports a failure; nothing is handed out any more. */
void pp_sweep_fail(pp_sweep_work *work, const pp_err *why);
/* Returns whether all lines are there, or the work has failed. */
bool pp_sweep_over(pp_sweep_work *work);
/* Returns the result of the work. Fails: as the point or file that failed. */
PP_MUST_CHECK pp_status pp_sweep_result(pp_sweep_work *work, pp_err *err);
/* Computes points with `threads` threads of this process, the caller included, until there are
 * none. again: as in pp_sweep_take. */
void pp_sweep_compute(pp_sweep_work *work, uint32_t threads, bool again);

#endif
