/* The work of the first and the last stage in addition to their blocks: the embedding of the input,
 * the head and the loss, and the gradients of the weights of both. */
#include "runtime/cpu/end_stages.h"

static void *stash_at(const pp_cpu_call *c, size_t bytes)
{
    return (char *)c->tensors->stash + bytes;
}

void pp_cpu_first_input(const pp_cpu_call *c, void *x)
{
    const void *embedding = c->stage->embedding ? pp_cpu_weights_at(c, 0) : NULL;
    c->math->first_input(c->machine, c->batch, embedding, x);
}

void pp_cpu_loss_forward(const pp_cpu_call *c, void *x)
{
    const int64_t t = c->batch->tokens, h = c->model->settings.hidden, v = c->model->settings.vocab;
    if (!c->stage->head) {
        c->math->loss(c->machine, c->batch, x, c->loss);
        return;
    }
    void *normed = stash_at(c, c->layout->norm);
    void *logits = stash_at(c, c->layout->logits);
    const void *head = pp_cpu_weights_at(c, pp_cpu_matrix_count(c->stage) - 1);
    c->math->norm_forward(c->machine, &(pp_math_norm){ .rows = t,
                                                       .width = h,
                                                       .x = x,
                                                       .normed = normed,
                                                       .inverse = (char *)c->tensors->saved +
                                                                  c->layout->norm_inverse });
    c->math->product(c->machine,
                     &(pp_math_product){ PP_MATH_ABT, t, v, h, normed, head, logits, false });
    c->math->loss(c->machine, c->batch, logits, c->loss);
}

void pp_cpu_loss_backward(const pp_cpu_call *c, void *x)
{
    const int64_t t = c->batch->tokens, h = c->model->settings.hidden, v = c->model->settings.vocab;
    if (!c->stage->head)
        return;
    const void *d = stash_at(c, c->layout->logits);
    const void *head = pp_cpu_weights_at(c, pp_cpu_matrix_count(c->stage) - 1);
    void *scratch = c->tensors->scratch;
    c->math->product(c->machine,
                     &(pp_math_product){ PP_MATH_AB, t, h, v, d, head, scratch, false });
    c->math->norm_backward(
        c->machine, &(pp_math_norm){ .rows = t,
                                     .width = h,
                                     .x = scratch,
                                     .normed = stash_at(c, c->layout->norm),
                                     .inverse = (char *)c->tensors->saved + c->layout->norm_inverse,
                                     .gradient = x });
}

void pp_cpu_end_stage_weight(const pp_cpu_call *c)
{
    const int64_t h = c->model->settings.hidden, v = c->model->settings.vocab;
    if (c->stage->head)
        c->math->product(
            c->machine,
            &(pp_math_product){ PP_MATH_ATB, v, h, c->batch->tokens, stash_at(c, c->layout->logits),
                                stash_at(c, c->layout->norm),
                                pp_cpu_gradients_at(c, pp_cpu_matrix_count(c->stage) - 1), true });
    if (c->stage->embedding)
        c->math->embedding_gradient(c->machine, c->batch, stash_at(c, c->layout->bottom),
                                    pp_cpu_gradients_at(c, 0));
}
