/* The table of the module for traffic between GPUs (runtime/gpu/gpu_link.h). */
#ifndef PPSIM_RUNTIME_CUDA_TIMING_LINK_H
#define PPSIM_RUNTIME_CUDA_TIMING_LINK_H

#include "runtime/gpu/gpu_link.h"

extern const pp_gpu_link_table pp_gpu_link_calls;

#endif
