/* The math of compute cuda. */
#ifndef PPSIM_RUNTIME_CUDA_COMPUTE_MATH_H
#define PPSIM_RUNTIME_CUDA_COMPUTE_MATH_H

#include "runtime/cpu/math.h"

extern const pp_math pp_gpu_math;

#endif
