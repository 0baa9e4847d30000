/* Robustly fits linear combinations of known terms to times with relative errors. */
#ifndef PPSIM_CALIB_FIT_ROBUST_H
#define PPSIM_CALIB_FIT_ROBUST_H

#include <stdbool.h>
#include <stddef.h>

/* Predicts seconds[i] as the sum over k of row(i)[k] * theta[k]. Everything is the caller's. */
typedef struct pp_robust {
    size_t count, terms;   /* samples; coefficients, at most PP_SOLVE_MAX */
    const double *seconds; /* [count], measured and positive */
    bool monotone; /* theta must be non-decreasing and not below every time; otherwise >= 0 */
    /* Writes the `terms` factors of sample `index`. They may depend on theta, which is NULL before
     * the first guess. */
    void (*row)(const void *context, size_t index, const double *theta, double *row_out);
    const void *context;
    double *residual; /* [count], receives log(measured / predicted) */
    double *scratch;  /* [count] */
} pp_robust;

/* Computes a first theta, good enough to compare structures, from least relative squares and a few
 * rounds of least absolute log errors. Returns false when the samples do not determine theta. */
bool pp_robust_start(const pp_robust *problem, double *theta_out);

/* Refines the theta of pp_robust_start: further rounds, then Tukey's bisquare with the scale that
 * these gave. `scale_out` receives the standard deviation of log errors, estimated by their median.
 * Returns false when the samples do not determine theta. */
bool pp_robust_finish(const pp_robust *problem, double *theta, double *scale_out);

/* A log error this many scales away has no weight. The estimate is then 95 % efficient if errors
 * are normally distributed. */
#define PP_ROBUST_OUTLIER 4.685

/* Computes the solution without bounds and the covariance of theta, [terms * terms], as if there
 * were no bounds (Huber 1981, eq. 7.6.5). Returns false when the samples do not determine theta. */
bool pp_robust_covariance(const pp_robust *problem, const double *theta, double scale,
                          double *free_theta_out, double *covariance_out);

#endif
