/* The cpu backend's matrix products, for double and for float. */
#ifndef PPSIM_CALIB_MEASURE_PRODUCTS_H
#define PPSIM_CALIB_MEASURE_PRODUCTS_H

#include <stddef.h>
#include <stdint.h>

typedef enum pp_product {
    PP_PRODUCT_FWD,   /* c = a b */
    PP_PRODUCT_DGRAD, /* c = a b^T */
    PP_PRODUCT_WGRAD, /* c += a^T b */
    PP_PRODUCTS,
} pp_product;

typedef struct pp_product_call {
    pp_product product;
    int64_t m, n, k; /* c is m x n, summed over k */
    void *a, *b, *c; /* dense, row by row, of the type in the name of the function */
} pp_product_call;

struct pp_cpu_blas;

void pp_product_double(const struct pp_cpu_blas *blas, const pp_product_call *call);
void pp_product_float(const struct pp_cpu_blas *blas, const pp_product_call *call);
/* Fills `count` elements with values between -1 and 1, none of them 0. */
void pp_product_fill_double(void *values, size_t count);
void pp_product_fill_float(void *values, size_t count);

#endif
