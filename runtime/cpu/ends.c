/* What the first and the last stage do beside their blocks. */
#include "runtime/cpu/matmul.h"
#include "runtime/cpu/rows.h"
#include "runtime/cpu/stack.h"

#include <assert.h>
#include <string.h>
#include <tgmath.h>

static uint64_t token_of(const pp_cpu_call *c, size_t sequence, int64_t position)
{
    uint64_t id = c->batch->first_sequence + sequence;
    return pp_cpu_hash(c->model->seed, PP_CPU_TOKEN, id, (uint64_t)position) %
           (uint64_t)c->model->settings.vocab;
}

static pp_real uniform_of(const pp_cpu_call *c, pp_cpu_what what, size_t sequence, int64_t index)
{
    uint64_t id = c->batch->first_sequence + sequence;
    return (pp_real)pp_cpu_uniform(c->model->seed, what, id, (uint64_t)index);
}

static const pp_real *weights_of(const pp_cpu_call *c, size_t index)
{
    return (const void *)((const char *)c->weights +
                          pp_cpu_matrix_at(c->model, c->stage, index).offset);
}

static pp_real *gradients_of(const pp_cpu_call *c, size_t index)
{
    return (void *)((char *)c->gradients + pp_cpu_matrix_at(c->model, c->stage, index).offset);
}

static void *stash_at(const pp_cpu_call *c, size_t bytes)
{
    return (char *)c->tensors->stash + bytes;
}

void pp_cpu_first_input(const pp_cpu_call *c, pp_real *x)
{
    const int64_t h = c->model->settings.hidden;
    const pp_real *embedding = c->stage->embedding ? weights_of(c, 0) : NULL;
    for (size_t i = 0; i < c->batch->sequences; i++) {
        for (int64_t t = 0; t < c->batch->lengths[i]; t++, x += h) {
            if (embedding) {
                memcpy(x, embedding + (int64_t)token_of(c, i, t) * h, (size_t)h * sizeof(pp_real));
                continue;
            }
            for (int64_t j = 0; j < h; j++)
                x[j] = uniform_of(c, PP_CPU_INPUT, i, t * h + j);
        }
    }
}

/* Returns the token's loss; y becomes share times its gradient. */
static double squared_error(const pp_cpu_call *c, size_t sequence, int64_t position, double share,
                            pp_real *y)
{
    const int64_t h = c->model->settings.hidden;
    double sum = 0;
    for (int64_t i = 0; i < h; i++) {
        pp_real off = y[i] - uniform_of(c, PP_CPU_TARGET, sequence, position * h + i);
        sum += (double)(off * off);
        y[i] = (pp_real)(2 * share / (double)h) * off;
    }
    return sum / (double)h;
}

/* The same for logits z, of which `label` is right. */
static double cross_entropy(int64_t vocab, uint64_t label, double share, pp_real *z)
{
    pp_real most = z[0];
    pp_real sum = 0;
    const pp_real right = z[label];
    assert(vocab > 0);
    for (int64_t i = 1; i < vocab; i++)
        most = z[i] > most ? z[i] : most;
    for (int64_t i = 0; i < vocab; i++) {
        z[i] = exp(z[i] - most);
        sum += z[i];
    }
    const pp_real scale = (pp_real)share / sum;
    for (int64_t i = 0; i < vocab; i++)
        z[i] *= scale;
    z[label] -= (pp_real)share;
    return (double)(log(sum) + (most - right));
}

/* rows: [tokens][width], the outputs or the logits. */
static void loss_of_rows(const pp_cpu_call *c, int64_t width, pp_real *rows)
{
    const double share = 1 / c->model->counted_tokens;
    double sum = 0;
    for (size_t i = 0; i < c->batch->sequences; i++) {
        for (int64_t t = 0; t < c->batch->lengths[i]; t++, rows += width) {
            if (t >= c->batch->counted[i])
                memset(rows, 0, (size_t)width * sizeof(pp_real));
            else if (c->stage->head)
                sum += cross_entropy(width, token_of(c, i, t + 1), share, rows);
            else
                sum += squared_error(c, i, t, share, rows);
        }
    }
    *(pp_real *)c->loss = (pp_real)(sum * share);
}

void pp_cpu_loss_forward(const pp_cpu_call *c, pp_real *x)
{
    const int64_t t = c->batch->tokens, h = c->model->settings.hidden, v = c->model->settings.vocab;
    if (!c->stage->head) {
        loss_of_rows(c, h, x);
        return;
    }
    pp_real *normed = stash_at(c, c->layout->norm);
    pp_real *logits = stash_at(c, c->layout->logits);
    const pp_real *head = weights_of(c, pp_cpu_matrix_count(c->stage) - 1);
    pp_cpu_norm_forward(t, h, x, normed,
                        (void *)((char *)c->tensors->saved + c->layout->norm_inverse));
    pp_cpu_mul_bt(c->blas, t, v, h, (pp_cpu_in){ normed, h }, (pp_cpu_in){ head, h },
                  (pp_cpu_out){ logits, v, false });
    loss_of_rows(c, v, logits);
}

void pp_cpu_loss_backward(const pp_cpu_call *c, pp_real *x)
{
    const int64_t t = c->batch->tokens, h = c->model->settings.hidden, v = c->model->settings.vocab;
    if (!c->stage->head)
        return;
    const pp_real *normed = stash_at(c, c->layout->norm);
    const pp_real *d = stash_at(c, c->layout->logits);
    const pp_real *head = weights_of(c, pp_cpu_matrix_count(c->stage) - 1);
    pp_real *scratch = c->tensors->scratch;
    pp_cpu_mul(c->blas, t, h, v, (pp_cpu_in){ d, v }, (pp_cpu_in){ head, h },
               (pp_cpu_out){ scratch, h, false });
    pp_cpu_norm_backward(t, h, scratch, normed,
                         (void *)((char *)c->tensors->saved + c->layout->norm_inverse), NULL, x);
}

void pp_cpu_ends_weight(const pp_cpu_call *c)
{
    const int64_t h = c->model->settings.hidden, v = c->model->settings.vocab;
    if (c->stage->head)
        pp_cpu_mul_at(c->blas, v, h, c->batch->tokens,
                      (pp_cpu_in){ stash_at(c, c->layout->logits), v },
                      (pp_cpu_in){ stash_at(c, c->layout->norm), h },
                      (pp_cpu_out){ gradients_of(c, pp_cpu_matrix_count(c->stage) - 1), h, true });
    if (!c->stage->embedding)
        return;
    const pp_real *d = stash_at(c, c->layout->bottom);
    pp_real *gradient = gradients_of(c, 0);
    for (size_t i = 0; i < c->batch->sequences; i++) {
        for (int64_t t = 0; t < c->batch->lengths[i]; t++, d += h) {
            pp_real *row = gradient + (int64_t)token_of(c, i, t) * h;
            for (int64_t j = 0; j < h; j++)
                row[j] += d[j];
        }
    }
}
