/* Products of row-major matrices on a GPU by cuBLASLt. The first algorithm of its heuristic is
 * used, as frameworks do; the heuristic is asked once for every shape. */
#ifndef PPSIM_RUNTIME_CUDA_COMPUTE_GEMM_H
#define PPSIM_RUNTIME_CUDA_COMPUTE_GEMM_H

#include "runtime/gpu/gpu.h"

#include <cuda_runtime_api.h>

/* c is m x n, the sum runs over k. A step is the number of elements from one row to the next. */
typedef struct pp_gpu_gemm_call {
    pp_gpu_product product;
    /* types of a and b (in) and of c (out). If in is F32, so is out. In 8 bits the product is ABT,
     * rows are multiples of 16 B, and out is BF16 or F32; E5M2 is the type of a alone, and b is
     * E4M3: a gradient and what it is multiplied with. */
    pp_gpu_type in, out;
    int64_t m, n, k;     /* positive */
    const void *a, *b;   /* on the GPU, like c */
    const float *scales; /* in 8 bits, on the GPU: [2], by which the elements of a and of b are
                            multiplied */
    void *c;
    int64_t a_step, b_step, c_step;
    bool add;                /* the product is added; otherwise c is only written */
    int32_t multiprocessors; /* that the product may use; 0: all */
} pp_gpu_gemm_call;

/* The algorithm that cuBLASLt uses for a call. */
typedef struct pp_gpu_gemm_choice {
    int32_t algorithm, split_k;
    uint32_t tile, stages; /* CUBLASLT_MATMUL_TILE_..., ..._STAGES_... */
    uint32_t reduction;    /* CUBLASLT_REDUCTION_SCHEME_... */
    float waves;           /* 1: the blocks fill the GPU exactly once */
    size_t workspace_bytes;
} pp_gpu_gemm_choice;

/* cuBLASLt on one GPU, with the algorithms of the shapes so far. Its products share one workspace:
 * they must be in one stream, or run one after the other. Used by one thread. The owner closes it.
 * */
typedef struct pp_gpu_blas pp_gpu_blas;

/* Opens cuBLASLt on the current GPU of the thread. Fails: UNAVAILABLE, NOMEM, IO. */
PP_MUST_CHECK pp_status pp_gpu_gemm_open(const pp_module_services *services, uint32_t rank,
                                         pp_gpu_blas **blas_out, pp_err *err);
/* May be called when its stream has finished all products. NULL is fine. */
void pp_gpu_gemm_close(pp_gpu_blas *blas);

/* Enqueues the product. Fails: UNAVAILABLE (cuBLASLt has no algorithm for it), NOMEM, IO. */
PP_MUST_CHECK pp_status pp_gpu_gemm(pp_gpu_blas *blas, const pp_gpu_gemm_call *call,
                                    cudaStream_t stream, pp_err *err);
/* Returns the algorithm for a product without running it. Fails: as pp_gpu_gemm. */
PP_MUST_CHECK pp_status pp_gpu_gemm_choose(pp_gpu_blas *blas, const pp_gpu_gemm_call *call,
                                           pp_gpu_gemm_choice *choice_out, pp_err *err);

#endif
