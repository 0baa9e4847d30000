/* Kernels that compile as CUDA and as C. A body is the work of one block: phases that every thread
 * of the block executes, with barriers between them. Data that outlive a phase are in `shared`.
 * Sums have a fixed order, so that equal inputs give equal bits.
 *
 * On a GPU a phase is run by the thread itself; as C it is a loop over all threads. */
#ifndef PPSIM_RUNTIME_CUDA_KERNEL_KERNEL_H
#define PPSIM_RUNTIME_CUDA_KERNEL_KERNEL_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PP_GPU_THREADS = 128 }; /* threads of a block; a power of 2 */
/* Bytes between the columns of a tile in shared memory: more than a tile's 64 rows, so that threads
 * that write a row use different banks. */
enum { PP_GPU_QUANTIZE_STEP = 68 };

#ifdef __CUDACC__
#define PP_DEVICE static __device__ __forceinline__
#define PP_EACH_THREAD(t) for (int t = (int)threadIdx.x, t##_once = 1; t##_once; t##_once = 0)
#define PP_BARRIER() __syncthreads()
#else
#define PP_DEVICE static inline
#define PP_EACH_THREAD(t) for (int t = 0; t < PP_GPU_THREADS; t++)
#define PP_BARRIER() (void)0
#endif

/* bfloat16, the upper half of a float. */
typedef struct pp_bf16 {
    uint16_t bits;
} pp_bf16;

typedef union pp_float_bits {
    float value;
    uint32_t bits;
} pp_float_bits;

PP_DEVICE float pp_load_f32(const float *at)
{
    return *at;
}

PP_DEVICE void pp_store_f32(float *at, float value)
{
    *at = value;
}

PP_DEVICE float pp_load_bf16(const pp_bf16 *at)
{
    pp_float_bits wide;
    wide.bits = (uint32_t)at->bits << 16;
    return wide.value;
}

/* Rounds to nearest, ties to even. */
PP_DEVICE void pp_store_bf16(pp_bf16 *at, float value)
{
    pp_float_bits wide;
    wide.value = value;
    if (value != value)
        at->bits = 0x7fc0;
    else
        at->bits = (uint16_t)((wide.bits + 0x7fff + (wide.bits >> 16 & 1)) >> 16);
}

#define PP_E4M3_MAX 448.0F /* the largest number of E4M3 */

/* To E4M3: 4 bits of exponent with a bias of 7, 3 of fraction, no infinity. Rounds to nearest, ties
 * to even; larger numbers become the largest one. GPUs from sm_89 on have an instruction for two.
 */
PP_DEVICE uint8_t pp_e4m3_of(float value)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    uint16_t pair;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0F), "f"(value));
    return (uint8_t)pair;
#else
    pp_float_bits wide;
    wide.value = value;
    const uint32_t sign = wide.bits >> 24 & 0x80, size = wide.bits & 0x7fffffff;
    if (value != value)
        return 0x7f;
    if (fabsf(value) >= PP_E4M3_MAX)
        return (uint8_t)(sign | 0x7e);
    if (fabsf(value) < 0x1p-6F) /* multiples of 2^-9, which is what floats of this size round to */
        return (uint8_t)(sign | (uint32_t)((fabsf(value) + 0x1p14F - 0x1p14F) * 0x1p9F));
    return (uint8_t)(sign | (((size + 0x7ffff + (size >> 20 & 1)) >> 20) - (120 << 3)));
#endif
}

/* Sums the values of all threads into shared[0], in a fixed order. */
PP_DEVICE void pp_block_sum(float *shared)
{
    PP_BARRIER();
    for (int half = PP_GPU_THREADS / 2; half > 0; half /= 2) {
        PP_EACH_THREAD(t)
        {
            if (t < half)
                shared[t] += shared[t + half];
        }
        PP_BARRIER();
    }
}

PP_DEVICE void pp_block_max(float *shared)
{
    PP_BARRIER();
    for (int half = PP_GPU_THREADS / 2; half > 0; half /= 2) {
        PP_EACH_THREAD(t)
        {
            if (t < half && shared[t + half] > shared[t])
                shared[t] = shared[t + half];
        }
        PP_BARRIER();
    }
}

#endif
