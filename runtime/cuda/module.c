/* The module ppsim_cuda.so: the table that it exports, and the check whether this machine can use
 * it. */
#include "runtime/cuda/compute/machine.h"
#include "runtime/cuda/compute/math.h"
#include "runtime/cuda/compute/memory.h"
#include "runtime/cuda/nccl/nccl_world.h"
#include "runtime/cuda/timing/gpu.h"
#include "runtime/cuda/timing/link.h"

#include <stdlib.h>

static pp_status check_nccl(const pp_module_services *services, pp_err *err)
{
    int version = 0;
    ncclResult_t code = ncclGetVersion(&version);
    if (code)
        return services->err_set(err, PP_UNAVAILABLE, NULL, "NCCL does not report its version: %s",
                                 ncclGetErrorString(code));
    if (version < NCCL_VERSION_CODE)
        return services->err_set(err, PP_UNAVAILABLE, NULL,
                                 "libnccl is version %d, but ppsim_cuda.so was built with %d; "
                                 "install that or a later one, or build again",
                                 version, NCCL_VERSION_CODE);
    return PP_OK;
}

static pp_status available(const pp_module_services *services, pp_err *err)
{
    /* Loading a kernel at its first launch may wait for the GPU, on which a kernel of NCCL may wait
     * for messages of the very rank that is loading. */
    (void)setenv("CUDA_MODULE_LOADING", "EAGER", 0);
    int gpus = 0;
    pp_status status = check_nccl(services, err);
    return status ? status : pp_gpu_count(services, &gpus, err);
}

__attribute__((visibility("default"))) extern const pp_module ppsim_module_cuda;
const pp_module ppsim_module_cuda = {
    .abi = PP_MODULE_ABI,
    .version = PPSIM_VERSION,
    .available = available,
    .open = pp_nccl_open,
    .transport = &pp_nccl_transport,
    .gpu_link = &pp_gpu_link_calls,
    .gpu = &pp_gpu_calls,
    .math = &pp_gpu_math,
    .memory = &pp_gpu_memory,
};
