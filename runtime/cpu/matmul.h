/* Products of row-major matrices, and the only door to BLAS. Equal operands give equal bits,
 * whichever thread asks. */
#ifndef PPSIM_RUNTIME_CPU_MATMUL_H
#define PPSIM_RUNTIME_CPU_MATMUL_H

#include "runtime/cpu/real.h"
#include "sim/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Once before the first product, from any thread: makes the library compute in the caller's
 * thread, which is a setting of the whole process. Fails: UNAVAILABLE when built without. */
PP_MUST_CHECK pp_status pp_cpu_matmul_open(pp_err *err);

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
void PP_CPU(mul)(int64_t m, int64_t n, int64_t k, pp_cpu_in a, pp_cpu_in b, pp_cpu_out c);
void PP_CPU(mul_bt)(int64_t m, int64_t n, int64_t k, pp_cpu_in a, pp_cpu_in b, pp_cpu_out c);
void PP_CPU(mul_at)(int64_t m, int64_t n, int64_t k, pp_cpu_in a, pp_cpu_in b, pp_cpu_out c);

#endif
