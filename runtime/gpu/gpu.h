/* One GPU and the work that is timed on it: what calib/ calls of the module ppsim_cuda.so, without
 * any of CUDA's types. Implemented in runtime/cuda/timing/gpu.c. */
#ifndef PPSIM_RUNTIME_GPU_GPU_H
#define PPSIM_RUNTIME_GPU_GPU_H

#include "runtime/gpu/type.h"
#include "runtime/module/module.h"
#include "sim/base/units.h"

/* Products of row-major matrices; c is m x n, summed over k. */
typedef enum pp_gpu_product {
    PP_GPU_AB,
    PP_GPU_ABT,
    PP_GPU_ATB,
} pp_gpu_product;

typedef enum pp_gpu_work_kind {
    PP_GPU_MULTIPLY,
    PP_GPU_GROUPED,           /* products of `sequences` experts, in turn on several streams */
    PP_GPU_COPY,              /* of `bytes`, within the GPU's memory */
    PP_GPU_COPY_IN,           /* from pinned memory of the host */
    PP_GPU_COPY_OUT,          /* to pinned memory of the host */
    PP_GPU_COPY_PEER,         /* to GPU `peer` */
    PP_GPU_MESSAGE,           /* NCCL's, of `bytes`, from the GPU to itself; only as `beside` */
    PP_GPU_ATTENTION_FORWARD, /* from here on by kernels of ppsim */
    PP_GPU_ATTENTION_BACKWARD,
    PP_GPU_NORM_FORWARD, /* root mean square */
    PP_GPU_NORM_BACKWARD,
    PP_GPU_GELU_FORWARD,
    PP_GPU_GELU_BACKWARD,
    PP_GPU_SWIGLU_FORWARD,
    PP_GPU_SWIGLU_BACKWARD,
    PP_GPU_CROSS_ENTROPY, /* loss and gradient of logits */
    PP_GPU_EMBEDDING_FORWARD,
    PP_GPU_EMBEDDING_BACKWARD,
    PP_GPU_ADAM,
    PP_GPU_QUANTIZE,         /* to E4M3 by a scale that is there, with a transposed copy */
    PP_GPU_QUANTIZE_CURRENT, /* by the scale of the tensor's own largest element */
    PP_GPU_CUDNN_FORWARD,    /* attention by cuDNN, in bf16, once open_cudnn has found it */
    PP_GPU_CUDNN_BACKWARD,
} pp_gpu_work_kind;

/* Work that is timed. Operands are pseudo-random numbers between -1 and 1. */
typedef struct pp_gpu_work {
    pp_gpu_work_kind kind;
    pp_gpu_type in, out; /* of what goes in, and of the result; in 8 bits as pp_gpu_gemm_call */
    pp_gpu_product product;
    bool add; /* the product is added to the result */
    int64_t m, n, k;
    bool deep; /* grouped: `lengths` divide k and not m, and each expert has a result of its own */
    int32_t multiprocessors; /* that the product may use; 0: all */
    int64_t bytes;
    uint32_t peer;
    uint32_t channels;      /* of the message, at most; 0: NCCL's own choice */
    int64_t rows, width;    /* rows: tokens; Adam: parameters. width of SwiGLU: of its result */
    int64_t vocab;          /* of the embedding; the width of logits is theirs */
    int64_t heads;          /* of attention, causal within each sequence; width: of a head */
    const int64_t *lengths; /* [sequences], the caller's: of attention; grouped products: positive
                               numbers of rows of the experts */
    size_t sequences;
} pp_gpu_work;

typedef struct pp_gpu_facts {
    char name[128]; /* "NVIDIA H100 80GB HBM3" */
    char software[96];
    int32_t multiprocessors;
    int32_t capability; /* 90 for sm_90 */
    int64_t cache_bytes, memory_bytes;
    uint32_t visible; /* GPUs */
    int nccl;         /* its version, 22809 for 2.28.9 */
} pp_gpu_facts;

/* One GPU and its streams, used by one thread. The owner closes it. */
typedef struct pp_gpu pp_gpu;
/* Work with operands on the GPU. There are more sets of operands than fit into the GPU's cache,
 * used in turn. The owner frees it before the GPU is closed. */
typedef struct pp_gpu_task pp_gpu_task;

typedef struct pp_gpu_timing {
    uint32_t runs;
    bool posting; /* measures the host's time to launch the runs, not the GPU's */
    bool cold;    /* the GPU's cache is filled with other data before every run */
    pp_gpu_task
        *beside; /* COPY or MESSAGE that runs at the same time on another stream; NULL: nothing */
} pp_gpu_timing;

typedef struct pp_gpu_table {
    /* Opens a GPU. number: its index among the visible ones. Fails: UNAVAILABLE, NOMEM, IO. */
    pp_status (*open)(const pp_module_services *services, uint32_t number, pp_gpu **gpu_out,
                      pp_err *err);
    void (*close)(pp_gpu *gpu); /* NULL is fine */
    const pp_gpu_facts *(*facts)(const pp_gpu *gpu);
    /* Takes and fills the memory of a work, and runs it once. how_out: [how_size], what the library
     * chose: "algorithm 66, tile 20, stages 36, split-K 1, 3.88 waves, 0 B workspace". Fails:
     * UNAVAILABLE (no algorithm; the GPU's memory is too small; messages failed; values are wrong,
     * where they are checked), NOMEM, IO. */
    pp_status (*prepare)(pp_gpu *gpu, const pp_gpu_work *work, pp_gpu_task **task_out,
                         char *how_out, size_t how_size, pp_err *err);
    void (*release)(pp_gpu_task *task); /* NULL is fine */
    /* Loads cuDNN, and compares its attention with that of ppsim on sequences of a few lengths.
     * version_out: "9.28.1", owned by the GPU. Fails: UNAVAILABLE, in one sentence: cuDNN is not
     * there, is too old, cannot do it, or its values differ; NOMEM, IO. */
    pp_status (*open_cudnn)(pp_gpu *gpu, int64_t heads, int64_t width, const char **version_out,
                            pp_err *err);
    /* Times a number of runs. took_ns: all runs together, by events of the GPU around them, without
     * the launches of the host. The work `beside` runs from before the first launch until after the
     * last run. Fails: UNAVAILABLE (that is not possible, or messages failed), IO. */
    pp_status (*time)(pp_gpu *gpu, pp_gpu_task *task, const pp_gpu_timing *how, pp_ns *took_ns,
                      pp_err *err);
    /* Repeats the work without a pause for at least least_ns, so that clocks settle. Fails: IO. */
    pp_status (*heat)(pp_gpu *gpu, pp_gpu_task *task, pp_ns least_ns, pp_err *err);
} pp_gpu_table;

/* Loads the module and opens a GPU. table_out: the table of the module. Fails: UNAVAILABLE, in one
 * sentence; NOMEM, IO. */
PP_MUST_CHECK pp_status pp_gpu_open(uint32_t number, const pp_gpu_table **table_out,
                                    pp_gpu **gpu_out, pp_err *err);

#endif
