/* The kernels of a GPU other than products: their arguments, and how they are launched.
 * docs/explanation/runtime-cpu.md has the formulas. Tensors have one type; statistics and sums are
 * float. */
#ifndef PPSIM_RUNTIME_CUDA_KERNEL_KERNELS_H
#define PPSIM_RUNTIME_CUDA_KERNEL_KERNELS_H

#include "runtime/gpu/type.h"

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Root mean square norm, a block per row. normed may be x. */
typedef struct pp_gpu_norm_call {
    int64_t rows, width;
    const void *x;        /* backward: gradient of `normed` */
    void *normed;         /* forward: out */
    float *inverse;       /* [rows]; forward: output */
    const void *residual; /* backward: added to the gradient, may be `gradient`; NULL: zero */
    void *gradient;       /* backward: out */
} pp_gpu_norm_call;

typedef struct pp_gpu_gelu_call {
    int64_t count;
    const void *x; /* forward: input; backward: gradient of the output */
    void *y;       /* forward: output; backward: the input, replaced by its gradient */
} pp_gpu_gelu_call;

/* SwiGLU (Shazeer 2020): y = u g / (1 + exp(-g)). A row has [2 width] elements: g, then u. */
typedef struct pp_gpu_swiglu_call {
    int64_t rows, width;
    const void *x; /* forward: g and u; backward: gradient of the output */
    void *y;       /* forward: output; backward: g and u, replaced by their gradients */
} pp_gpu_swiglu_call;

/* The queries or keys of one block: from `first` to first + tile of a sequence. */
typedef struct pp_gpu_tile {
    int32_t row;    /* row of the microbatch where the sequence begins */
    int32_t length; /* length of the sequence */
    int32_t first;
} pp_gpu_tile;

/* Causal attention within each sequence, a block per tile and head. */
typedef struct pp_gpu_attention_call {
    const pp_gpu_tile *tile; /* [tiles], on the GPU */
    int64_t tiles;
    int32_t rows; /* rows of a tile */
    int32_t heads, width;
    int64_t tokens;
    void *qkv;     /* [tokens][3 heads width]; backward replaces it by its gradient */
    void *out;     /* [tokens][heads width] */
    float *lse;    /* [tokens][heads] */
    const void *d; /* backward: gradient of out */
    void
        *keys; /* backward: [tokens][2 heads width], scratch for the gradients of keys and values */
    float *along; /* backward: [tokens][heads], dot products of d and out */
} pp_gpu_attention_call;

/* The input of the first stage, and the losses of the last; a block per row. */
typedef struct pp_gpu_tokens_call {
    int64_t rows, width;
    const int32_t *token; /* [rows]: row of the embedding; losses: the right logit, or -1: the row
                             does not count */
    const uint64_t *sequence; /* [rows], index of the sequence in the step */
    const int32_t *position;  /* [rows], position in the sequence */
    uint64_t seed;
    uint64_t what;         /* pp_cpu_what: the purpose of the pseudo-random numbers */
    const void *embedding; /* [vocab][width]; NULL: x gets pseudo-random numbers */
    void *x;               /* losses: outputs or logits, replaced by their gradient */
    float share;           /* losses: weight of one token */
    double *losses;        /* [rows] */
} pp_gpu_tokens_call;

/* The gradient of the embedding, a block per distinct token: the sum of the rows of d that have
 * this token, in order. */
typedef struct pp_gpu_embedding_call {
    int64_t tokens, width; /* distinct tokens */
    const int32_t *token;  /* [tokens] */
    const int32_t *first;  /* [tokens + 1]: indices into `row` */
    const int32_t *row;
    const void *d;
    float *gradient;
} pp_gpu_embedding_call;

typedef struct pp_gpu_update_call {
    int64_t count;
    float rate;
    const float *gradient; /* weights -= rate * gradient; add: sum += gradient */
    void *weights;
    float *masters; /* weights in float, which are not rounded; NULL: there are none */
    float *sum;
} pp_gpu_update_call;

/* AdamW (Loshchilov and Hutter 2019). Weights are kept in float, with a copy in the type of
 * tensors. */
typedef struct pp_gpu_adam_call {
    int64_t count;
    float rate, beta1, beta2, epsilon, decay;
    float share1, share2; /* 1 - beta^step */
    const float *gradient;
    float *first, *second, *master;
    void *weights; /* output */
} pp_gpu_adam_call;

enum { PP_GPU_QUANTIZE_TILE = 64 }; /* rows and columns of x that a block takes */

/* To 8 bits (E4M3) with one scale per tensor, a block per tile: y = x * scale, cut off at the
 * largest number of the format, and its transposed copy, which the gradients of weights and inputs
 * multiply. It finds the largest element of x besides. */
typedef struct pp_gpu_quantize_call {
    int64_t rows, width, tiles; /* tiles: pp_gpu_quantize_tiles */
    const void *x;
    uint8_t *y;      /* [rows][width] */
    uint8_t *turned; /* [width][rows] */
    float *largest;  /* [tiles], of the absolute values; NaN is left out */
    float *scales;   /* [2]: that of `quantize`, and its inverse; make_scales: output */
} pp_gpu_quantize_call;

/* One block: sum = share * the sum of the losses. */
typedef struct pp_gpu_total_call {
    int64_t rows;
    const double *losses;
    double share;
    float *sum;
} pp_gpu_total_call;

/* name, arguments */
#define PP_GPU_KERNEL_MAP(X)                             \
    X(norm_forward, pp_gpu_norm_call)                    \
    X(norm_backward, pp_gpu_norm_call)                   \
    X(gelu_forward, pp_gpu_gelu_call)                    \
    X(gelu_backward, pp_gpu_gelu_call)                   \
    X(swiglu_forward, pp_gpu_swiglu_call)                \
    X(swiglu_backward, pp_gpu_swiglu_call)               \
    X(attention_forward, pp_gpu_attention_call)          \
    X(attention_along, pp_gpu_attention_call)            \
    X(attention_backward_keys, pp_gpu_attention_call)    \
    X(attention_backward_queries, pp_gpu_attention_call) \
    X(attention_move_keys, pp_gpu_attention_call)        \
    X(first_input, pp_gpu_tokens_call)                   \
    X(squared_error, pp_gpu_tokens_call)                 \
    X(cross_entropy, pp_gpu_tokens_call)                 \
    X(embedding_gradient, pp_gpu_embedding_call)         \
    X(update, pp_gpu_update_call)                        \
    X(add, pp_gpu_update_call)                           \
    X(adam, pp_gpu_adam_call)                            \
    X(find_largest, pp_gpu_quantize_call)                \
    X(make_scales, pp_gpu_quantize_call)                 \
    X(quantize, pp_gpu_quantize_call)                    \
    X(total, pp_gpu_total_call)

typedef struct pp_gpu_launch {
    pp_gpu_type type;
    int64_t blocks; /* 0: the kernel is not launched */
    size_t shared_bytes;
} pp_gpu_launch;

/* Declares pp_gpu_launch_norm_forward(stream, how, arguments) and so on: kernels.cu defines them
 * for a GPU, tests as C. */
#define PP_GPU_DECLARE(name, arguments) \
    cudaError_t pp_gpu_launch_##name(cudaStream_t stream, pp_gpu_launch how, const arguments *of);
PP_GPU_KERNEL_MAP(PP_GPU_DECLARE)
#undef PP_GPU_DECLARE

/* Declares pp_gpu_norm_forward(stream, arguments) and so on, which compute the numbers of blocks
 * and bytes of shared memory (kernels.c). */
#define PP_GPU_DECLARE(name, arguments) \
    cudaError_t pp_gpu_##name(cudaStream_t stream, pp_gpu_type type, const arguments *of);
PP_GPU_KERNEL_MAP(PP_GPU_DECLARE)
#undef PP_GPU_DECLARE

/* Returns the rows of a tile for heads of that width: as many as fit into the shared memory of a
 * multiprocessor. */
int32_t pp_gpu_tile_rows(int64_t width);
/* Returns the number of tiles of a tensor that is quantized. */
int64_t pp_gpu_quantize_tiles(int64_t rows, int64_t width);

#ifdef __cplusplus
}
#endif

#endif
