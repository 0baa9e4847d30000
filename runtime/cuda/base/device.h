/* What transport nccl and compute cuda share: errors of the CUDA runtime, and the number of GPUs.
 * */
#ifndef PPSIM_RUNTIME_CUDA_BASE_DEVICE_H
#define PPSIM_RUNTIME_CUDA_BASE_DEVICE_H

#include "runtime/module/module.h"

#include <cuda_runtime_api.h>
#include <stdatomic.h>

/* Counts the visible GPUs. Fails: UNAVAILABLE, in one sentence: there is no driver, it is too old,
 * or there is no GPU. */
pp_status pp_gpu_count(const pp_module_services *services, int *gpus_out, pp_err *err);

/* Returns PP_OK for cudaSuccess, else IO with a message. what: what was done, "copying"; rank: the
 * rank of the GPU. */
pp_status pp_gpu_check(const pp_module_services *services, uint32_t rank, cudaError_t code,
                       const char *what, pp_err *err);

/* Pauses between two polls. *rounds: 0 at the start of a wait. */
void pp_gpu_pause(uint32_t *rounds);

#endif
