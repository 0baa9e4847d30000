/* The machine of compute cuda: the stream of a GPU, and the tables that its kernels read. It
 * belongs to one rank and is used by one thread at a time. */
#ifndef PPSIM_RUNTIME_CUDA_COMPUTE_MACHINE_H
#define PPSIM_RUNTIME_CUDA_COMPUTE_MACHINE_H

#include "runtime/cpu/math.h"
#include "runtime/cuda/base/device.h"
#include "runtime/cuda/compute/gemm.h"
#include "runtime/cuda/kernel/kernels.h"

/* The tables of one microbatch, on the GPU. */
typedef struct pp_gpu_batch {
    pp_gpu_tile *tile; /* [tiles] */
    int64_t tiles;
    int32_t *token;     /* [tokens]; this and the next three are only there with a vocabulary */
    int32_t *different; /* [differents]: the distinct tokens */
    int64_t differents;
    int32_t *first;     /* [differents + 1]: into row */
    int32_t *row;       /* [tokens]: rows of each token, ascending */
    int32_t *label;     /* [tokens]: the next token, or 0 without a vocabulary; -1: not counted */
    int32_t *position;  /* [tokens]: position in its sequence */
    uint64_t *sequence; /* [tokens]: index of its sequence in the step */
} pp_gpu_batch;

typedef struct pp_gpu_machine {
    const pp_module_services *services;
    const pp_cpu_model *model;
    uint32_t rank;
    int device;
    pp_gpu_type type;
    pp_gpu_blas *blas;
    cudaStream_t stream;
    cudaEvent_t origin, begin, end; /* origin: its time is known on the clocks of GPU and host */
    pp_ns origin_ns;
    pp_ns begin_ns, end_ns; /* of the last op, by the host's clock */
    bool started;
    pp_gpu_batch *batch; /* [microbatches] */
    char *tables;        /* memory of the tables of all batches */
    double *losses;      /* [tokens of the largest microbatch] */
    float *other;        /* [other_count], copy of the argument of `add` */
    size_t other_count;
    pp_status status; /* the first failure */
    pp_err failure;
} pp_gpu_machine;

/* Keeps the first failure. */
void pp_gpu_keep(pp_gpu_machine *m, cudaError_t code, const char *what);

pp_status pp_gpu_machine_open(const pp_module_services *services, const pp_cpu_model *model,
                              uint32_t rank, void **machine_out, pp_err *err);
void pp_gpu_machine_close(void *machine);
void pp_gpu_machine_start(void *machine);
pp_status pp_gpu_machine_finish(void *machine, pp_err *err);
void pp_gpu_machine_times(const void *machine, pp_ns *start_ns, pp_ns *end_ns);

#endif
