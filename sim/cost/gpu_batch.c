/* Sizes of a microbatch on one GPU, and the parts that its units share.
 * docs/explanation/cost-model.md, sections 3 and 4. */
#include "sim/cost/gpu_batch.h"

#include "sim/cost/classes.h"

#include <math.h>

/* The sum over tokens of twice those that one attends to, on average, in a sequence of `length`. A
 * sliding window leaves s w - w^2 / 2 of s^2 / 2 pairs, and so does sparse attention to the w best
 * tokens; chunks leave those within each. */
static double attended(const pp_model *model, pp_mixer mixer, double tokens, double length,
                       double square_sum)
{
    const double window =
        mixer == PP_MIXER_WINDOW ? (double)model->sliding_window : (double)model->index_topk;
    const double chunk = mixer == PP_MIXER_CHUNK ? (double)model->attention_chunk : 0;
    if (chunk > 0 && chunk < length) {
        const double whole = floor(length / chunk), rest = length - whole * chunk;
        return tokens * (whole * chunk * chunk + rest * rest) / length;
    }
    if (window > 0 && window < length)
        return 2 * tokens * (window - window * window / (2 * length));
    return square_sum;
}

pp_gpu_batch pp_gpu_batch_of(const pp_cost_context *context, int64_t tokens, int64_t square_sum)
{
    const pp_model *model = context->model;
    return pp_gpu_batch_of_type(context, pp_model_type_at(model, model->layers), tokens,
                                square_sum);
}

bool pp_gpu_batch_is_moe(const pp_gpu_batch *local)
{
    return local->layer.mlp == PP_MLP_MOE;
}

/* Each GPU rounds the rows that it may send to an expert up (get_capacity of Megatron-Core). */
static double capacity_of(const pp_gpu_batch *local)
{
    const pp_model *m = local->model;
    const double own = local->sequence_parallel ? local->tokens / local->t : local->tokens;
    const double mean = own * (double)m->experts_per_token / fmax(1, (double)m->experts);
    const double factor = local->context->switches.moe_capacity;
    return mean > 0 ? ceil(factor * mean) / mean : factor;
}

void pp_gpu_batch_set_imbalance(pp_gpu_batch *local, double imbalance)
{
    const pp_switches *s = &local->context->switches;
    const double most = s->moe_capacity > 0 ? capacity_of(local) : INFINITY;
    local->imbalance = s->moe_pads ? most : fmin(imbalance, most);
    local->sent = s->moe_pads ? most : fmin(s->moe_kept > 0 ? s->moe_kept : 1, most);
}

pp_gpu_batch pp_gpu_batch_of_type(const pp_cost_context *context, int type, int64_t tokens,
                                  int64_t square_sum)
{
    const pp_model *model = context->model;
    const double cp = (double)context->parallel.cp;
    pp_gpu_batch local = {
        .context = context,
        .model = model,
        .hw = context->hardware,
        .layer = pp_model_type(model, type),
        .t = (double)context->parallel.tp,
        .expert_t = (double)pp_parallel_etp(&context->parallel),
        .all_tokens = (double)tokens,
        .raw_square_sum = (double)square_sum,
        .all_square_sum = (double)square_sum,
        .element_bytes = (double)pp_dtype_bytes(context->switches.dtype),
        .sequence_parallel = context->switches.sequence_parallel && context->parallel.tp > 1,
        .fp32 = context->switches.dtype == PP_DTYPE_FP32,
        .recipe = pp_recipe_of(PP_PRECISION_BF16),
        .rope = !model->learned_positions,
    };
    const double length = tokens > 0 ? (double)square_sum / (double)tokens : 0;
    local.all_square_sum =
        attended(model, (pp_mixer)local.layer.mixer, (double)tokens, length, (double)square_sum);
    local.tokens = local.all_tokens / cp;
    local.square_sum = local.all_square_sum / cp;
    local.row_bytes = local.tokens * (double)model->hidden * local.element_bytes;
    local.norm_bytes = local.sequence_parallel ? local.row_bytes / local.t : local.row_bytes;
    pp_gpu_batch_set_imbalance(&local, fmax(1, context->switches.moe_imbalance));
    /* if all sequences are equally long */
    const double edge = ceil(length / 128);
    local.longest = length;
    local.tiles = length > 0 ? local.all_tokens / length * edge * edge : 0;
    local.tensor_group = pp_group_of(pp_hardware_node_part(context->hardware, &context->parallel),
                                     context->parallel.tp, 1);
    return local;
}

unsigned pp_modules_of(const pp_gpu_batch *local)
{
    const unsigned given = local->context->switches.recompute_modules;
    const unsigned modules = given ? given : PP_MODULES_CORE;
    const unsigned inner = 1U << PP_MODULE_MOE_ACT | 1U << PP_MODULE_SHARED_EXPERTS;
    return pp_gpu_batch_is_moe(local) && modules >> PP_MODULE_MOE & 1 ? modules & ~inner : modules;
}

double pp_layer_first_norms(const pp_gpu_batch *local)
{
    const pp_model *m = local->model;
    const int halves = (local->layer.mixer != PP_MIXER_NONE) + (local->layer.mlp != PP_MLP_NONE);
    return m->parallel_block && m->norms == 1 ? 1 : halves;
}

bool pp_exchange_is_omitted(const pp_gpu_batch *local, pp_exchange_kind kind)
{
    return local->context->omitted >> kind & 1;
}

pp_attention_widths pp_attention_widths_of(const pp_gpu_batch *local)
{
    const pp_model *m = local->model;
    pp_attention_widths a = { .heads = (double)m->heads / local->t };
    if (m->attention == PP_ATTENTION_MLA) {
        a.qk_dim = (double)(m->qk_nope_head_dim + m->qk_rope_head_dim);
        a.v_dim = (double)m->v_head_dim;
        a.q = a.k = a.heads * a.qk_dim;
        a.v = a.o = a.heads * a.v_dim;
        return a;
    }
    /* with fewer key/value heads than ranks, each rank has a copy of one */
    const double kv_heads = fmax(1, (double)m->kv_heads / local->t);
    a.qk_dim = a.v_dim = (double)m->head_dim;
    a.q = a.o = a.heads * a.qk_dim;
    a.k = a.v = kv_heads * a.qk_dim;
    return a;
}

static pp_gemm gemm_of(const pp_gpu_batch *local, double m, double n, double k, pp_gemm_pass pass,
                       pp_gemm_format format)
{
    const pp_switches *sw = &local->context->switches;
    pp_gemm g = { .m = m,
                  .n = n,
                  .k = k,
                  .batch = 1,
                  .output_bytes = local->element_bytes,
                  .pass = pass,
                  .format = format,
                  .fp32 = local->fp32 };
    if (pass == PP_GEMM_WEIGHT && sw->fused_wgrad) /* the GEMM adds to the main gradient */
        g.output_bytes = 2 * (double)pp_dtype_bytes(sw->grad_dtype);
    return g;
}

double pp_gpu_gemm_seconds(const pp_gpu_batch *local, double m, double n, double k, double batch,
                           pp_gemm_pass pass)
{
    pp_gemm g = gemm_of(local, m, n, k, pass, PP_GEMM_16BIT);
    g.batch = batch;
    return pp_gemm_seconds(local->hw, &g);
}

/* Products of `groups` independent weights. */
static double gemm_seconds(const pp_gpu_batch *local, double m, double n, double k, double groups,
                           pp_gemm_pass pass)
{
    pp_gemm g = gemm_of(local, m, n, k, pass, local->recipe->format);
    g.expert = groups > 1; /* one alone is like a dense layer: published steps of grok1 agree */
    return g.expert ? pp_expert_gemms_seconds(local->hw, &g, groups)
                    : groups * pp_gemm_seconds(local->hw, &g);
}

/* Small kernels of independent weights in 8 or 4 bits: TransformerEngine quantizes for each apart,
 * and cuBLAS wants the scales of both operands swizzled in mxfp8 and nvfp4 (its split_quantize and
 * swizzle_scaling_factors). Those of one weight are part of its curve. */
static double small_kernels_seconds(const pp_gpu_batch *local, double groups, bool quantizes)
{
    const pp_gemm_format format = local->recipe->format;
    const bool swizzles = format == PP_GEMM_MXFP8 || format == PP_GEMM_NVFP4;
    if (!format || groups <= 1)
        return 0;
    return ((quantizes ? groups - 1 : 0) + (swizzles ? 2 * groups : 0)) * local->hw->kernel_s;
}

void pp_add_linear(const pp_gpu_batch *local, double m, double n, double k, double groups,
                   pp_work *work)
{
    const pp_switches *sw = &local->context->switches;
    const double quantized = local->recipe->quantize_bytes * m * groups;
    work->f += gemm_seconds(local, m, n, k, groups, PP_GEMM_FORWARD) +
               pp_quantize_seconds(local->hw, local->recipe, quantized * k) +
               small_kernels_seconds(local, groups, true);
    work->i += gemm_seconds(local, m, k, n, groups, PP_GEMM_INPUT) +
               pp_quantize_seconds(local->hw, local->recipe, quantized * n) +
               small_kernels_seconds(local, groups, true);
    work->w += gemm_seconds(local, n, k, m, groups, PP_GEMM_WEIGHT) +
               small_kernels_seconds(local, groups, false);
    if (!sw->fused_wgrad) /* a kernel reads the new gradient, and reads and writes the main one */
        work->w += pp_elementwise_seconds(
            local->hw,
            groups * n * k * (local->element_bytes + 2 * (double)pp_dtype_bytes(sw->grad_dtype)));
}

void pp_add_elementwise(const pp_gpu_batch *local, double forward_bytes, double backward_bytes,
                        pp_work *work)
{
    work->f += pp_elementwise_seconds(local->hw, forward_bytes);
    work->i += pp_elementwise_seconds(local->hw, backward_bytes);
}

double pp_gather_seconds(const pp_gpu_batch *local, pp_collective kind, double bytes)
{
    return pp_exchange_is_omitted(local, PP_EXCHANGE_TP)
               ? 0
               : pp_collective_seconds(local->hw, kind, local->tensor_group, bytes);
}

void pp_add_tensor_parallel(const pp_gpu_batch *local, double bytes, pp_work *work)
{
    const pp_switches *sw = &local->context->switches;
    const double hidden_part = sw->tp_overlap ? local->hw->tp_overlap : 0;
    const double hidden_all = sw->tp_overlap && sw->tp_overlap_all ? hidden_part : 0;
    if (local->context->parallel.tp <= 1)
        return;
    if (!local->sequence_parallel) {
        const double reduce = pp_gather_seconds(local, PP_ALL_REDUCE, bytes);
        work->f += (1 - hidden_all) * reduce;
        work->i += (1 - hidden_part) * reduce;
        return;
    }
    /* what is gathered is the input of a linear layer, quantized before it is sent */
    const double gather = pp_gather_seconds(
        local, PP_ALL_GATHER,
        bytes * (local->recipe->format ? local->recipe->element_bytes / local->element_bytes : 1));
    const double scatter = pp_gather_seconds(local, PP_REDUCE_SCATTER, bytes);
    work->f += (1 - hidden_all) * (gather + scatter);
    /* the gradient's all-gather before the row-parallel layer is exposed, unless all overlaps; the
     * second gather of the input and the scatter of its gradient overlap with GEMMs */
    work->i += (1 - hidden_all) * gather + (1 - hidden_part) * (gather + scatter);
}

/* How often 8 GPUs must be doubled for these, on a line between whole numbers of times. */
static double doublings_of(const pp_parallel *p)
{
    int exponent;
    const double part = frexp((double)(p->pp * p->tp * p->cp * p->dp) / 8, &exponent);
    return fmax(0, exponent - 2 + 2 * part);
}

double pp_sustained_of(const pp_cost_context *context)
{
    const pp_switches *s = &context->switches;
    const double own = pp_recipe_of(s->precision)->format ? s->sustained_low : s->sustained;
    const double share = own > 0 ? own : context->hardware->sustained;
    const double power = s->power_limit > 0 ? cbrt(s->power_limit) : 1;
    return share * power / (1 + s->growth * doublings_of(&context->parallel));
}
