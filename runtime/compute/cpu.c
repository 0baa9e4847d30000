/* Real forward and backward math of a residual transformer stack: docs/runtime-cpu.md. */
#include "runtime/compute.h"
#include "runtime/cpu/model.h"
#include "runtime/cpu/stack.h"
#include "sim/alloc.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef struct worker {
    pp_cpu_model *model;
    pp_cpu_blas blas;
    const pp_cpu_math *math;
    char **weights;   /* [stages]; NULL: not held */
    char **gradients; /* [stages] */
    char *losses;     /* [microbatches] */
    char *block;      /* all of them lie here */
    size_t gradient_bytes;
    char *gradient_block;
} worker;

/* Microbatches of one class have sequences of the same lengths, so that their bytes agree. */
static pp_status check_classes(const pp_cpu_model *model, const pp_costs *costs, pp_err *err)
{
    uint32_t *first = pp_alloc_array(costs->classes, sizeof *first); /* 1 + microbatch; 0: none */
    if (!first)
        return pp_err_nomem(err);
    pp_status status = PP_OK;
    for (uint32_t j = 0; j < model->microbatches && !status; j++) {
        uint32_t *of_class = &first[costs->class_of[j]];
        if (!*of_class)
            *of_class = j + 1;
        else if (!pp_cpu_same_sizes(&model->batch[*of_class - 1], &model->batch[j]))
            status = pp_err_set(err, PP_INPUT, "compute cpu",
                                "microbatches %u and %u share their costs, but not the lengths of "
                                "their sequences; give every microbatch its own",
                                *of_class - 1, j);
    }
    free(first);
    return status;
}

static void describe_ops(const pp_cpu_model *model, pp_costs *costs)
{
    for (uint32_t j = 0; j < model->microbatches; j++) {
        int64_t below = 0;
        for (uint32_t s = 0; s < model->stages; s++) {
            pp_cpu_layout layout = pp_cpu_layout_of(model, &model->stage[s], &model->batch[j]);
            size_t row = pp_cost_index(costs, s, j);
            costs->activation_bytes[row] =
                below + (int64_t)(layout.saved_bytes + layout.stash_bytes);
            costs->stash_bytes[row] = (int64_t)layout.stash_bytes;
            costs->recompute_bytes[row] = 0;
            costs->logits_bytes[row] = 0; /* they lie in the stash, as their gradient will */
            costs->temporary_bytes[row] = (int64_t)layout.scratch_bytes;
            costs->output_bytes[row] = 0;
            below = model->stage[s].last ? 0 : (int64_t)layout.message;
            costs->message_bytes[row] = below;
        }
    }
}

static pp_status cpu_describe(const pp_compute_work *work, pp_costs *costs, pp_err *err)
{
    pp_cpu_model *model PP_CLEANUP(pp_cpu_model_free) = NULL;
    pp_cpu_blas blas;
    pp_status status = pp_cpu_blas_open(&blas, err);
    if (status || (status = pp_cpu_model_new(work, &model, err)) ||
        (status = check_classes(model, costs, err)))
        return status;
    describe_ops(model, costs);
    for (uint32_t r = 0; r < costs->ranks; r++) {
        costs->parameter_bytes[r] = 0;
        costs->gradient_bytes[r] = 0;
        costs->optimizer_bytes[r] = 0;
        costs->comm_library_bytes[r] = 0;
    }
    for (uint32_t s = 0; s < model->stages; s++) {
        int64_t bytes = (int64_t)pp_cpu_parameter_bytes(model, &model->stage[s]);
        costs->parameter_bytes[work->stage_rank[s]] += bytes;
        if (!work->forward_only)
            costs->gradient_bytes[work->stage_rank[s]] += bytes;
    }
    costs->has_memory = true;
    return PP_OK;
}

static void cpu_close(void *opened)
{
    worker *w = opened;
    if (!w)
        return;
    pp_cpu_model_free(&w->model);
    free(w->weights);
    free(w->gradients);
    free(w->losses);
    free(w->block);
    free(w);
}

static void fill(worker *w)
{
    for (uint32_t s = 0; s < w->model->stages; s++) {
        const pp_cpu_stage *stage = &w->model->stage[s];
        for (size_t i = 0; w->weights[s] && i < pp_cpu_matrix_count(stage); i++) {
            pp_cpu_matrix matrix = pp_cpu_matrix_at(w->model, stage, i);
            w->math->fill(&matrix, w->model->seed, w->weights[s] + matrix.offset);
        }
    }
}

static pp_status allocate(worker *w, const bool *holds, pp_err *err)
{
    const pp_cpu_model *model = w->model;
    size_t bytes = 0;
    for (uint32_t s = 0; s < model->stages; s++)
        bytes += holds[s] ? pp_cpu_parameter_bytes(model, &model->stage[s]) : 0;
    w->gradient_bytes = model->forward_only ? 0 : bytes;
    w->weights = pp_alloc_array(model->stages, sizeof *w->weights);
    w->gradients = pp_alloc_array(model->stages, sizeof *w->gradients);
    w->losses = pp_alloc_array(model->microbatches, model->real_bytes);
    size_t all = bytes + w->gradient_bytes;
    w->block = aligned_alloc(64, all ? all : 64);
    if (!w->weights || !w->gradients || !w->losses || !w->block)
        return pp_err_nomem(err);
    memset(w->block, 0, all);
    w->gradient_block = w->block + bytes;
    size_t offset = 0;
    for (uint32_t s = 0; s < model->stages; s++) {
        if (!holds[s])
            continue;
        w->weights[s] = w->block + offset;
        w->gradients[s] = model->forward_only ? NULL : w->gradient_block + offset;
        offset += pp_cpu_parameter_bytes(model, &model->stage[s]);
    }
    return PP_OK;
}

static pp_status cpu_open(const pp_compute_work *work, const bool *holds, void **worker_out,
                          pp_err *err)
{
    worker *w = pp_alloc_array(1, sizeof *w);
    if (!w)
        return pp_err_nomem(err);
    pp_status status = pp_cpu_blas_open(&w->blas, err);
    if (status || (status = pp_cpu_model_new(work, &w->model, err)) ||
        (status = allocate(w, holds, err))) {
        cpu_close(w);
        return status;
    }
    w->math = w->model->settings.single ? &pp_cpu_math_f32 : &pp_cpu_math_f64;
    fill(w);
    *worker_out = w;
    return PP_OK;
}

static pp_status cpu_begin(void *opened, uint32_t step, pp_err *err)
{
    worker *w = opened;
    (void)step; /* every step sees the same data */
    (void)err;
    memset(w->gradient_block, 0, w->gradient_bytes);
    memset(w->losses, 0, w->model->microbatches * w->model->real_bytes);
    return PP_OK;
}

static pp_status cpu_run(void *opened, pp_op op, const pp_op_tensors *tensors, pp_err *err)
{
    const worker *w = opened;
    const pp_cpu_model *model = w->model;
    (void)err;
    assert(w->weights[op.stage]);
    const pp_cpu_stage *stage = &model->stage[op.stage];
    const pp_cpu_layout layout = pp_cpu_layout_of(model, stage, &model->batch[op.microbatch]);
    const pp_cpu_call call = {
        .blas = &w->blas,
        .model = model,
        .stage = stage,
        .batch = &model->batch[op.microbatch],
        .layout = &layout,
        .weights = w->weights[op.stage],
        .gradients = w->gradients[op.stage],
        .loss = w->losses + op.microbatch * model->real_bytes,
        .tensors = tensors,
    };
    if (op.kind == PP_OP_F)
        w->math->forward(&call);
    if (op.kind == PP_OP_I || op.kind == PP_OP_B)
        w->math->backward_input(&call);
    if (op.kind == PP_OP_W || op.kind == PP_OP_B)
        w->math->backward_weight(&call);
    return PP_OK;
}

/* Gaps between matrices are zero in both, and stay so. */
static pp_status cpu_end(void *opened, pp_err *err)
{
    worker *w = opened;
    (void)err;
    w->math->update(w->gradient_bytes / w->model->real_bytes, w->model->settings.lr,
                    w->gradient_block, w->block);
    return PP_OK;
}

static size_t cpu_tied_bytes(const void *opened)
{
    const pp_cpu_model *model = ((const worker *)opened)->model;
    const pp_cpu_settings *s = &model->settings;
    bool ties = s->tied && !model->forward_only;
    return ties ? (size_t)(s->vocab * s->hidden) * model->real_bytes : 0;
}

/* The gradient of the embedding on the first stage, of the head on the last. */
static char *tied_gradient(const worker *w, uint32_t stage)
{
    const pp_cpu_stage *of = &w->model->stage[stage];
    size_t index = of->first ? 0 : pp_cpu_matrix_count(of) - 1;
    return w->gradients[stage] + pp_cpu_matrix_at(w->model, of, index).offset;
}

static void cpu_tied_get(const void *opened, uint32_t stage, void *out)
{
    memcpy(out, tied_gradient(opened, stage), cpu_tied_bytes(opened));
}

static void cpu_tied_put(void *opened, uint32_t stage, const void *other)
{
    const worker *w = opened;
    char *own = tied_gradient(w, stage);
    bool first = w->model->stage[stage].first;
    w->math->add(cpu_tied_bytes(w) / w->model->real_bytes, first ? own : other, first ? other : own,
                 own);
}

static size_t cpu_value_bytes(const void *opened)
{
    return ((const worker *)opened)->model->real_bytes;
}

static size_t cpu_value_count(const void *opened, uint32_t stage, pp_values which)
{
    const worker *w = opened;
    const pp_cpu_stage *of = &w->model->stage[stage];
    size_t count = 0;
    if (!w->weights[stage] || (which == PP_VALUES_GRADIENTS && w->model->forward_only))
        return 0;
    if (which == PP_VALUES_LOSSES)
        return of->last ? w->model->microbatches : 0;
    for (size_t i = 0; i < pp_cpu_matrix_count(of); i++) {
        pp_cpu_matrix matrix = pp_cpu_matrix_at(w->model, of, i);
        count += matrix.rows * matrix.columns;
    }
    return count;
}

static void cpu_value_read(const void *opened, uint32_t stage, pp_values which, void *out)
{
    const worker *w = opened;
    const pp_cpu_stage *of = &w->model->stage[stage];
    const size_t real = w->model->real_bytes;
    char *to = out;
    if (which == PP_VALUES_LOSSES) {
        memcpy(out, w->losses, cpu_value_count(w, stage, which) * real);
        return;
    }
    const char *from = which == PP_VALUES_GRADIENTS ? w->gradients[stage] : w->weights[stage];
    for (size_t i = 0; i < pp_cpu_matrix_count(of); i++) {
        pp_cpu_matrix matrix = pp_cpu_matrix_at(w->model, of, i);
        size_t bytes = matrix.rows * matrix.columns * real;
        memcpy(to, from + matrix.offset, bytes);
        to += bytes;
    }
}

static void cpu_value_nudge(void *opened, uint32_t stage, size_t index, double by)
{
    worker *w = opened;
    const pp_cpu_stage *of = &w->model->stage[stage];
    for (size_t i = 0; i < pp_cpu_matrix_count(of); i++) {
        pp_cpu_matrix matrix = pp_cpu_matrix_at(w->model, of, i);
        size_t count = matrix.rows * matrix.columns;
        void *at = w->weights[stage] + matrix.offset + index * w->model->real_bytes;
        if (index >= count) {
            index -= count;
            continue;
        }
        if (w->model->real_bytes == sizeof(double))
            *(double *)at += by;
        else
            *(float *)at += (float)by;
        return;
    }
}

const pp_compute pp_compute_cpu = {
    .name = "cpu",
    .summary = "a transformer's own math on this processor, in double or float (OpenBLAS)",
    .describe = cpu_describe,
    .open = cpu_open,
    .close = cpu_close,
    .begin = cpu_begin,
    .run = cpu_run,
    .end = cpu_end,
    .tied_bytes = cpu_tied_bytes,
    .tied_get = cpu_tied_get,
    .tied_put = cpu_tied_put,
    .value_bytes = cpu_value_bytes,
    .value_count = cpu_value_count,
    .value_read = cpu_value_read,
    .value_nudge = cpu_value_nudge,
};
