/* Operations on rows: root mean square norm and GELU. */
#ifndef PPSIM_RUNTIME_CPU_ROWS_H
#define PPSIM_RUNTIME_CPU_ROWS_H

#include "runtime/cpu/real.h"

#include <stdint.h>

pp_real pp_cpu_dot(int64_t count, const pp_real *a, const pp_real *b);

/* normed = x r with r = 1 / sqrt(mean(x^2) + 1e-6) of each row. normed may be x. */
void pp_cpu_norm_forward(int64_t rows, int64_t width, const pp_real *x, pp_real *normed,
                         pp_real *inverse);
/* gradient_out = residual + r (d - normed mean(d normed)). residual: may be gradient_out; NULL:
 * zero. */
void pp_cpu_norm_backward(int64_t rows, int64_t width, const pp_real *d, const pp_real *normed,
                          const pp_real *inverse, const pp_real *residual, pp_real *gradient_out);

/* g = h / (1 + exp(-2 u)), u = sqrt(2 / pi) (h + 0.044715 h^3): Hendrycks 2016, tanh form. */
void pp_cpu_gelu_forward(int64_t count, const pp_real *h, pp_real *g);
/* Replaces h by d dg/dh. */
void pp_cpu_gelu_backward(int64_t count, const pp_real *d, pp_real *h);

#endif
