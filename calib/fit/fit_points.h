/* Samples as the forms see them. */
#ifndef PPSIM_CALIB_FIT_FIT_POINTS_H
#define PPSIM_CALIB_FIT_FIT_POINTS_H

#include "calib/fit/form/form.h"

/* All points of all series, sorted by size; checked. Owner frees points_out->point.
 * Fails: INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_fit_points_of(const pp_series *const series[], size_t count,
                                         double sm_count, pp_fit_points *points_out, pp_err *err);

/* One point, not checked; `assumed` and `key` are set by the caller. */
pp_fit_point pp_fit_point_of(const pp_series *series, const pp_sample *sample, bool *assumed_out);

#endif
