/* Opens one GPU for measurements: its streams and events, cuBLASLt, and memory that flushes the
 * cache. */
#include "runtime/cuda/timing/gpu.h"

#include "runtime/cuda/compute/machine.h"
#include "runtime/cuda/kernel/kernel.h"
#include "runtime/cuda/nccl/nccl_world.h"
#include "runtime/cuda/timing/cudnn_check.h"
#include "runtime/cuda/timing/gpu_task.h"
#include "runtime/cuda/timing/gpu_timing.h"
#include "runtime/cuda/timing/products.h"

#include <cublasLt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fills a block with bf16 numbers between -1 and 1, of which two together are a float between -1
 * and 1, and another one with E4M3 numbers. */
static void make_blocks(char *block, char *block_8)
{
    uint64_t state = 1;
    for (size_t i = 0; i < PP_GPU_BLOCK_BYTES; i += 2) {
        state = state * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
        const float value = ((float)(state >> 40) + 0.5F) * 0x1p-23F - 1;
        __builtin_memcpy(block + i, (const char *)&value + 2, 2); /* little-endian */
        block_8[i] = (char)pp_e4m3_of(value);
        block_8[i + 1] = (char)pp_e4m3_of(-value);
    }
}

static cudaError_t open_streams(pp_gpu *gpu)
{
    cudaEvent_t *const events[] = { &gpu->other_begin, &gpu->begin, &gpu->end, &gpu->other_end };
    cudaError_t code = cudaStreamCreateWithPriority(&gpu->stream, cudaStreamNonBlocking, 0);
    if (!code)
        code = cudaStreamCreateWithPriority(&gpu->other, cudaStreamNonBlocking, 0);
    for (size_t i = 0; i < sizeof events / sizeof events[0] && !code; i++)
        code = cudaEventCreate(events[i]);
    return code;
}

static cudaError_t read_facts(pp_gpu *gpu)
{
    struct cudaDeviceProp properties;
    int driver = 0, runtime = 0;
    cudaError_t code = cudaGetDeviceProperties(&properties, (int)gpu->number);
    if (!code)
        code = cudaDriverGetVersion(&driver);
    if (!code)
        code = cudaRuntimeGetVersion(&runtime);
    if (code)
        return code;
    gpu->facts = (pp_gpu_facts){ .multiprocessors = properties.multiProcessorCount,
                                 .capability = 10 * properties.major + properties.minor,
                                 .cache_bytes = properties.l2CacheSize,
                                 .memory_bytes = (int64_t)properties.totalGlobalMem,
                                 .visible = gpu->facts.visible };
    snprintf(gpu->facts.name, sizeof gpu->facts.name, "%.127s", properties.name);
    snprintf(gpu->facts.software, sizeof gpu->facts.software,
             "CUDA %d.%d, driver %d.%d, cuBLASLt %zu", runtime / 1000, runtime / 10 % 100,
             driver / 1000, driver / 10 % 100, cublasLtGetVersion());
    return cudaSuccess;
}

static void close_gpu(pp_gpu *gpu)
{
    if (!gpu)
        return;
    cudaEvent_t const events[] = { gpu->other_begin, gpu->begin, gpu->end, gpu->other_end };
    if (gpu->self)
        pp_nccl_transport.close(gpu->self);
    (void)cudaSetDevice((int)gpu->number);
    pp_cudnn_close(gpu->cudnn);
    pp_gpu_gemm_close(gpu->blas);
    pp_gpu_gemm_close(gpu->other_blas);
    pp_gpu_lanes_close(gpu);
    (void)cudaFree(gpu->flushed);
    (void)cudaFreeHost(gpu->block);
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        if (events[i])
            (void)cudaEventDestroy(events[i]);
    }
    if (gpu->stream)
        (void)cudaStreamDestroy(gpu->stream);
    if (gpu->other)
        (void)cudaStreamDestroy(gpu->other);
    (void)sem_destroy(&gpu->gate);
    free(gpu);
}

static pp_status open_parts(pp_gpu *gpu, pp_err *err)
{
    pp_status status =
        pp_gpu_checked(gpu, cudaSetDevice((int)gpu->number), "choosing the GPU", err);
    if (!status)
        status = pp_gpu_checked(gpu, read_facts(gpu), "asking what the GPU is", err);
    if (!status && ncclGetVersion(&gpu->facts.nccl))
        status = gpu->services->err_set(err, PP_IO, NULL, "NCCL does not report its version");
    if (!status)
        status = pp_gpu_checked(gpu, open_streams(gpu), "making streams and events", err);
    if (!status)
        status = pp_gpu_gemm_open(gpu->services, gpu->number, &gpu->blas, err);
    if (!status)
        status = pp_gpu_gemm_open(gpu->services, gpu->number, &gpu->other_blas, err);
    if (!status)
        status = pp_gpu_checked(gpu, cudaMalloc(&gpu->flushed, 2 * (size_t)gpu->facts.cache_bytes),
                                "memory that fills the cache", err);
    if (!status) /* the first call loads the kernel that sets memory, which may wait for the whole
                    GPU */
        status = pp_gpu_checked(
            gpu, cudaMemsetAsync(gpu->flushed, 0, 2 * (size_t)gpu->facts.cache_bytes, gpu->stream),
            "filling the cache", err);
    if (!status)
        status = pp_gpu_finish(gpu, gpu->stream, err);
    if (!status)
        status = pp_gpu_checked(
            gpu,
            cudaMallocHost((void **)&gpu->block,
                           2 * PP_GPU_BLOCK_BYTES + PP_GPU_PLACES * sizeof(uint32_t)),
            "pinned memory", err);
    if (status)
        return status;
    gpu->block_8 = gpu->block + PP_GPU_BLOCK_BYTES;
    gpu->seen = (uint32_t *)(void *)(gpu->block_8 + PP_GPU_BLOCK_BYTES);
    make_blocks(gpu->block, gpu->block_8);
    return PP_OK;
}

/* Refuses settings with which a launch waits for its kernel: such a launch would not return while
 * the stream is held. */
static pp_status check_launches(const pp_module_services *services, pp_err *err)
{
    const char *blocking = getenv("CUDA_LAUNCH_BLOCKING");
    if (!blocking || !*blocking || strcmp(blocking, "0") == 0)
        return PP_OK;
    return services->err_set(err, PP_USAGE, "CUDA_LAUNCH_BLOCKING",
                             "is %.20s: a launch would wait for its kernel, and kernels are timed "
                             "by launches that do not wait; unset it",
                             blocking);
}

static pp_status open_gpu(const pp_module_services *services, uint32_t number, pp_gpu **gpu_out,
                          pp_err *err)
{
    int gpus = 0;
    pp_status status = pp_gpu_count(services, &gpus, err);
    if (!status)
        status = check_launches(services, err);
    if (status)
        return status;
    if (number >= (uint32_t)gpus)
        return services->err_set(err, PP_UNAVAILABLE, NULL,
                                 "there is no GPU %u; %d are visible, counted from 0", number,
                                 gpus);
    pp_gpu *gpu = calloc(1, sizeof *gpu);
    if (!gpu)
        return services->err_set(err, PP_NOMEM, NULL, "out of memory");
    gpu->services = services;
    gpu->number = number;
    gpu->facts.visible = (uint32_t)gpus;
    (void)sem_init(&gpu->gate, 0, 0); /* fails only for shared semaphores and huge values */
    status = open_parts(gpu, err);
    if (status) {
        close_gpu(gpu);
        return status;
    }
    *gpu_out = gpu;
    return PP_OK;
}

static const pp_gpu_facts *facts(const pp_gpu *gpu)
{
    return &gpu->facts;
}

static pp_status open_cudnn(pp_gpu *gpu, int64_t heads, int64_t width, const char **version_out,
                            pp_err *err)
{
    pp_status status = PP_OK;
    if (!gpu->cudnn)
        status = pp_cudnn_open(gpu->services, gpu->number, &gpu->cudnn, err);
    if (!status)
        status =
            pp_cudnn_check(gpu->cudnn, gpu->services, gpu->number, heads, width, gpu->stream, err);
    if (!status)
        *version_out = pp_cudnn_version(gpu->cudnn);
    return status;
}

const pp_gpu_table pp_gpu_calls = {
    .open = open_gpu,
    .close = close_gpu,
    .facts = facts,
    .open_cudnn = open_cudnn,
    .prepare = pp_gpu_prepare,
    .release = pp_gpu_release,
    .time = pp_gpu_time,
    .heat = pp_gpu_heat,
};
