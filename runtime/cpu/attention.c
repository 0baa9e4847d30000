/* Causal attention over one sequence, forward and backward, in tiles of queries whose scores are
 * never kept: backward recomputes them from the log of the softmax's denominator (Dao et al.
 * 2022, FlashAttention). Time is quadratic in the length of the sequence, memory is one tile. */
#include "runtime/cpu/attention.h"

#include "runtime/cpu/rows.h"

#include <string.h>
#include <tgmath.h>

/* Replaces the scores of one query by probabilities: the first `seen` keys are visible, the others
 * up to `columns` get 0. Returns the log of the denominator. */
static pp_real softmax(pp_real *scores, int64_t seen, int64_t columns, pp_real scale)
{
    pp_real most = scores[0];
    pp_real sum = 0;
    for (int64_t i = 1; i < seen; i++)
        most = scores[i] > most ? scores[i] : most;
    for (int64_t i = 0; i < seen; i++) {
        scores[i] = exp((scores[i] - most) * scale);
        sum += scores[i];
    }
    for (int64_t i = 0; i < seen; i++)
        scores[i] /= sum;
    for (int64_t i = seen; i < columns; i++)
        scores[i] = 0;
    return most * scale + log(sum);
}

void pp_cpu_attention_forward(const pp_cpu_sequence *s, pp_real *scores)
{
    const int64_t width = s->hidden / s->heads;
    const int64_t step = 3 * s->hidden;
    const pp_real scale = 1 / sqrt((pp_real)width);
    for (int64_t head = 0; head < s->heads; head++) {
        const pp_real *q = s->qkv + head * width;
        const pp_cpu_in k = { q + s->hidden, step };
        const pp_cpu_in v = { q + 2 * s->hidden, step };
        for (int64_t a = 0; a < s->length; a += s->tile) {
            const int64_t b = a + s->tile < s->length ? a + s->tile : s->length;
            pp_cpu_mul_bt(s->blas, b - a, b, width, (pp_cpu_in){ q + a * step, step }, k,
                          (pp_cpu_out){ scores, b, false });
            for (int64_t t = a; t < b; t++)
                s->lse[t * s->heads + head] = softmax(scores + (t - a) * b, t + 1, b, scale);
            pp_cpu_mul(s->blas, b - a, width, b, (pp_cpu_in){ scores, b }, v,
                       (pp_cpu_out){ s->out + a * s->hidden + head * width, s->hidden, false });
        }
    }
}

/* Computes the backward of one row. p: the scores, which become probabilities. slopes: d v^T, which
 * becomes the gradient of the scores. along: the dot product of d and out. */
static void unsoftmax(pp_real *p, pp_real *slopes, int64_t seen, int64_t columns, pp_real scale,
                      pp_real lse, pp_real along)
{
    for (int64_t i = 0; i < seen; i++) {
        p[i] = exp(p[i] * scale - lse);
        slopes[i] = p[i] * (slopes[i] - along) * scale;
    }
    for (int64_t i = seen; i < columns; i++) {
        p[i] = 0;
        slopes[i] = 0;
    }
}

/* Computes the backward of the queries from `a` to `b`, which see the keys up to `b`. */
static void tile_backward(const pp_cpu_sequence *s, int64_t head, int64_t a, int64_t b,
                          const pp_real *gradient, const pp_cpu_attention_scratch *scratch)
{
    const int64_t width = s->hidden / s->heads;
    const int64_t step = 3 * s->hidden;
    const pp_real scale = 1 / sqrt((pp_real)width);
    pp_real *queries = s->qkv + a * step + head * width;
    const pp_cpu_in q = { queries, step };
    const pp_cpu_in k = { s->qkv + s->hidden + head * width, step };
    const pp_cpu_in v = { s->qkv + 2 * s->hidden + head * width, step };
    const pp_cpu_in d = { gradient + a * s->hidden + head * width, s->hidden };
    const pp_cpu_in scores = { scratch->scores, b };
    const pp_cpu_in slopes = { scratch->slopes, b };
    pp_cpu_mul_bt(s->blas, b - a, b, width, q, k, (pp_cpu_out){ scratch->scores, b, false });
    pp_cpu_mul_bt(s->blas, b - a, b, width, d, v, (pp_cpu_out){ scratch->slopes, b, false });
    for (int64_t t = a; t < b; t++) {
        const int64_t at = t * s->hidden + head * width;
        unsoftmax(scratch->scores + (t - a) * b, scratch->slopes + (t - a) * b, t + 1, b, scale,
                  s->lse[t * s->heads + head], pp_cpu_dot(width, gradient + at, s->out + at));
    }
    pp_cpu_mul_at(s->blas, b, width, b - a, scores, d, (pp_cpu_out){ scratch->dv, width, true });
    pp_cpu_mul_at(s->blas, b, width, b - a, slopes, q, (pp_cpu_out){ scratch->dk, width, true });
    pp_cpu_mul(s->blas, b - a, width, b, slopes, k, (pp_cpu_out){ queries, step, false });
}

void pp_cpu_attention_backward(const pp_cpu_sequence *s, const pp_real *d,
                               const pp_cpu_attention_scratch *scratch)
{
    const int64_t width = s->hidden / s->heads;
    const int64_t step = 3 * s->hidden;
    const size_t bytes = (size_t)width * sizeof(pp_real);
    for (int64_t head = 0; head < s->heads; head++) {
        memset(scratch->dk, 0, (size_t)s->length * bytes);
        memset(scratch->dv, 0, (size_t)s->length * bytes);
        for (int64_t a = 0; a < s->length; a += s->tile)
            tile_backward(s, head, a, a + s->tile < s->length ? a + s->tile : s->length, d,
                          scratch);
        for (int64_t t = 0; t < s->length; t++) {
            pp_real *key = s->qkv + t * step + s->hidden + head * width;
            memcpy(key, scratch->dk + t * width, bytes);
            memcpy(key + s->hidden, scratch->dv + t * width, bytes);
        }
    }
}
