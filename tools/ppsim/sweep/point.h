/* One point of a sweep: the command line that it stands for, and its answer. */
#ifndef PPSIM_TOOLS_PPSIM_SWEEP_POINT_H
#define PPSIM_TOOLS_PPSIM_SWEEP_POINT_H

#include "tools/ppsim/sweep/header.h"

/* Computes a point and makes its line, with newline, which the caller frees with free().
 * Thread-safe. Fails: NOMEM, IO, UNAVAILABLE; any other reason why a point has no answer is in its
 * line. */
PP_MUST_CHECK pp_status pp_point_run(const pp_sweep *sweep, uint32_t point, char **line_out,
                                     size_t *bytes_out, pp_err *err);
/* Checks every value of the grid. Fails: USAGE when a value is legal in no point; the reason is
 * that of one of them. */
PP_MUST_CHECK pp_status pp_sweep_check(const pp_sweep *sweep, pp_err *err);

/* The keys of the line of a point that has an answer, in the order of columns; ends with NULL. */
extern const char *const pp_sweep_numbers[];

#endif
