/* Least squares under constraints, from normal equations. GSL decomposes the matrix (Cholesky,
 * after scaling the diagonal to 1, so that the units of the unknowns do not matter). It offers
 * neither bounds nor isotonic regression, which are implemented here:
 * - Non-negative unknowns: the solution is the unconstrained one of some subset of the unknowns
 * with the others at 0 (Lawson and Hanson, Solving Least Squares Problems, 1974, chapter 23). All
 * 2^n subsets are solved, which cannot cycle as an active-set search could; n is at most 5.
 * - Non-decreasing values: pool adjacent violators (Barlow et al., Statistical Inference under
 * Order Restrictions, 1972), in O(n). */
#include "calib/fit/least_squares.h"

#include <assert.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <string.h>

#define SINGULAR 1e-12 /* a squared pivot below this share of its diagonal element is rounding */

bool pp_all_finite(size_t n, const double *x)
{
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(x[i]))
            return false;
    }
    return true;
}

typedef struct cholesky {
    double block[PP_SOLVE_MAX * PP_SOLVE_MAX], scales[PP_SOLVE_MAX];
    gsl_matrix_view factor;
    gsl_vector_view scale;
} cholesky;

static bool decompose(size_t n, const double *a, cholesky *c)
{
    assert(n > 0 && n <= PP_SOLVE_MAX);
    memcpy(c->block, a, n * n * sizeof *a);
    c->factor = gsl_matrix_view_array(c->block, n, n);
    c->scale = gsl_vector_view_array(c->scales, n);
    for (size_t i = 0; i < n; i++) {
        if (!(a[i * n + i] > 0 && a[i * n + i] < INFINITY))
            return false;
    }
    gsl_error_handler_t *old = gsl_set_error_handler_off(); /* it would abort if a is singular */
    const int code = gsl_linalg_cholesky_decomp2(&c->factor.matrix, &c->scale.vector);
    gsl_set_error_handler(old);
    for (size_t i = 0; i < n && !code; i++) {
        const double pivot = c->block[i * n + i];
        if (!(pivot * pivot > SINGULAR))
            return false;
    }
    return !code;
}

bool pp_solve(size_t n, const double *a, const double *b, double *x_out)
{
    cholesky c;
    if (!decompose(n, a, &c))
        return false;
    const gsl_vector_const_view right = gsl_vector_const_view_array(b, n);
    gsl_vector_view x = gsl_vector_view_array(x_out, n);
    gsl_linalg_cholesky_solve2(&c.factor.matrix, &c.scale.vector, &right.vector, &x.vector);
    return pp_all_finite(n, x_out);
}

bool pp_solve_inverse(size_t n, const double *a, double *inverse_out)
{
    cholesky c;
    if (!decompose(n, a, &c))
        return false;
    gsl_matrix_view inverse = gsl_matrix_view_array(inverse_out, n, n);
    gsl_matrix_set_identity(&inverse.matrix);
    for (size_t j = 0; j < n; j++) {
        gsl_vector_view column = gsl_matrix_column(&inverse.matrix, j);
        gsl_linalg_cholesky_svx2(&c.factor.matrix, &c.scale.vector, &column.vector);
    }
    return pp_all_finite(n * n, inverse_out);
}

/* Solves for the unknowns in `set`; the others are 0. Returns false if the system is singular or an
 * unknown becomes negative. */
static bool solve_set(size_t n, const double *a, const double *b, unsigned set, double *x)
{
    double part[PP_SOLVE_NONNEGATIVE_MAX * PP_SOLVE_NONNEGATIVE_MAX] = { 0 };
    double right[PP_SOLVE_NONNEGATIVE_MAX] = { 0 }, found[PP_SOLVE_NONNEGATIVE_MAX];
    size_t member[PP_SOLVE_NONNEGATIVE_MAX], size = 0;
    for (size_t i = 0; i < n; i++) {
        x[i] = 0;
        if (set & 1u << i)
            member[size++] = i;
    }
    for (size_t i = 0; i < size; i++) {
        right[i] = b[member[i]];
        for (size_t j = 0; j <= i; j++)
            part[i * size + j] = a[member[i] * n + member[j]];
    }
    if (!pp_solve(size, part, right, found))
        return false;
    for (size_t i = 0; i < size; i++) {
        if (found[i] < 0)
            return false;
        x[member[i]] = found[i];
    }
    return true;
}

bool pp_solve_nonnegative(size_t n, const double *a, const double *b, double *x_out)
{
    assert(n > 0 && n <= PP_SOLVE_NONNEGATIVE_MAX);
    const unsigned all = (1u << n) - 1;
    if (solve_set(n, a, b, all, x_out)) /* the problem is convex: no subset is better */
        return true;
    double x[PP_SOLVE_NONNEGATIVE_MAX], best = INFINITY;
    for (unsigned set = 1; set < all; set++) {
        if (!solve_set(n, a, b, set, x))
            continue;
        double value = 0; /* x'ax = b'x, as x solves its subset */
        for (size_t i = 0; i < n; i++)
            value -= b[i] * x[i];
        if (value < best) {
            best = value;
            memcpy(x_out, x, n * sizeof *x);
        }
    }
    return best < INFINITY;
}

void pp_solve_monotone(size_t n, const double *weights, double *values)
{
    size_t blocks = 0, size[PP_SOLVE_MAX];
    double mean[PP_SOLVE_MAX], weight[PP_SOLVE_MAX];
    assert(n <= PP_SOLVE_MAX);
    for (size_t i = 0; i < n; i++) {
        mean[blocks] = values[i];
        weight[blocks] = weights[i];
        size[blocks++] = 1;
        while (blocks > 1 && mean[blocks - 2] > mean[blocks - 1]) {
            const size_t to = blocks - 2, from = blocks - 1;
            const double sum = weight[to] + weight[from];
            mean[to] = (mean[to] * weight[to] + mean[from] * weight[from]) / sum;
            weight[to] = sum;
            size[to] += size[from];
            blocks--;
        }
    }
    size_t at = 0;
    for (size_t k = 0; k < blocks; k++) {
        for (size_t i = 0; i < size[k]; i++)
            values[at++] = mean[k];
    }
}
