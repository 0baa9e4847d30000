/* What all code on top of CUDA shares: the number of GPUs, errors of the CUDA runtime as messages,
 * and the pause of a polling thread. */
#include "runtime/cuda/base/device.h"

#include <sched.h>
#include <time.h>

static pp_status no_device(const pp_module_services *services, cudaError_t code, pp_err *err)
{
    int driver = 0;
    int runtime = 0;
    const bool known = !cudaDriverGetVersion(&driver) && !cudaRuntimeGetVersion(&runtime);
    if (known && driver == 0) /* CUDA reports a missing driver as one that is too old */
        return services->err_set(
            err, PP_UNAVAILABLE, NULL,
            "this machine has no NVIDIA driver (libcuda.so.1); install one, or "
            "run elsewhere");
    if (known && code == cudaErrorInsufficientDriver)
        return services->err_set(err, PP_UNAVAILABLE, NULL,
                                 "the NVIDIA driver supports CUDA %d.%d, but ppsim_cuda.so needs "
                                 "CUDA %d.%d; update the driver, or build with an older CUDA",
                                 driver / 1000, driver / 10 % 100, runtime / 1000,
                                 runtime / 10 % 100);
    if (code == cudaErrorNoDevice || code == cudaSuccess)
        return services->err_set(err, PP_UNAVAILABLE, NULL,
                                 "no GPU is visible; check nvidia-smi and CUDA_VISIBLE_DEVICES");
    return services->err_set(err, PP_UNAVAILABLE, NULL, "CUDA reports: %s; check nvidia-smi",
                             cudaGetErrorString(code));
}

pp_status pp_gpu_count(const pp_module_services *services, int *gpus_out, pp_err *err)
{
    int gpus = 0;
    cudaError_t code = cudaGetDeviceCount(&gpus);
    if (code != cudaSuccess || gpus == 0)
        return no_device(services, code, err);
    *gpus_out = gpus;
    return PP_OK;
}

pp_status pp_gpu_check(const pp_module_services *services, uint32_t rank, cudaError_t code,
                       const char *what, pp_err *err)
{
    if (code == cudaSuccess)
        return PP_OK;
    if (code == cudaErrorMemoryAllocation)
        return services->err_set(err, PP_NOMEM, NULL, "the GPU of rank %u is out of memory: %s",
                                 rank, what);
    return services->err_set(err, PP_IO, NULL, "rank %u: %s failed; CUDA reports: %s", rank, what,
                             cudaGetErrorString(code));
}

/* A rank has its own thread and, on machines with GPUs, its own core, so that it may poll for
 * long. */
void pp_gpu_pause(uint32_t *rounds)
{
    enum { ASK = 200, YIELD = 2000, NAP_NS = 20000 };
    uint32_t round = (*rounds)++;
    if (round < ASK)
        return;
    if (round < YIELD)
        sched_yield();
    else
        nanosleep(&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
}
