/* Medians and quantiles of timings. */
#ifndef PPSIM_CALIB_SAMPLES_ORDER_STATISTICS_H
#define PPSIM_CALIB_SAMPLES_ORDER_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>

#define PP_TIMINGS_MAX 1000 /* of one point in one pass */

/* Order statistics: the median lies between the low-th and the high-th of `count` sorted values
 * (from 0) with a probability of 95 % or more, whatever the distribution. false below 6. */
bool pp_median_interval(size_t count, size_t *low_out, size_t *high_out);

/* Sorted values; fraction 0.5 is the median. Between two values it interpolates. */
double pp_quantile(const double *sorted, size_t count, double fraction);

/* Sorts `values` and returns their median. count: 1 or more. */
double pp_median(double *values, size_t count);

#endif
