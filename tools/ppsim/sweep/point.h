/* Computes one point of a sweep. */
#ifndef PPSIM_TOOLS_PPSIM_SWEEP_POINT_H
#define PPSIM_TOOLS_PPSIM_SWEEP_POINT_H

#include "planner/candidate/kept_orders.h"
#include "tools/ppsim/sweep/header.h"

/* Computes a point and makes its line, with newline, which the caller frees with free(). Any thread
 * may call it, with orders of its own, which do not change the line. Fails: NOMEM, IO, UNAVAILABLE.
 * Any other reason why a point has no answer is written into its line. */
PP_MUST_CHECK pp_status pp_point_run(const pp_sweep *sweep, uint32_t point, pp_kept_orders *kept,
                                     char **line_out, size_t *bytes_out, pp_err *err);
/* Checks every value of the grid. Fails: when a value is legal in no point, as one of its points
 * does; NOMEM. */
PP_MUST_CHECK pp_status pp_sweep_check(const pp_sweep *sweep, pp_err *err);

/* The keys of the numbers in the line of a point that has an answer, in the order of columns. The
 * list ends with NULL. */
extern const char *const pp_sweep_numbers[];

#endif
