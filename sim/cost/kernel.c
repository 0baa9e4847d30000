/* Times of single kernels, collectives and messages by formulas with fitted parameters, which
 * sim/job/hardware.h states (docs/explanation/cost-model.md, sections 3 and 4). A GEMM takes the
 * time of its FLOPs at a fitted efficiency with wave quantisation, but at least the time of its
 * memory traffic. Attention takes the time of its FLOPs at an efficiency that depends on lengths
 * and blocks. An elementwise kernel takes the time of its memory traffic. A collective is a ring
 * with a fitted bandwidth. A message takes the time of NCCL's channels or of the link, whichever is
 * slower. The number of channels follows NCCL 2.29 (addP2pToPlan). Measurements take precedence. */
#include "sim/cost/kernel.h"

#include <math.h>

static bool measured(const pp_hardware *hw, const pp_measured_at *at, double *seconds_out)
{
    return hw->measured && hw->measured->ask(hw->measured->context, at, seconds_out);
}

/* The loss by wave quantisation, >= 1: the number of waves over the ideal one, for the best of
 * three tiles. The 128x128 tile runs at 0.9 of the speed of the larger ones (published measurements
 * of GEMMs, docs/explanation/cost-model.md). */
static double wave_loss(int sm_count, double m, double n, double batch)
{
    static const struct {
        double m, n, speed;
    } tiles[] = { { 256, 128, 1.0 }, { 128, 256, 1.0 }, { 128, 128, 0.9 } };
    const double sms = sm_count;
    double best = INFINITY;
    for (size_t i = 0; i < sizeof tiles / sizeof tiles[0]; i++) {
        const double count = ceil(m / tiles[i].m) * ceil(n / tiles[i].n) * ceil(batch);
        const double loss =
            ceil(count / sms) * sms * tiles[i].m * tiles[i].n / (m * n * batch * tiles[i].speed);
        best = fmin(best, loss);
    }
    return best;
}

double pp_gemm_curve_seconds(const pp_gemm_curve *curve, double peak_flops_per_s, int sm_count,
                             double m, double n, double k, double batch)
{
    if (!(m > 0 && n > 0 && k > 0 && batch > 0))
        return 0;
    const double flops = 2 * m * n * k * batch;
    const double e = curve->e2 + (curve->e1 - curve->e2) / (1 + flops / curve->fd_flops);
    return curve->t0_s + flops / (curve->scale * e * peak_flops_per_s) * (1 + curve->k0 / k) *
                             pow(wave_loss(sm_count, m, n, batch), curve->a);
}

/* experts: 0, or how many experts have a product of this size each. */
static bool measured_gemm(const pp_hardware *hw, const pp_gemm *gemm, double experts,
                          double *seconds_out)
{
    static const pp_measured_kind kinds[] = { [PP_GEMM_FORWARD] = PP_MEASURED_GEMM_FWD,
                                              [PP_GEMM_INPUT] = PP_MEASURED_GEMM_DGRAD,
                                              [PP_GEMM_WEIGHT] = PP_MEASURED_GEMM_WGRAD };
    pp_measured_at at = {
        .m = gemm->m, .n = gemm->n, .k = gemm->k, .format = gemm->format, .experts = experts
    };
    if (gemm->pass == PP_GEMM_OTHER || gemm->batch > 1 || !(gemm->m * gemm->n * gemm->k > 0))
        return false;
    at.kind = kinds[gemm->pass];
    if (gemm->pass == PP_GEMM_WEIGHT) { /* measurements have the rows of the weight first */
        at.m = gemm->n;
        at.n = gemm->m;
    }
    if (experts > 0)
        *(gemm->pass == PP_GEMM_WEIGHT ? &at.k : &at.m) *= experts;
    return measured(hw, &at, seconds_out);
}

/* In 8 and 4 bits. The result, in 16 bits or added to fp32, is a large part of the memory traffic:
 * its time is added. */
static double low_gemm_seconds(const pp_hardware *hw, const pp_gemm *gemm)
{
    const pp_gemm_curve *curve = &hw->low[gemm->format];
    const double batch = gemm->batch > 0 ? gemm->batch : 1;
    double seconds = pp_gemm_curve_seconds(curve, curve->peak_ratio * hw->peak_flops_per_s,
                                           hw->sm_count, gemm->m, gemm->n, gemm->k, batch);
    if (gemm->pass == PP_GEMM_WEIGHT)
        seconds /= curve->weight_gradient;
    return seconds <= 0 ? 0
                        : seconds + batch * gemm->m * gemm->n * curve->output_bytes *
                                        gemm->output_bytes / 2 / hw->memory_bytes_per_s;
}

double pp_gemm_seconds(const pp_hardware *hw, const pp_gemm *gemm)
{
    const double batch = gemm->batch > 0 ? gemm->batch : 1;
    double seconds = 0;
    if (measured_gemm(hw, gemm, 0, &seconds))
        return seconds;
    if (gemm->format)
        return low_gemm_seconds(hw, gemm);
    seconds = pp_gemm_curve_seconds(&hw->gemm, hw->peak_flops_per_s, hw->sm_count, gemm->m, gemm->n,
                                    gemm->k, batch);
    if (seconds <= 0)
        return 0;
    const double input = gemm->fp32 ? 4 : 2;
    const double bytes =
        batch * (input * (gemm->m + gemm->n) * gemm->k + gemm->output_bytes * gemm->m * gemm->n);
    if (gemm->fp32)
        seconds /= hw->fp32_ratio;
    if (gemm->pass == PP_GEMM_WEIGHT)
        seconds /= hw->gemm.weight_gradient;
    /* the sums of an expert's few rows are a large part of the traffic, and only half hidden */
    if (gemm->expert && gemm->pass == PP_GEMM_WEIGHT)
        return hypot(seconds, bytes / (hw->elementwise * hw->memory_bytes_per_s));
    return fmax(seconds, pp_elementwise_seconds(hw, bytes));
}

double pp_expert_gemms_seconds(const pp_hardware *hw, const pp_gemm *gemm, double experts)
{
    double seconds = 0;
    return measured_gemm(hw, gemm, experts, &seconds) ? seconds
                                                      : experts * pp_gemm_seconds(hw, gemm);
}

double pp_quantize_seconds(const pp_hardware *hw, const pp_recipe *recipe, double bytes)
{
    const pp_measured_at at = { .kind = recipe->current ? PP_MEASURED_QUANTIZE_CURRENT
                                                        : PP_MEASURED_QUANTIZE,
                                .format = recipe->format,
                                .bytes = bytes };
    double seconds = pp_elementwise_seconds(hw, bytes);
    if (bytes > 0)
        (void)measured(hw, &at, &seconds); /* leaves it as it is if that was not measured */
    return seconds;
}

/* The curve of this pass with the nearest head size; among several, preferably one with the right
 * mask. */
static const pp_attention_curve *find_curve(const pp_hardware *hw, const pp_attention *attention)
{
    const pp_attention_curve *best = NULL;
    double best_distance = INFINITY;
    for (size_t i = 0; i < hw->attention_count; i++) {
        const pp_attention_curve *curve = &hw->attention[i];
        const double distance = 4 * fabs(log(curve->head_dim / attention->qk_dim)) +
                                (curve->causal != attention->causal);
        if (curve->backward == attention->backward && distance < best_distance) {
            best_distance = distance;
            best = curve;
        }
    }
    return best;
}

double pp_attention_seconds(const pp_hardware *hw, const pp_attention *attention)
{
    const pp_attention_curve *curve = find_curve(hw, attention);
    const pp_measured_at at = { .kind = attention->backward ? PP_MEASURED_ATTENTION_BWD
                                                            : PP_MEASURED_ATTENTION_FWD,
                                .tokens = attention->tokens,
                                .square_sum = attention->square_sum,
                                .longest = attention->longest,
                                .tiles = attention->tiles };
    double seconds = 0;
    if (attention->tokens > 0 && measured(hw, &at, &seconds))
        return seconds;
    if (!curve || !(attention->tokens > 0 && attention->heads > 0))
        return 0;
    /* the forward has 2 products of s x s x d, the backward 5, 3 of them over qk_dim */
    const double width = attention->backward ? 3 * attention->qk_dim + 2 * attention->v_dim
                                             : attention->qk_dim + attention->v_dim;
    /* sum over sequences of s^2 (1 + s0/s) = Q + s0 T */
    const double pairs = attention->square_sum + curve->s0 * attention->tokens;
    const double blocks = fmax(1, attention->heads * attention->tokens / 128);
    return hw->kernel_s + 2 * width * attention->heads * pairs * (attention->causal ? 0.5 : 1) *
                              (1 + curve->b0 / blocks) / (curve->e * hw->peak_flops_per_s);
}

double pp_elementwise_seconds(const pp_hardware *hw, double bytes)
{
    return bytes > 0 ? hw->kernel_s + bytes / (hw->elementwise * hw->memory_bytes_per_s) : 0;
}

pp_collective_group pp_group_of(int64_t node_part, int64_t ranks, int64_t stride)
{
    int64_t members = node_part / (stride > 0 ? stride : 1);
    if (members < 1)
        members = 1;
    return (pp_collective_group){ .ranks = ranks, .members = members < ranks ? members : ranks };
}

/* The curve of the smallest measured group of at least `ranks`, else of the largest group. */
static const pp_collective_curve *find_collective(const pp_hardware *hw, pp_collective kind,
                                                  int64_t ranks)
{
    const pp_collective_curve *best = NULL;
    for (size_t i = 0; i < hw->collective_count; i++) {
        const pp_collective_curve *curve = &hw->collective[i];
        if (curve->kind != kind)
            continue;
        const bool holds = curve->ranks >= ranks, best_holds = best && best->ranks >= ranks;
        if (!best || (holds ? !best_holds || curve->ranks < best->ranks
                            : !best_holds && curve->ranks > best->ranks))
            best = curve;
    }
    return best;
}

static double inside_node(const pp_collective_curve *curve, double bytes)
{
    return bytes * (1 + sqrt(curve->b0_bytes / bytes)) / curve->bytes_per_s;
}

static bool measured_group(const pp_hardware *hw, pp_measured_kind kind, pp_collective_group group,
                           double bytes, double *seconds_out)
{
    const pp_measured_at at = {
        .kind = kind, .bytes = bytes, .ranks = group.ranks, .spans = group.members < group.ranks
    };
    return measured(hw, &at, seconds_out);
}

double pp_collective_seconds(const pp_hardware *hw, pp_collective kind, pp_collective_group group,
                             double bytes)
{
    static const pp_measured_kind kinds[] = { [PP_ALL_REDUCE] = PP_MEASURED_ALL_REDUCE,
                                              [PP_ALL_GATHER] = PP_MEASURED_ALL_GATHER,
                                              [PP_REDUCE_SCATTER] = PP_MEASURED_REDUCE_SCATTER };
    const pp_collective_curve *curve = find_collective(hw, kind, group.members);
    double seconds = 0;
    if (group.ranks > 1 && bytes > 0 && measured_group(hw, kinds[kind], group, bytes, &seconds))
        return seconds;
    if (group.ranks <= 1 || !(bytes > 0) || !curve)
        return 0;
    const double n = (double)group.ranks;
    const double times = kind == PP_ALL_REDUCE ? 2 : 1;
    const double share = times * (n - 1) / n;
    const double node_s = group.members > 1 ? share * inside_node(curve, bytes) : 0;
    if (group.members >= group.ranks)
        return curve->a_s + node_s;
    /* in a ring through all nodes, the slower part decides. The group's share of a node's network
     * is that of its GPUs on the node; the node's other GPUs run groups of their own */
    const double rate = hw->network_efficiency * hw->network_bytes_per_s * (double)group.members /
                        hw->gpus_per_node;
    const double nodes = n / (double)group.members;
    return curve->a_s + fmax(node_s, share * bytes / rate) + times * hw->network_hop_s * nodes / 2;
}

typedef struct exchange {
    double start_s, seconds;
} exchange;

/* Among `members` ranks of a node: as measured for so many ranks, else at the rate of the link. */
static exchange all_to_all_inside(const pp_hardware *hw, int64_t members, double bytes)
{
    const pp_collective_curve *curve = find_collective(hw, PP_ALL_TO_ALL, members);
    const double share = (double)(members - 1) / (double)members;
    if (!curve || curve->ranks < members)
        return (exchange){ hw->node_p2p.alpha_s, share * bytes / hw->node_p2p.link_bytes_per_s };
    return (exchange){ curve->a_s, share * inside_node(curve, bytes) };
}

double pp_exchange_seconds(const pp_hardware *hw, pp_collective_group group,
                           const pp_exchange_load *load)
{
    const double members = (double)group.members;
    const exchange inside = all_to_all_inside(hw, group.members, load->inside_bytes);
    const double links_s =
        load->links_bytes_per_s > 0
            ? (members - 1) / members * load->inside_bytes / load->links_bytes_per_s
            : 0;
    const double rate =
        load->part * hw->network_efficiency * hw->network_bytes_per_s / hw->gpus_per_node;
    return inside.start_s + fmax(fmax(inside.seconds, links_s), load->network_bytes / rate) +
           (group.members < group.ranks ? hw->network_p2p.alpha_s : 0);
}

bool pp_all_to_all_measured(const pp_hardware *hw, pp_collective_group group, double bytes,
                            double *seconds_out)
{
    return measured_group(hw, PP_MEASURED_ALL_TO_ALL, group, bytes, seconds_out);
}

double pp_all_to_all_seconds(const pp_hardware *hw, pp_collective_group group, double bytes)
{
    const double members = (double)group.members, ranks = (double)group.ranks;
    double seconds = 0;
    if (group.ranks <= 1 || !(bytes > 0))
        return 0;
    if (pp_all_to_all_measured(hw, group, bytes, &seconds))
        return seconds;
    const pp_exchange_load load = { .inside_bytes = bytes * members / ranks,
                                    .network_bytes = bytes * (ranks - members) / ranks,
                                    .part = 1 };
    return pp_exchange_seconds(hw, group, &load);
}

int64_t pp_nccl_channels_per_peer(int64_t channels, int64_t per_peer, int64_t ranks)
{
    while (per_peer > 1 && per_peer * ((ranks + 7) / 8) > channels)
        per_peer /= 2;
    return per_peer;
}

int64_t pp_nccl_channels(int64_t channels, int64_t per_peer, pp_communicator communicator,
                         double bytes)
{
    const double least_part = 65536, most_part = communicator.spans ? 131072 : 16777216;
    int64_t n = per_peer;
    while (n > 1 && n * communicator.ranks > channels)
        n /= 2;
    n = (int64_t)fmax(1, fmin((double)n, ceil(bytes / least_part)));
    while (n <= per_peer / 2 && bytes / (double)n > most_part)
        n *= 2;
    return n;
}

/* NCCL takes the minimum over all peers of a communicator, so that one peer on another node limits
 * NVLink peers too. */
int64_t pp_p2p_channels(const pp_hardware *hw, bool same_node, pp_communicator communicator,
                        double bytes)
{
    const pp_p2p_curve *widest = communicator.spans ? &hw->network_p2p : &hw->node_p2p;
    int64_t per_peer =
        pp_nccl_channels_per_peer(widest->channels_max, widest->channels, communicator.ranks);
    if (same_node && hw->node_p2p.channels < per_peer)
        per_peer = hw->node_p2p.channels;
    return pp_nccl_channels(widest->channels_max, per_peer, communicator, bytes);
}

static double message_seconds(const pp_hardware *hw, bool same_node, int64_t channels, double bytes)
{
    const pp_p2p_curve *curve = same_node ? &hw->node_p2p : &hw->network_p2p;
    if (!(bytes > 0))
        return 0;
    double rate = fmin(curve->link_bytes_per_s, (double)channels * curve->channel_bytes_per_s);
    if (!same_node) { /* a GPU's share of the node's network */
        const double share = hw->network_bytes_per_s / hw->gpus_per_node;
        rate = fmin(rate, curve->published ? share : share * hw->network_efficiency);
    }
    return curve->alpha_s + bytes / rate;
}

static bool measured_message(const pp_hardware *hw, bool same_node, pp_communicator communicator,
                             double bytes, double *seconds_out)
{
    const pp_measured_at at = { .kind = PP_MEASURED_MESSAGE,
                                .bytes = bytes,
                                .ranks = communicator.ranks,
                                .spans = communicator.spans,
                                .other_node = !same_node };
    return bytes > 0 && measured(hw, &at, seconds_out);
}

double pp_message_seconds(const pp_hardware *hw, bool same_node, pp_communicator communicator,
                          double bytes)
{
    double seconds = 0;
    if (measured_message(hw, same_node, communicator, bytes, &seconds))
        return seconds;
    return message_seconds(hw, same_node, pp_p2p_channels(hw, same_node, communicator, bytes),
                           bytes);
}

double pp_p2p_seconds(const pp_hardware *hw, bool same_node, int64_t communicator, double bytes)
{
    const pp_p2p_curve *curve = same_node ? &hw->node_p2p : &hw->network_p2p;
    const pp_communicator all = { communicator, !same_node };
    double seconds = 0;
    if (measured_message(hw, same_node, all, bytes, &seconds))
        return seconds;
    return message_seconds(
        hw, same_node,
        pp_nccl_channels_per_peer(curve->channels_max, curve->channels, communicator), bytes);
}
