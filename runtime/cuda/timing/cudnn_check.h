/* Checks that attention by cuDNN is the same as that by the kernels of ppsim. */
#ifndef PPSIM_RUNTIME_CUDA_TIMING_CUDNN_CHECK_H
#define PPSIM_RUNTIME_CUDA_TIMING_CUDNN_CHECK_H

#include "runtime/cuda/timing/cudnn.h"

/* Compares forward and backward on sequences of a few lengths. Fails: UNAVAILABLE (values differ,
 * or cuDNN cannot do it), NOMEM, IO. */
pp_status pp_cudnn_check(pp_cudnn *cudnn, const pp_module_services *services, uint32_t number,
                         int64_t heads, int64_t width, cudaStream_t stream, pp_err *err);

#endif
