/* Kernels as work that is timed: which operands they have, what those hold, and how they are
 * launched. */
#ifndef PPSIM_RUNTIME_CUDA_TIMING_WORK_H
#define PPSIM_RUNTIME_CUDA_TIMING_WORK_H

#include "runtime/cuda/kernel/kernels.h"
#include "runtime/gpu/gpu.h"

enum { PP_GPU_OPERANDS = 8 };

typedef enum pp_gpu_filling {
    PP_GPU_RANDOM,   /* numbers between -1 and 1 */
    PP_GPU_RANDOM_8, /* the same as E4M3; as E5M2 they are smaller */
    PP_GPU_ZERO,
    PP_GPU_TABLE, /* pp_gpu_work_table */
} pp_gpu_filling;

typedef enum pp_gpu_place {
    PP_GPU_HERE,
    PP_GPU_HOST, /* pinned */
    PP_GPU_PEER, /* on GPU work->peer */
} pp_gpu_place;

typedef struct pp_gpu_operand {
    size_t bytes; /* 0: there is no such operand */
    pp_gpu_place place;
    pp_gpu_filling filling;
    bool spoiled; /* the work overwrites it: it is refilled before every timing */
} pp_gpu_operand;

size_t pp_gpu_type_bytes(pp_gpu_type type); /* of an element */
void pp_gpu_work_operands(const pp_gpu_work *work, pp_gpu_operand operand_out[PP_GPU_OPERANDS]);
/* Writes the contents of the index-th operand, which is a table. */
void pp_gpu_work_table(const pp_gpu_work *work, int index, void *table_out);
/* Launches work other than products and messages. number: index of the GPU. */
cudaError_t pp_gpu_work_launch(const pp_gpu_work *work, uint32_t number,
                               char *const operand[PP_GPU_OPERANDS], cudaStream_t stream);

#endif
