/* Memory of GPUs, for arenas and transports. */
#ifndef PPSIM_RUNTIME_CUDA_COMPUTE_MEMORY_H
#define PPSIM_RUNTIME_CUDA_COMPUTE_MEMORY_H

#include "runtime/core/device_memory.h"
#include "runtime/cuda/base/device.h"

/* Copies between the memory of GPUs and of the host, and returns when the copy is complete. Any
 * thread may call it. */
cudaError_t pp_gpu_copy(void *to, const void *from, size_t bytes);

/* Finds the GPU of a rank: ranks of one process get its GPUs in turn; a process that a launcher
 * started uses the GPU of its local rank. Fails: UNAVAILABLE. */
pp_status pp_gpu_of_rank(const pp_module_services *services, uint32_t rank, int *device_out,
                         pp_err *err);

extern const pp_device_memory pp_gpu_memory; /* without services */

#endif
