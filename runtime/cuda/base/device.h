/* What NCCL and the compute share: errors of the CUDA runtime, and whether there is a GPU. */
#ifndef PPSIM_RUNTIME_CUDA_BASE_DEVICE_H
#define PPSIM_RUNTIME_CUDA_BASE_DEVICE_H

#include "runtime/module/module.h"

#include <cuda_runtime_api.h>
#include <stdatomic.h>

/* Fails: UNAVAILABLE, one sentence: no driver, one that is too old, no GPU. gpus_out: visible ones.
 */
pp_status pp_gpu_count(const pp_module_services *services, int *gpus_out, pp_err *err);

/* PP_OK for cudaSuccess, else IO. what: "copying"; rank: whose GPU. */
pp_status pp_gpu_check(const pp_module_services *services, uint32_t rank, cudaError_t code,
                       const char *what, pp_err *err);

/* How a loop that asks again and again passes its time: 0 at the start of a wait. */
void pp_gpu_pause(uint32_t *rounds);

#endif
