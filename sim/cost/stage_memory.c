/* Bytes and parameters of units. For a dense GPT these are the formulas of Korthikanti et al. 2022
 * (arXiv 2205.05198), section 4, term by term; other models are counted in the same way
 * (docs/explanation/cost-model.md section 5). */

#include "sim/cost/stage_memory.h"

#include "sim/cost/ends.h"
#include "sim/cost/gpu_batch.h"

#include <math.h>

/* Activations, in bytes per token of this GPU. */
typedef struct token_bytes {
    double whole;   /* in the sequence-parallel region: divided by t with sequence parallelism */
    double divided; /* always divided by tp; this is the part of one GPU */
    double core;    /* in the attention core, which selective recomputation drops */
    double stash;   /* inputs and output gradients of linear layers on one GPU */
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

static void add_attention(const pp_gpu_batch *local, token_bytes *sum)
{
    const pp_model *m = local->model;
    const pp_attention_widths a = pp_attention_widths_of(local);
    const double d = local->element_bytes, e = input_bytes(local), h = (double)m->hidden;
    const double length = local->tokens > 0 ? local->square_sum / local->tokens : 0;
    sum->whole += (d + e) * h + (m->dropout ? h : 0); /* norm input, linear input, dropout mask */
    sum->divided += d * (a.q + a.k + a.v + a.o);
    if (local->recipe->format) /* attention keeps its output in 16 bits, the projection its own */
        sum->divided += e * a.o;
    sum->stash += spread(local, 2 * e * h) + e * (a.q + a.k + a.v + a.o);
    if (m->attention == PP_ATTENTION_MLA) {
        const double ranks = (double)(m->q_lora_rank + m->kv_lora_rank);
        sum->whole += (d + e) * ranks; /* before and after their norms */
        sum->stash += spread(local, 2 * e * ranks);
    }
    if (local->context->switches.flash_attention)
        sum->core += 4 * a.heads; /* fp32 log-sum-exp of a row */
    else                          /* softmax; dropout mask and output */
        sum->core += a.heads * length * (d + (m->dropout ? 1 + d : 0));
}

/* copies: the number of experts of a token; 1 for a dense MLP. */
static void add_mlp(const pp_gpu_batch *local, double width, double copies, token_bytes *sum)
{
    const double d = local->element_bytes, e = input_bytes(local);
    const double inner = width / local->t * copies;
    sum->divided += inner * (d * (local->model->gated_mlp ? 2 : 1) + e);
    sum->stash += e * inner * (local->model->gated_mlp ? 3 : 2);
}

static void add_mlp_frame(const pp_gpu_batch *local, token_bytes *sum)
{
    const double d = local->element_bytes, e = input_bytes(local);
    const double h = (double)local->model->hidden;
    sum->whole += (d + e) * h + (local->model->dropout ? h : 0);
    sum->stash += spread(local, 2 * e * h);
}

static token_bytes layer_bytes(const pp_gpu_batch *local, bool moe)
{
    const pp_model *m = local->model;
    const double d = local->element_bytes, e = input_bytes(local), h = (double)m->hidden;
    token_bytes sum = { 0 };
    add_attention(local, &sum);
    add_mlp_frame(local, &sum);
    if (!moe) {
        add_mlp(local, (double)m->ffn, 1, &sum);
        return sum;
    }
    const double top = (double)m->experts_per_token;
    /* routed tokens before the experts and after them, router scores in fp32 */
    sum.whole += (d + e) * h * top + 4 * (double)m->experts;
    sum.stash += spread(local, 2 * e * h * top);
    add_mlp(local, (double)m->expert_ffn, top, &sum);
    add_mlp(local, (double)m->shared_ffn, 1, &sum);
    return sum;
}

/* The gradients of an MLP with `inner` columns: those of the output and the input of its
 * elementwise part, which has two inputs with a gate. */
static double mlp_gradient_bytes(const pp_gpu_batch *local, double inner)
{
    return local->element_bytes * inner / local->t * (local->model->gated_mlp ? 3 : 2);
}

/* The gradients, in bytes per token, that exist at once while the backward of one layer runs: that
 * of the residual stream; that of the input or output of a linear layer, whole if it is gathered
 * over tp; and those of all that attention or MLP, whichever has more, keeps between its linear
 * layers. */
static double gradient_bytes(const pp_gpu_batch *local, bool moe)
{
    const pp_model *m = local->model;
    const pp_attention_widths a = pp_attention_widths_of(local);
    const double d = local->element_bytes, h = (double)m->hidden;
    const double length = local->tokens > 0 ? local->square_sum / local->tokens : 0;
    const double scores = local->context->switches.flash_attention ? 0 : 2 * d * a.heads * length;
    const double attention = d * (a.q + a.k + a.v + a.o) + scores;
    double mlp = mlp_gradient_bytes(local, (double)m->ffn);
    if (moe) {
        const double top = (double)m->experts_per_token;
        mlp = spread(local, 2 * d * h * top) +
              mlp_gradient_bytes(local, (double)m->expert_ffn * top + (double)m->shared_ffn);
    }
    return spread(local, d * h) + d * h + fmax(attention, mlp);
}

static double attention_parameters(const pp_gpu_batch *local, double *replicated)
{
    const pp_model *m = local->model;
    const pp_attention_widths a = pp_attention_widths_of(local);
    const double h = (double)m->hidden;
    double sharded = a.o * h;
    if (m->attention == PP_ATTENTION_MLA) {
        const double q_rank = (double)m->q_lora_rank, kv_rank = (double)m->kv_lora_rank;
        *replicated += h * (q_rank + kv_rank + (double)m->qk_rope_head_dim) + q_rank + kv_rank;
        sharded += (q_rank > 0 ? q_rank : h) * a.q +
                   kv_rank * a.heads * (double)(m->qk_nope_head_dim + m->v_head_dim);
    } else {
        sharded += h * (a.q + a.k + a.v);
    }
    if (m->linear_bias) {
        sharded += a.q + a.k + a.v;
        *replicated += h;
    }
    return sharded;
}

static double mlp_parameters(const pp_gpu_batch *local, double width, double *replicated)
{
    const pp_model *m = local->model;
    const double h = (double)m->hidden, inner = width / local->t;
    if (m->linear_bias && width > 0)
        *replicated += h;
    return (m->gated_mlp ? 3 : 2) * h * inner + (m->linear_bias ? inner : 0);
}

static void layer_parameters(const pp_gpu_batch *local, bool moe, pp_unit_cost *cost)
{
    const pp_model *m = local->model;
    const double h = (double)m->hidden;
    double replicated = 2 * h * (m->rms_norm ? 1 : 2);
    double sharded = attention_parameters(local, &replicated);
    if (!moe) {
        sharded += mlp_parameters(local, (double)m->ffn, &replicated);
    } else {
        double unused = 0;
        const double own = (double)m->experts / (double)local->context->parallel.ep;
        cost->expert_parameters = own * mlp_parameters(local, (double)m->expert_ffn, &unused);
        sharded += cost->expert_parameters;
        sharded += mlp_parameters(local, (double)m->shared_ffn, &replicated);
        replicated += h * (double)m->experts;
    }
    cost->parameters = sharded + replicated;
    cost->low_parameters = local->recipe->format ? sharded : 0;
}

void pp_layer_memory(const pp_gpu_batch *local, bool moe, pp_unit_cost *cost)
{
    const token_bytes b = layer_bytes(local, moe);
    const double kept = local->tokens * (spread(local, b.whole) + b.divided);
    const double core = local->tokens * b.core;
    cost->stash_bytes = local->tokens * b.stash;
    cost->temporary_bytes = local->tokens * gradient_bytes(local, moe);
    cost->recompute_bytes = 0;
    cost->activation_bytes = kept + core;
    switch (local->context->switches.recompute) {
    case PP_RECOMPUTE_FULL:
        cost->activation_bytes =
            local->tokens * spread(local, local->element_bytes * (double)local->model->hidden);
        cost->recompute_bytes = kept + core;
        break;
    case PP_RECOMPUTE_SELECTIVE:
        cost->activation_bytes = kept;
        cost->recompute_bytes = core;
        break;
    case PP_RECOMPUTE_NONE:
    case PP_RECOMPUTE_AUTO:
    case PP_RECOMPUTE_STAGES: /* MTP modules are not among the layers of a stage */
    case PP_RECOMPUTE_MICROBATCHES:
    case PP_RECOMPUTE_UNKNOWN:
        break;
    }
    layer_parameters(local, moe, cost);
}

static double table_parameters(const pp_gpu_batch *local)
{
    return pp_padded_vocab(local->context) / local->t * (double)local->model->hidden;
}

void pp_embedding_memory(const pp_gpu_batch *local, pp_unit_cost *cost)
{
    const pp_model *m = local->model;
    cost->parameters = table_parameters(local);
    if (m->learned_positions)
        cost->parameters += (double)m->max_seq_length * (double)m->hidden;
    if (m->dropout) /* its mask; not part of the layers' activations (Korthikanti 4.3) */
        cost->logits_bytes = local->tokens * spread(local, (double)m->hidden);
}

/* The inputs of the final norm and of the head, and the logits in fp32: 4sbh/t (1 + V/h). */
void pp_loss_memory(const pp_gpu_batch *local, pp_unit_cost *cost)
{
    const pp_model *m = local->model;
    const double d = local->element_bytes, h = (double)m->hidden;
    const double vocab = pp_padded_vocab(local->context) / local->t;
    cost->parameters = h * (m->rms_norm ? 1 : 2);
    if (!(m->tied_embeddings && local->context->parallel.pp == 1)) /* else counted as embedding */
        cost->parameters += table_parameters(local);
    cost->logits_bytes = local->tokens * (spread(local, 2 * d * h) + 4 * vocab);
    cost->stash_bytes = local->tokens * (spread(local, d * h) + d * vocab);
    cost->output_bytes = local->tokens * 4 * vocab;
    /* gradients of the logits in the head's type (those in fp32 replace the logits), of the whole
     * input of the head, and of the residual stream */
    cost->temporary_bytes = local->tokens * (d * vocab + d * h + spread(local, d * h));
}

/* One module, which shares the model's embedding and head. */
void pp_mtp_memory(const pp_gpu_batch *local, pp_unit_cost *cost)
{
    const pp_model *m = local->model;
    const double d = local->element_bytes, h = (double)m->hidden;
    const bool moe = m->layers > 0 && pp_model_layer_is_moe(m, m->layers - 1);
    pp_unit_cost loss = { 0 };
    pp_layer_memory(local, moe, cost);
    pp_loss_memory(local, &loss);
    const double frame = local->tokens * spread(local, 4 * d * h); /* two norms and their output */
    cost->activation_bytes += frame;
    cost->stash_bytes += frame / 2 + loss.stash_bytes;
    cost->temporary_bytes = fmax(cost->temporary_bytes, loss.temporary_bytes);
    cost->logits_bytes += loss.logits_bytes;
    cost->parameters += 2 * h * h / local->t + 3 * h * (m->rms_norm ? 1 : 2);
}
