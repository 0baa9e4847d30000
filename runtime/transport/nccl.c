/* Transport nccl: NCCL, one rank per GPU. All of it is in the module ppsim_cuda.so
 * (runtime/cuda/), which is loaded when it is asked for, so that the command itself needs no
 * CUDA. */
#include "runtime/transport/module_world.h"

static pp_status nccl_available(pp_err *err)
{
    const pp_module *module;
    return pp_module_load(&pp_module_cuda, &module, err);
}

static pp_status nccl_open(const pp_world_options *options, pp_world **world_out, pp_err *err)
{
    return pp_module_open(&pp_module_cuda, options, world_out, err);
}

const pp_transport pp_transport_nccl = {
    .name = "nccl",
    .summary = "NCCL: one rank per GPU, on one machine or several",
    .has_queues = true,
    .takes_device_memory = true,
    .available = nccl_available,
    .open = nccl_open,
    .reserve = pp_module_world_reserve,
    PP_MODULE_WORLD_CALLS,
};
