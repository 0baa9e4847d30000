/* Bytes and parameters of units. For a dense GPT these are the formulas of Korthikanti et al. 2022
 * (arXiv 2205.05198), section 4, term by term; other models are counted in the same way
 * (docs/explanation/cost-model.md section 5). */

#include "sim/cost/stage_memory.h"

#include "sim/cost/context_exchange.h"
#include "sim/cost/ends.h"
#include "sim/cost/gpu_batch.h"
#include "sim/cost/layer.h"
#include "sim/cost/scan.h"
#include "sim/cost/weights.h"

#include <math.h>

/* Activations, in bytes per token of this GPU. */
typedef struct token_bytes {
    double whole;     /* in the sequence-parallel region: divided by t with sequence parallelism */
    double divided;   /* always divided by tp; this is the part of one GPU */
    double core;      /* in the attention core, which selective recomputation drops */
    double stash;     /* inputs and output gradients of linear layers on one GPU */
    double gradients; /* of the outputs of linear layers and norms on one GPU, in 16 bits */
    double inner;     /* what neither a linear layer nor a norm reads, on one GPU */
} token_bytes;

static double spread(const pp_gpu_batch *local, double whole)
{
    return local->sequence_parallel ? whole / local->t : whole;
}

/* Bytes of an element of a linear layer's input, as it is kept for the weight gradient. */
static double input_bytes(const pp_gpu_batch *local)
{
    return local->recipe->format ? local->recipe->element_bytes : local->element_bytes;
}

/* The input of a norm after a half of the layer, where there are four. */
static double second_norm(const pp_gpu_batch *local)
{
    return local->model->norms > 2 ? local->element_bytes * (double)local->model->hidden : 0;
}

static void add_attention(const pp_gpu_batch *local, token_bytes *sum)
{
    const pp_model *m = local->model;
    const pp_attention_widths a = pp_attention_widths_of(local);
    const double d = local->element_bytes, e = input_bytes(local), h = (double)m->hidden;
    const double length = local->tokens > 0 ? local->square_sum / local->tokens : 0;
    /* norm input, linear input, dropout mask */
    sum->whole += (d + e) * h + second_norm(local) + (m->dropout ? h : 0);
    sum->divided += d * (a.q + a.k + a.v + a.o);
    sum->gradients += spread(local, 2 * d * h + second_norm(local)) + d * (a.q + a.k + a.v);
    sum->inner += d * (a.q + a.k + a.v + a.o);
    if (m->qk_norm || m->qk_norm_wide)
        sum->gradients += d * (a.q + a.k);
    if (m->attention_gate) { /* the gate, and the output before it */
        sum->divided += d * (a.q + a.o);
        sum->inner += d * a.q;
        sum->stash += e * a.q;
        sum->gradients += d * a.q;
    }
    if (local->recipe->format) /* attention keeps its output in 16 bits, the projection its own */
        sum->divided += e * a.o;
    else if (pp_context_keeps_output(local)) /* so does each of them here */
        sum->divided += d * a.o;
    sum->stash += spread(local, 2 * e * h) + e * (a.q + a.k + a.v + a.o);
    /* Megatron-Core copies the queries out of the joint product, of which keys and values stay
     * views; rotary positions make copies of all and free the product. */
    if (!local->rope && m->kv_heads < m->heads && m->attention != PP_ATTENTION_MLA)
        sum->divided += d * a.q;
    if (m->attention == PP_ATTENTION_MLA) {
        const double ranks = (double)(m->q_lora_rank + m->kv_lora_rank);
        sum->whole += (d + e) * ranks; /* before and after their norms */
        sum->whole += d * (double)m->qk_rope_head_dim;
        sum->stash += spread(local, 2 * e * ranks);
        sum->gradients += spread(local, d * (2 * ranks + (double)m->qk_rope_head_dim));
    }
    if (local->context->switches.flash_attention)
        sum->core += 4 * a.heads; /* fp32 log-sum-exp of a row */
    else                          /* softmax; dropout mask and output */
        sum->core += a.heads * length * (d + (m->dropout ? 1 + d : 0));
}

/* A scan keeps the outputs of its input projection and its result before and after gate and norm;
 * convolution and states are made again in the backward (mamba_split_conv1d_scan_combined). */
static void add_scan(const pp_gpu_batch *local, token_bytes *sum)
{
    const double d = local->element_bytes, e = input_bytes(local), h = (double)local->model->hidden;
    const pp_scan scan = pp_scan_of(local->model, (pp_mixer)local->layer.mixer, local->t);
    if (!pp_mixer_has_attention((pp_mixer)local->layer.mixer)) /* they share the norm's output */
        sum->whole += (d + e) * h + (local->model->dropout ? h : 0);
    sum->divided += d * (scan.inner + scan.values) + e * scan.values;
    sum->inner += d * (scan.inner + scan.values);
    sum->stash += spread(local, 2 * e * h) + e * (scan.inner + scan.values);
    sum->gradients += spread(local, 2 * d * h) + d * (scan.inner + scan.values);
}

/* How many tensors of the width of its activation function an MLP keeps beside the input of its
 * last linear layer: what the function reads, the factor of its output and, without a kernel for
 * both, that output. */
static double mlp_tensors(const pp_gpu_batch *local)
{
    return local->model->gated_mlp ? local->context->switches.eager_layers ? 3 : 2 : 1;
}

/* copies: the number of experts of a token; 1 for a dense MLP. */
static void add_mlp(const pp_gpu_batch *local, double width, double copies, token_bytes *sum)
{
    const double d = local->element_bytes, e = input_bytes(local);
    const double inner = width / local->t * copies;
    const double kept = inner * d * mlp_tensors(local);
    sum->divided += kept + inner * e;
    sum->inner += kept;
    sum->stash += e * inner * (local->model->gated_mlp ? 3 : 2);
    sum->gradients += d * inner * (local->model->gated_mlp ? 2 : 1);
}

static void add_mlp_frame(const pp_gpu_batch *local, token_bytes *sum)
{
    const double d = local->element_bytes, e = input_bytes(local);
    const double h = (double)local->model->hidden;
    const bool shared = local->model->parallel_block && local->model->norms == 1;
    /* with attention beside it under one norm, it reads what attention reads */
    sum->whole += (shared ? 0 : (d + e) * h) + second_norm(local) + (local->model->dropout ? h : 0);
    sum->stash += spread(local, 2 * e * h);
    sum->gradients += spread(local, (shared ? 0 : d * h) + second_norm(local));
}

static void add_experts(const pp_gpu_batch *local, token_bytes *sum)
{
    const pp_model *m = local->model;
    const double e = input_bytes(local), h = (double)m->hidden;
    const double top = (double)m->experts_per_token;
    /* the rows that experts read, gathered over etp; of what they return nothing is kept, since
     * their activation function is already weighted by the router's probabilities */
    const double rows = local->imbalance * top * local->expert_t / local->t;
    sum->divided += e * h * rows;
    /* of the router: logits, scores and probabilities in fp32, and the map of chosen experts */
    sum->whole += (3 * 4 + 1) * (double)m->experts;
    sum->inner += spread(local, (3 * 4 + 1) * (double)m->experts);
    sum->stash += 2 * e * h * rows;
    sum->gradients +=
        local->element_bytes * h * rows +
        spread(local, 4 * (double)m->experts + (m->shared_ffn > 0 ? local->element_bytes * h : 0));
    add_mlp(local, (double)m->expert_ffn, local->imbalance * top, sum);
    add_mlp(local, (double)m->shared_ffn, 1, sum);
}

static token_bytes layer_bytes(const pp_gpu_batch *local)
{
    const pp_model *m = local->model;
    const pp_mixer mixer = (pp_mixer)local->layer.mixer;
    token_bytes sum = { 0 };
    if (pp_mixer_has_attention(mixer))
        add_attention(local, &sum);
    if (pp_mixer_has_scan(mixer))
        add_scan(local, &sum);
    if (local->layer.mlp == PP_MLP_NONE)
        return sum;
    add_mlp_frame(local, &sum);
    if (local->layer.mlp == PP_MLP_MOE)
        add_experts(local, &sum);
    else {
        add_mlp(local, (double)m->ffn, 1, &sum);
        sum.gradients += spread(local, local->element_bytes * (double)m->hidden);
    }
    return sum;
}

/* Bytes per token that an op holds beside what the layer keeps, while it runs. Dropping what the
 * layer keeps is negative. */
typedef struct pp_held {
    double now, most;
} held;

static void hold(held *h, double bytes)
{
    h->now += bytes;
    h->most = fmax(h->most, h->now);
}

/* Adds the bytes of a weight's gradient while it is not yet in the main gradients. */
static double weight_gradient(const pp_gpu_batch *local, double n, double k)
{
    return local->context->switches.fused_wgrad ? 0 : local->element_bytes * n * k / local->tokens;
}

/* The backward of a row-parallel linear layer from `k` inputs: the gradient of its output is
 * gathered, if it was scattered, and the gradient of its input stays. */
static void row_parallel(const pp_gpu_batch *local, double k, held *h)
{
    const double d = local->element_bytes, hidden = (double)local->model->hidden;
    const double once =
        (local->sequence_parallel ? d * hidden : 0) + weight_gradient(local, hidden, k);
    hold(h, d * k + once);
    hold(h, -once);
}

/* The backward of a column-parallel linear layer with `n` outputs, whose gradient is dropped. With
 * sequence parallelism, its input is gathered again, and the gradient of the input scattered. */
static void column_parallel(const pp_gpu_batch *local, double n, held *h)
{
    const double d = local->element_bytes, hidden = (double)local->model->hidden;
    const double once = (local->sequence_parallel ? input_bytes(local) * hidden : 0) +
                        weight_gradient(local, n, hidden);
    hold(h, d * hidden + once);
    hold(h, -once - d * n);
    hold(h, spread(local, d * hidden)); /* of the norm's input */
    hold(h, -d * hidden - spread(local, d * hidden));
}

/* The backward of an MLP without its first linear layer: then the gradient of that layer's output
 * is held. inner: columns on this GPU, of all experts of a token. */
static void inner_mlp(const pp_gpu_batch *local, double inner, held *h)
{
    const double d = local->element_bytes, wide = (local->model->gated_mlp ? 2 : 1) * inner;
    hold(h, -input_bytes(local) * inner);
    hold(h, d * wide);
    hold(h, -d * inner - d * mlp_tensors(local) * inner);
}

static void attention_backward(const pp_gpu_batch *local, held *h)
{
    const pp_attention_widths a = pp_attention_widths_of(local);
    const double d = local->element_bytes;
    const double length = local->tokens > 0 ? local->square_sum / local->tokens : 0;
    const double once = (local->context->switches.flash_attention ? 0 : 2 * d * a.heads * length) +
                        pp_context_held_bytes(local, &a, true);
    row_parallel(local, a.o, h);
    hold(h, d * (a.q + a.k + a.v) + once);
    hold(h, -once - d * a.o - d * (a.q + a.k + a.v + a.o));
    column_parallel(local, (local->model->attention_gate ? 2 : 1) * a.q + a.k + a.v, h);
}

static void scan_backward(const pp_gpu_batch *local, held *h)
{
    const pp_scan scan = pp_scan_of(local->model, (pp_mixer)local->layer.mixer, local->t);
    const double d = local->element_bytes;
    row_parallel(local, scan.values, h);
    hold(h, d * (scan.inner + scan.keys + scan.values)); /* gradients, and the convolution again */
    hold(h, -d * (scan.keys + 2 * scan.values + scan.inner + scan.values));
    column_parallel(local, scan.inner, h);
}

/* The backward of the part of a layer after attention. */
static void mlp_backward(const pp_gpu_batch *local, held *h)
{
    const pp_model *m = local->model;
    const double d = local->element_bytes, hidden = (double)m->hidden;
    const double wide = m->gated_mlp ? 2 : 1;
    if (!pp_gpu_batch_is_moe(local)) {
        row_parallel(local, (double)m->ffn / local->t, h);
        inner_mlp(local, (double)m->ffn / local->t, h);
        column_parallel(local, wide * (double)m->ffn / local->t, h);
        return;
    }
    const double top = (double)m->experts_per_token, here = local->imbalance * top;
    const double inner = here * (double)m->expert_ffn / local->t;
    const double parts = local->expert_t / local->t, rows = d * hidden * here * parts;
    const double own = spread(local, d * hidden * local->sent * top);
    hold(h, own);  /* one gradient for each expert of a token, */
    hold(h, rows); /* exchanged, */
    hold(h, -own);
    hold(h, rows); /* and sorted by expert */
    hold(h, -rows);
    hold(h, d * inner);
    hold(h, -rows);
    inner_mlp(local, inner, h);
    hold(h, rows);
    hold(h, -d * wide * inner - input_bytes(local) * hidden * here * parts);
    hold(h, rows); /* back in the order before sorting, then exchanged */
    hold(h, -rows);
    if (m->shared_ffn == 0)
        return;
    row_parallel(local, (double)m->shared_ffn / local->t, h);
    inner_mlp(local, (double)m->shared_ffn / local->t, h);
    column_parallel(local, wide * (double)m->shared_ffn / local->t, h);
}

/* What the forward of a layer with experts holds beside what it keeps, at its fullest instant:
 * Megatron-Core's MoELayer.forward refers to the routed tokens before and after the exchange until
 * it returns, and the outputs of the experts exist in their order and in that of the exchange. */
static double moe_forward_bytes(const pp_gpu_batch *local)
{
    const double row = local->element_bytes * (double)local->model->hidden;
    const double own = spread(local, row * local->sent * (double)local->model->experts_per_token);
    const double top = local->imbalance * (double)local->model->experts_per_token;
    const double rows = row * top * local->expert_t / local->t;
    const double exchanged = local->context->parallel.ep > 1 ? 2 : 1;
    return exchanged * own + (local->expert_t > 1 ? rows : 0) + 2 * rows + 2 * spread(local, row);
}

/* The same while attention exchanges; what the layer keeps after it is not there yet. */
static double attention_forward_bytes(const pp_gpu_batch *local)
{
    const pp_attention_widths a = pp_attention_widths_of(local);
    const token_bytes all = layer_bytes(local);
    token_bytes attention = { 0 };
    add_attention(local, &attention);
    return pp_context_held_bytes(local, &a, false) - spread(local, all.whole - attention.whole) -
           (all.divided - attention.divided);
}

/* Bytes per token that the backward of a layer, or its forward, holds at most beside what the layer
 * keeps: step by step, the gradients that exist, less what was kept and is no longer needed. */
static double temporary_bytes(const pp_gpu_batch *local)
{
    const pp_mixer mixer = (pp_mixer)local->layer.mixer;
    held h = { 0 };
    if (!(local->tokens > 0))
        return 0;
    hold(&h, spread(local, local->element_bytes * (double)local->model->hidden));
    if (local->layer.mlp != PP_MLP_NONE)
        mlp_backward(local, &h);
    if (pp_mixer_has_scan(mixer))
        scan_backward(local, &h);
    if (pp_mixer_has_attention(mixer)) {
        attention_backward(local, &h);
        h.most = fmax(h.most, attention_forward_bytes(local));
    }
    return pp_gpu_batch_is_moe(local) ? fmax(h.most, moe_forward_bytes(local)) : h.most;
}

static void layer_parameters(const pp_gpu_batch *local, pp_unit_cost *cost)
{
    const pp_model *m = local->model;
    const pp_attention_widths a = pp_attention_widths_of(local);
    const double h = (double)m->hidden;
    pp_weight weights[PP_WEIGHTS_MAX];
    const size_t count = pp_layer_weights(local, weights);
    const pp_mixer mixer = (pp_mixer)local->layer.mixer;
    const bool moe = pp_gpu_batch_is_moe(local);
    double replicated = pp_model_norms(m, local->layer) * h * (m->rms_norm ? 1 : 2);
    double divided = 0, expert = 0;
    for (size_t i = 0; i < count; i++) {
        const pp_weight *w = &weights[i];
        *(w->expert ? &expert : w->replicated ? &replicated : &divided) += pp_weight_parameters(w);
    }
    if (pp_mixer_has_attention(mixer)) {
        const double q = m->attention_gate ? 2 * a.q : a.q;
        divided += (m->linear_bias || m->qkv_bias ? q + a.k + a.v : 0) +
                   (m->qk_norm_wide ? a.q + a.k : 0) + (m->sinks ? a.heads : 0);
        replicated += (m->linear_bias || m->out_bias ? h : 0) + (m->qk_norm ? 2 * a.qk_dim : 0);
        /* norms of the latents and of the indexer's key */
        replicated += (double)(m->q_lora_rank + m->kv_lora_rank + 2 * m->index_head_dim);
    }
    if (pp_mixer_has_scan(mixer)) {
        const pp_scan scan = pp_scan_of(m, mixer, local->t);
        divided += scan.other + scan.norm;
    }
    const double up = m->gated_mlp ? 2 : 1;
    const double own = (double)m->experts / (double)local->context->parallel.ep;
    if (m->linear_bias && moe)
        expert += own * (up * (double)m->expert_ffn / local->expert_t + h);
    if (moe)
        replicated += (m->router_bias ? (double)m->experts : 0) + (m->shared_gate ? h : 0);
    const double width = local->layer.mlp == PP_MLP_DENSE ? (double)m->ffn
                         : moe                            ? (double)m->shared_ffn
                                                          : 0;
    if (m->linear_bias && width > 0) {
        divided += up * width / local->t;
        replicated += h;
    }
    cost->expert_parameters = expert;
    cost->parameters = divided + replicated + expert;
    cost->low_parameters = local->recipe->format ? divided + expert : 0;
}

static double bytes_of(const pp_gpu_batch *local, const token_bytes *b)
{
    return local->tokens * (spread(local, b->whole) + b->divided + b->core);
}

double pp_module_bytes(const pp_gpu_batch *local, pp_recompute_module module)
{
    const pp_model *m = local->model;
    const double d = local->element_bytes, e = input_bytes(local);
    const pp_attention_widths a = pp_attention_widths_of(local);
    const bool moe = pp_gpu_batch_is_moe(local);
    const bool attention = pp_mixer_has_attention((pp_mixer)local->layer.mixer);
    token_bytes sum = { 0 };
    switch (module) {
    case PP_MODULE_CORE_ATTN:
        if (!attention)
            break;
        add_attention(local, &sum);
        sum.whole = sum.divided = 0;
        break;
    case PP_MODULE_LAYERNORM:
        sum.whole = pp_layer_first_norms(local) * e * (double)m->hidden;
        break;
    case PP_MODULE_MLA_UP_PROJ:
        sum.divided = attention && m->attention == PP_ATTENTION_MLA ? d * (a.q + a.k + a.v) : 0;
        break;
    case PP_MODULE_MLP:
        if (local->layer.mlp == PP_MLP_DENSE)
            add_mlp(local, (double)m->ffn, 1, &sum);
        break;
    case PP_MODULE_MOE_ACT:
        sum.divided =
            moe ? e * local->imbalance * (double)(m->experts_per_token * m->expert_ffn) / local->t
                : 0;
        break;
    case PP_MODULE_SHARED_EXPERTS:
        if (moe)
            add_mlp(local, (double)m->shared_ffn, 1, &sum);
        break;
    case PP_MODULE_MOE:
        if (moe)
            add_experts(local, &sum);
        break;
    case PP_MODULES:
        break;
    }
    return bytes_of(local, &sum);
}

/* What the modules that are recomputed need not keep. at_once_out: how much of that exists at a
 * time, that of attention or that of what follows it. */
static double dropped_bytes(const pp_gpu_batch *local, double *at_once_out)
{
    const unsigned early = 1U << PP_MODULE_CORE_ATTN | 1U << PP_MODULE_MLA_UP_PROJ;
    double part[2] = { 0 };
    for (int k = 0; k < PP_MODULES; k++) {
        if (!(pp_modules_of(local) >> k & 1))
            continue;
        const double bytes = pp_module_bytes(local, (pp_recompute_module)k);
        const bool both = k == PP_MODULE_LAYERNORM, first = early >> k & 1;
        part[0] += both ? bytes / 2 : first ? bytes : 0;
        part[1] += both ? bytes / 2 : first ? 0 : bytes;
    }
    *at_once_out = fmax(part[0], part[1]);
    return part[0] + part[1];
}

/* PyTorch runs a checkpointed layer again for each backward of one op with weights, and keeps all
 * that this saves until autograd frees the layer's own saved tensors. That backward frees only what
 * its op reads, and no later one saves it again: at the end, as many copies of the rest are there
 * as there are such ops. Before the last op, which may be the MLP's second matrix, there are as
 * many of what it reads. Counted in PyTorch 2.13 and 2.15 (tests/interop/test_memory.py). */
static void add_again(const pp_gpu_batch *local, const token_bytes *b, pp_unit_cost *cost)
{
    const double ops = pp_weight_ops(local);
    const double last = local->layer.mlp == PP_MLP_DENSE
                            ? input_bytes(local) * (double)local->model->ffn / local->t
                            : 0;
    cost->again_bytes = ops * local->tokens * (b->inner + b->core);
    cost->again_once_bytes = ops * local->tokens * last;
}

void pp_layer_memory(const pp_gpu_batch *local, pp_unit_cost *cost)
{
    const token_bytes b = layer_bytes(local);
    const double kept = local->tokens * (spread(local, b.whole) + b.divided);
    const double core = local->tokens * b.core;
    cost->stash_bytes = local->tokens * b.stash;
    cost->weight_gradient_bytes = local->tokens * b.gradients;
    cost->temporary_bytes = local->tokens * temporary_bytes(local);
    cost->recompute_bytes = 0;
    cost->activation_bytes = kept + core;
    switch (local->context->switches.recompute) {
    case PP_RECOMPUTE_FULL:
        cost->activation_bytes =
            local->tokens * spread(local, local->element_bytes * (double)local->model->hidden);
        cost->recompute_bytes = kept + core;
        add_again(local, &b, cost);
        break;
    case PP_RECOMPUTE_SELECTIVE:
        cost->activation_bytes = kept + core - dropped_bytes(local, &cost->recompute_bytes);
        break;
    case PP_RECOMPUTE_NONE:
    case PP_RECOMPUTE_AUTO:
    case PP_RECOMPUTE_STAGES: /* MTP modules are not among the layers of a stage */
    case PP_RECOMPUTE_MICROBATCHES:
    case PP_RECOMPUTE_UNKNOWN:
        break;
    }
    layer_parameters(local, cost);
}

static double table_parameters(const pp_gpu_batch *local)
{
    return pp_padded_vocab(local->context) / local->t * (double)local->model->hidden;
}

void pp_embedding_memory(const pp_gpu_batch *local, pp_unit_cost *cost)
{
    const pp_model *m = local->model;
    const double d = local->element_bytes;
    cost->parameters = table_parameters(local);
    if (m->learned_positions)
        cost->parameters += (double)m->max_seq_length * (double)m->hidden;
    if (m->dropout) /* its mask; not part of the layers' activations (Korthikanti 4.3) */
        cost->logits_bytes = local->tokens * spread(local, (double)m->hidden);
    /* autograd makes a gradient of the whole table, from gathered rows */
    cost->temporary_bytes = d * table_parameters(local) + local->tokens * d * (double)m->hidden;
}

/* Head and loss keep the inputs of the final norm and of the head, and in fp32 the exponentials of
 * the logits, 4sbh/t (1 + V/h): Megatron-Core's vocab_parallel_cross_entropy. A fused loss
 * (TransformerEngine's parallel_cross_entropy up to 2.17) writes the gradient over the 16-bit
 * logits instead. PyTorch's cross_entropy of fp32 logits keeps their log-softmax, too, but its
 * backward makes two tensors of that size beside it, the gradients of both of its parts. */
void pp_loss_memory(const pp_gpu_batch *local, pp_unit_cost *cost)
{
    const pp_model *m = local->model;
    const pp_switches *sw = &local->context->switches;
    const double d = local->element_bytes, h = (double)m->hidden;
    const double vocab = pp_padded_vocab(local->context) / local->t;
    const bool fused = sw->fused_loss && !sw->eager_loss;
    const double kept = (fused ? d : 4) * vocab;
    cost->parameters = h * (m->rms_norm ? 1 : 2);
    if (!(m->tied_embeddings && local->context->parallel.pp == 1)) /* else counted as embedding */
        cost->parameters += table_parameters(local);
    cost->logits_bytes = local->tokens * (spread(local, 2 * d * h) + kept);
    cost->stash_bytes = local->tokens * (spread(local, d * h) + d * vocab);
    /* its inputs are among the logits, which a fused backward or I drops */
    cost->weight_gradient_bytes = local->tokens * (spread(local, 3 * d * h) + d * vocab);
    cost->output_bytes = local->tokens * kept;
    /* The gradient of the logits in the head's type takes the place of what was kept. Megatron-
     * Core's head also makes a gradient of its weight, a dummy if its GEMM added to the main
     * gradients; with sequence parallelism it gathers its input and scatters its gradient. */
    const double head =
        local->tokens *
            (d * vocab - kept + d * h + (local->sequence_parallel ? d * h + d * h / local->t : 0)) +
        d * table_parameters(local);
    const double loss = (fused ? 0 : sw->eager_loss ? 8 : d) * vocab;
    cost->temporary_bytes =
        fmax(local->tokens * loss, sw->fused_wgrad && !sw->transformer_engine ? 0 : head);
}

/* One module, which shares the model's embedding and head. */
void pp_mtp_memory(const pp_gpu_batch *local, pp_unit_cost *cost)
{
    const pp_model *m = local->model;
    const double d = local->element_bytes, h = (double)m->hidden;
    pp_unit_cost loss = { 0 };
    pp_layer_memory(local, cost);
    pp_loss_memory(local, &loss);
    const double frame = local->tokens * spread(local, 4 * d * h); /* two norms and their output */
    cost->activation_bytes += frame;
    cost->stash_bytes += frame / 2 + loss.stash_bytes;
    cost->weight_gradient_bytes += frame / 2 + loss.weight_gradient_bytes;
    cost->temporary_bytes = fmax(cost->temporary_bytes, loss.temporary_bytes);
    cost->logits_bytes += loss.logits_bytes;
    cost->parameters += 2 * h * h / local->t + 3 * h * (m->rms_norm ? 1 : 2);
}
