/* Times work on a GPU. */
#ifndef PPSIM_RUNTIME_CUDA_TIMING_GPU_TIMING_H
#define PPSIM_RUNTIME_CUDA_TIMING_GPU_TIMING_H

#include "runtime/cuda/timing/gpu_state.h"

/* `time` and `heat` of pp_gpu_table. */
pp_status pp_gpu_time(pp_gpu *gpu, pp_gpu_task *task, const pp_gpu_timing *how, pp_ns *took_ns,
                      pp_err *err);
pp_status pp_gpu_heat(pp_gpu *gpu, pp_gpu_task *task, pp_ns least_ns, pp_err *err);

#endif
