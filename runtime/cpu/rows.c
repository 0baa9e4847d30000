/* Operations on rows: root mean square norm (Zhang and Sennrich 2019) and GELU in its tanh form
 * (Hendrycks and Gimpel 2016), forward and backward. */
#include "runtime/cpu/rows.h"

#include <stddef.h>
#include <tgmath.h>

/* Four partial sums, because a single one would wait for each addition. */
pp_real pp_cpu_dot(int64_t count, const pp_real *a, const pp_real *b)
{
    pp_real sum[4] = { 0, 0, 0, 0 };
    int64_t i = 0;
    for (; i + 4 <= count; i += 4) {
        for (int j = 0; j < 4; j++)
            sum[j] += a[i + j] * b[i + j];
    }
    for (; i < count; i++)
        sum[0] += a[i] * b[i];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

void pp_cpu_norm_forward(int64_t rows, int64_t width, const pp_real *x, pp_real *normed,
                         pp_real *inverse)
{
    for (int64_t t = 0; t < rows; t++, x += width, normed += width) {
        pp_real mean = pp_cpu_dot(width, x, x) / (pp_real)width;
        pp_real r = 1 / sqrt(mean + (pp_real)1e-6);
        for (int64_t i = 0; i < width; i++)
            normed[i] = x[i] * r;
        inverse[t] = r;
    }
}

void pp_cpu_norm_backward(int64_t rows, int64_t width, const pp_real *d, const pp_real *normed,
                          const pp_real *inverse, const pp_real *residual, pp_real *gradient_out)
{
    for (int64_t t = 0; t < rows; t++) {
        const int64_t at = t * width;
        pp_real mean = pp_cpu_dot(width, d + at, normed + at) / (pp_real)width;
        for (int64_t i = at; i < at + width; i++) {
            pp_real gradient = inverse[t] * (d[i] - normed[i] * mean);
            gradient_out[i] = residual ? residual[i] + gradient : gradient;
        }
    }
}

static const pp_real slope = (pp_real)0.79788456080286535588; /* sqrt(2 / pi) */
static const pp_real cubic = (pp_real)0.044715;

void pp_cpu_gelu_forward(int64_t count, const pp_real *h, pp_real *g)
{
    for (int64_t i = 0; i < count; i++) {
        pp_real x = h[i];
        pp_real u = slope * (x + cubic * x * x * x);
        g[i] = x / (1 + exp(-2 * u));
    }
}

void pp_cpu_gelu_backward(int64_t count, const pp_real *d, pp_real *h)
{
    for (int64_t i = 0; i < count; i++) {
        pp_real x = h[i];
        pp_real u = slope * (x + cubic * x * x * x);
        pp_real share = 1 / (1 + exp(-2 * u));
        pp_real du = slope * (1 + 3 * cubic * x * x);
        h[i] = d[i] * (share + x * share * (1 - share) * 2 * du);
    }
}
