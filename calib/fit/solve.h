/* Small least squares that GSL has not: non-negative, monotone, and robust on relative errors. */
#ifndef PPSIM_CALIB_FIT_SOLVE_H
#define PPSIM_CALIB_FIT_SOLVE_H

#include "sim/base/status.h"

#include <stdbool.h>
#include <stddef.h>

#define PP_SOLVE_MAX 32            /* unknowns */
#define PP_SOLVE_NONNEGATIVE_MAX 5 /* unknowns of pp_solve_nonnegative */

/* a: [n * n], symmetric. False when it is singular to working precision, or not finite. */
bool pp_solve(size_t n, const double *a, const double *b, double *x_out);
bool pp_solve_inverse(size_t n, const double *a, double *inverse_out);

/* The x >= 0 with the least x'ax - 2b'x: of all 2^n sets of unknowns that are not 0, the best.
 * False when none of them can be solved. */
bool pp_solve_nonnegative(size_t n, const double *a, const double *b, double *x_out);

/* Isotonic regression: the never falling sequence with the least weighted squared distance to
 * `values`, in place (pool adjacent violators). weights: positive. */
void pp_solve_monotone(size_t n, const double *weights, double *values);

/* Middle of `values`, which it sorts. */
double pp_solve_median(double *values, size_t count);

/* seconds[i] is about the sum over k of row(i)[k] * theta[k], with an error that is relative. */
typedef struct pp_robust {
    size_t count, terms;
    const double *seconds; /* [count] */
    bool monotone;         /* otherwise theta >= 0 */
    /* theta NULL: before there is any. */
    void (*row)(const void *context, size_t index, const double *theta, double *row_out);
    const void *context;
    double *residual; /* [count]: of the caller; log(measured / predicted) when it ends */
    double *scratch;  /* [count]: of the caller */
} pp_robust;

/* Theta from least relative squares and a few rounds of least absolute log errors: good enough to
 * compare structures. False: theta is not fixed. */
bool pp_robust_start(const pp_robust *problem, double *theta_out);

/* Goes on from there: further rounds, then Tukey's bisquare with the scale that these gave.
 * scale_out: standard deviation of log errors, by their median. */
bool pp_robust_finish(const pp_robust *problem, double *theta, double *scale_out);

/* A log error this many scales away has no weight. */
#define PP_ROBUST_OUTLIER 4.685

/* Covariance of theta at the solution (Huber 1981, eq. 7.6.5), free of the bounds, and the solution
 * without them. covariance_out: [terms * terms]. False: theta is not fixed. */
bool pp_robust_covariance(const pp_robust *problem, const double *theta, double scale,
                          double *free_theta_out, double *covariance_out);

#endif
