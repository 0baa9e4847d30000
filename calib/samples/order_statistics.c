/* Order statistics of timings: they hold whatever the distribution is, which for timings is skewed
 * and has outliers. The interval of a median is that of the binomial distribution (David and
 * Nagaraja, Order Statistics, section 7.1); quantiles interpolate linearly between neighbours
 * (type 7 of Hyndman and Fan 1996). */
#include "calib/samples/order_statistics.h"

#include <math.h>
#include <stdlib.h>

bool pp_median_interval(size_t count, size_t *low_out, size_t *high_out)
{
    double term = pow(0.5, (double)count); /* P(exactly `rank` values lie below the median) */
    double below = 0;                      /* P(fewer than `rank` values lie below the median) */
    size_t rank = 0;
    if (count > PP_TIMINGS_MAX)
        return false; /* 2^-count would underflow */
    while (rank < count && below + term <= 0.025) {
        below += term;
        term *= (double)(count - rank) / (double)(rank + 1);
        rank++;
    }
    if (rank == 0)
        return false;
    *low_out = rank - 1;
    *high_out = count - rank;
    return true;
}

double pp_quantile(const double *sorted, size_t count, double fraction)
{
    double at = fraction * (double)(count - 1);
    size_t below = (size_t)at;
    if (below + 1 >= count)
        return sorted[count - 1];
    return sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below]);
}

static int by_size(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

double pp_median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_size);
    return pp_quantile(values, count, 0.5);
}
