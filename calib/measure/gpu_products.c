/* The matrix products of a layer on a GPU. Weights are stored as in PyTorch, outputs x inputs. In 8
 * bits all products are those of a matrix with a transposed one, since that is what GPUs of 2023 do
 * (cublasLtMatmul); what is not stored like that has a transposed copy, which is made when it is
 * quantized. Gradients are in E5M2, everything else in E4M3, as in TransformerEngine's recipes. */
#include "calib/measure/gpu_products.h"

void pp_gpu_weight_shape(const pp_gpu_shapes *s, uint32_t weight, int64_t *in_out, int64_t *out_out)
{
    const int64_t head = s->hidden / s->heads;
    const int64_t in[PP_GPU_WEIGHTS] = { s->hidden, s->hidden / s->tp, s->hidden, s->mlp / s->tp };
    const int64_t out[PP_GPU_WEIGHTS] = { (s->heads + 2 * s->kv_heads) * head / s->tp, s->hidden,
                                          (s->gated ? 2 : 1) * s->mlp / s->tp, s->hidden };
    *in_out = in[weight];
    *out_out = out[weight];
}

/* The input is tokens x in, the output tokens x out. */
static pp_gpu_work work_of(const pp_gpu_layer_product *of)
{
    const pp_gpu_work works[PP_GPU_PASSES] = {
        [PP_GPU_FWD] = { .product = PP_GPU_ABT, .m = of->tokens, .n = of->out, .k = of->in },
        [PP_GPU_DGRAD] = { .product = PP_GPU_AB, .m = of->tokens, .n = of->in, .k = of->out },
        [PP_GPU_WGRAD] = { .product = PP_GPU_ATB, .m = of->out, .n = of->in, .k = of->tokens },
    };
    const bool weight = of->pass == PP_GPU_WGRAD;
    pp_gpu_work work = works[of->pass];
    work.kind = of->rows ? PP_GPU_GROUPED : PP_GPU_MULTIPLY;
    work.in = PP_GPU_BF16;
    work.out = weight ? PP_GPU_F32 : PP_GPU_BF16;
    work.add = weight;
    work.deep = weight;
    work.lengths = of->rows;
    work.sequences = of->experts;
    if (of->low) {
        work.product = PP_GPU_ABT;
        work.in = of->pass == PP_GPU_FWD ? PP_GPU_E4M3 : PP_GPU_E5M2;
    }
    return work;
}

void pp_gpu_product_add(pp_gpu_probe *probe, uint32_t series, const pp_gpu_layer_product *of)
{
    const pp_gpu_probe_point point_of = { .work = work_of(of) };
    pp_point *point = pp_gpu_probe_add(probe, series, &point_of);
    const bool weight = of->pass == PP_GPU_WGRAD, input = of->pass == PP_GPU_DGRAD;
    point->at[PP_VARIABLE_ROWS] = (double)(weight ? of->in : of->tokens);
    point->at[PP_VARIABLE_COLUMNS] = (double)(input ? of->in : of->out);
    point->at[PP_VARIABLE_DEPTH] = (double)(weight ? of->tokens : input ? of->out : of->in);
    point->cold = of->cold;
}
