/* The table pp_math on a GPU: every call enqueues kernels or products in the stream of its machine,
 * and the first failure is kept until the op ends. */
#include "runtime/cuda/compute/math.h"

#include "runtime/cuda/compute/machine.h"
#include "runtime/cuda/compute/memory.h"
#include "runtime/cuda/kernel/kernel.h"

#include <stdlib.h>
#include <string.h>

static void launched(pp_gpu_machine *m, cudaError_t code)
{
    pp_gpu_keep(m, code, "launching a kernel");
}

static const pp_gpu_batch *batch_of(const pp_gpu_machine *m, const pp_cpu_batch *batch)
{
    return &m->batch[batch - m->model->batch];
}

static pp_status take(void *machine, size_t bytes, void **at_out, pp_err *err)
{
    pp_gpu_machine *m = machine;
    void *at = NULL;
    cudaError_t code = cudaSetDevice(m->device);
    if (!code)
        code = cudaMalloc(&at, bytes ? bytes : 1);
    if (!code && bytes)
        code = cudaMemsetAsync(at, 0, bytes, m->stream);
    if (!code)
        code = cudaStreamSynchronize(m->stream);
    if (code) {
        (void)cudaFree(at);
        return pp_gpu_check(m->services, m->rank, code, "memory for weights", err);
    }
    *at_out = at;
    return PP_OK;
}

static uint32_t gpu(const void *machine)
{
    return (uint32_t)((const pp_gpu_machine *)machine)->device;
}

static void give(void *machine, void *at)
{
    (void)machine;
    if (at)
        (void)cudaFree(at);
}

/* Copies between host and GPU. Between ops the stream is empty. */
static void move(void *machine, void *to, const void *from, size_t bytes)
{
    pp_gpu_machine *m = machine;
    pp_gpu_keep(m, cudaSetDevice(m->device), "choosing its GPU");
    pp_gpu_keep(m, pp_gpu_copy(to, from, bytes), "copying values");
}

static pp_status fill(void *machine, const pp_cpu_matrix *matrix, bool sums, void *weights,
                      pp_err *err)
{
    pp_gpu_machine *m = machine;
    const size_t count = matrix->rows * matrix->columns;
    const size_t unit = sums ? m->model->sum_bytes : m->model->real_bytes;
    void *host = malloc(count * unit + 1);
    if (!host)
        return m->services->err_set(err, PP_NOMEM, NULL, "out of memory");
    for (size_t i = 0; i < count; i++) {
        const float w =
            (float)(matrix->scale * pp_cpu_uniform(m->model->seed, matrix->what, matrix->layer, i));
        if (unit == sizeof(pp_bf16))
            pp_store_bf16((pp_bf16 *)host + i, w);
        else
            pp_store_f32((float *)host + i, w);
    }
    cudaError_t code = pp_gpu_copy(weights, host, count * unit);
    free(host);
    return pp_gpu_check(m->services, m->rank, code, "copying weights", err);
}

static void product(void *machine, const pp_math_product *p)
{
    static const pp_gpu_product forms[] = { PP_GPU_AB, PP_GPU_ABT, PP_GPU_ATB };
    pp_gpu_machine *m = machine;
    const pp_gpu_gemm_call call = { .product = forms[p->form],
                                    .in = m->type,
                                    .out = p->form == PP_MATH_ATB ? PP_GPU_F32 : m->type,
                                    .m = p->m,
                                    .n = p->n,
                                    .k = p->k,
                                    .a = p->a,
                                    .b = p->b,
                                    .c = p->c,
                                    .a_step = p->form == PP_MATH_ATB ? p->m : p->k,
                                    .b_step = p->form == PP_MATH_ABT ? p->k : p->n,
                                    .c_step = p->n,
                                    .add = p->add };
    if (!m->status)
        m->status = pp_gpu_gemm(m->blas, &call, m->stream, &m->failure);
}

static pp_gpu_norm_call norm_call(const pp_math_norm *n)
{
    return (pp_gpu_norm_call){ .rows = n->rows,
                               .width = n->width,
                               .x = n->x,
                               .normed = n->normed,
                               .inverse = n->inverse,
                               .residual = n->residual,
                               .gradient = n->gradient };
}

static void norm_forward(void *machine, const pp_math_norm *norm)
{
    pp_gpu_machine *m = machine;
    const pp_gpu_norm_call call = norm_call(norm);
    launched(m, pp_gpu_norm_forward(m->stream, m->type, &call));
}

static void norm_backward(void *machine, const pp_math_norm *norm)
{
    pp_gpu_machine *m = machine;
    const pp_gpu_norm_call call = norm_call(norm);
    launched(m, pp_gpu_norm_backward(m->stream, m->type, &call));
}

static void gelu_forward(void *machine, int64_t count, const void *h, void *g)
{
    pp_gpu_machine *m = machine;
    const pp_gpu_gelu_call call = { .count = count, .x = h, .y = g };
    launched(m, pp_gpu_gelu_forward(m->stream, m->type, &call));
}

static void gelu_backward(void *machine, int64_t count, const void *d, void *h)
{
    pp_gpu_machine *m = machine;
    const pp_gpu_gelu_call call = { .count = count, .x = d, .y = h };
    launched(m, pp_gpu_gelu_backward(m->stream, m->type, &call));
}

static pp_gpu_attention_call attention_call(const pp_gpu_machine *m, const pp_cpu_batch *batch,
                                            const pp_math_attention *a)
{
    const pp_cpu_settings *s = &m->model->settings;
    const int64_t width = s->hidden / s->heads;
    const size_t keys = (size_t)(2 * batch->tokens * s->hidden) * m->model->real_bytes;
    return (pp_gpu_attention_call){ .tile = batch_of(m, batch)->tile,
                                    .tiles = batch_of(m, batch)->tiles,
                                    .rows = pp_gpu_tile_rows(width),
                                    .heads = (int32_t)s->heads,
                                    .width = (int32_t)width,
                                    .tokens = batch->tokens,
                                    .qkv = a->qkv,
                                    .out = a->out,
                                    .lse = a->lse,
                                    .d = a->d,
                                    .keys = a->scratch,
                                    .along = (void *)((char *)a->scratch + (keys + 63) / 64 * 64) };
}

static void attention_forward(void *machine, const pp_cpu_batch *batch,
                              const pp_math_attention *attention)
{
    pp_gpu_machine *m = machine;
    const pp_gpu_attention_call call = attention_call(m, batch, attention);
    launched(m, pp_gpu_attention_forward(m->stream, m->type, &call));
}

static void attention_backward(void *machine, const pp_cpu_batch *batch,
                               const pp_math_attention *attention)
{
    pp_gpu_machine *m = machine;
    const pp_gpu_attention_call call = attention_call(m, batch, attention);
    launched(m, pp_gpu_attention_along(m->stream, m->type, &call));
    launched(m, pp_gpu_attention_backward_keys(m->stream, m->type, &call));
    launched(m, pp_gpu_attention_backward_queries(m->stream, m->type, &call));
    launched(m, pp_gpu_attention_move_keys(m->stream, m->type, &call));
}

static pp_gpu_tokens_call tokens_call(const pp_gpu_machine *m, const pp_cpu_batch *batch)
{
    const pp_gpu_batch *own = batch_of(m, batch);
    return (pp_gpu_tokens_call){ .rows = batch->tokens,
                                 .width = m->model->settings.hidden,
                                 .sequence = own->sequence,
                                 .position = own->position,
                                 .seed = m->model->seed };
}

static void first_input(void *machine, const pp_cpu_batch *batch, const void *embedding, void *x)
{
    pp_gpu_machine *m = machine;
    pp_gpu_tokens_call call = tokens_call(m, batch);
    call.token = batch_of(m, batch)->token;
    call.what = PP_CPU_INPUT;
    call.embedding = embedding;
    call.x = x;
    launched(m, pp_gpu_first_input(m->stream, m->type, &call));
}

static void loss(void *machine, const pp_cpu_batch *batch, void *rows, void *loss_out)
{
    pp_gpu_machine *m = machine;
    const int64_t vocab = m->model->settings.vocab;
    const double share = 1 / m->model->counted_tokens;
    pp_gpu_tokens_call call = tokens_call(m, batch);
    call.token = batch_of(m, batch)->label;
    call.what = PP_CPU_TARGET;
    call.width = vocab ? vocab : call.width;
    call.x = rows;
    call.share = (float)share;
    call.losses = m->losses;
    launched(m, vocab ? pp_gpu_cross_entropy(m->stream, m->type, &call)
                      : pp_gpu_squared_error(m->stream, m->type, &call));
    const pp_gpu_total_call total = {
        .rows = batch->tokens, .losses = m->losses, .share = share, .sum = loss_out
    };
    launched(m, pp_gpu_total(m->stream, m->type, &total));
}

static void embedding_gradient(void *machine, const pp_cpu_batch *batch, const void *d,
                               void *gradient)
{
    pp_gpu_machine *m = machine;
    const pp_gpu_batch *own = batch_of(m, batch);
    const pp_gpu_embedding_call call = { .tokens = own->differents,
                                         .width = m->model->settings.hidden,
                                         .token = own->different,
                                         .first = own->first,
                                         .row = own->row,
                                         .d = d,
                                         .gradient = gradient };
    launched(m, pp_gpu_embedding_gradient(m->stream, m->type, &call));
}

static void copy(void *machine, void *to, const void *from, size_t bytes)
{
    pp_gpu_machine *m = machine;
    if (bytes)
        pp_gpu_keep(m, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, m->stream),
                    "copying a tensor");
}

static void zero(void *machine, void *at, size_t bytes)
{
    pp_gpu_machine *m = machine;
    if (bytes)
        pp_gpu_keep(m, cudaMemsetAsync(at, 0, bytes, m->stream), "clearing memory");
}

static void update(void *machine, size_t count, double rate, const void *gradients, void *masters,
                   void *weights)
{
    pp_gpu_machine *m = machine;
    const pp_gpu_update_call call = { .count = (int64_t)count,
                                      .rate = (float)rate,
                                      .gradient = gradients,
                                      .masters = masters,
                                      .weights = weights };
    launched(m, pp_gpu_update(m->stream, m->type, &call));
}

static void add(void *machine, size_t count, const void *other, void *sum)
{
    pp_gpu_machine *m = machine;
    pp_gpu_keep(m, cudaSetDevice(m->device), "choosing its GPU");
    if (m->other_count < count && !m->status) {
        (void)cudaFree(m->other);
        m->other = NULL;
        pp_gpu_keep(m, cudaMalloc((void **)&m->other, count * sizeof *m->other),
                    "memory for gradients");
        m->other_count = count;
    }
    if (!m->status)
        pp_gpu_keep(m, pp_gpu_copy(m->other, other, count * sizeof *m->other), "copying gradients");
    if (m->status)
        return;
    const pp_gpu_update_call call = { .count = (int64_t)count, .gradient = m->other, .sum = sum };
    launched(m, pp_gpu_add(m->stream, m->type, &call));
    /* the next call may overwrite the copy at once, and `sum` may be freed */
    pp_gpu_keep(m, cudaStreamSynchronize(m->stream), "adding gradients");
}

const pp_math pp_gpu_math = {
    .open = pp_gpu_machine_open,
    .close = pp_gpu_machine_close,
    .start = pp_gpu_machine_start,
    .finish = pp_gpu_machine_finish,
    .times = pp_gpu_machine_times,
    .gpu = gpu,
    .take = take,
    .give = give,
    .read = move,
    .write = move,
    .fill = fill,
    .product = product,
    .norm_forward = norm_forward,
    .norm_backward = norm_backward,
    .gelu_forward = gelu_forward,
    .gelu_backward = gelu_backward,
    .attention_forward = attention_forward,
    .attention_backward = attention_backward,
    .first_input = first_input,
    .loss = loss,
    .embedding_gradient = embedding_gradient,
    .copy = copy,
    .zero = zero,
    .update = update,
    .add = add,
};
