/* Converts samples to the data points to which curves are fitted. */
#ifndef PPSIM_CALIB_FIT_FIT_POINTS_H
#define PPSIM_CALIB_FIT_FIT_POINTS_H

#include "calib/fit/form/form.h"

/* Checks the samples of all series and writes their points, sorted by size. The series must be all
 * links or all kernels. `sm_count` is that of the GPU, or 0. The caller frees points_out->point.
 * Fails: INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_fit_points_of(const pp_series *const series[], size_t count,
                                         double sm_count, pp_fit_points *points_out, pp_err *err);

/* Converts one sample without checking it. Sets *assumed_out if the channels of NVSwitch are
 * assumed, and leaves it unchanged otherwise. The caller sets `key`. */
pp_fit_point pp_fit_point_of(const pp_series *series, const pp_sample *sample, bool *assumed_out);

#endif
