/* Medians and quantiles of timings. */
#ifndef PPSIM_CALIB_SAMPLES_ORDER_STATISTICS_H
#define PPSIM_CALIB_SAMPLES_ORDER_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>

#define PP_TIMINGS_MAX 1000 /* most timings of one point in one pass */

/* Finds the closest pair of ranks, from 0, such that the median of any distribution lies between
 * these two of `count` sorted samples with a probability of at least 95 %. Returns false for fewer
 * than 6 samples or more than PP_TIMINGS_MAX. */
bool pp_median_interval(size_t count, size_t *low_out, size_t *high_out);

/* Returns a quantile of `count` sorted values (at least 1), interpolated linearly between two of
 * them. `fraction` is from 0 to 1; 0.5 is the median. */
double pp_quantile(const double *sorted, size_t count, double fraction);

/* Sorts `values` (at least 1) and returns their median. */
double pp_median(double *values, size_t count);

#endif
