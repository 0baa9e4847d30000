/* The table pp_math on this processor: one thread per machine, products by OpenBLAS, the rest in
 * plain loops. The file is compiled twice, for double and for float. */
#include "runtime/cpu/math.h"

#include "runtime/cpu/attention.h"
#include "runtime/cpu/rows.h"
#include "runtime/cpu/tokens.h"
#include "sim/base/alloc.h"

#include <stdlib.h>
#include <string.h>

typedef struct machine {
    pp_cpu_blas blas;
    const pp_cpu_model *model;
} machine;

static pp_status open_machine(const struct pp_module_services *services, const pp_cpu_model *model,
                              uint32_t rank, void **machine_out, pp_err *err)
{
    (void)services, (void)rank;
    machine *m = pp_alloc_array(1, sizeof *m);
    if (!m)
        return pp_err_nomem(err);
    m->model = model;
    pp_status status = pp_cpu_blas_open(&m->blas, err);
    if (status)
        free(m);
    else
        *machine_out = m;
    return status;
}

static void close_machine(void *opened)
{
    free(opened);
}

static void start(void *opened)
{
    (void)opened;
}

static pp_status finish(void *opened, pp_err *err)
{
    (void)opened, (void)err;
    return PP_OK;
}

static pp_status take(void *opened, size_t bytes, void **at_out, pp_err *err)
{
    (void)opened;
    void *at = aligned_alloc(64, bytes ? (bytes + 63) / 64 * 64 : 64);
    if (!at)
        return pp_err_nomem(err);
    memset(at, 0, bytes);
    *at_out = at;
    return PP_OK;
}

static void give(void *opened, void *at)
{
    (void)opened;
    free(at);
}

static void copy(void *opened, void *to, const void *from, size_t bytes)
{
    (void)opened;
    memcpy(to, from, bytes);
}

static void zero(void *opened, void *at, size_t bytes)
{
    (void)opened;
    memset(at, 0, bytes);
}

static pp_status fill(void *opened, const pp_cpu_matrix *matrix, bool sums, void *weights,
                      pp_err *err)
{
    (void)sums, (void)err;
    const machine *m = opened;
    pp_real *w = weights;
    for (size_t i = 0; i < matrix->rows * matrix->columns; i++)
        w[i] = (pp_real)(matrix->scale *
                         pp_cpu_uniform(m->model->seed, matrix->what, matrix->layer, i));
    return PP_OK;
}

static void product(void *opened, const pp_math_product *p)
{
    const machine *m = opened;
    const pp_cpu_out c = { p->c, p->n, p->add };
    const pp_cpu_in a = { p->a, p->form == PP_MATH_ATB ? p->m : p->k };
    const pp_cpu_in b = { p->b, p->form == PP_MATH_ABT ? p->k : p->n };
    if (p->form == PP_MATH_AB)
        pp_cpu_mul(&m->blas, p->m, p->n, p->k, a, b, c);
    else if (p->form == PP_MATH_ABT)
        pp_cpu_mul_bt(&m->blas, p->m, p->n, p->k, a, b, c);
    else
        pp_cpu_mul_at(&m->blas, p->m, p->n, p->k, a, b, c);
}

static void norm_forward(void *opened, const pp_math_norm *n)
{
    (void)opened;
    pp_cpu_norm_forward(n->rows, n->width, n->x, n->normed, n->inverse);
}

static void norm_backward(void *opened, const pp_math_norm *n)
{
    (void)opened;
    pp_cpu_norm_backward(n->rows, n->width, n->x, n->normed, n->inverse, n->residual, n->gradient);
}

static void gelu_forward(void *opened, int64_t count, const void *h, void *g)
{
    (void)opened;
    pp_cpu_gelu_forward(count, h, g);
}

static void gelu_backward(void *opened, int64_t count, const void *d, void *h)
{
    (void)opened;
    pp_cpu_gelu_backward(count, d, h);
}

static pp_cpu_sequence sequence_of(const machine *m, const pp_cpu_batch *batch,
                                   const pp_math_attention *of, size_t index, int64_t begin)
{
    const int64_t heads = m->model->settings.heads;
    const int64_t hidden = m->model->settings.hidden;
    const int64_t length = batch->lengths[index];
    return (pp_cpu_sequence){ .blas = &m->blas,
                              .length = length,
                              .heads = heads,
                              .hidden = hidden,
                              .tile = pp_cpu_tile(m->model, batch, length),
                              .qkv = (pp_real *)of->qkv + begin * 3 * hidden,
                              .out = (pp_real *)of->out + begin * hidden,
                              .lse = (pp_real *)of->lse + begin * heads };
}

static void attention_forward(void *opened, const pp_cpu_batch *batch, const pp_math_attention *of)
{
    int64_t begin = 0;
    for (size_t i = 0; i < batch->sequences; begin += batch->lengths[i++]) {
        pp_cpu_sequence sequence = sequence_of(opened, batch, of, i, begin);
        pp_cpu_attention_forward(&sequence, of->scratch);
    }
}

static void attention_backward(void *opened, const pp_cpu_batch *batch, const pp_math_attention *of)
{
    char *scratch = of->scratch;
    const size_t real = sizeof(pp_real);
    int64_t begin = 0;
    for (size_t i = 0; i < batch->sequences; begin += batch->lengths[i++]) {
        pp_cpu_sequence sequence = sequence_of(opened, batch, of, i, begin);
        /* every part begins at a multiple of 64 bytes */
        size_t scores = ((size_t)(sequence.tile * sequence.length) * real + 63) / 64 * 64;
        size_t keys =
            ((size_t)(sequence.length * sequence.hidden / sequence.heads) * real + 63) / 64 * 64;
        const pp_cpu_attention_scratch parts = {
            .scores = (void *)scratch,
            .slopes = (void *)(scratch + scores),
            .dk = (void *)(scratch + 2 * scores),
            .dv = (void *)(scratch + 2 * scores + keys),
        };
        pp_cpu_attention_backward(&sequence, (const pp_real *)of->d + begin * sequence.hidden,
                                  &parts);
    }
}

static void first_input(void *opened, const pp_cpu_batch *batch, const void *embedding, void *x)
{
    pp_cpu_token_input(((const machine *)opened)->model, batch, embedding, x);
}

static void loss(void *opened, const pp_cpu_batch *batch, void *rows, void *loss_out)
{
    *(pp_real *)loss_out = pp_cpu_token_loss(((const machine *)opened)->model, batch, rows);
}

static void embedding_gradient(void *opened, const pp_cpu_batch *batch, const void *d,
                               void *gradient)
{
    pp_cpu_token_gradient(((const machine *)opened)->model, batch, d, gradient);
}

static void update(void *opened, size_t count, double rate, const void *gradients, void *masters,
                   void *weights)
{
    (void)opened, (void)masters;
    const pp_real *g = gradients;
    pp_real *w = weights;
    for (size_t i = 0; i < count; i++)
        w[i] -= (pp_real)rate * g[i];
}

/* The order of the two operands does not matter: floating-point addition is commutative. */
static void add(void *opened, size_t count, const void *other, void *sum)
{
    (void)opened;
    const pp_real *from = other;
    pp_real *to = sum;
    for (size_t i = 0; i < count; i++)
        to[i] += from[i];
}

const pp_math PP_CPU(math) = {
    .open = open_machine,
    .close = close_machine,
    .start = start,
    .finish = finish,
    .take = take,
    .give = give,
    .read = copy,
    .write = copy,
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
