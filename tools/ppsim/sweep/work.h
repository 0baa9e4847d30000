/* Who computes which point of a sweep, and what becomes of its line. */
#ifndef PPSIM_TOOLS_PPSIM_SWEEP_WORK_H
#define PPSIM_TOOLS_PPSIM_SWEEP_WORK_H

#include "tools/ppsim/sweep/file.h"

/* Hands out points and takes their lines; any thread. */
typedef struct pp_sweep_work pp_sweep_work;

/* file, lines: borrowed. */
PP_MUST_CHECK pp_status pp_sweep_work_new(const pp_sweep *sweep, pp_sweep_file *file,
                                          pp_sweep_lines *lines, pp_sweep_work **work_out,
                                          pp_err *err);
void pp_sweep_work_free(pp_sweep_work **work); /* for PP_CLEANUP */
/* False: none to hand out. again: those that others have not answered yet count too. */
bool pp_sweep_take(pp_sweep_work *work, bool again, uint32_t *point_out);
/* Takes over `line`; the second line of a point is dropped. */
void pp_sweep_give(pp_sweep_work *work, uint32_t point, char *line, size_t bytes);
/* Nothing is handed out any more. */
void pp_sweep_fail(pp_sweep_work *work, const pp_err *why);
/* All lines are there, or it failed. */
bool pp_sweep_over(pp_sweep_work *work);
/* The verdict. Fails: as the point or file that failed. */
PP_MUST_CHECK pp_status pp_sweep_result(pp_sweep_work *work, pp_err *err);
/* Computes points with `threads` threads of this process, the caller included, until there are
 * none. again: as in pp_sweep_take. */
void pp_sweep_compute(pp_sweep_work *work, uint32_t threads, bool again);

#endif
