/* Candidates for the place where a curve bends, for forms that have one. */
#ifndef PPSIM_CALIB_FIT_FORM_BREAKPOINT_H
#define PPSIM_CALIB_FIT_FORM_BREAKPOINT_H

#include "calib/fit/form/form.h"

/* Returns place number `index` of up to `most` places, each in the middle between two neighbouring
 * distinct values of `of` among the points. The places are evenly spread over those that have at
 * least `least` distinct values on both sides. Returns NaN if there is no such place; sets
 * *more_out while there are further ones. */
double pp_form_breakpoint(const pp_fit_points *points, double (*of)(const pp_fit_point *point),
                          size_t least, size_t most, size_t index, bool *more_out);

#endif
