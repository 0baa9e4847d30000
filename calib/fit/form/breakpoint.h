/* Candidates for the place where a curve bends, for forms that have one. */
#ifndef PPSIM_CALIB_FIT_FORM_BREAKPOINT_H
#define PPSIM_CALIB_FIT_FORM_BREAKPOINT_H

#include "calib/fit/form/form.h"

/* The index-th of up to `most` places between neighbouring distinct values of `of` among the
 * points, evenly spread over those that have at least `least` distinct values on both sides. NaN:
 * there is none. */
double pp_form_breakpoint(const pp_fit_points *points, double (*of)(const pp_fit_point *point),
                          size_t least, size_t most, size_t index, bool *more_out);

#endif
