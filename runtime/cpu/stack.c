#include "runtime/cpu/stack.h"

#include "runtime/cpu/attention.h"
#include "runtime/cpu/rows.h"

#include <string.h>

/* One block of the stage: sizes, weights, what is kept. */
typedef struct block {
    const pp_cpu_blas *blas;
    int64_t tokens, hidden, mlp;
    const pp_real *weight[4]; /* QKV, O, 1, 2 */
    pp_real *gradient[4];
    pp_real *slot[PP_CPU_SLOTS];
} block;

static void *at(void *base, size_t bytes)
{
    return (char *)base + bytes;
}

static block block_of(const pp_cpu_call *c, int64_t layer)
{
    const pp_cpu_settings *s = &c->model->settings;
    block b = { .blas = c->blas, .tokens = c->batch->tokens, .hidden = s->hidden, .mlp = s->mlp };
    for (size_t i = 0; i < 4; i++) {
        size_t index = (size_t)c->stage->embedding + 4 * (size_t)layer + i;
        size_t offset = pp_cpu_matrix_at(c->model, c->stage, index).offset;
        b.weight[i] = (const void *)((const char *)c->weights + offset);
        b.gradient[i] = c->gradients ? at(c->gradients, offset) : NULL; /* evaluation */
    }
    for (int i = 0; i < PP_CPU_SLOTS; i++) {
        bool stash = i < PP_CPU_STASH_SLOTS;
        size_t step = stash ? c->layout->stash_step : c->layout->saved_step;
        b.slot[i] = at(stash ? c->tensors->stash : c->tensors->saved,
                       (size_t)layer * step + c->layout->slot[i]);
    }
    return b;
}

static pp_cpu_sequence sequence_of(const pp_cpu_call *c, const block *b, size_t index,
                                   int64_t begin)
{
    const int64_t heads = c->model->settings.heads;
    const int64_t length = c->batch->lengths[index];
    return (pp_cpu_sequence){ .blas = c->blas,
                              .length = length,
                              .heads = heads,
                              .hidden = b->hidden,
                              .tile = pp_cpu_tile(c->model, c->batch, length),
                              .qkv = b->slot[PP_CPU_QKV] + begin * 3 * b->hidden,
                              .out = b->slot[PP_CPU_A] + begin * b->hidden,
                              .lse = b->slot[PP_CPU_LSE] + begin * heads };
}

/* y = x W: x is [tokens][in], W [in][out]. */
static void product(const block *of, int64_t in, int64_t out, const pp_real *x, const pp_real *w,
                    pp_real *y, bool add)
{
    pp_cpu_mul(of->blas, of->tokens, out, in, (pp_cpu_in){ x, in }, (pp_cpu_in){ w, out },
               (pp_cpu_out){ y, out, add });
}

/* dx = dy W^T */
static void product_input(const block *of, int64_t in, int64_t out, const pp_real *dy,
                          const pp_real *w, pp_real *dx)
{
    pp_cpu_mul_bt(of->blas, of->tokens, in, out, (pp_cpu_in){ dy, out }, (pp_cpu_in){ w, out },
                  (pp_cpu_out){ dx, in, false });
}

/* dW += x^T dy */
static void product_weight(const block *of, int64_t in, int64_t out, const pp_real *x,
                           const pp_real *dy, pp_real *dw)
{
    pp_cpu_mul_at(of->blas, in, out, of->tokens, (pp_cpu_in){ x, in }, (pp_cpu_in){ dy, out },
                  (pp_cpu_out){ dw, out, true });
}

/* x: the residual stream, before and after. */
static void block_forward(const pp_cpu_call *c, const block *b, pp_real *x)
{
    const int64_t t = b->tokens, h = b->hidden, f = b->mlp;
    pp_real *const *s = b->slot;
    pp_cpu_norm_forward(t, h, x, s[PP_CPU_N1], s[PP_CPU_R1]);
    product(b, h, 3 * h, s[PP_CPU_N1], b->weight[0], s[PP_CPU_QKV], false);
    int64_t begin = 0;
    for (size_t i = 0; i < c->batch->sequences; begin += c->batch->lengths[i++]) {
        pp_cpu_sequence sequence = sequence_of(c, b, i, begin);
        pp_cpu_attention_forward(&sequence, s[PP_CPU_DX1]);
    }
    product(b, h, h, s[PP_CPU_A], b->weight[1], x, true);
    pp_cpu_norm_forward(t, h, x, s[PP_CPU_N2], s[PP_CPU_R2]);
    product(b, h, f, s[PP_CPU_N2], b->weight[2], s[PP_CPU_H], false);
    pp_cpu_gelu_forward(t * f, s[PP_CPU_H], s[PP_CPU_G]);
    product(b, f, h, s[PP_CPU_G], b->weight[3], x, true);
}

/* d: gradient of A. */
static void attention_gradients(const pp_cpu_call *c, const block *b, const pp_real *d)
{
    char *scratch = at(c->tensors->scratch, c->layout->attention);
    const size_t real = sizeof(pp_real);
    int64_t begin = 0;
    for (size_t i = 0; i < c->batch->sequences; begin += c->batch->lengths[i++]) {
        pp_cpu_sequence sequence = sequence_of(c, b, i, begin);
        /* every part begins at a multiple of 64 */
        size_t scores = ((size_t)(sequence.tile * sequence.length) * real + 63) / 64 * 64;
        size_t keys =
            ((size_t)(sequence.length * b->hidden / sequence.heads) * real + 63) / 64 * 64;
        const pp_cpu_attention_scratch parts = {
            .scores = at(scratch, 0),
            .slopes = at(scratch, scores),
            .dk = at(scratch, 2 * scores),
            .dv = at(scratch, 2 * scores + keys),
        };
        pp_cpu_attention_backward(&sequence, d + begin * b->hidden, &parts);
    }
}

/* From DY to dx, the gradient of the block's input; NULL: nobody wants it. */
static void block_backward(const pp_cpu_call *c, const block *b, pp_real *dx)
{
    const int64_t t = b->tokens, h = b->hidden, f = b->mlp;
    pp_real *const *s = b->slot;
    pp_real *d = c->tensors->scratch;
    product_input(b, f, h, s[PP_CPU_DY], b->weight[3], d);
    pp_cpu_gelu_backward(t * f, d, s[PP_CPU_H]);
    product_input(b, h, f, s[PP_CPU_H], b->weight[2], d);
    pp_cpu_norm_backward(t, h, d, s[PP_CPU_N2], s[PP_CPU_R2], s[PP_CPU_DY], s[PP_CPU_DX1]);
    product_input(b, h, h, s[PP_CPU_DX1], b->weight[1], d);
    attention_gradients(c, b, d);
    if (dx) {
        product_input(b, h, 3 * h, s[PP_CPU_QKV], b->weight[0], d);
        pp_cpu_norm_backward(t, h, d, s[PP_CPU_N1], s[PP_CPU_R1], s[PP_CPU_DX1], dx);
    }
}

static void block_weights(const block *b)
{
    const int64_t h = b->hidden, f = b->mlp;
    pp_real *const *s = b->slot;
    product_weight(b, h, 3 * h, s[PP_CPU_N1], s[PP_CPU_QKV], b->gradient[0]);
    product_weight(b, h, h, s[PP_CPU_A], s[PP_CPU_DX1], b->gradient[1]);
    product_weight(b, h, f, s[PP_CPU_N2], s[PP_CPU_H], b->gradient[2]);
    product_weight(b, f, h, s[PP_CPU_G], s[PP_CPU_DY], b->gradient[3]);
}

/* Where the gradient of the stage's output lies; NULL: nothing here needs it. On the last stage the
 * residual stream lies there before. */
static pp_real *top_of(const pp_cpu_call *c)
{
    if (c->stage->layers)
        return block_of(c, c->stage->layers - 1).slot[PP_CPU_DY];
    if (c->stage->embedding || c->stage->last)
        return at(c->tensors->stash, c->layout->bottom);
    return NULL;
}

static void forward(const pp_cpu_call *c)
{
    const size_t used = (size_t)(c->batch->tokens * c->model->settings.hidden) * sizeof(pp_real);
    pp_real *x = c->stage->last ? top_of(c) : c->tensors->activation_out;
    if (c->stage->first)
        pp_cpu_first_input(c, x);
    else
        memcpy(x, c->tensors->activation_in, used);
    for (int64_t i = 0; i < c->stage->layers; i++) {
        block b = block_of(c, i);
        block_forward(c, &b, x);
    }
    if (c->stage->last)
        pp_cpu_loss_forward(c, x);
    else
        memset((char *)x + used, 0, c->layout->message - used);
}

static void backward_input(const pp_cpu_call *c)
{
    const size_t used = (size_t)(c->batch->tokens * c->model->settings.hidden) * sizeof(pp_real);
    pp_real *top = top_of(c);
    pp_real *out = c->tensors->gradient_out;
    if (c->stage->last)
        pp_cpu_loss_backward(c, top);
    else if (top)
        memcpy(top, c->tensors->gradient_in, used);
    else if (out)
        memcpy(out, c->tensors->gradient_in, used);
    if (!c->stage->layers && top && out)
        memcpy(out, top, used);
    for (int64_t i = c->stage->layers; i-- > 0;) {
        block b = block_of(c, i);
        pp_real *dx = out;
        if (i > 0)
            dx = block_of(c, i - 1).slot[PP_CPU_DY];
        else if (c->stage->embedding)
            dx = at(c->tensors->stash, c->layout->bottom);
        block_backward(c, &b, dx);
    }
    if (out)
        memset((char *)out + used, 0, c->layout->message - used);
}

static void backward_weight(const pp_cpu_call *c)
{
    for (int64_t i = 0; i < c->stage->layers; i++) {
        block b = block_of(c, i);
        block_weights(&b);
    }
    pp_cpu_ends_weight(c);
}

static void fill(const pp_cpu_matrix *matrix, uint64_t seed, void *weights)
{
    pp_real *w = weights;
    for (size_t i = 0; i < matrix->rows * matrix->columns; i++)
        w[i] = (pp_real)(matrix->scale * pp_cpu_uniform(seed, matrix->what, matrix->layer, i));
}

static void update(size_t count, double rate, const void *gradients, void *weights)
{
    const pp_real *g = gradients;
    pp_real *w = weights;
    for (size_t i = 0; i < count; i++)
        w[i] -= (pp_real)rate * g[i];
}

static void add(size_t count, const void *first, const void *second, void *sum)
{
    const pp_real *a = first;
    const pp_real *b = second;
    pp_real *out = sum;
    for (size_t i = 0; i < count; i++)
        out[i] = a[i] + b[i];
}

const pp_cpu_math PP_CPU(math) = {
    .forward = forward,
    .backward_input = backward_input,
    .backward_weight = backward_weight,
    .fill = fill,
    .update = update,
    .add = add,
};
