/* PyTorch/XLA (pytorch/xla#6347) with mark_step after each forward-backward cycle: one graph
 * contains both ops and their transfers. The backward belongs to an earlier microbatch, whose saved
 * activations are inputs of the graph and cannot be freed while it runs. */
#include "sim/framework/framework.h"
#include "sim/framework/lowering/collective.h"
#include "sim/framework/registry.h"
#include "sim/framework/sizes/size_protocol.h"

static pp_status xla_fused_lower(const pp_order *order, pp_program **program_out, pp_err *err)
{
    return pp_lower_pairs_any(order, "xla-fused", program_out, err);
}

const pp_framework pp_framework_xla_fused = {
    .name = "xla-fused",
    .summary = "like xla, but one graph holds a forward, the backward after it and their transfers",
    .lower = xla_fused_lower,
    .size_protocols = &pp_size_protocols_graphs,
    .p2p = PP_P2P_ALL_REDUCE,
    .graphs = PP_GRAPHS_PER_CYCLE,
    /* as for neuronx; the saved activations of a backward are inputs of its graph */
    .buffers = { .recv = PP_RECV_ON_POST, .send = PP_SEND_UNTIL_BACKWARD, .fused_backward = true },
};
