/* One point of a sweep: the command line that it stands for, and its answer. */
#ifndef PPSIM_TOOLS_PPSIM_SWEEP_POINT_H
#define PPSIM_TOOLS_PPSIM_SWEEP_POINT_H

#include "tools/ppsim/sweep/header.h"

/* The line of a point, with its newline; the caller's to free(). Thread-safe.
 * Fails: NOMEM, IO, UNAVAILABLE; whatever else keeps a point from being answered is in its line. */
PP_MUST_CHECK pp_status pp_point_run(const pp_sweep *sweep, uint32_t point, char **line_out,
                                     size_t *bytes_out, pp_err *err);
/* Fails: USAGE when a value is legal in no point; the reason is that of one of them. */
PP_MUST_CHECK pp_status pp_sweep_check(const pp_sweep *sweep, pp_err *err);

/* What a line says about a point that was answered, in the order of columns; NULL ends. */
extern const char *const pp_sweep_numbers[];

#endif
