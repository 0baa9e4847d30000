/* Products of row-major matrices, the only caller of BLAS. Equal operands give results that are
 * equal to the bit, in any thread. */
#ifndef PPSIM_RUNTIME_CPU_MATMUL_H
#define PPSIM_RUNTIME_CPU_MATMUL_H

#include "runtime/cpu/real.h"
#include "sim/base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* The two functions of the library (CBLAS). It is loaded when a run first needs them, so that
 * commands that compute nothing do not depend on it, and so that its symbols do not collide with
 * those of GSL, some of which have the same names. */
typedef struct pp_cpu_blas {
    void (*dgemm)(void), (*sgemm)(void);
} pp_cpu_blas;

/* Loads the library and makes it compute in the calling thread, which is a setting of the whole
 * process. Fails: UNAVAILABLE when this build or this machine has none. */
PP_MUST_CHECK pp_status pp_cpu_blas_open(pp_cpu_blas *blas_out, pp_err *err);

/* A part of a matrix: `step` elements from one row to the next. */
typedef struct pp_cpu_in {
    const pp_real *at;
    int64_t step;
} pp_cpu_in;

typedef struct pp_cpu_out {
    pp_real *at;
    int64_t step;
    bool add; /* the product is added; otherwise the output is only written */
} pp_cpu_out;

/* c is m x n, the sum runs over k: c = a b, c = a b^T, c = a^T b. */
void pp_cpu_mul(const pp_cpu_blas *blas, int64_t m, int64_t n, int64_t k, pp_cpu_in a, pp_cpu_in b,
                pp_cpu_out c);
void pp_cpu_mul_bt(const pp_cpu_blas *blas, int64_t m, int64_t n, int64_t k, pp_cpu_in a,
                   pp_cpu_in b, pp_cpu_out c);
void pp_cpu_mul_at(const pp_cpu_blas *blas, int64_t m, int64_t n, int64_t k, pp_cpu_in a,
                   pp_cpu_in b, pp_cpu_out c);

#endif
