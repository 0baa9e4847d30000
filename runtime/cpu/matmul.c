/* Products of row-major matrices by OpenBLAS. The library is loaded when a run needs it, and set to
 * one thread, because every rank is a thread. The file is compiled twice, for double and for float.
 * */
#include "runtime/cpu/matmul.h"

#ifdef PPSIM_HAVE_OPENBLAS

#include <cblas.h>
#include <dlfcn.h>
#include <string.h>

typedef void gemm(enum CBLAS_ORDER, enum CBLAS_TRANSPOSE, enum CBLAS_TRANSPOSE, blasint m,
                  blasint n, blasint k, pp_real alpha, const pp_real *a, blasint lda,
                  const pp_real *b, blasint ldb, pp_real beta, pp_real *c, blasint ldc);

#ifdef PP_CPU_FLOAT
#define MINE sgemm
_Static_assert(_Generic(&cblas_sgemm, gemm * : 1, default : 0),
               "cblas.h knows another cblas_sgemm");
#else
#define MINE dgemm
_Static_assert(_Generic(&cblas_dgemm, gemm * : 1, default : 0),
               "cblas.h knows another cblas_dgemm");

/* POSIX: a function's address fits a void *; ISO C has no cast between the two. */
static bool look_up(void *library, const char *name, void (**function_out)(void))
{
    void *symbol = dlsym(library, name);
    memcpy(function_out, &symbol, sizeof symbol);
    return symbol != NULL;
}

pp_status pp_cpu_blas_open(pp_cpu_blas *blas_out, pp_err *err)
{
    pp_cpu_blas blas = { NULL, NULL };
    void (*set_threads)(void) = NULL;
    /* The library is never closed, since it may have threads. A second call returns the same
     * handle. */
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!library || !look_up(library, "cblas_dgemm", &blas.dgemm) ||
        !look_up(library, "cblas_sgemm", &blas.sgemm) ||
        !look_up(library, "openblas_set_num_threads", &set_threads))
        return pp_err_set(err, PP_UNAVAILABLE, "compute cpu",
                          "OpenBLAS cannot be loaded: %s; tools/setup installs it", dlerror());
    ((void (*)(int))set_threads)(1);
    *blas_out = blas;
    return PP_OK;
}
#endif

static void multiply(const pp_cpu_blas *blas, enum CBLAS_TRANSPOSE ta, enum CBLAS_TRANSPOSE tb,
                     const int64_t size[3], pp_cpu_in a, pp_cpu_in b, pp_cpu_out c)
{
    ((gemm *)blas->MINE)(CblasRowMajor, ta, tb, (blasint)size[0], (blasint)size[1],
                         (blasint)size[2], 1, a.at, (blasint)a.step, b.at, (blasint)b.step, c.add,
                         c.at, (blasint)c.step);
}

#else

enum { CblasNoTrans, CblasTrans };

#ifndef PP_CPU_FLOAT
pp_status pp_cpu_blas_open(pp_cpu_blas *blas_out, pp_err *err)
{
    (void)blas_out;
    return pp_err_set(err, PP_UNAVAILABLE, "compute cpu",
                      "this build has no OpenBLAS; run tools/setup and build again");
}
#endif

/* Never called: pp_cpu_blas_open fails in this build. */
static void multiply(const pp_cpu_blas *blas, int ta, int tb, const int64_t size[3], pp_cpu_in a,
                     pp_cpu_in b, pp_cpu_out c)
{
    (void)blas, (void)ta, (void)tb, (void)size, (void)a, (void)b, (void)c;
}

#endif

void pp_cpu_mul(const pp_cpu_blas *blas, int64_t m, int64_t n, int64_t k, pp_cpu_in a, pp_cpu_in b,
                pp_cpu_out c)
{
    multiply(blas, CblasNoTrans, CblasNoTrans, (const int64_t[]){ m, n, k }, a, b, c);
}

void pp_cpu_mul_bt(const pp_cpu_blas *blas, int64_t m, int64_t n, int64_t k, pp_cpu_in a,
                   pp_cpu_in b, pp_cpu_out c)
{
    multiply(blas, CblasNoTrans, CblasTrans, (const int64_t[]){ m, n, k }, a, b, c);
}

void pp_cpu_mul_at(const pp_cpu_blas *blas, int64_t m, int64_t n, int64_t k, pp_cpu_in a,
                   pp_cpu_in b, pp_cpu_out c)
{
    multiply(blas, CblasTrans, CblasNoTrans, (const int64_t[]){ m, n, k }, a, b, c);
}
