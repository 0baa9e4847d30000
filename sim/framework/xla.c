/* PyTorch/XLA (pytorch/xla#6347): a transfer is an all-reduce of two ranks. mark_step follows every
 * compute op and every transfer, so that each is a graph of its own. */
#include "sim/framework/framework.h"
#include "sim/framework/lowering/collective.h"
#include "sim/framework/registry.h"
#include "sim/framework/sizes/size_protocol.h"

static pp_status xla_lower(const pp_order *order, pp_program **program_out, pp_err *err)
{
    return pp_lower_pairs_any(order, "xla", program_out, err);
}

const pp_framework pp_framework_xla = {
    .name = "xla",
    .summary = "PyTorch/XLA: one transfer at a time, each an all-reduce of two ranks; one compiled "
               "graph per task",
    .lower = xla_lower,
    .size_protocols = &pp_size_protocols_graphs,
    .p2p = PP_P2P_ALL_REDUCE,
    .graphs = PP_GRAPHS_PER_TASK,
    /* as for neuronx; the saved activations of a backward are inputs of its graph */
    .buffers = { .recv = PP_RECV_ON_POST, .send = PP_SEND_UNTIL_BACKWARD, .fused_backward = true },
};
