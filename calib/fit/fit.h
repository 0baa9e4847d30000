/* Fits the curves of sim/job/hardware.h to measured kernels. Errors are relative, so that short and
 * long kernels count alike; outliers count less (iteratively reweighted least squares). */
#ifndef PPSIM_CALIB_FIT_FIT_H
#define PPSIM_CALIB_FIT_FIT_H

#include "sim/base/status.h"
#include "sim/job/hardware.h"

#include <stddef.h>

typedef struct pp_gemm_sample {
    double m, n, k;
    double seconds;
} pp_gemm_sample;

typedef struct pp_attention_sample {
    double flops;  /* as the measurement counts them: causal halved */
    double length; /* of every sequence */
    double blocks; /* batch * heads * length / 128 */
    double seconds;
} pp_attention_sample;

typedef struct pp_collective_sample {
    double bytes;
    double seconds;
} pp_collective_sample;

/* Of predicted over measured time, minus 1. */
typedef struct pp_fit_quality {
    double bias, mean, median, max; /* mean, median, max: of absolute values */
} pp_fit_quality;

/* Fits t0_s, e1, k0, e2, fd_flops, a; the other fields of `curve` stay. Its values are the start.
 * Fails: INPUT (fewer samples than parameters, a sample that is not positive, no convergence),
 * NOMEM. */
PP_MUST_CHECK pp_status pp_fit_gemm(const pp_gemm_sample *samples, size_t count,
                                    double peak_flops_per_s, int sm_count, pp_gemm_curve *curve,
                                    pp_fit_quality *quality_out, pp_err *err);

/* Fits e and s0; b0 stays, since lengths and blocks seldom vary apart. Fails: as above. */
PP_MUST_CHECK pp_status pp_fit_attention(const pp_attention_sample *samples, size_t count,
                                         double peak_flops_per_s, pp_attention_curve *curve,
                                         pp_fit_quality *quality_out, pp_err *err);

/* Fits a_s, bytes_per_s, b0_bytes for curve->kind and curve->ranks. Fails: as above. */
PP_MUST_CHECK pp_status pp_fit_collective(const pp_collective_sample *samples, size_t count,
                                          pp_collective_curve *curve, pp_fit_quality *quality_out,
                                          pp_err *err);

/* How many standard errors each way hold 95 % of Student's t with so many degrees of freedom, at
 * least 1. */
double pp_fit_student(double freedom);

/* errors: [count], sorted in place. */
pp_fit_quality pp_fit_quality_of(double *errors, size_t count);

#endif
