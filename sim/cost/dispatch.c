/* Time of dispatch and combine of experts by what each kind of dispatcher sends. A token has k
 * experts on E ranks of N nodes; sim/cost/routing.c says how many of these it reaches.
 *
 * - alltoall, by NCCL: a copy for each expert, of which k (E - m) / E cross the network, with m
 * ranks per node. It takes as long as measured, if the machine was.
 * - allgather: all tokens go to all ranks, and a reduce-scatter brings back what all return.
 * - deepep: a copy for each node crosses the network, and is passed on to each rank of that node
 * that needs it (DeepSeek-V3, arXiv 2412.19437, section 3.2.2; Megatron-Core's fused_a2a.py).
 * - hybridep: the same, and rows are sorted by expert on the way.
 * - deepep-ll: a copy for each expert, in 8 bits on the way there, by DeepEP's low-latency kernels.
 *
 * The others can send in 8 bits, too, where rows go to experts: tokens in the forward, and in the
 * backward the gradients of what experts returned. What is added up on its way back, outputs and
 * the gradients of tokens, keeps 16 bits (DeepSeek-V3, arXiv 2412.19437, section 3.3.3).
 *
 * Links inside a node and the network work at the same time. Rates are those of the kernels alone,
 * as their authors publish them (tests/unit/sim/cost/test_dispatch.c has them, and how far off this
 * is: 11 % at most), and no step of training is fitted:
 *
 * - DeepEP: 0.87 of the cards' 50 GB/s on 4 and 8 nodes (its table of legacy kernels, H800: 58, 57,
 * 51 and 50 GB/s with the copies that stay, of which 3/4 and 7/8 leave). Inside a node 0.85 of the
 * links of H800 (153 and 158 GB/s), or 20 SMs at 17 GB/s each where links are faster (B200, GB200:
 * 314 to 469 GB/s of 16 to 24 SMs, HybridEP's page).
 * - HybridEP: 0.76 of the cards on 4 and 8 nodes of H100, 0.62 of the links of B200 and GB200, 8 to
 * 36 ranks (its page: Torch API, 16 SMs).
 * - NCCL's all-to-all: DeepEP's kernels are 1.61, 1.63 and 1.93 times as fast for the same bytes
 * where the busiest rank gets 3.0, 2.6 and 5.1 times the mean of rows, and take as long for each of
 * them (deepspeedai/DeepSpeed pull request 8213, two nodes of H100). A line through NCCL's three
 * times gives 1.43 for equal rows, which imbalance F changes to 1.43 + 0.105 (F - 1).
 *
 * In DeepSeek's trace of training its own combines have 0.60 of the cards, its dispatches 0.49
 * (deepseek-ai/profile-data, kernels of early 2025 that overlap with compute).
 *
 * SMs that the kernels of an exchange hold: DeepEP's by its default (Buffer.num_sms) 20, those of
 * HybridEP 16 (Megatron-Core's moe_hybridep_num_sms), the low-latency ones of DeepEP all, since
 * they start a block per SM. NCCL's hold one per channel; the hardware files of
 * A100 and H100 have 32 channels inside a node and 16 where a communicator spans nodes. */
#include "sim/cost/dispatch.h"

#include "sim/cost/routing.h"

#include <math.h>

#define RING_PART 0.75 /* of the network's peak, the prior of the hardware files */
#define DEEPEP_PART (0.87 / RING_PART)
#define HYBRIDEP_PART (0.76 / RING_PART)
/* Times as long as DeepEP's kernels, with equal rows and for each mean of rows more. */
#define ALLTOALL_TIMES 1.43
#define ALLTOALL_TIMES_MORE 0.105
/* Of the link's rate, what the kernels reach inside a node; and for each SM of DeepEP's. */
#define DEEPEP_LINK 0.85
#define DEEPEP_SM_BYTES_PER_S 17e9
#define HYBRIDEP_LINK 0.62
/* Of a row in 8 bits, a byte per element and a scale of 4 bytes for 128 of them. */
#define LOW_BYTES (1 + 4.0 / 128)
#define DEEPEP_SMS 20
#define HYBRIDEP_SMS 16
#define NCCL_NODE_SMS 32
#define NCCL_NETWORK_SMS 16

typedef struct sizes {
    pp_collective_group group;
    double ranks, members, nodes;
    double row; /* bytes of the tokens that a rank sends, each once */
    double k;   /* experts that a token is sent to, in the mean */
} sizes;

static sizes sizes_of(const pp_gpu_batch *local)
{
    const pp_parallel *par = &local->context->parallel;
    const pp_collective_group group =
        pp_group_of(pp_hardware_node_part(local->hw, par), par->ep, pp_parallel_etp(par));
    return (sizes){ .group = group,
                    .ranks = (double)group.ranks,
                    .members = (double)group.members,
                    .nodes = (double)group.ranks / (double)group.members,
                    .row = local->norm_bytes,
                    .k = local->sent * (double)local->model->experts_per_token };
}

/* A copy for each expert. part: of a row's bytes that is sent. */
static double copies_seconds(const pp_gpu_batch *local, const sizes *s, double part, double rate)
{
    const double each = part * s->k * s->row / s->ranks;
    const pp_exchange_load load = { .inside_bytes = each * s->members,
                                    .network_bytes = each * (s->ranks - s->members),
                                    .part = rate };
    return pp_exchange_seconds(local->hw, s->group, &load);
}

/* A copy for each node, and there one for each rank. part: of a row's bytes that is sent. */
static double nodes_seconds(const pp_gpu_batch *local, const sizes *s, double part)
{
    /* of a rank; modules are compared before more ranks than experts are refused */
    const int64_t least = local->model->experts / s->group.ranks, experts = least > 0 ? least : 1;
    /* rows that are dropped or added are any token's */
    const double ranks = fmin(s->ranks, local->sent * pp_routing_reached(local->model, experts));
    const double nodes =
        fmin(s->nodes, local->sent * pp_routing_reached(local->model, experts * s->group.members));
    const double others = nodes * (s->nodes - 1) / s->nodes;
    const double link = local->hw->node_p2p.link_bytes_per_s;
    const bool hybrid = local->context->switches.dispatcher == PP_DISPATCHER_HYBRIDEP;
    const pp_exchange_load load = {
        .inside_bytes = part * s->row * ranks,
        .network_bytes = part * s->row * others,
        .part = hybrid ? HYBRIDEP_PART : DEEPEP_PART,
        .links_bytes_per_s = hybrid ? HYBRIDEP_LINK * link
                                    : fmin(DEEPEP_LINK * link, DEEPEP_SMS * DEEPEP_SM_BYTES_PER_S)
    };
    return pp_exchange_seconds(local->hw, s->group, &load);
}

/* To experts and back. */
typedef struct ways {
    double there_s, back_s;
} ways;

static ways alike(double seconds)
{
    return (ways){ seconds, seconds };
}

static ways gather_ways(const pp_gpu_batch *local, const sizes *s)
{
    const pp_parallel *par = &local->context->parallel;
    const int64_t ranks = par->ep * pp_parallel_etp(par);
    const pp_collective_group group = pp_group_of(pp_hardware_node_part(local->hw, par), ranks, 1);
    const double all = s->row * (double)ranks;
    return (ways){ pp_collective_seconds(local->hw, PP_ALL_GATHER, group, all),
                   pp_collective_seconds(local->hw, PP_REDUCE_SCATTER, group, all) };
}

static ways ways_of(const pp_gpu_batch *local, const sizes *s)
{
    const double low = LOW_BYTES / local->element_bytes;
    const bool fp8 = local->context->switches.moe_fp8_dispatch;
    /* rows of the busiest rank beyond the mean, in means */
    const double more = fmax(0, local->imbalance / local->sent - 1);
    double measured_s = 0;
    if (s->group.ranks <= 1 || !(s->row > 0) || pp_exchange_is_omitted(local, PP_EXCHANGE_EP))
        return alike(0);
    switch (local->context->switches.dispatcher) {
    case PP_DISPATCHER_ALLTOALL:
        if (pp_all_to_all_measured(local->hw, s->group, s->k * s->row, &measured_s))
            return alike(measured_s);
        return alike(copies_seconds(local, s, 1,
                                    DEEPEP_PART / (ALLTOALL_TIMES + ALLTOALL_TIMES_MORE * more)));
    case PP_DISPATCHER_ALLGATHER:
        return gather_ways(local, s);
    case PP_DISPATCHER_DEEPEP_LL:
        return (ways){ copies_seconds(local, s, low, DEEPEP_PART),
                       copies_seconds(local, s, 1, DEEPEP_PART) };
    case PP_DISPATCHER_DEEPEP:
    case PP_DISPATCHER_HYBRIDEP:
        break;
    }
    return (ways){ nodes_seconds(local, s, fp8 ? low : 1), nodes_seconds(local, s, 1) };
}

pp_dispatch_cost pp_dispatch_of(const pp_gpu_batch *local)
{
    const sizes s = sizes_of(local);
    const double routed = s.k * s.row, copied = s.row + routed;
    const pp_dispatcher kind = local->context->switches.dispatcher;
    const bool sorts = s.ranks > 1 && (double)local->model->experts > s.ranks;
    const ways exchange = ways_of(local, &s);
    pp_dispatch_cost cost = { .seconds = exchange.there_s + exchange.back_s,
                              .there_seconds = exchange.there_s };
    /* rows are copied for each expert of their token, and added on their way back; DeepEP does that
     * with what arrived, HybridEP while it arrives */
    if (s.ranks > 1 && kind == PP_DISPATCHER_HYBRIDEP)
        return cost;
    cost.bytes[0] = cost.bytes[1] = copied;
    /* what all-to-all brings to several experts of a rank is sorted by expert, and back
     * (sort_chunks_by_idxs) */
    if (sorts && kind == PP_DISPATCHER_ALLTOALL)
        cost.bytes[2] = cost.bytes[3] = 2 * routed;
    return cost;
}

bool pp_dispatch_is_followed_by_gather(const pp_gpu_batch *local)
{
    const pp_cost_context *context = local->context;
    return context->parallel.ep <= 1 || context->switches.dispatcher != PP_DISPATCHER_ALLGATHER;
}

double pp_collective_sm_share(const pp_hardware *hw, pp_collective_group group)
{
    const double held = group.ranks > group.members ? NCCL_NETWORK_SMS : NCCL_NODE_SMS;
    const double all = (double)hw->sm_count;
    return group.ranks > 1 && all > held ? held / all : 0;
}

double pp_dispatch_sm_share(const pp_gpu_batch *local)
{
    const sizes s = sizes_of(local);
    const double all = (double)local->hw->sm_count;
    double held = s.nodes > 1 ? NCCL_NETWORK_SMS : NCCL_NODE_SMS;
    if (s.ranks <= 1)
        return 0;
    switch (local->context->switches.dispatcher) {
    case PP_DISPATCHER_ALLTOALL:
    case PP_DISPATCHER_ALLGATHER:
        break;
    case PP_DISPATCHER_DEEPEP:
        held = DEEPEP_SMS;
        break;
    case PP_DISPATCHER_HYBRIDEP:
        held = HYBRIDEP_SMS;
        break;
    case PP_DISPATCHER_DEEPEP_LL:
        return 1;
    }
    return fmin(1, held / fmax(all, 1));
}
