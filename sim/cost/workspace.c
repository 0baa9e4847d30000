/* Dummy weight gradients and the work areas of GEMMs.
 *
 * If TransformerEngine's weight-gradient GEMMs add to the main gradients themselves, autograd still
 * wants a gradient of each weight. It gets an uninitialized tensor of the weight's shape and type,
 * one per shape, which is made once and kept (get_dummy_wgrad in
 * transformer_engine/pytorch/module/base.py, 1.0 to 2.18).
 *
 * Work areas: TransformerEngine takes one of 32 MiB on Hopper and later, else of 4 MiB, and four
 * more for grouped GEMMs, which run on four streams (get_cublas_workspace in
 * transformer_engine/pytorch/cpp_extensions/gemm.py). PyTorch's own GEMMs, in a stack with
 * TransformerEngine those of head and router, take 32 MiB on Hopper and later, else 8.125 MiB
 * (parseChosenWorkspaceSize in aten/src/ATen/cuda/CublasHandlePool.cpp). */
#include "sim/cost/workspace.h"

#include "sim/cost/gpu_batch.h"
#include "sim/cost/weights.h"

#include <string.h>

#define MIB 1048576.0
#define GROUPED_STREAMS 4

/* Sums one gradient for each shape of `weights`. */
static double dummy_bytes(const pp_gpu_batch *local, const pp_weight *weights, size_t count)
{
    double bytes = 0;
    for (size_t i = 0; i < count; i++) {
        bool seen = weights[i].router;
        for (size_t j = 0; j < i && !seen; j++)
            seen =
                !weights[j].router && weights[j].n == weights[i].n && weights[j].k == weights[i].k;
        if (!seen)
            bytes += local->element_bytes * weights[i].n * weights[i].k;
    }
    return bytes;
}

static double dummy_gradient_bytes(const pp_cost_context *context, const pp_rank_units *units)
{
    const pp_gpu_batch local = pp_gpu_batch_of(context, 1, 1);
    const double h = (double)context->model->hidden;
    pp_weight weights[PP_LAYER_TYPES_MAX * PP_WEIGHTS_MAX + 1];
    size_t used = 0;
    for (int k = 0; k < pp_model_types(context->model); k++) {
        const pp_gpu_batch layer = pp_gpu_batch_of_type(context, k, 1, 1);
        if (units->layer[k])
            used += pp_layer_weights(&layer, weights + used);
    }
    if (units->mtp) /* joins the states with the embeddings of the next tokens */
        weights[used++] = (pp_weight){ .n = h / local.t, .k = 2 * h, .count = 1 };
    return dummy_bytes(&local, weights, used);
}

/* Bytes of a work area of TransformerEngine and of one of PyTorch; 0 where cuBLAS is not. */
typedef struct work_areas {
    double engine, torch;
} work_areas;

static work_areas areas_of(const char *architecture)
{
    static const char *const before[] = { "volta", "turing", "ampere", "ada" };
    static const char *const since[] = { "hopper", "blackwell", "blackwell-ultra" };
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        if (strcmp(architecture, before[i]) == 0)
            return (work_areas){ 4 * MIB, 8.125 * MIB };
    }
    for (size_t i = 0; i < sizeof since / sizeof *since; i++) {
        if (strcmp(architecture, since[i]) == 0)
            return (work_areas){ 32 * MIB, 32 * MIB };
    }
    return (work_areas){ 0 };
}

double pp_workspace_bytes(const pp_cost_context *context, const pp_rank_units *units)
{
    bool moe = false;
    for (int k = 0; k < pp_model_types(context->model); k++)
        moe |= units->layer[k] && pp_model_type(context->model, k).mlp == PP_MLP_MOE;
    const work_areas area = areas_of(context->hardware->architecture);
    if (!context->switches.transformer_engine)
        return area.torch;
    double bytes = area.engine + (moe ? GROUPED_STREAMS * area.engine : 0);
    if (units->loss || moe || units->mtp)
        bytes += area.torch;
    if (context->switches.fused_wgrad)
        bytes += dummy_gradient_bytes(context, units);
    return bytes;
}
