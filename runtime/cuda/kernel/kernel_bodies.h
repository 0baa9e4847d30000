/* All bodies, for float and for bf16: norm_forward_f32, norm_forward_bf16, ... */
#ifndef PPSIM_RUNTIME_CUDA_KERNEL_KERNEL_BODIES_H
#define PPSIM_RUNTIME_CUDA_KERNEL_KERNEL_BODIES_H

#include "runtime/cuda/kernel/kernel.h"
#include "runtime/cuda/kernel/kernels.h"

/* Like pp_random_next (sim/base/random.h), which does not compile for a GPU. */
PP_DEVICE uint64_t pp_next(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Like pp_cpu_uniform, for element i of a row. */
PP_DEVICE float pp_uniform(const pp_gpu_tokens_call *k, int64_t row, int64_t i)
{
    uint64_t state = k->seed;
    state = pp_next(&state) + k->what;
    state = pp_next(&state) + k->sequence[row];
    state = pp_next(&state) + (uint64_t)(k->position[row] * k->width + i);
    return (float)((double)(pp_next(&state) >> 11) * 0x1p-52 - 1);
}

#define PP_REAL float
#define PP_OF(name) name##_f32
#define PP_LOAD pp_load_f32
#define PP_STORE pp_store_f32
#include "runtime/cuda/kernel/kernel_attention.inc"
#include "runtime/cuda/kernel/kernel_quantize.inc"
#include "runtime/cuda/kernel/kernel_rows.inc"
#include "runtime/cuda/kernel/kernel_tokens.inc"
#undef PP_REAL
#undef PP_OF
#undef PP_LOAD
#undef PP_STORE

#define PP_REAL pp_bf16
#define PP_OF(name) name##_bf16
#define PP_LOAD pp_load_bf16
#define PP_STORE pp_store_bf16
#include "runtime/cuda/kernel/kernel_attention.inc"
#include "runtime/cuda/kernel/kernel_quantize.inc"
#include "runtime/cuda/kernel/kernel_rows.inc"
#include "runtime/cuda/kernel/kernel_tokens.inc"
#undef PP_REAL
#undef PP_OF
#undef PP_LOAD
#undef PP_STORE

#endif
