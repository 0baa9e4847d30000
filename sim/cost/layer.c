/* The time of one transformer layer, as the sum over its kernels and collectives.
 * docs/explanation/cost-model.md lists them in sections 3 and 4. */

#include "sim/cost/layer.h"

#include "sim/cost/dispatch.h"

#include "sim/cost/context_exchange.h"
#include "sim/cost/gpu_batch.h"
#include "sim/cost/measured_layer.h"
#include "sim/cost/pair.h"
#include "sim/cost/scan.h"

#include <math.h>

/* The backward of attention that adds in a fixed order: 18 to 35 % more (Dao-AILab/flash-attention
 * pull request 2150, B200) */
#define DETERMINISTIC_BACKWARD 1.26
#define FORWARD_KERNELS 20 /* kernels that the host launches per layer */
#define BACKWARD_KERNELS 42
/* The host's work for one product of one expert in 8 or 4 bits, in launches: TransformerEngine
 * quantizes, swizzles scales and wraps tensors for each expert. Fitted to the steps of two models
 * on B200 without CUDA graphs, whose layers take 0.67 and 0.69 ms per expert
 * (docs/explanation/cost-model.md, section 3). */
#define LOW_EXPERT_LAUNCHES 13

/* Unfused attention of earlier Megatron-LM: two batched GEMMs, masked softmax, dropout. */
static void add_unfused_core(const pp_gpu_batch *local, const pp_attention_widths *a, pp_work *work)
{
    const double length = local->square_sum / local->tokens;
    const double batch = a->heads * local->tokens / length;
    const double scores = a->heads * local->square_sum * local->element_bytes / 2;
    const double s = length, q = a->qk_dim, v = a->v_dim;
    const pp_gemm_pass pass = PP_GEMM_OTHER;
    work->f += pp_gpu_gemm_seconds(local, s, s, q, batch, pass) +
               pp_gpu_gemm_seconds(local, s, v, s, batch, pass);
    work->i += 2 * pp_gpu_gemm_seconds(local, s, q, s, batch, pass) +
               pp_gpu_gemm_seconds(local, s, s, v, batch, pass) +
               pp_gpu_gemm_seconds(local, s, v, s, batch, pass);
    pp_add_elementwise(local, 3 * scores, 4 * scores, work);
    if (local->model->dropout)
        pp_add_elementwise(local, 5 * scores, 5 * scores, work);
}

static pp_work attention_core(const pp_gpu_batch *local)
{
    const pp_attention_widths a = pp_attention_widths_of(local);
    pp_work work = { 0 };
    if (!local->context->switches.flash_attention) {
        add_unfused_core(local, &a, &work);
        pp_add_elementwise(local, 2 * local->tokens * a.o * local->element_bytes,
                           2 * local->tokens * a.o * local->element_bytes, &work);
    } else {
        pp_attention core = { .heads = a.heads,
                              .qk_dim = a.qk_dim,
                              .v_dim = a.v_dim,
                              .tokens = local->tokens,
                              .square_sum = local->square_sum,
                              .longest = local->longest,
                              .tiles = local->tiles,
                              .causal = true };
        const double ratio = local->fp32 ? 1 / local->hw->fp32_ratio : 1;
        work.f = ratio * pp_attention_seconds(local->hw, &core);
        core.backward = true;
        work.i = ratio * pp_attention_seconds(local->hw, &core);
        if (local->context->switches.deterministic)
            work.i *= DETERMINISTIC_BACKWARD;
    }
    pp_add_context_exchange(local, &a, &work);
    return work;
}

/* The indexer of sparse attention, which all tensor-parallel ranks compute as a whole: queries,
 * keys and weights of its heads, their products with all earlier tokens, and two passes over the
 * fp32 scores to find the best tokens (DeepSeek-V3.2-Exp, arXiv 2512.02556, section 2). */
static void add_indexer(const pp_gpu_batch *local, pp_work *work)
{
    const pp_model *m = local->model;
    const double heads = (double)m->index_heads, width = (double)m->index_head_dim;
    const double square_sum = local->raw_square_sum / (double)local->context->parallel.cp;
    pp_attention scores = { .heads = heads,
                            .qk_dim = width,
                            .tokens = local->tokens,
                            .square_sum = square_sum,
                            .causal = true };
    if (!m->index_heads)
        return;
    pp_add_linear(local, local->tokens, heads * width, (double)m->q_lora_rank, 1, work);
    pp_add_linear(local, local->tokens, width + heads, (double)m->hidden, 1, work);
    work->f += pp_attention_seconds(local->hw, &scores);
    scores.backward = true;
    work->i += pp_attention_seconds(local->hw, &scores);
    pp_add_elementwise(local, 2 * 4 * square_sum / 2, 2 * 4 * square_sum / 2, work);
}

static void add_projections(const pp_gpu_batch *local, const pp_attention_widths *a, pp_work *work)
{
    const pp_model *m = local->model;
    const double h = (double)m->hidden, rows = local->tokens;
    if (m->attention == PP_ATTENTION_MLA) {
        /* the low-rank projections are not divided by tp; with sequence parallelism their rows are
         * divided */
        const double own = local->sequence_parallel ? rows / local->t : rows;
        const double q_rank = (double)m->q_lora_rank, kv_rank = (double)m->kv_lora_rank;
        if (q_rank > 0)
            pp_add_linear(local, own, q_rank, h, 1, work);
        pp_add_linear(local, rows, a->q, q_rank > 0 ? q_rank : h, 1, work);
        pp_add_linear(local, own, kv_rank + (double)m->qk_rope_head_dim, h, 1, work);
        pp_add_linear(local, rows, a->heads * (double)(m->qk_nope_head_dim + m->v_head_dim),
                      kv_rank, 1, work);
        const double norms = 2 * own * (q_rank + kv_rank) * local->element_bytes;
        pp_add_elementwise(local, norms, 2.5 * norms, work);
    } else {
        pp_add_linear(local, rows, (m->attention_gate ? 2 : 1) * a->q + a->k + a->v, h, 1, work);
    }
    pp_add_linear(local, rows, h, a->o, 1, work);
}

/* Adds norm, residual and dropout around one half of the layer, and the bias of its row-parallel
 * output. */
static void add_frame(const pp_gpu_batch *local, pp_work *work)
{
    const pp_model *m = local->model;
    const double a = local->norm_bytes;
    const bool one =
        m->parallel_block || local->layer.mixer == PP_MIXER_NONE || local->layer.mlp == PP_MLP_NONE;
    const double norms = pp_model_norms(m, local->layer) / (one ? 1 : 2);
    pp_add_elementwise(local, 2 * a, 5 * a, work); /* norm */
    if (norms > 1)
        pp_add_elementwise(local, (norms - 1) * 2 * a, (norms - 1) * 5 * a, work);
    /* residual and dropout */
    pp_add_elementwise(local, (m->dropout ? 3.5 : 3) * a, (m->dropout ? 2.5 : 0) * a, work);
    pp_add_elementwise(local, 0, (m->linear_bias ? 1 : 0) * a, work); /* gradient of the bias */
    pp_add_elementwise(local, 0, 3 * a, work); /* gradients of both branches added */
    pp_add_tensor_parallel(local, local->row_bytes, work);
}

static void add_attention(const pp_gpu_batch *local, pp_work *work)
{
    const pp_attention_widths a = pp_attention_widths_of(local);
    const double token_bytes = local->tokens * local->element_bytes;
    const double qkv = token_bytes * (a.q + a.k + a.v);
    const double rotated = local->rope ? 2 * token_bytes * (a.q + a.k) : 0;
    const double gated = local->model->attention_gate ? token_bytes * a.o : 0;
    const pp_work core = attention_core(local);
    add_projections(local, &a, work);
    add_indexer(local, work);
    pp_add_elementwise(local, rotated, rotated, work); /* rope, on q and k */
    pp_add_elementwise(local, 0, 2 * qkv, work);       /* gradients of q, k and v joined */
    pp_add_elementwise(local, 0, local->model->linear_bias ? qkv : 0, work); /* of the bias */
    pp_add_elementwise(local, 3 * gated, 5 * gated, work);
    work->f += core.f;
    work->i += core.i;
}

/* Adds an MLP of two (GELU) or three (SwiGLU) matrices: `groups` experts of `width` with `rows`
 * tokens each. */
static void add_mlp(const pp_gpu_batch *local, double rows, double width, double groups,
                    pp_work *work)
{
    const pp_model *m = local->model;
    const double h = (double)m->hidden;
    const double wide = rows * groups * width * local->element_bytes;
    if (!(width > 0))
        return;
    pp_add_linear(local, rows, (m->gated_mlp ? 2 : 1) * width, h, groups, work);
    pp_add_linear(local, rows, h, width, groups, work);
    /* activation: SwiGLU or GELU */
    pp_add_elementwise(local, (m->gated_mlp ? 3 : 2) * wide, (m->gated_mlp ? 5 : 3) * wide, work);
    pp_add_elementwise(local, 0, m->linear_bias ? wide : 0, work); /* gradient of the bias */
}

/* Gathers the rows of all etp ranks, and scatters what they return. rows: bytes of all of them. */
static double etp_seconds(const pp_gpu_batch *local, double rows)
{
    pp_gpu_batch experts = *local;
    experts.tensor_group = pp_group_of(pp_hardware_node_part(local->hw, &local->context->parallel),
                                       pp_parallel_etp(&local->context->parallel), 1);
    if (!pp_dispatch_is_followed_by_gather(local))
        return 0;
    return pp_gather_seconds(&experts, PP_ALL_GATHER, rows) +
           pp_gather_seconds(&experts, PP_REDUCE_SCATTER, rows);
}

/* The rows of experts on this GPU, if all have as many and none is dropped or padded. */
static double expert_rows(const pp_gpu_batch *local)
{
    return (double)local->model->experts_per_token * local->tokens * local->expert_t / local->t;
}

/* The exchange, in the time of kernels: all of a layer is divided by `sustained` in the end, which
 * slows isolated kernels down to their speed in a step. Links and network cards keep their rate, so
 * that this division is cancelled here. */
static pp_dispatch_cost dispatch_of(const pp_gpu_batch *local)
{
    const double sustained = pp_sustained_of(local->context);
    pp_dispatch_cost cost = pp_dispatch_of(local);
    cost.seconds *= sustained;
    cost.there_seconds *= sustained;
    return cost;
}

/* What the exchange hides of shared experts, if they compute beside it, on the SMs that it leaves:
 * the first layer and the activation while rows go to their experts, the second while they come
 * back; in the backward the other way round (Megatron-Core's shared_experts.py). */
static void hide_shared_experts(const pp_gpu_batch *local, const pp_dispatch_cost *dispatch,
                                pp_work *work)
{
    const double width = (double)local->model->shared_ffn / local->t;
    const double left = 1 - pp_dispatch_sm_share(local);
    const double there = left * dispatch->there_seconds;
    const double back = left * (dispatch->seconds - dispatch->there_seconds);
    pp_work all = { 0 }, down = { 0 };
    if (!local->context->switches.moe_shared_expert_overlap || !(width > 0))
        return;
    add_mlp(local, local->tokens, width, 1, &all);
    pp_add_linear(local, local->tokens, (double)local->model->hidden, width, 1, &down);
    const pp_work up = { .f = all.f - down.f, .i = all.i - down.i, .w = all.w - down.w };
    const double inputs = fmin(down.i, there) + fmin(up.i, back);
    work->f -= fmin(up.f, there) + fmin(down.f, back);
    work->i -= inputs;
    work->saved += fmin(down.i + down.w, there) + fmin(up.i + up.w, back) - inputs;
}

/* Adds router, exchange over ep, and experts, which are divided by ep and etp. A
 * GPU sends its own rows, and gets as many; etp ranks gather the rows of all of them, so that each
 * GPU has rows for its part of some experts. All wait for the GPU with the most rows. */
static void add_experts(const pp_gpu_batch *local, pp_work *work)
{
    const pp_model *m = local->model;
    const pp_parallel *par = &local->context->parallel;
    const double own = local->sequence_parallel ? local->tokens / local->t : local->tokens;
    const double groups = (double)m->experts / (double)par->ep;
    pp_gpu_batch router = *local;
    router.recipe = pp_recipe_of(PP_PRECISION_BF16);
    pp_add_linear(&router, own, (double)m->experts, (double)m->hidden, 1, work);
    const pp_dispatch_cost dispatch = dispatch_of(local);
    work->f += dispatch.seconds;
    work->i += dispatch.seconds;
    for (int k = 0; k < 4; k++)
        pp_add_elementwise(local, dispatch.bytes[k], dispatch.bytes[k], work);
    const double rows = expert_rows(local);
    const double gather =
        etp_seconds(local, local->sent * rows * (double)m->hidden * local->element_bytes);
    work->f += gather;
    work->i += gather;
    add_mlp(local, local->imbalance * rows / groups, (double)m->expert_ffn / local->expert_t,
            groups, work);
    add_mlp(local, local->tokens, (double)m->shared_ffn / local->t, 1, work);
    hide_shared_experts(local, &dispatch, work);
}

/* What the host takes to launch the kernels of a layer. Experts have products of their own, two in
 * the forward and four in the backward. */
typedef struct host_time {
    double f, b;
} host_time;

/* Of the kernels of an MLP with experts but those of single experts, as section 3 of
 * docs/explanation/cost-model.md counts them in F: norm, router, 3 of shared experts, 2 that
 * prepare the exchange, and 3 that are never captured without the experts. */
#define MOE_KERNELS 10.0
#define ROUTER_KERNELS 2
#define SHARED_KERNELS 3
#define PREPROCESS_KERNELS 2

/* The part of the kernels of an MLP with experts, but those of experts, that no graph captures. */
static double moe_launched(const pp_gpu_batch *local, unsigned graphs)
{
    double captured = 0;
    if (graphs >> PP_GRAPH_ROUTER & 1)
        captured += ROUTER_KERNELS +
                    (local->context->switches.moe_shared_expert_overlap ? 0 : SHARED_KERNELS);
    if (graphs >> PP_GRAPH_PREPROCESS & 1)
        captured += PREPROCESS_KERNELS;
    return 1 - captured / MOE_KERNELS;
}

/* A mixer and an MLP have half of the kernels of a layer each. */
static host_time host_time_of(const pp_gpu_batch *local)
{
    const pp_switches *s = &local->context->switches;
    const pp_mixer mixer = (pp_mixer)local->layer.mixer;
    const unsigned graphs = s->graphs;
    const double launch = local->hw->launch_s;
    double part = 0, each = 0;
    if (s->cuda_graphs || graphs >> PP_GRAPH_FULL & 1)
        return (host_time){ 0 };
    if (mixer != PP_MIXER_NONE && (pp_mixer_has_scan(mixer) || !(graphs >> PP_GRAPH_ATTENTION & 1)))
        part += 0.5;
    if (local->layer.mlp != PP_MLP_NONE && local->layer.mlp != PP_MLP_MOE &&
        !(graphs >> PP_GRAPH_MLP & 1))
        part += 0.5;
    if (local->layer.mlp == PP_MLP_MOE && !(graphs >> PP_GRAPH_MOE & 1)) {
        part += 0.5 * moe_launched(local, graphs);
        each = (double)local->model->experts / (double)local->context->parallel.ep *
               (local->recipe->format ? LOW_EXPERT_LAUNCHES : 1);
    }
    return (host_time){ (part * FORWARD_KERNELS + 2 * each) * launch,
                        (part * BACKWARD_KERNELS + 4 * each) * launch };
}

/* Adds what mixes the tokens, with norm and residual unless the MLP shares them. */
static void add_mixer(const pp_gpu_batch *local, pp_work *work)
{
    const pp_mixer mixer = (pp_mixer)local->layer.mixer;
    if (pp_mixer_has_attention(mixer))
        add_attention(local, work);
    if (pp_mixer_has_scan(mixer))
        pp_add_scan(local, work);
    if (mixer != PP_MIXER_NONE &&
        !(local->layer.mlp != PP_MLP_NONE && local->model->parallel_block))
        add_frame(local, work);
}

static pp_work modelled_layer(const pp_gpu_batch *local)
{
    pp_work work = { 0 };
    const bool mlp = local->layer.mlp != PP_MLP_NONE;
    add_mixer(local, &work);
    if (local->layer.mlp == PP_MLP_MOE)
        add_experts(local, &work);
    else if (mlp)
        add_mlp(local, local->tokens, (double)local->model->ffn / local->t, 1, &work);
    if (mlp)
        add_frame(local, &work);
    /* not faster than the host can launch the kernels */
    const host_time host = host_time_of(local);
    work.f = fmax(work.f, host.f);
    const double backward = work.i + work.w;
    if (backward < host.b) {
        work.i *= host.b / backward;
        work.w *= host.b / backward;
    }
    work.saved = fmax(0, fmin(work.saved, work.i + work.w - host.b));
    return work;
}

/* Queries, keys and values of what MLA compressed, with rotary positions. */
static double up_projection_seconds(const pp_gpu_batch *local)
{
    const pp_model *m = local->model;
    const pp_attention_widths a = pp_attention_widths_of(local);
    pp_work work = { 0 };
    if (m->attention != PP_ATTENTION_MLA)
        return 0;
    if (m->q_lora_rank > 0)
        pp_add_linear(local, local->tokens, a.q, (double)m->q_lora_rank, 1, &work);
    pp_add_linear(local, local->tokens, a.heads * (double)(m->qk_nope_head_dim + m->v_head_dim),
                  (double)m->kv_lora_rank, 1, &work);
    pp_add_elementwise(local, 2 * local->tokens * local->element_bytes * (a.q + a.k), 0, &work);
    return work.f;
}

double pp_module_seconds(const pp_gpu_batch *local, pp_recompute_module module)
{
    const pp_model *m = local->model;
    const double parts = local->imbalance * (double)m->experts_per_token * local->tokens / local->t;
    const bool moe = pp_gpu_batch_is_moe(local);
    const bool attention = pp_mixer_has_attention((pp_mixer)local->layer.mixer);
    pp_work work = { 0 };
    switch (module) {
    case PP_MODULE_CORE_ATTN:
        return attention ? attention_core(local).f : 0;
    case PP_MODULE_LAYERNORM:
        return pp_layer_first_norms(local) *
               pp_elementwise_seconds(local->hw, 2 * local->norm_bytes);
    case PP_MODULE_MLA_UP_PROJ:
        return attention ? up_projection_seconds(local) : 0;
    case PP_MODULE_MLP:
        if (local->layer.mlp != PP_MLP_DENSE)
            return 0;
        add_mlp(local, local->tokens, (double)m->ffn / local->t, 1, &work);
        pp_add_tensor_parallel(local, local->row_bytes, &work);
        return work.f;
    case PP_MODULE_MOE_ACT:
        return moe ? pp_elementwise_seconds(local->hw, (m->gated_mlp ? 3 : 2) * parts *
                                                           (double)m->expert_ffn *
                                                           local->element_bytes)
                   : 0;
    case PP_MODULE_SHARED_EXPERTS:
        if (moe)
            add_mlp(local, local->tokens, (double)m->shared_ffn / local->t, 1, &work);
        return work.f;
    case PP_MODULE_MOE:
        if (moe)
            add_experts(local, &work);
        return work.f;
    case PP_MODULES:
        break;
    }
    return 0;
}

/* What a pair of this layer needs, with selective recomputation in the backward of its half. */
static pp_pair_parts pair_parts_of(const pp_gpu_batch *local)
{
    const double rows =
        local->sent * expert_rows(local) * (double)local->model->hidden * local->element_bytes;
    const pp_dispatch_cost dispatch = dispatch_of(local);
    const double gather = etp_seconds(local, rows), exchange = dispatch.seconds + gather;
    pp_work attention = { 0 }, experts = { 0 };
    add_mixer(local, &attention);
    add_experts(local, &experts);
    add_frame(local, &experts);
    const bool selective = local->context->switches.recompute == PP_RECOMPUTE_SELECTIVE;
    for (int k = 0; k < PP_MODULES && selective; k++) {
        const bool of_experts =
            k == PP_MODULE_MOE_ACT || k == PP_MODULE_SHARED_EXPERTS || k == PP_MODULE_MOE;
        if (pp_modules_of(local) >> k & 1)
            (of_experts ? &experts : &attention)->i +=
                pp_module_seconds(local, (pp_recompute_module)k);
    }
    return (pp_pair_parts){ .attention = { attention.f, attention.i, attention.w },
                            .experts = { fmax(0, experts.f - exchange),
                                         fmax(0, experts.i - exchange), experts.w },
                            .dispatch = dispatch.there_seconds + gather / 2,
                            .combine = dispatch.seconds - dispatch.there_seconds + gather / 2 };
}

pp_work pp_layer_work(const pp_gpu_batch *local)
{
    const pp_recompute recompute = local->context->switches.recompute;
    pp_work work = { 0 };
    if (!(local->tokens > 0))
        return work;
    /* layers are measured in 16 bits */
    if (local->recipe->format || !pp_measured_work(local, PP_MEASURED_LAYER, &work))
        work = modelled_layer(local);
    if (recompute == PP_RECOMPUTE_FULL)
        work.i += work.f;
    for (int k = 0; k < PP_MODULES && recompute == PP_RECOMPUTE_SELECTIVE; k++) {
        if (pp_modules_of(local) >> k & 1)
            work.i += pp_module_seconds(local, (pp_recompute_module)k);
    }
    return work;
}

double pp_weight_ops(const pp_gpu_batch *local)
{
    const pp_model *m = local->model;
    const pp_mixer mixer = (pp_mixer)local->layer.mixer;
    const double mlp = m->gated_mlp ? 3 : 2;
    double ops = pp_model_norms(m, local->layer);
    if (pp_mixer_has_attention(mixer)) /* of MLA: down, norm and up, of queries and of the rest */
        ops += (m->attention == PP_ATTENTION_MLA ? 3 + (m->q_lora_rank > 0 ? 3 : 1) : 1) + 1 +
               (m->qk_norm || m->qk_norm_wide ? 2 : 0) + (m->attention_gate ? 1 : 0);
    if (pp_mixer_has_scan(mixer)) /* in and out, convolution and norm */
        ops += 4;
    if (local->layer.mlp == PP_MLP_MOE)
        ops += 1 + mlp + (m->shared_ffn > 0 ? mlp : 0);
    else if (local->layer.mlp != PP_MLP_NONE)
        ops += mlp;
    return ops;
}

double pp_layer_hidden_seconds(const pp_gpu_batch *local, const pp_work *work)
{
    /* Megatron-Core does not overlap shared experts, too */
    if (!(local->tokens > 0) || local->context->parallel.ep <= 1 ||
        local->context->switches.moe_shared_expert_overlap ||
        pp_exchange_is_omitted(local, PP_EXCHANGE_EP))
        return 0;
    const pp_pair_parts parts = pair_parts_of(local);
    const host_time host = host_time_of(local);
    const double hidden = pp_pair_hidden_seconds(&parts, fmin(0.9, pp_dispatch_sm_share(local)));
    return fmax(0, fmin(hidden, work->f + work->i + work->w - host.f - host.b));
}
