/* The matrix products of a layer as points of probes of a GPU. */
#ifndef PPSIM_CALIB_MEASURE_GPU_PRODUCTS_H
#define PPSIM_CALIB_MEASURE_GPU_PRODUCTS_H

#include "calib/measure/gpu_probe.h"

typedef enum pp_gpu_pass {
    PP_GPU_FWD,
    PP_GPU_DGRAD, /* gradient of the input */
    PP_GPU_WGRAD, /* gradient of the weight, added to a gradient in float */
    PP_GPU_PASSES,
} pp_gpu_pass;

enum { PP_GPU_WEIGHTS = 4 }; /* qkv, proj, mlp_up, mlp_down */
enum { PP_GPU_CAPABILITY_OF_8_BITS = 89 };
enum { PP_GPU_TOKENS_UNIT = 16 }; /* in 8 bits, cuBLASLt takes multiples of it */

/* The product of one pass with a weight of `out` x `in`. */
typedef struct pp_gpu_layer_product {
    pp_gpu_pass pass;
    int64_t in, out;
    int64_t tokens;      /* rows of the input; of all experts together */
    bool low;            /* in 8 bits, else in bf16 */
    const int64_t *rows; /* [experts]: of each expert, in a product of its own; NULL: one product */
    size_t experts;
    bool cold;
} pp_gpu_layer_product;

/* The inputs and outputs of a weight of the layer that a probe measures. */
void pp_gpu_weight_shape(const pp_gpu_shapes *shapes, uint32_t weight, int64_t *in_out,
                         int64_t *out_out);
/* Adds the point, with its variables as in cpu_gemm.c. rows: not copied. */
void pp_gpu_product_add(pp_gpu_probe *probe, uint32_t series, const pp_gpu_layer_product *of);

#endif
