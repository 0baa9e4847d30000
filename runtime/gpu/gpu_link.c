/* Refuses settings of NCCL that would falsify measurements of messages between GPUs. */
#include "runtime/gpu/gpu_link.h"

#include <stdlib.h>

/* The variables are those that NCCL 2.28 reads in init.cc (envConfigOverride), connect.cc and
 * paths.cc. */
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
                              "is set, and NCCL would use it instead of the number of channels of "
                              "each measurement; unset it");
    }
    return PP_OK;
}
