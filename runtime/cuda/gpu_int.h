/* One GPU and what it is timed at, from within: gpu.c opens it, gpu_task.c has operands and
 * launches, gpu_timing.c the events around them. */
#ifndef PPSIM_RUNTIME_CUDA_GPU_INT_H
#define PPSIM_RUNTIME_CUDA_GPU_INT_H

#include "runtime/cuda/cudnn.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/gemm.h"
#include "runtime/cuda/gpu.h"
#include "runtime/cuda/self.h"
#include "runtime/cuda/work.h"

#include <semaphore.h>

enum { PP_GPU_SETS_MAX = 16, PP_GPU_BLOCK_BYTES = 1 << 20, PP_GPU_PLACES = 8 };

struct pp_gpu {
    const pp_module_services *services;
    uint32_t number;
    pp_gpu_facts facts;
    cudaStream_t stream, other;
    pp_gpu_blas *blas, *other_blas;
    pp_cudnn *cudnn;    /* NULL: nobody asked for it */
    pp_world *self;     /* of messages; NULL: there were none yet */
    pp_err self_failed; /* by one of them: there are no more */
    pp_ns posted_ns;    /* what the host took to launch the last batch */
    cudaEvent_t other_begin, begin, end, other_end;
    sem_t gate;
    void *flushed; /* [2 cache_bytes] */
    char *block;   /* [PP_GPU_BLOCK_BYTES], pinned: what operands are filled with; behind it what
                      was read of PP_GPU_PLACES */
};

struct pp_gpu_task {
    pp_gpu *gpu;
    pp_gpu_work work;
    uint32_t sets, next;
    pp_gpu_operand of[PP_GPU_OPERANDS];
    bool spoils;                     /* some operand */
    pp_cudnn_graph *graph, *forward; /* cuDNN's, of the work, and of what precedes backward */
    size_t workspace_bytes;          /* theirs */
    char *operand[PP_GPU_SETS_MAX][PP_GPU_OPERANDS];
    size_t queue; /* of a message */
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

/* gpu_task.c: prepare and release of pp_gpu_table. */
pp_status pp_gpu_prepare(pp_gpu *gpu, const pp_gpu_work *work, pp_gpu_task **task_out,
                         char *how_out, size_t how_size, pp_err *err);
void pp_gpu_release(pp_gpu_task *task);
/* Once, with the next set of operands. */
pp_status pp_gpu_task_launch(pp_gpu_task *task, bool on_other, pp_err *err);
/* Where it runs beside something else. */
cudaStream_t pp_gpu_task_stream(const pp_gpu_task *task);
/* Nobody can wait for a message that failed. */
void pp_gpu_task_give_up(const pp_gpu_task *task);
/* Twice the bytes of a copy or message, unless memory has too little for them. */
pp_status pp_gpu_task_grow(pp_gpu_task *task, bool *grown_out, pp_err *err);
/* Fills again what was spoiled of the sets that the next runs use. */
pp_status pp_gpu_task_mend(const pp_gpu_task *task, uint32_t runs, pp_err *err);

/* gpu_timing.c: time and heat of pp_gpu_table. */
pp_status pp_gpu_time(pp_gpu *gpu, pp_gpu_task *task, const pp_gpu_timing *how, pp_ns *took_ns,
                      pp_err *err);
pp_status pp_gpu_heat(pp_gpu *gpu, pp_gpu_task *task, pp_ns least_ns, pp_err *err);

#endif
