#include "runtime/measure/gpu.h"

#include "runtime/measure/gpu_link.h"

#include <stdlib.h>

pp_status pp_gpu_open(uint32_t number, const pp_gpu_table **table_out, pp_gpu **gpu_out,
                      pp_err *err)
{
    const pp_module *module;
    pp_status status = pp_module_load(&pp_module_cuda, &module, err);
    if (!status)
        status = module->gpu->open(&pp_module_services_table, number, gpu_out, err);
    if (!status)
        *table_out = module->gpu;
    return status;
}

/* NCCL 2.28, init.cc (envConfigOverride), connect.cc and paths.cc. */
pp_status pp_gpu_link_check_settings(pp_err *err)
{
    static const char *const channels[] = {
        "NCCL_MAX_CTAS",          "NCCL_MIN_CTAS",          "NCCL_MAX_NCHANNELS",
        "NCCL_MIN_NCHANNELS",     "NCCL_MAX_NRINGS",        "NCCL_MIN_NRINGS",
        "NCCL_MAX_P2P_NCHANNELS", "NCCL_MIN_P2P_NCHANNELS", "NCCL_NCHANNELS_PER_NET_PEER"
    };
    if (getenv("NCCL_CHUNK_SIZE"))
        return pp_err_set(err, PP_USAGE, "NCCL_CHUNK_SIZE", PP_NCCL_CHUNK_SIZE_WHY);
    for (size_t i = 0; i < sizeof channels / sizeof channels[0]; i++) {
        if (getenv(channels[i]))
            return pp_err_set(err, PP_USAGE, channels[i],
                              "is set; NCCL would take it for its number of channels, whatever "
                              "number a measurement is said to have; unset it");
    }
    return PP_OK;
}
