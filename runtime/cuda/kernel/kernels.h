/* What a GPU does besides products: every kernel, its arguments, and how it is launched. Formulas:
 * docs/runtime-cpu.md. Tensors are of one type; statistics and sums are float. */
#ifndef PPSIM_RUNTIME_CUDA_KERNEL_KERNELS_H
#define PPSIM_RUNTIME_CUDA_KERNEL_KERNELS_H

#include "runtime/gpu/type.h"

#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A block per row. normed may be x. */
typedef struct pp_gpu_norm_call {
    int64_t rows, width;
    const void *x;        /* backward: gradient of normed */
    void *normed;         /* forward: out */
    float *inverse;       /* [rows]; forward: out */
    const void *residual; /* backward: added; NULL: nothing; may be gradient */
    void *gradient;       /* backward: out */
} pp_gpu_norm_call;

typedef struct pp_gpu_gelu_call {
    int64_t count;
    const void *x; /* forward: before; backward: gradient of what is behind */
    void *y;       /* forward: behind; backward: before, becomes its gradient */
} pp_gpu_gelu_call;

/* Shazeer 2020: y = u g / (1 + exp(-g)), of rows [2 width] of g, then u. */
typedef struct pp_gpu_swiglu_call {
    int64_t rows, width;
    const void *x; /* forward: g and u; backward: gradient of y */
    void *y;       /* forward: out; backward: g and u, become their gradients */
} pp_gpu_swiglu_call;

/* Queries, or keys, that one block takes: `first` to first + tile of a sequence. */
typedef struct pp_gpu_tile {
    int32_t row;    /* of the microbatch where the sequence begins */
    int32_t length; /* of the sequence */
    int32_t first;
} pp_gpu_tile;

/* Causal, inside each sequence. A block per tile and head. */
typedef struct pp_gpu_attention_call {
    const pp_gpu_tile *tile; /* [tiles], on the GPU */
    int64_t tiles;
    int32_t rows; /* of a tile */
    int32_t heads, width;
    int64_t tokens;
    void *qkv;     /* [tokens][3 heads width]; backward: its gradient in the end */
    void *out;     /* [tokens][heads width] */
    float *lse;    /* [tokens][heads] */
    const void *d; /* backward: gradient of out */
    void *keys;    /* backward: [tokens][2 heads width], gradients of keys and values meanwhile */
    float *along;  /* backward: [tokens][heads], d out */
} pp_gpu_attention_call;

/* What the first stage begins with, and the targets of the last. A block per row. */
typedef struct pp_gpu_tokens_call {
    int64_t rows, width;
    const int32_t *token;     /* [rows]: of the embedding; losses: which logit is right; -1: the row
                                 does not count */
    const uint64_t *sequence; /* [rows], of the step */
    const int32_t *position;  /* [rows], in it */
    uint64_t seed;
    uint64_t what;         /* pp_cpu_what: pseudo-random numbers for what */
    const void *embedding; /* [vocab][width]; NULL: x becomes pseudo-random */
    void *x;               /* losses: outputs or logits, become their gradient */
    float share;           /* losses: of one token */
    double *losses;        /* [rows] */
} pp_gpu_tokens_call;

/* A row of the embedding's gradient per block: the rows of d with its token, in order. */
typedef struct pp_gpu_embedding_call {
    int64_t tokens, width; /* different ones */
    const int32_t *token;  /* [tokens] */
    const int32_t *first;  /* [tokens + 1]: into row */
    const int32_t *row;
    const void *d;
    float *gradient;
} pp_gpu_embedding_call;

typedef struct pp_gpu_update_call {
    int64_t count;
    float rate;
    const float *gradient; /* weights -= rate gradient; add: sum += gradient */
    void *weights;
    float *masters; /* weights that are not rounded; NULL: there are none */
    float *sum;
} pp_gpu_update_call;

/* AdamW (Loshchilov & Hutter 2019). Weights are kept in float, and copied. */
typedef struct pp_gpu_adam_call {
    int64_t count;
    float rate, beta1, beta2, epsilon, decay;
    float share1, share2; /* 1 - beta^step */
    const float *gradient;
    float *first, *second, *master;
    void *weights; /* out */
} pp_gpu_adam_call;

/* One block: sum = share times the sum of the losses. */
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
    X(total, pp_gpu_total_call)

typedef struct pp_gpu_launch {
    pp_gpu_type type;
    int64_t blocks; /* 0: nothing is launched */
    size_t shared_bytes;
} pp_gpu_launch;

/* pp_gpu_launch_norm_forward(stream, how, arguments), ...: on the GPU in kernels.cu, in tests as C.
 */
#define PP_GPU_DECLARE(name, arguments) \
    cudaError_t pp_gpu_launch_##name(cudaStream_t stream, pp_gpu_launch how, const arguments *of);
PP_GPU_KERNEL_MAP(PP_GPU_DECLARE)
#undef PP_GPU_DECLARE

/* The same with as many blocks and as much shared memory as the arguments need (kernels.c). */
#define PP_GPU_DECLARE(name, arguments) \
    cudaError_t pp_gpu_##name(cudaStream_t stream, pp_gpu_type type, const arguments *of);
PP_GPU_KERNEL_MAP(PP_GPU_DECLARE)
#undef PP_GPU_DECLARE

/* Rows of a tile for heads of that width: what fits into an SM's shared memory. */
int32_t pp_gpu_tile_rows(int64_t width);

#ifdef __cplusplus
}
#endif

#endif
