/* The matrix products of a layer and deterministic values for them, for one type of value: compiled
 * for double, and again for float with PP_CPU_FLOAT. */
#include "calib/measure/products.h"
#include "runtime/cpu/matmul.h"

#ifdef PP_CPU_FLOAT
#define PP_PRODUCT_OF(name) name##_float
#else
#define PP_PRODUCT_OF(name) name##_double
#endif

void PP_PRODUCT_OF(pp_product)(const pp_cpu_blas *blas, const pp_product_call *call)
{
    const int64_t m = call->m;
    const int64_t n = call->n;
    const int64_t k = call->k;
    const pp_cpu_out c = { call->c, n, call->product == PP_PRODUCT_WGRAD };
    if (call->product == PP_PRODUCT_FWD)
        pp_cpu_mul(blas, m, n, k, (pp_cpu_in){ call->a, k }, (pp_cpu_in){ call->b, n }, c);
    else if (call->product == PP_PRODUCT_DGRAD)
        pp_cpu_mul_bt(blas, m, n, k, (pp_cpu_in){ call->a, k }, (pp_cpu_in){ call->b, k }, c);
    else
        pp_cpu_mul_at(blas, m, n, k, (pp_cpu_in){ call->a, m }, (pp_cpu_in){ call->b, n }, c);
}

void PP_PRODUCT_OF(pp_product_fill)(void *values, size_t count)
{
    pp_real *at = values;
    for (size_t i = 0; i < count; i++)
        at[i] = (pp_real)((int)(i * 7919 % 2003) - 1001) / 1001 + (pp_real)1e-4;
}
