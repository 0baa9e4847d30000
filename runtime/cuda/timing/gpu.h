/* The table of the module for one GPU and the work that is timed on it (runtime/gpu/gpu.h). */
#ifndef PPSIM_RUNTIME_CUDA_TIMING_GPU_H
#define PPSIM_RUNTIME_CUDA_TIMING_GPU_H

#include "runtime/gpu/gpu.h"

extern const pp_gpu_table pp_gpu_calls;

#endif
