/* Operations on tokens: pseudo-random inputs, squared error or cross-entropy with their gradients,
 * and the gradient of the embedding. Tokens are hashes of seed, sequence and position, so that no
 * data are stored or sent. */
#include "runtime/cpu/tokens.h"

#include <assert.h>
#include <string.h>
#include <tgmath.h>

/* The data of a microbatch, from which its labels or targets are made. */
typedef struct source {
    const pp_cpu_model *model;
    const pp_cpu_batch *batch;
} source;

static uint64_t token_of(const source *c, size_t sequence, int64_t position)
{
    return pp_cpu_token(c->model, c->batch->first_sequence + sequence, position);
}

static pp_real uniform_of(const source *c, pp_cpu_what what, size_t sequence, int64_t index)
{
    uint64_t id = c->batch->first_sequence + sequence;
    return (pp_real)pp_cpu_uniform(c->model->seed, what, id, (uint64_t)index);
}

void pp_cpu_token_input(const pp_cpu_model *model, const pp_cpu_batch *batch,
                        const pp_real *embedding, pp_real *x)
{
    const source c = { model, batch };
    const int64_t h = model->settings.hidden;
    for (size_t i = 0; i < batch->sequences; i++) {
        for (int64_t t = 0; t < batch->lengths[i]; t++, x += h) {
            if (embedding) {
                memcpy(x, embedding + (int64_t)token_of(&c, i, t) * h, (size_t)h * sizeof(pp_real));
                continue;
            }
            for (int64_t j = 0; j < h; j++)
                x[j] = uniform_of(&c, PP_CPU_INPUT, i, t * h + j);
        }
    }
}

/* Returns the loss of a token and replaces y by its gradient times `share`. */
static double squared_error(const source *c, size_t sequence, int64_t position, double share,
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

/* Does the same for the logits z, of which `label` is the right one. */
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

pp_real pp_cpu_token_loss(const pp_cpu_model *model, const pp_cpu_batch *batch, pp_real *rows)
{
    const source c = { model, batch };
    const int64_t vocab = model->settings.vocab;
    const int64_t width = vocab ? vocab : model->settings.hidden;
    const double share = 1 / model->counted_tokens;
    double sum = 0;
    for (size_t i = 0; i < batch->sequences; i++) {
        for (int64_t t = 0; t < batch->lengths[i]; t++, rows += width) {
            if (t >= batch->counted[i])
                memset(rows, 0, (size_t)width * sizeof(pp_real));
            else if (vocab)
                sum += cross_entropy(width, token_of(&c, i, t + 1), share, rows);
            else
                sum += squared_error(&c, i, t, share, rows);
        }
    }
    return (pp_real)(sum * share);
}

void pp_cpu_token_gradient(const pp_cpu_model *model, const pp_cpu_batch *batch, const pp_real *d,
                           pp_real *gradient)
{
    const source c = { model, batch };
    const int64_t h = model->settings.hidden;
    for (size_t i = 0; i < batch->sequences; i++) {
        for (int64_t t = 0; t < batch->lengths[i]; t++, d += h) {
            pp_real *row = gradient + (int64_t)token_of(&c, i, t) * h;
            for (int64_t j = 0; j < h; j++)
                row[j] += d[j];
        }
    }
}
