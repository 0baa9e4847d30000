/* Lists the weights of a layer, as Megatron-Core builds it: queries, keys and values are one
 * matrix, and so are the gate and the first matrix of a gated MLP. Multi-head latent attention has
 * two projections down, which are not divided, and two up (DeepSeek-V2, arXiv 2405.04434,
 * section 2.1). */
#include "sim/cost/weights.h"

#include "sim/cost/scan.h"

typedef struct weight_list {
    pp_weight *weights;
    size_t used;
} weight_list;

static void add(weight_list *list, pp_weight weight)
{
    if (weight.n > 0 && weight.k > 0 && weight.count > 0)
        list->weights[list->used++] = weight;
}

static void add_attention(const pp_gpu_batch *local, weight_list *list)
{
    const pp_model *m = local->model;
    const pp_attention_widths a = pp_attention_widths_of(local);
    const double h = (double)m->hidden;
    if (m->attention == PP_ATTENTION_MLA) {
        const double q_rank = (double)m->q_lora_rank, kv_rank = (double)m->kv_lora_rank;
        add(list, (pp_weight){ .n = q_rank, .k = h, .count = 1, .replicated = true });
        add(list, (pp_weight){ .n = a.q, .k = q_rank > 0 ? q_rank : h, .count = 1 });
        add(list, (pp_weight){ .n = kv_rank + (double)m->qk_rope_head_dim,
                               .k = h,
                               .count = 1,
                               .replicated = true });
        add(list, (pp_weight){ .n = a.heads * (double)(m->qk_nope_head_dim + m->v_head_dim),
                               .k = kv_rank,
                               .count = 1 });
    } else {
        const double gate = m->attention_gate ? a.q : 0;
        add(list, (pp_weight){ .n = gate + a.q + a.k + a.v, .k = h, .count = 1 });
    }
    if (m->index_heads) {
        const double heads = (double)m->index_heads, width = (double)m->index_head_dim;
        add(list,
            (pp_weight){
                .n = heads * width, .k = (double)m->q_lora_rank, .count = 1, .replicated = true });
        add(list, (pp_weight){ .n = width + heads, .k = h, .count = 1, .replicated = true });
    }
    add(list, (pp_weight){ .n = h, .k = a.o, .count = 1 });
}

static void add_mlp(const pp_gpu_batch *local, double width, double count, bool expert,
                    weight_list *list)
{
    const double h = (double)local->model->hidden;
    const double inner = width / (expert ? local->expert_t : local->t);
    const double wide = (local->model->gated_mlp ? 2 : 1) * inner;
    add(list, (pp_weight){ .n = wide, .k = h, .count = count, .expert = expert });
    add(list, (pp_weight){ .n = h, .k = inner, .count = count, .expert = expert });
}

size_t pp_layer_weights(const pp_gpu_batch *local, pp_weight weights_out[])
{
    const pp_model *m = local->model;
    weight_list list = { .weights = weights_out };
    const pp_mixer mixer = (pp_mixer)local->layer.mixer;
    if (pp_mixer_has_attention(mixer))
        add_attention(local, &list);
    if (pp_mixer_has_scan(mixer)) {
        const pp_scan scan = pp_scan_of(m, mixer, local->t);
        add(&list, (pp_weight){ .n = scan.inner, .k = (double)m->hidden, .count = 1 });
        add(&list, (pp_weight){ .n = (double)m->hidden, .k = scan.values, .count = 1 });
    }
    if (local->layer.mlp == PP_MLP_DENSE)
        add_mlp(local, (double)m->ffn, 1, false, &list);
    if (!pp_gpu_batch_is_moe(local))
        return list.used;
    const double own = (double)m->experts / (double)local->context->parallel.ep;
    add_mlp(local, (double)m->expert_ffn, own, true, &list);
    add_mlp(local, (double)m->shared_ffn, 1, false, &list);
    add(&list, (pp_weight){ .n = (double)m->experts,
                            .k = (double)m->hidden,
                            .count = 1,
                            .replicated = true,
                            .router = true });
    return list.used;
}

double pp_weight_parameters(const pp_weight *weight)
{
    return weight->n * weight->k * weight->count;
}
