/* Megatron-LM with overlap_p2p_comm (its default for interleaved): in the steady state the handles
 * of a receive are waited for right before the op that needs it, and those of a send after the
 * next send of that direction is posted; warm-up and cool-down wait at once. Without interleaving
 * it communicates as executor megatron. */
#include "sim/framework/framework.h"
#include "sim/framework/lowering/overlap.h"
#include "sim/framework/registry.h"
#include "sim/framework/sizes/size_protocol.h"

static pp_status megatron_overlap_lower(const pp_order *order, pp_program **program_out,
                                        pp_err *err)
{
    return pp_megatron_overlap(order, "megatron-overlap", false, program_out, err);
}

const pp_framework pp_framework_megatron_overlap = {
    .name = "megatron-overlap",
    .summary = "Megatron-LM with its default, overlap_p2p_comm: interleaved, it waits late for "
               "isend and irecv (1f1b, interleaved)",
    .lower = megatron_overlap_lower,
    .overlaps_pairs = true,
    .size_protocols = &pp_size_protocols_megatron_overlap,
    /* as for megatron; a send is waited for when the next one is posted */
    .buffers = { .recv = PP_RECV_ON_POST, .send = PP_SEND_UNTIL_WAITED },
};
