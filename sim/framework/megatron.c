/* Megatron-LM's batched p2p: every exchange is one batch_isend_irecv that is waited for at once
 * (megatron/core/pipeline_parallel/schedules.py, overlap_p2p_comm off). */
#include "sim/framework/framework.h"
#include "sim/framework/lowering/megatron_sends.h"
#include "sim/framework/registry.h"
#include "sim/framework/sizes/size_protocol.h"

static pp_status lower_single(const pp_lowering *l, pp_err *err)
{
    (void)err;
    pp_megatron_single(l, pp_megatron_batched);
    return PP_OK;
}

static pp_status lower_interleaved(const pp_lowering *l, pp_err *err)
{
    (void)err;
    pp_megatron_interleaved(l, pp_megatron_batched);
    return PP_OK;
}

static pp_status megatron_lower(const pp_order *order, pp_program **program_out, pp_err *err)
{
    uint32_t group = 0;
    pp_status status = pp_megatron_check(order, "megatron", true, &group, err);
    if (status)
        return status;
    return pp_lower_ranks(order, group, group ? lower_interleaved : lower_single, program_out, err);
}

const pp_framework pp_framework_megatron = {
    .name = "megatron",
    .summary = "Megatron-LM: sends and receives in batches and waits for each batch at once (1f1b, "
               "interleaved)",
    .lower = megatron_lower,
    .overlaps_pairs = true,
    .size_protocols = &pp_size_protocols_megatron,
    /* p2p_communication.py allocates when it receives; schedules.py frees an output after the wait
     * for its send (deallocate_pipeline_outputs, which the trainer sets) */
    .buffers = { .recv = PP_RECV_ON_POST, .send = PP_SEND_UNTIL_WAITED },
};
