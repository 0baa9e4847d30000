/* Products of row-major matrices. Nothing else calls BLAS. Equal operands give equal bits,
 * whichever thread asks. */
#ifndef PPSIM_RUNTIME_CPU_MATMUL_H
#define PPSIM_RUNTIME_CPU_MATMUL_H

#include "runtime/cpu/real.h"
#include "sim/base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* The two products of the library (CBLAS). It is loaded when they are first asked for: commands
 * that compute nothing do without it, and its symbols do not meet those of GSL, some of which have
 * the same names. */
typedef struct pp_cpu_blas {
    void (*dgemm)(void), (*sgemm)(void);
} pp_cpu_blas;

/* Makes the library compute in the caller's thread, which is a setting of the whole process.
 * Fails: UNAVAILABLE when this build or this machine has none. */
PP_MUST_CHECK pp_status pp_cpu_blas_open(pp_cpu_blas *blas_out, pp_err *err);

/* A part of a matrix: `step` elements from one row to the next. */
typedef struct pp_cpu_in {
    const pp_real *at;
    int64_t step;
} pp_cpu_in;

typedef struct pp_cpu_out {
    pp_real *at;
    int64_t step;
    bool add; /* to what is there; otherwise that is not read */
} pp_cpu_out;

/* c is m x n, summed over k: c = a b, a b^T, a^T b. */
void pp_cpu_mul(const pp_cpu_blas *blas, int64_t m, int64_t n, int64_t k, pp_cpu_in a, pp_cpu_in b,
                pp_cpu_out c);
void pp_cpu_mul_bt(const pp_cpu_blas *blas, int64_t m, int64_t n, int64_t k, pp_cpu_in a,
                   pp_cpu_in b, pp_cpu_out c);
void pp_cpu_mul_at(const pp_cpu_blas *blas, int64_t m, int64_t n, int64_t k, pp_cpu_in a,
                   pp_cpu_in b, pp_cpu_out c);

#endif
