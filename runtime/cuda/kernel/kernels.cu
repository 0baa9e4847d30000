/* The kernels on a GPU: each body of kernel_bodies.h as a __global__ function, for float and for
 * bf16, and its launch. */
#include "runtime/cuda/kernel/kernel_bodies.h"

#define GLOBAL(name, arguments)                                                    \
    static __global__ void run_##name##_f32(const __grid_constant__ arguments of)  \
    {                                                                              \
        extern __shared__ float shared[];                                          \
        name##_f32(&of, (int64_t)blockIdx.x, shared);                              \
    }                                                                              \
    static __global__ void run_##name##_bf16(const __grid_constant__ arguments of) \
    {                                                                              \
        extern __shared__ float shared[];                                          \
        name##_bf16(&of, (int64_t)blockIdx.x, shared);                             \
    }
PP_GPU_KERNEL_MAP(GLOBAL)

template <typename Arguments>
static cudaError_t launch(void (*kernel)(const Arguments), cudaStream_t stream, pp_gpu_launch how,
                          const Arguments *of)
{
    enum { WITHOUT_ASKING = 48 << 10 };
    if (!how.blocks)
        return cudaSuccess;
    if (how.shared_bytes > WITHOUT_ASKING) {
        cudaError_t code =
            cudaFuncSetAttribute((const void *)kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 (int)how.shared_bytes);
        if (code)
            return code;
    }
    (void)cudaGetLastError(); /* clears errors of earlier calls, such as "not ready" of an event */
    kernel<<<(unsigned)how.blocks, PP_GPU_THREADS, how.shared_bytes, stream>>>(*of);
    return cudaGetLastError();
}

#define LAUNCH(name, arguments)                                                                    \
    cudaError_t pp_gpu_launch_##name(cudaStream_t stream, pp_gpu_launch how, const arguments *of)  \
    {                                                                                              \
        return launch(how.type == PP_GPU_BF16 ? run_##name##_bf16 : run_##name##_f32, stream, how, \
                      of);                                                                         \
    }
PP_GPU_KERNEL_MAP(LAUNCH)
