/* Times of embedding, multi-token prediction, and final norm with head and loss, and the model
 * FLOPs of all units. docs/explanation/cost-model.md explains the formulas. */

#include "sim/cost/ends.h"

#include "sim/cost/gpu_batch.h"
#include "sim/cost/layer.h"
#include "sim/cost/measured_layer.h"
#include "sim/cost/scan.h"

#include <math.h>

double pp_padded_vocab(const pp_cost_context *context)
{
    const int64_t multiple = 128 * context->parallel.tp;
    return (double)((context->model->vocab + multiple - 1) / multiple * multiple);
}

static pp_work modelled_embedding(const pp_gpu_batch *local)
{
    const pp_switches *sw = &local->context->switches;
    const double weights =
        pp_padded_vocab(local->context) / local->t * (double)local->model->hidden;
    const double a = local->row_bytes;
    pp_work work = { 0 };
    work.f = pp_elementwise_seconds(local->hw, 2 * a); /* lookup */
    if (local->model->learned_positions)
        work.f += pp_elementwise_seconds(local->hw, 2 * a);
    if (local->model->dropout)
        work.f += pp_elementwise_seconds(local->hw, 2.5 * local->norm_bytes);
    work.f +=
        pp_gather_seconds(local, local->sequence_parallel ? PP_REDUCE_SCATTER : PP_ALL_REDUCE, a);
    if (local->model->dropout)
        work.w = pp_elementwise_seconds(local->hw, 1.5 * local->norm_bytes);
    if (local->sequence_parallel)
        work.w += pp_gather_seconds(local, PP_ALL_GATHER, a);
    work.w += pp_elementwise_seconds(local->hw, 4 * a);
    /* the table's gradient is dense */
    work.w += pp_elementwise_seconds(local->hw, (sw->fused_wgrad ? 4 : 6) * weights);
    return work;
}

pp_work pp_embedding_work(const pp_gpu_batch *local)
{
    pp_work work;
    return pp_measured_work(local, PP_MEASURED_FIRST, &work) ? work : modelled_embedding(local);
}

static pp_work modelled_loss(const pp_gpu_batch *local)
{
    /* bytes per logit of the fp32 passes: cast, max, subtract, exp, sum, divide; then the gradient
     * of softmax */
    static const double forward[] = { 6, 4, 8, 8, 4, 8 };
    static const double backward[] = { 8, 6 };
    /* fused: the maximum, then the sum of exp and the label's logit, are found while 16-bit logits
     * are read; the gradient is written over them */
    static const double fused_forward[] = { 2, 2 };
    static const double fused_backward[] = { 4 };
    const pp_switches *sw = &local->context->switches;
    const bool fused = sw->fused_loss && !sw->eager_loss;
    const double vocab = pp_padded_vocab(local->context) / local->t;
    const double logits = local->tokens * vocab;
    pp_work work = { 0 };
    pp_add_elementwise(local, 2 * local->norm_bytes, 5 * local->norm_bytes, &work);
    pp_add_linear(local, local->tokens, vocab, (double)local->model->hidden, 1, &work);
    const double *f = fused ? fused_forward : forward;
    const double *b = fused ? fused_backward : backward;
    const size_t fs = fused ? sizeof fused_forward / sizeof *f : sizeof forward / sizeof *f;
    const size_t bs = fused ? sizeof fused_backward / sizeof *b : sizeof backward / sizeof *b;
    for (size_t k = 0; k < fs; k++)
        pp_add_elementwise(local, f[k] * logits, 0, &work);
    for (size_t k = 0; k < bs; k++)
        pp_add_elementwise(local, 0, b[k] * logits, &work);
    work.f += 3 * pp_gather_seconds(local, PP_ALL_REDUCE, 4 * local->tokens);
    if (local->sequence_parallel) {
        const double gather = pp_gather_seconds(local, PP_ALL_GATHER, local->row_bytes);
        work.f += gather;
        work.i += gather + pp_gather_seconds(local, PP_REDUCE_SCATTER, local->row_bytes);
    } else {
        work.i += pp_gather_seconds(local, PP_ALL_REDUCE, local->row_bytes);
    }
    return work;
}

pp_work pp_loss_work(const pp_gpu_batch *local)
{
    pp_work work;
    return pp_measured_work(local, PP_MEASURED_LAST, &work) ? work : modelled_loss(local);
}

static void add(pp_work *sum, pp_work part)
{
    sum->f += part.f;
    sum->i += part.i;
    sum->w += part.w;
    sum->saved += part.saved;
}

/* A module has an embedding of the shifted tokens, two norms, a projection from 2h to h, one layer,
 * and the shared head. */
pp_work pp_mtp_work(const pp_gpu_batch *local)
{
    const double h = (double)local->model->hidden;
    pp_work work = modelled_embedding(local);
    pp_add_elementwise(local, 4 * local->norm_bytes, 10 * local->norm_bytes, &work);
    pp_add_linear(local, local->tokens, h / local->t, 2 * h, 1, &work);
    pp_add_tensor_parallel(local, local->row_bytes, &work);
    add(&work, pp_layer_work(local));
    add(&work, modelled_loss(local));
    return work;
}

/* The number of weights by which one token is multiplied, over the model-parallel group. */
static double attention_weights(const pp_model *m)
{
    const double h = (double)m->hidden, heads = (double)m->heads;
    if (m->attention == PP_ATTENTION_MLA) {
        const double qk = (double)(m->qk_nope_head_dim + m->qk_rope_head_dim);
        const double q_rank = (double)m->q_lora_rank, kv_rank = (double)m->kv_lora_rank;
        const double index = (double)m->index_heads, width = (double)m->index_head_dim;
        double weights = q_rank > 0 ? h * q_rank + q_rank * heads * qk : h * heads * qk;
        weights += h * (kv_rank + (double)m->qk_rope_head_dim) +
                   kv_rank * heads * (double)(m->qk_nope_head_dim + m->v_head_dim) +
                   heads * (double)m->v_head_dim * h;
        return index > 0 ? weights + q_rank * index * width + h * (width + index) : weights;
    }
    return h * (double)m->head_dim *
           ((m->attention_gate ? 3 : 2) * heads + 2 * (double)m->kv_heads);
}

/* The same for a layer. */
static double layer_weights(const pp_model *m, pp_layer_type type)
{
    const double h = (double)m->hidden;
    const double mlp = (m->gated_mlp ? 3 : 2) * h;
    double weights = 0;
    if (pp_mixer_has_attention((pp_mixer)type.mixer))
        weights += attention_weights(m);
    if (pp_mixer_has_scan((pp_mixer)type.mixer)) {
        const pp_scan scan = pp_scan_of(m, (pp_mixer)type.mixer, 1);
        weights += h * (scan.inner + scan.values);
    }
    if (type.mlp == PP_MLP_DENSE)
        weights += mlp * (double)m->ffn;
    if (type.mlp != PP_MLP_MOE)
        return weights;
    return weights + h * (double)m->experts +
           mlp * ((double)(m->experts_per_token * m->expert_ffn) + (double)m->shared_ffn);
}

double pp_layer_flops(const pp_gpu_batch *local)
{
    const pp_model *m = local->model;
    const pp_attention_widths a = pp_attention_widths_of(local);
    const pp_mixer mixer = (pp_mixer)local->layer.mixer;
    double pairs = 0;
    if (pp_mixer_has_attention(mixer))
        pairs += 2 * local->all_square_sum * (double)m->heads * (a.qk_dim + a.v_dim) +
                 2 * local->raw_square_sum * (double)(m->index_heads * m->index_head_dim);
    if (pp_mixer_has_scan(mixer))
        pairs += local->all_tokens * pp_scan_flops(m, mixer);
    return 3 * (2 * local->all_tokens * layer_weights(m, local->layer) + pairs);
}

double pp_loss_flops(const pp_gpu_batch *local)
{
    return 6 * local->all_tokens * pp_padded_vocab(local->context) * (double)local->model->hidden;
}

double pp_mtp_flops(const pp_gpu_batch *local)
{
    const double h = (double)local->model->hidden;
    return 6 * local->all_tokens * 2 * h * h + pp_layer_flops(local) + pp_loss_flops(local);
}
