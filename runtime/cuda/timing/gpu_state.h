/* One GPU and the work that is timed on it: what gpu.c opens, gpu_task.c fills and launches, and
 * gpu_timing.c times. */
#ifndef PPSIM_RUNTIME_CUDA_TIMING_GPU_STATE_H
#define PPSIM_RUNTIME_CUDA_TIMING_GPU_STATE_H

#include "runtime/cuda/base/device.h"
#include "runtime/cuda/compute/gemm.h"
#include "runtime/cuda/nccl/self.h"
#include "runtime/cuda/timing/cudnn.h"
#include "runtime/cuda/timing/gpu.h"
#include "runtime/cuda/timing/work.h"

#include <semaphore.h>

enum { PP_GPU_SETS_MAX = 16, PP_GPU_BLOCK_BYTES = 1 << 20, PP_GPU_PLACES = 8 };
enum { PP_GPU_LANES = 4 }; /* streams of TransformerEngine's grouped linear layers */

/* A stream on which products of experts run. */
typedef struct pp_gpu_lane {
    cudaStream_t stream;
    cudaEvent_t over; /* its products so far */
    pp_gpu_blas *blas;
} pp_gpu_lane;

struct pp_gpu {
    const pp_module_services *services;
    uint32_t number;
    pp_gpu_facts facts;
    cudaStream_t stream, other;
    pp_gpu_blas *blas, *other_blas;
    pp_gpu_lane lane[PP_GPU_LANES]; /* opened when products of experts are prepared */
    cudaEvent_t behind;             /* what the lanes wait for */
    pp_cudnn *cudnn;                /* NULL: not opened */
    pp_world *self;                 /* world of messages; NULL: there were none yet */
    pp_err self_failed;             /* failure of a message, after which there are no more */
    pp_ns posted_ns;                /* the host's time to launch the last batch */
    cudaEvent_t other_begin, begin, end, other_end;
    sem_t gate;
    void *flushed;  /* [2 cache_bytes] */
    char *block;    /* [PP_GPU_BLOCK_BYTES], pinned: the numbers that fill operands */
    char *block_8;  /* [PP_GPU_BLOCK_BYTES]: those in 8 bits, behind them */
    uint32_t *seen; /* [PP_GPU_PLACES]: values that are read, behind these */
};

struct pp_gpu_task {
    pp_gpu *gpu;
    pp_gpu_work work;
    uint32_t sets, next;
    pp_gpu_operand of[PP_GPU_OPERANDS];
    bool spoils; /* some operand is overwritten */
    pp_cudnn_graph *graph,
        *forward;           /* graphs of cuDNN: of the work, and of the forward before a backward */
    size_t workspace_bytes; /* workspace of the graphs */
    char *operand[PP_GPU_SETS_MAX][PP_GPU_OPERANDS];
    size_t queue; /* queue of a message */
    bool has_queue;
};

static inline pp_status pp_gpu_checked(const pp_gpu *gpu, cudaError_t code, const char *what,
                                       pp_err *err)
{
    return pp_gpu_check(gpu->services, gpu->number, code, what, err);
}

static inline pp_status pp_gpu_finish(const pp_gpu *gpu, cudaStream_t stream, pp_err *err)
{
    return pp_gpu_checked(gpu, cudaStreamSynchronize(stream), "the work", err);
}

#endif
