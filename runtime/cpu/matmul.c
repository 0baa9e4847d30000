#include "runtime/cpu/matmul.h"

#ifdef PPSIM_HAVE_OPENBLAS

#include <cblas.h>

#ifdef PP_CPU_FLOAT
#define GEMM cblas_sgemm
#else
#define GEMM cblas_dgemm
pp_status pp_cpu_matmul_open(pp_err *err)
{
    (void)err;
    openblas_set_num_threads(1);
    return PP_OK;
}
#endif

static void multiply(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, const int64_t size[3], pp_cpu_in a,
                     pp_cpu_in b, pp_cpu_out c)
{
    GEMM(CblasRowMajor, ta, tb, (blasint)size[0], (blasint)size[1], (blasint)size[2], 1, a.at,
         (blasint)a.step, b.at, (blasint)b.step, c.add, c.at, (blasint)c.step);
}

#else

enum { CblasNoTrans, CblasTrans };

#ifndef PP_CPU_FLOAT
pp_status pp_cpu_matmul_open(pp_err *err)
{
    return pp_err_set(err, PP_UNAVAILABLE, "compute cpu",
                      "this build has no OpenBLAS; run tools/setup and build anew, or use another "
                      "--compute");
}
#endif

/* Never called: nothing opens. */
static void multiply(int ta, int tb, const int64_t size[3], pp_cpu_in a, pp_cpu_in b, pp_cpu_out c)
{
    (void)ta, (void)tb, (void)size, (void)a, (void)b, (void)c;
}

#endif

void PP_CPU(mul)(int64_t m, int64_t n, int64_t k, pp_cpu_in a, pp_cpu_in b, pp_cpu_out c)
{
    multiply(CblasNoTrans, CblasNoTrans, (const int64_t[]){ m, n, k }, a, b, c);
}

void PP_CPU(mul_bt)(int64_t m, int64_t n, int64_t k, pp_cpu_in a, pp_cpu_in b, pp_cpu_out c)
{
    multiply(CblasNoTrans, CblasTrans, (const int64_t[]){ m, n, k }, a, b, c);
}

void PP_CPU(mul_at)(int64_t m, int64_t n, int64_t k, pp_cpu_in a, pp_cpu_in b, pp_cpu_out c)
{
    multiply(CblasTrans, CblasNoTrans, (const int64_t[]){ m, n, k }, a, b, c);
}
