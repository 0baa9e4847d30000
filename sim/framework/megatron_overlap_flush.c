/* Megatron-LM with overlap_p2p_comm and overlap_p2p_comm_warmup_flush: in warm-up and cool-down,
 * too, the next receive is posted before the op. */
#include "sim/framework/framework.h"
#include "sim/framework/lowering/overlap.h"
#include "sim/framework/registry.h"
#include "sim/framework/sizes/size_protocol.h"

static pp_status megatron_overlap_flush_lower(const pp_order *order, pp_program **program_out,
                                              pp_err *err)
{
    return pp_megatron_overlap(order, "megatron-overlap-flush", true, program_out, err);
}

const pp_framework pp_framework_megatron_overlap_flush = {
    .name = "megatron-overlap-flush",
    .summary = "megatron-overlap in the warm-up and cool-down, too (overlap_p2p_comm_warmup_flush)",
    .lower = megatron_overlap_flush_lower,
    .overlaps_pairs = true,
    .size_protocols = &pp_size_protocols_megatron_overlap,
    /* as for megatron; a send is waited for when the next one is posted */
    .buffers = { .recv = PP_RECV_ON_POST, .send = PP_SEND_UNTIL_WAITED },
};
