/* The ops of one stage of a residual transformer stack, as calls of pp_math: which products,
 * norms and attentions an F, an I, a W or a B consists of. docs/explanation/runtime-cpu.md has the
 * equations. A backward of two parts (I, then W) keeps output gradients in the stash between
 * them. */
#include "runtime/cpu/stack.h"

#include "runtime/cpu/end_stages.h"

/* One block of the stage: its sizes, weights, gradients and kept tensors. */
typedef struct block {
    const pp_cpu_call *call;
    int64_t tokens, hidden, mlp;
    const void *weight[4]; /* QKV, O, 1, 2 */
    void *gradient[4];
    void *slot[PP_CPU_SLOTS];
} block;

static void *at(void *base, size_t bytes)
{
    return (char *)base + bytes;
}

static block block_of(const pp_cpu_call *c, int64_t layer)
{
    const pp_cpu_settings *s = &c->model->settings;
    block b = { .call = c, .tokens = c->batch->tokens, .hidden = s->hidden, .mlp = s->mlp };
    for (size_t i = 0; i < 4; i++) {
        size_t index = (size_t)c->stage->embedding + 4 * (size_t)layer + i;
        b.weight[i] = pp_cpu_weights_at(c, index);
        b.gradient[i] =
            c->gradients ? pp_cpu_gradients_at(c, index) : NULL; /* NULL in an evaluation */
    }
    for (int i = 0; i < PP_CPU_SLOTS; i++) {
        bool stash = i < PP_CPU_STASH_SLOTS;
        size_t step = stash ? c->layout->stash_step : c->layout->saved_step;
        b.slot[i] = at(stash ? c->tensors->stash : c->tensors->saved,
                       (size_t)layer * step + c->layout->slot[i]);
    }
    return b;
}

/* y = x W, or y += x W: x is [tokens][in], W [in][out]. */
static void product(const block *of, int64_t in, int64_t out, const void *x, const void *w, void *y,
                    bool add)
{
    const pp_math_product p = { PP_MATH_AB, of->tokens, out, in, x, w, y, add };
    of->call->math->product(of->call->machine, &p);
}

/* dx = dy W^T */
static void product_input(const block *of, int64_t in, int64_t out, const void *dy, const void *w,
                          void *dx)
{
    const pp_math_product p = { PP_MATH_ABT, of->tokens, in, out, dy, w, dx, false };
    of->call->math->product(of->call->machine, &p);
}

/* dW += x^T dy */
static void product_weight(const block *of, int64_t in, int64_t out, const void *x, const void *dy,
                           void *dw)
{
    const pp_math_product p = { PP_MATH_ATB, in, out, of->tokens, x, dy, dw, true };
    of->call->math->product(of->call->machine, &p);
}

static void norm_forward(const block *of, const void *x, pp_cpu_slot normed, pp_cpu_slot inverse)
{
    of->call->math->norm_forward(of->call->machine,
                                 &(pp_math_norm){ .rows = of->tokens,
                                                  .width = of->hidden,
                                                  .x = x,
                                                  .normed = of->slot[normed],
                                                  .inverse = of->slot[inverse] });
}

/* gradient = residual + norm'(d) */
static void norm_backward(const block *of, const void *d, pp_cpu_slot normed, pp_cpu_slot inverse,
                          const void *residual, void *gradient)
{
    of->call->math->norm_backward(of->call->machine, &(pp_math_norm){ .rows = of->tokens,
                                                                      .width = of->hidden,
                                                                      .x = d,
                                                                      .normed = of->slot[normed],
                                                                      .inverse = of->slot[inverse],
                                                                      .residual = residual,
                                                                      .gradient = gradient });
}

/* Runs one block. x: the residual stream, input and output. */
static void block_forward(const block *b, void *x)
{
    const int64_t h = b->hidden, f = b->mlp;
    const pp_cpu_call *c = b->call;
    void *const *s = b->slot;
    norm_forward(b, x, PP_CPU_N1, PP_CPU_R1);
    product(b, h, 3 * h, s[PP_CPU_N1], b->weight[0], s[PP_CPU_QKV], false);
    c->math->attention_forward(c->machine, c->batch,
                               &(pp_math_attention){ .qkv = s[PP_CPU_QKV],
                                                     .out = s[PP_CPU_A],
                                                     .lse = s[PP_CPU_LSE],
                                                     .scratch = s[PP_CPU_DX1] });
    product(b, h, h, s[PP_CPU_A], b->weight[1], x, true);
    norm_forward(b, x, PP_CPU_N2, PP_CPU_R2);
    product(b, h, f, s[PP_CPU_N2], b->weight[2], s[PP_CPU_H], false);
    c->math->gelu_forward(c->machine, b->tokens * f, s[PP_CPU_H], s[PP_CPU_G]);
    product(b, f, h, s[PP_CPU_G], b->weight[3], x, true);
}

/* Runs the input backward of one block, from its DY to dx, the gradient of its input. dx: NULL if
 * it is not needed. */
static void block_backward(const block *b, void *dx)
{
    const int64_t h = b->hidden, f = b->mlp;
    const pp_cpu_call *c = b->call;
    void *const *s = b->slot;
    void *d = c->tensors->scratch;
    product_input(b, f, h, s[PP_CPU_DY], b->weight[3], d);
    c->math->gelu_backward(c->machine, b->tokens * f, d, s[PP_CPU_H]);
    product_input(b, h, f, s[PP_CPU_H], b->weight[2], d);
    norm_backward(b, d, PP_CPU_N2, PP_CPU_R2, s[PP_CPU_DY], s[PP_CPU_DX1]);
    product_input(b, h, h, s[PP_CPU_DX1], b->weight[1], d);
    c->math->attention_backward(c->machine, c->batch,
                                &(pp_math_attention){ .qkv = s[PP_CPU_QKV],
                                                      .out = s[PP_CPU_A],
                                                      .lse = s[PP_CPU_LSE],
                                                      .d = d,
                                                      .scratch = at(d, c->layout->attention) });
    if (dx) {
        product_input(b, h, 3 * h, s[PP_CPU_QKV], b->weight[0], d);
        norm_backward(b, d, PP_CPU_N1, PP_CPU_R1, s[PP_CPU_DX1], dx);
    }
}

static void block_weights(const block *b)
{
    const int64_t h = b->hidden, f = b->mlp;
    void *const *s = b->slot;
    product_weight(b, h, 3 * h, s[PP_CPU_N1], s[PP_CPU_QKV], b->gradient[0]);
    product_weight(b, h, h, s[PP_CPU_A], s[PP_CPU_DX1], b->gradient[1]);
    product_weight(b, h, f, s[PP_CPU_N2], s[PP_CPU_H], b->gradient[2]);
    product_weight(b, f, h, s[PP_CPU_G], s[PP_CPU_DY], b->gradient[3]);
}

/* Returns the address of the gradient of the stage's output, or NULL if nothing in this stage needs
 * it. On the last stage, the same memory first holds the residual stream. */
static void *top_of(const pp_cpu_call *c)
{
    if (c->stage->layers)
        return block_of(c, c->stage->layers - 1).slot[PP_CPU_DY];
    if (c->stage->embedding || c->stage->last)
        return at(c->tensors->stash, c->layout->bottom);
    return NULL;
}

/* Returns where F keeps the input of a block that is computed again. */
static void *input_of(const pp_cpu_call *c, int64_t layer)
{
    return at(c->tensors->stash, c->layout->inputs + (size_t)layer * c->layout->message);
}

static size_t used_bytes(const pp_cpu_call *c)
{
    return (size_t)(c->batch->tokens * c->model->settings.hidden) * c->model->real_bytes;
}

void pp_cpu_forward(const pp_cpu_call *c)
{
    const size_t used = used_bytes(c);
    void *x = c->stage->last ? top_of(c) : c->tensors->activation_out;
    if (c->stage->first)
        pp_cpu_first_input(c, x);
    else
        c->math->copy(c->machine, x, c->tensors->activation_in, used);
    for (int64_t i = 0; i < c->stage->layers; i++) {
        block b = block_of(c, i);
        if (pp_cpu_recomputes(c->model))
            c->math->copy(c->machine, input_of(c, i), x, used);
        block_forward(&b, x);
    }
    if (c->stage->last)
        pp_cpu_loss_forward(c, x);
    else
        c->math->zero(c->machine, at(x, used), c->layout->message - used);
}

/* Brings the gradient of the stage's output to where the last block, or what is without blocks,
 * expects it. */
static void begin_backward(const pp_cpu_call *c)
{
    const size_t used = used_bytes(c);
    void *top = top_of(c);
    void *out = c->tensors->gradient_out;
    if (c->stage->last)
        pp_cpu_loss_backward(c, top);
    else if (top)
        c->math->copy(c->machine, top, c->tensors->gradient_in, used);
    else if (out)
        c->math->copy(c->machine, out, c->tensors->gradient_in, used);
    if (!c->stage->layers && top && out)
        c->math->copy(c->machine, out, top, used);
}

/* Returns where the gradient of the stage's input goes, or NULL if it is not needed. */
static void *bottom_of(const pp_cpu_call *c)
{
    return c->stage->embedding ? at(c->tensors->stash, c->layout->bottom)
                               : c->tensors->gradient_out;
}

static void end_backward(const pp_cpu_call *c)
{
    const size_t used = used_bytes(c);
    void *out = c->tensors->gradient_out;
    if (out)
        c->math->zero(c->machine, at(out, used), c->layout->message - used);
}

void pp_cpu_backward_input(const pp_cpu_call *c)
{
    begin_backward(c);
    for (int64_t i = c->stage->layers; i-- > 0;) {
        block b = block_of(c, i);
        block_backward(&b, i > 0 ? block_of(c, i - 1).slot[PP_CPU_DY] : bottom_of(c));
    }
    end_backward(c);
}

/* All blocks share their tensors. The gradient of a block's input goes to the scratch, since its
 * own output gradient is needed until its weights have theirs. */
void pp_cpu_backward_again(const pp_cpu_call *c)
{
    const size_t used = used_bytes(c);
    void *x = at(c->tensors->scratch, c->layout->again);
    begin_backward(c);
    for (int64_t i = c->stage->layers; i-- > 0;) {
        block b = block_of(c, i);
        c->math->copy(c->machine, x, input_of(c, i), used);
        block_forward(&b, x);
        block_backward(&b, i > 0 ? x : bottom_of(c));
        block_weights(&b);
        if (i > 0)
            c->math->copy(c->machine, b.slot[PP_CPU_DY], x, used);
    }
    end_backward(c);
    pp_cpu_end_stage_weight(c);
}

void pp_cpu_backward_weight(const pp_cpu_call *c)
{
    for (int64_t i = 0; i < c->stage->layers; i++) {
        block b = block_of(c, i);
        block_weights(&b);
    }
    pp_cpu_end_stage_weight(c);
}
