/* The worker of the backends cpu and cuda: it holds weights, gradients and losses of its stages,
 * and implements the functions of pp_compute by the ops of runtime/cpu/stack.c. A table pp_math
 * determines whether the processor or a GPU does the math. */
#include "runtime/cpu/stage_math.h"

#include "runtime/cpu/stack.h"
#include "sim/base/alloc.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef struct worker {
    pp_cpu_model *model;
    const pp_math *math;
    void *machine;
    bool *holds;      /* [stages]: the stages of this worker */
    char **weights;   /* [stages]; NULL: not held, or in shards */
    char **gradients; /* [stages]: sums; NULL likewise, and in an evaluation */
    char **masters; /* [stages]: weights as sums; NULL: the weights are sums, or are not updated */
    char *losses;   /* [microbatches]: sums */
} worker;

/* Checks that the microbatches of one class have sequences of the same lengths, so that their bytes
 * are equal. */
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
            status = pp_err_set(err, PP_INPUT, model->where,
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
            costs->logits_bytes[row] = 0; /* the logits are in the stash, like their gradient */
            costs->temporary_bytes[row] = (int64_t)layout.scratch_bytes;
            costs->output_bytes[row] = 0;
            below = model->stage[s].last ? 0 : (int64_t)layout.message;
            costs->message_bytes[row] = below;
        }
    }
}

/* Parameters and gradients: of ranks, and of single stages as far as replicas share them. */
static void describe_parameters(const pp_cpu_model *model, const pp_compute_work *work,
                                pp_costs *costs)
{
    const int64_t replicas = model->replicas;
    for (uint32_t r = 0; r < costs->ranks; r++) {
        costs->parameter_bytes[r] = 0;
        costs->gradient_bytes[r] = 0;
        costs->optimizer_bytes[r] = 0;
        costs->workspace_bytes[r] = 0;
        costs->comm_library_bytes[r] = 0;
    }
    costs->sharded = work->zero >= 2;
    costs->unshard_slowdown = costs->gather_slowdown = 0;
    for (uint32_t s = 0; s < model->stages; s++) {
        const int64_t bytes = (int64_t)pp_cpu_parameter_bytes(model, &model->stage[s]);
        const int64_t sums = bytes / (int64_t)model->real_bytes * (int64_t)model->sum_bytes;
        const uint32_t rank = work->stage_rank[s];
        costs->unshard_ns[s] = costs->unshard_copy_ns[s] = costs->reduce_grad_ns[s] = 0;
        costs->gathered_bytes[s] = work->zero == 3 ? bytes : 0;
        costs->parameter_bytes[rank] += work->zero == 3 ? bytes / replicas : bytes;
        costs->whole_gradient_bytes[s] = work->forward_only ? 0 : sums;
        costs->gradient_shard_bytes[s] = work->forward_only ? 0 : sums / replicas;
        if (!work->forward_only && sums > bytes)
            costs->optimizer_bytes[rank] += sums;
        if (!work->forward_only && !costs->sharded)
            costs->gradient_bytes[rank] += sums;
    }
}

pp_status pp_stage_math_describe(const pp_compute_work *work, bool gpu, pp_costs *costs,
                                 pp_err *err)
{
    pp_cpu_model *model PP_CLEANUP(pp_cpu_model_free) = NULL;
    pp_status status = pp_cpu_model_new(work, gpu, &model, err);
    if (status || (status = check_classes(model, costs, err)))
        return status;
    describe_ops(model, costs);
    describe_parameters(model, work, costs);
    costs->has_memory = true;
    return PP_OK;
}

void pp_stage_math_close(void *opened)
{
    worker *w = opened;
    if (!w)
        return;
    for (uint32_t s = 0; w->machine && s < w->model->stages; s++) {
        w->math->give(w->machine, w->weights ? w->weights[s] : NULL);
        w->math->give(w->machine, w->gradients ? w->gradients[s] : NULL);
        w->math->give(w->machine, w->masters ? w->masters[s] : NULL);
    }
    if (w->machine)
        w->math->give(w->machine, w->losses);
    w->math->close(w->machine);
    pp_cpu_model_free(&w->model);
    free(w->holds);
    free(w->weights);
    free(w->gradients);
    free(w->masters);
    free(w);
}

/* Returns the address in the master weights of the weight at byte `of` of the stage. */
static char *master_of(const worker *w, uint32_t stage, size_t of)
{
    return w->masters[stage] + of / w->model->real_bytes * w->model->sum_bytes;
}

/* Bytes of the weights of a stage, and of its gradients, gaps included. */
static size_t weight_bytes(const worker *w, uint32_t stage)
{
    return pp_cpu_parameter_bytes(w->model, &w->model->stage[stage]);
}

static size_t gradient_bytes(const worker *w, uint32_t stage)
{
    return weight_bytes(w, stage) / w->model->real_bytes * w->model->sum_bytes;
}

static pp_status fill(worker *w, pp_err *err)
{
    pp_status status = PP_OK;
    for (uint32_t s = 0; s < w->model->stages; s++) {
        const pp_cpu_stage *stage = &w->model->stage[s];
        for (size_t i = 0; w->weights[s] && i < pp_cpu_matrix_count(stage) && !status; i++) {
            pp_cpu_matrix matrix = pp_cpu_matrix_at(w->model, stage, i);
            status = w->math->fill(w->machine, &matrix, false, w->weights[s] + matrix.offset, err);
            if (!status && w->masters[s])
                status =
                    w->math->fill(w->machine, &matrix, true, master_of(w, s, matrix.offset), err);
        }
    }
    return status;
}

static pp_status take(worker *w, size_t bytes, char **at_out, pp_err *err)
{
    void *at = NULL;
    pp_status status = w->math->take(w->machine, bytes, &at, err);
    *at_out = at;
    return status;
}

static pp_status allocate(worker *w, const bool *holds, pp_err *err)
{
    const pp_cpu_model *model = w->model;
    const bool updates = !model->forward_only;
    w->holds = pp_alloc_array(model->stages, sizeof *w->holds);
    w->weights = pp_alloc_array(model->stages, sizeof *w->weights);
    w->gradients = pp_alloc_array(model->stages, sizeof *w->gradients);
    w->masters = pp_alloc_array(model->stages, sizeof *w->masters);
    if (!w->holds || !w->weights || !w->gradients || !w->masters)
        return pp_err_nomem(err);
    pp_status status = take(w, model->microbatches * model->sum_bytes, &w->losses, err);
    for (uint32_t s = 0; s < model->stages && !status; s++) {
        w->holds[s] = holds[s];
        if (!holds[s])
            continue;
        status = take(w, weight_bytes(w, s), &w->weights[s], err);
        if (!status && updates)
            status = take(w, gradient_bytes(w, s), &w->gradients[s], err);
        if (!status && updates && model->real_bytes < model->sum_bytes)
            status = take(w, gradient_bytes(w, s), &w->masters[s], err);
    }
    return status;
}

static uint32_t rank_of(const pp_compute_work *work, const bool *holds)
{
    uint32_t stage = 0;
    while (stage < work->stages && !holds[stage])
        stage++;
    return stage < work->stages ? work->stage_rank[stage] : 0;
}

pp_status pp_stage_math_open(const pp_compute_work *work, pp_cpu_model *model, const pp_math *math,
                             const struct pp_module_services *services, const bool *holds,
                             void **worker_out, pp_err *err)
{
    worker *w = pp_alloc_array(1, sizeof *w);
    if (!w) {
        pp_cpu_model_free(&model);
        return pp_err_nomem(err);
    }
    *w = (worker){ .model = model, .math = math };
    pp_status status = math->open(services, model, rank_of(work, holds), &w->machine, err);
    if (status || (status = allocate(w, holds, err)) || (status = fill(w, err))) {
        pp_stage_math_close(w);
        return status;
    }
    *worker_out = w;
    return PP_OK;
}

pp_status pp_stage_math_begin(void *opened, uint32_t step, pp_err *err)
{
    worker *w = opened;
    (void)step; /* every step sees the same data */
    w->math->start(w->machine);
    for (uint32_t s = 0; s < w->model->stages; s++)
        if (w->gradients[s])
            w->math->zero(w->machine, w->gradients[s], gradient_bytes(w, s));
    w->math->zero(w->machine, w->losses, w->model->microbatches * w->model->sum_bytes);
    return w->math->finish(w->machine, err);
}

pp_status pp_stage_math_run(void *opened, pp_op op, const pp_op_tensors *tensors, pp_err *err)
{
    const worker *w = opened;
    const pp_cpu_model *model = w->model;
    assert(w->weights[op.stage]);
    const pp_cpu_stage *stage = &model->stage[op.stage];
    const pp_cpu_layout layout = pp_cpu_layout_of(model, stage, &model->batch[op.microbatch]);
    const pp_cpu_call call = {
        .math = w->math,
        .machine = w->machine,
        .model = model,
        .stage = stage,
        .batch = &model->batch[op.microbatch],
        .layout = &layout,
        .weights = w->weights[op.stage],
        .gradients = w->gradients[op.stage],
        .loss = w->losses + op.microbatch * model->sum_bytes,
        .tensors = tensors,
    };
    w->math->start(w->machine);
    if (op.kind == PP_OP_F)
        pp_cpu_forward(&call);
    const bool again = op.kind != PP_OP_F && pp_cpu_recomputes(model);
    assert(!again || op.kind == PP_OP_B);
    if (again)
        pp_cpu_backward_again(&call);
    else if (op.kind == PP_OP_I || op.kind == PP_OP_B)
        pp_cpu_backward_input(&call);
    if (!again && (op.kind == PP_OP_W || op.kind == PP_OP_B))
        pp_cpu_backward_weight(&call);
    return w->math->finish(w->machine, err);
}

void pp_stage_math_times(const void *opened, pp_ns *start_ns, pp_ns *end_ns)
{
    const worker *w = opened;
    w->math->times(w->machine, start_ns, end_ns);
}

uint32_t pp_stage_math_gpu(const void *opened)
{
    const worker *w = opened;
    return w->math->gpu(w->machine);
}

pp_status pp_stage_math_check(void *opened, pp_err *err)
{
    worker *w = opened;
    return w->math->finish(w->machine, err);
}

/* Updates the weights that are held. Gaps between matrices are zero in weights and gradients, and
 * stay zero. */
pp_status pp_stage_math_end(void *opened, pp_err *err)
{
    worker *w = opened;
    w->math->start(w->machine);
    for (uint32_t s = 0; s < w->model->stages; s++)
        if (w->gradients[s] && w->weights[s])
            w->math->update(w->machine, gradient_bytes(w, s) / w->model->sum_bytes,
                            w->model->settings.lr, w->gradients[s], w->masters[s], w->weights[s]);
    return w->math->finish(w->machine, err);
}

void *pp_stage_math_block(const void *opened, uint32_t stage, pp_values which, size_t *bytes_out)
{
    const worker *w = opened;
    const bool gradients = which == PP_VALUES_GRADIENTS;
    *bytes_out = gradients ? gradient_bytes(w, stage) : weight_bytes(w, stage);
    return gradients ? w->gradients[stage] : w->weights[stage];
}

pp_status pp_stage_math_hold(void *opened, uint32_t stage, pp_values which, pp_err *err)
{
    worker *w = opened;
    const bool gradients = which == PP_VALUES_GRADIENTS;
    return take(w, gradients ? gradient_bytes(w, stage) : weight_bytes(w, stage),
                gradients ? &w->gradients[stage] : &w->weights[stage], err);
}

void pp_stage_math_drop(void *opened, uint32_t stage, pp_values which)
{
    worker *w = opened;
    char **block = which == PP_VALUES_GRADIENTS ? &w->gradients[stage] : &w->weights[stage];
    w->math->give(w->machine, *block);
    *block = NULL;
}

void pp_stage_math_add(void *opened, size_t bytes, const void *other, void *sum)
{
    worker *w = opened;
    w->math->add(w->machine, bytes / w->model->sum_bytes, other, sum);
}

void pp_stage_math_update(void *opened, size_t bytes, const void *gradients, void *parameters)
{
    worker *w = opened;
    pp_err kept = { 0 }; /* by the machine, too, for pp_compute.check */
    w->math->start(w->machine);
    w->math->update(w->machine, bytes / w->model->sum_bytes, w->model->settings.lr, gradients, NULL,
                    parameters);
    (void)!w->math->finish(w->machine, &kept);
}

pp_status pp_stage_math_take(void *opened, size_t bytes, void **at_out, pp_err *err)
{
    const worker *w = opened;
    return w->math->take(w->machine, bytes, at_out, err);
}

void pp_stage_math_give(void *opened, void *at)
{
    const worker *w = opened;
    w->math->give(w->machine, at);
}

void pp_stage_math_copy(void *opened, void *to, const void *from, size_t bytes)
{
    const worker *w = opened;
    w->math->write(w->machine, to, from, bytes);
}

size_t pp_stage_math_tied_bytes(const void *opened)
{
    const pp_cpu_model *model = ((const worker *)opened)->model;
    const pp_cpu_settings *s = &model->settings;
    bool ties = s->tied && !model->forward_only;
    return ties ? (size_t)(s->vocab * s->hidden) * model->sum_bytes : 0;
}

/* Returns the gradient of the embedding on the first stage, and of the head on the last one. */
static char *tied_gradient(const worker *w, uint32_t stage)
{
    const pp_cpu_stage *of = &w->model->stage[stage];
    size_t index = of->first ? 0 : pp_cpu_matrix_count(of) - 1;
    size_t element = pp_cpu_matrix_at(w->model, of, index).offset / w->model->real_bytes;
    return w->gradients[stage] + element * w->model->sum_bytes;
}

void pp_stage_math_tied_get(const void *opened, uint32_t stage, void *out)
{
    const worker *w = opened;
    w->math->read(w->machine, out, tied_gradient(w, stage), pp_stage_math_tied_bytes(opened));
}

void pp_stage_math_tied_put(void *opened, uint32_t stage, const void *other)
{
    const worker *w = opened;
    w->math->add(w->machine, pp_stage_math_tied_bytes(w) / w->model->sum_bytes, other,
                 tied_gradient(w, stage));
}

size_t pp_stage_math_value_bytes(const void *opened)
{
    return ((const worker *)opened)->model->sum_bytes;
}

size_t pp_stage_math_value_count(const void *opened, uint32_t stage, pp_values which)
{
    const worker *w = opened;
    const pp_cpu_stage *of = &w->model->stage[stage];
    size_t count = 0;
    if (!w->holds[stage] || (which == PP_VALUES_GRADIENTS && w->model->forward_only))
        return 0;
    if (which == PP_VALUES_LOSSES)
        return of->last ? w->model->microbatches : 0;
    for (size_t i = 0; i < pp_cpu_matrix_count(of); i++) {
        pp_cpu_matrix matrix = pp_cpu_matrix_at(w->model, of, i);
        count += matrix.rows * matrix.columns;
    }
    return count;
}

/* Converts bf16, which is the upper half of a float, to float in place, beginning with the last
 * value. */
static void widen(char *values, size_t count)
{
    for (size_t i = count; i-- > 0;) {
        uint16_t half;
        memcpy(&half, values + i * sizeof half, sizeof half);
        const uint32_t bits = (uint32_t)half << 16;
        memcpy(values + i * sizeof bits, &bits, sizeof bits);
    }
}

void pp_stage_math_value_read(const void *opened, uint32_t stage, pp_values which, void *out)
{
    const worker *w = opened;
    const pp_cpu_stage *of = &w->model->stage[stage];
    const size_t sum = w->model->sum_bytes;
    const bool rounded = which == PP_VALUES_PARAMETERS && !w->masters[stage];
    const size_t unit = rounded ? w->model->real_bytes : sum;
    char *to = out;
    if (which == PP_VALUES_LOSSES) {
        w->math->read(w->machine, out, w->losses, pp_stage_math_value_count(w, stage, which) * sum);
        return;
    }
    const char *from = which == PP_VALUES_GRADIENTS ? w->gradients[stage]
                       : w->masters[stage]          ? master_of(w, stage, 0)
                                                    : w->weights[stage];
    for (size_t i = 0; i < pp_cpu_matrix_count(of); i++) {
        pp_cpu_matrix matrix = pp_cpu_matrix_at(w->model, of, i);
        size_t count = matrix.rows * matrix.columns;
        w->math->read(w->machine, to, from + matrix.offset / w->model->real_bytes * unit,
                      count * unit);
        if (unit < sum)
            widen(to, count);
        to += count * sum;
    }
}

void pp_stage_math_value_nudge(void *opened, uint32_t stage, size_t index, double by)
{
    worker *w = opened;
    const pp_cpu_stage *of = &w->model->stage[stage];
    const size_t real = w->model->real_bytes;
    for (size_t i = 0; i < pp_cpu_matrix_count(of); i++) {
        pp_cpu_matrix matrix = pp_cpu_matrix_at(w->model, of, i);
        size_t count = matrix.rows * matrix.columns;
        void *at = w->weights[stage] + matrix.offset + index * real;
        if (index >= count) {
            index -= count;
            continue;
        }
        if (real == sizeof(double))
            *(double *)at += by;
        else
            *(float *)at += (float)by;
        return;
    }
}
