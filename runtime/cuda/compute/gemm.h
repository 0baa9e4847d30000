/* Products of row-major matrices on a GPU, by cuBLASLt. It takes what its heuristic puts first, as
 * frameworks do, and asks it once for every shape. */
#ifndef PPSIM_RUNTIME_CUDA_COMPUTE_GEMM_H
#define PPSIM_RUNTIME_CUDA_COMPUTE_GEMM_H

#include "runtime/gpu/gpu.h"

#include <cuda_runtime_api.h>

/* c is m x n, summed over k. A step is the elements from one row to the next. */
typedef struct pp_gpu_gemm_call {
    pp_gpu_product product;
    pp_gpu_type in, out; /* of a and b, and of c; out is F32 where in is */
    int64_t m, n, k;     /* positive */
    const void *a, *b;   /* memory of the GPU, as c */
    void *c;
    int64_t a_step, b_step, c_step;
    bool add;                /* to what is there; otherwise that is not read */
    int32_t multiprocessors; /* the product may take; 0: all */
} pp_gpu_gemm_call;

/* What cuBLASLt does with a call. */
typedef struct pp_gpu_gemm_choice {
    int32_t algorithm, split_k;
    uint32_t tile, stages; /* CUBLASLT_MATMUL_TILE_..., ..._STAGES_... */
    uint32_t reduction;    /* CUBLASLT_REDUCTION_SCHEME_... */
    float waves;           /* 1: the GPU is full, once */
    size_t workspace_bytes;
} pp_gpu_gemm_choice;

/* cuBLASLt on one GPU, and the shapes it was asked for. Its calls use the same workspace: they go
 * to one stream, or one after the other. Used by one thread. Owner closes it. */
typedef struct pp_gpu_blas pp_gpu_blas;

/* On the GPU that the thread is at. Fails: UNAVAILABLE, NOMEM, IO. */
PP_MUST_CHECK pp_status pp_gpu_gemm_open(const pp_module_services *services, uint32_t rank,
                                         pp_gpu_blas **blas_out, pp_err *err);
/* After its stream has done the calls. NULL is fine. */
void pp_gpu_gemm_close(pp_gpu_blas *blas);

/* Enqueues the product. Fails: UNAVAILABLE (cuBLASLt has no algorithm for it), NOMEM, IO. */
PP_MUST_CHECK pp_status pp_gpu_gemm(pp_gpu_blas *blas, const pp_gpu_gemm_call *call,
                                    cudaStream_t stream, pp_err *err);
/* What it would do. Fails: as above. */
PP_MUST_CHECK pp_status pp_gpu_gemm_choose(pp_gpu_blas *blas, const pp_gpu_gemm_call *call,
                                           pp_gpu_gemm_choice *choice_out, pp_err *err);

#endif
