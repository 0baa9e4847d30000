/* Times of transfers between pipeline ranks, by send/recv or by a collective of two ranks, and the
 * communicators that carry them. docs/explanation/cost-model.md (section 4) and
 * docs/explanation/p2p-emulation.md explain them. */
#include "sim/cost/transfer.h"

#include "sim/cost/kernel.h"

static bool ranks_share_node(const pp_cost_context *context, uint32_t rank, uint32_t other)
{
    const int64_t stride = context->parallel.tp * context->parallel.cp * context->parallel.dp;
    const int64_t gpus = pp_hardware_node_part(context->hardware, &context->parallel);
    return rank * stride / gpus == other * stride / gpus;
}

static pp_communicator communicator_of(const pp_cost_context *context, bool same_node)
{
    const pp_parallel *par = &context->parallel;
    const int64_t gpus = pp_parallel_gpus(par);
    switch (context->switches.communicators) {
    case PP_COMMUNICATORS_WORLD:
        return (pp_communicator){ gpus, gpus > context->hardware->gpus_per_node };
    case PP_COMMUNICATORS_PER_EDGE:
        return (pp_communicator){ 2, !same_node };
    case PP_COMMUNICATORS_DEFAULT:
    case PP_COMMUNICATORS_PP:
        break;
    }
    return (pp_communicator){ par->pp, !ranks_share_node(context, 0, (uint32_t)par->pp - 1) };
}

pp_link pp_link_between(const pp_cost_context *context, uint32_t from, uint32_t to)
{
    return (pp_link){
        .same_node = ranks_share_node(context, from, to),
        .bytes_per_s = pp_rank_overrides_link_bytes_per_s(context->overrides, from, to),
    };
}

double pp_link_seconds(const pp_cost_context *context, const pp_link *link, double bytes)
{
    const pp_hardware *hw = context->hardware;
    const bool same_node = link->same_node;
    const double rate = link->bytes_per_s;
    const pp_collective_group pair = { .ranks = 2, .members = same_node ? 2 : 1 };
    if (rate > 0)
        return (same_node ? hw->node_p2p : hw->network_p2p).alpha_s + bytes / rate;
    switch (context->switches.p2p) {
    case PP_P2P_ALL_GATHER: /* both ranks end with two tensors */
        return pp_collective_seconds(hw, PP_ALL_GATHER, pair, 2 * bytes);
    case PP_P2P_ALL_REDUCE:
        return pp_collective_seconds(hw, PP_ALL_REDUCE, pair, bytes);
    case PP_P2P_SEND_RECV:
        break;
    }
    if (context->switches.communicators == PP_COMMUNICATORS_DEFAULT)
        return pp_p2p_seconds(hw, same_node, context->parallel.pp, bytes);
    return pp_message_seconds(hw, same_node, communicator_of(context, same_node), bytes);
}

double pp_transfer_seconds(const pp_cost_context *context, uint32_t from, uint32_t to, double bytes)
{
    const pp_link link = pp_link_between(context, from, to);
    return pp_link_seconds(context, &link, bytes);
}

int pp_pipeline_communicators(const pp_cost_context *context, uint32_t rank, uint32_t stages)
{
    const uint32_t ranks = (uint32_t)context->parallel.pp;
    if (context->switches.communicators != PP_COMMUNICATORS_PER_EDGE || ranks == 1)
        return ranks > 1;
    /* on a loop and on a V, neighbours of a stage are on neighbours of its rank */
    const uint32_t other[] = { (rank + 1) % ranks, (rank + ranks - 1) % ranks };
    int edges = 0;
    for (int k = 0; k < (ranks > 2 ? 2 : 1); k++) {
        bool neighbours = false;
        for (uint32_t s = 0; s + 1 < stages; s++) {
            const uint32_t a = pp_placement_rank(context->placement, s, ranks);
            const uint32_t b = pp_placement_rank(context->placement, s + 1, ranks);
            neighbours |= (a == rank && b == other[k]) || (a == other[k] && b == rank);
        }
        edges += neighbours;
    }
    return edges;
}
