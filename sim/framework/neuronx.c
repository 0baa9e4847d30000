/* neuronx-distributed (pipeline/model.py): a transfer is an all-gather of two ranks. Every compute
 * op and every transfer is a graph of its own, so that both ranks of a transfer can load its graph.
 */
#include "sim/framework/framework.h"
#include "sim/framework/lowering/collective.h"
#include "sim/framework/registry.h"
#include "sim/framework/sizes/size_protocol.h"

static pp_status neuronx_lower(const pp_order *order, pp_program **program_out, pp_err *err)
{
    return pp_lower_pairs(order, "neuronx", program_out, err);
}

const pp_framework pp_framework_neuronx = {
    .name = "neuronx",
    .summary =
        "AWS Neuron: one transfer at a time, each a collective of two ranks (1f1b, interleaved)",
    .p2p = PP_P2P_ALL_GATHER,
    .lower = neuronx_lower,
    .size_protocols = &pp_size_protocols_graphs,
    .graphs = PP_GRAPHS_PER_TASK,
    /* pipeline/partition.py, create_partitions; pipeline/model.py, cut_pipeline_stage */
    .no_bare_ends = "cuts models after transformer layers, so that every stage has one",
    /* a receive allocates; outputs are kept for their backward; the inputs of a graph are held
     * while it runs (pytorch/xla#6347) */
    .buffers = { .recv = PP_RECV_ON_POST, .send = PP_SEND_UNTIL_BACKWARD, .fused_backward = true },
};
