/* Any bytes: pp_hardware_parse refuses them with a message, or gives hardware on which every kernel
 * takes a finite time. */
#include "sim/cost/kernel.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void require(int truth)
{
    if (!truth)
        abort();
}

static void require_time(double seconds)
{
    require(isfinite(seconds) && seconds >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    pp_hardware hw;
    pp_err err = { 0 };
    pp_status status = pp_hardware_parse((const char *)data, bytes, "hw.json", &hw, &err);
    if (status) {
        require(status == PP_INPUT || status == PP_NOMEM);
        require(err.status == status && *err.text);
        return 0;
    }
    const pp_gemm gemm = { .m = 1000, .n = 2048, .k = 512, .output_bytes = 2 };
    pp_attention attention = { .heads = 8,
                               .qk_dim = 128,
                               .v_dim = 128,
                               .tokens = 4096,
                               .square_sum = 4096.0 * 2048,
                               .causal = true };
    require(*hw.name && hw.attention_count && hw.collective_count && hw.gpus_per_node > 0);
    require_time(pp_gemm_seconds(&hw, &gemm));
    require_time(pp_attention_seconds(&hw, &attention));
    attention.backward = true;
    require_time(pp_attention_seconds(&hw, &attention));
    for (int kind = PP_ALL_REDUCE; kind <= PP_REDUCE_SCATTER; kind++) {
        require_time(pp_collective_seconds(&hw, (pp_collective)kind,
                                           pp_group_of(hw.gpus_per_node, 4, 1), 1e6));
        require_time(pp_collective_seconds(&hw, (pp_collective)kind,
                                           pp_group_of(hw.gpus_per_node, 64, 8), 1e6));
    }
    require_time(pp_p2p_seconds(&hw, true, 8, 1e6));
    require_time(pp_p2p_seconds(&hw, false, 1024, 1e6));
    for (int k = 0; k < 4; k++) {
        const pp_communicator c = { k % 2 ? 2 : 1024, k / 2 };
        require_time(pp_message_seconds(&hw, true, c, 1e8));
        require_time(pp_message_seconds(&hw, false, c, 1e8));
    }
    return 0;
}
