#include "calib/fit/solve.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SINGULAR 1e-12          /* share of a pivot that is rounding */
#define TUKEY PP_ROBUST_OUTLIER /* 95 % efficient where errors are normal */
#define SCALE_LEAST 1e-4        /* no clock is better */
#define ROUNDS_START 3          /* enough to compare structures */
#define ROUNDS_ABSOLUTE 3
#define ROUNDS_TUKEY 10
#define SETTLED 1e-5 /* relative; parameters are known to a hundredth */

/* Cholesky of a, scaled to a diagonal of 1. factor, scale: out. */
static bool factorize(size_t n, const double *a, double *factor, double *scale)
{
    for (size_t i = 0; i < n; i++) {
        if (!(a[i * n + i] > 0 && a[i * n + i] < INFINITY))
            return false;
        scale[i] = 1 / sqrt(a[i * n + i]);
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            double sum = a[i * n + j] * scale[i] * scale[j];
            for (size_t k = 0; k < j; k++)
                sum -= factor[i * n + k] * factor[j * n + k];
            if (i == j) {
                if (!(sum > SINGULAR))
                    return false;
                factor[i * n + i] = sqrt(sum);
            } else {
                factor[i * n + j] = sum / factor[j * n + j];
            }
        }
    }
    return true;
}

static void substitute(size_t n, const double *factor, const double *scale, const double *b,
                       double *x)
{
    for (size_t i = 0; i < n; i++) {
        double sum = b[i] * scale[i];
        for (size_t k = 0; k < i; k++)
            sum -= factor[i * n + k] * x[k];
        x[i] = sum / factor[i * n + i];
    }
    for (size_t i = n; i-- > 0;) {
        double sum = x[i];
        for (size_t k = i + 1; k < n; k++)
            sum -= factor[k * n + i] * x[k];
        x[i] = sum / factor[i * n + i];
    }
    for (size_t i = 0; i < n; i++)
        x[i] *= scale[i];
}

static bool all_finite(size_t n, const double *x)
{
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(x[i]))
            return false;
    }
    return true;
}

bool pp_solve(size_t n, const double *a, const double *b, double *x_out)
{
    double factor[PP_SOLVE_MAX * PP_SOLVE_MAX], scale[PP_SOLVE_MAX], x[PP_SOLVE_MAX];
    assert(n > 0 && n <= PP_SOLVE_MAX);
    if (!factorize(n, a, factor, scale))
        return false;
    substitute(n, factor, scale, b, x);
    if (!all_finite(n, x))
        return false;
    memcpy(x_out, x, n * sizeof *x);
    return true;
}

bool pp_solve_inverse(size_t n, const double *a, double *inverse_out)
{
    double factor[PP_SOLVE_MAX * PP_SOLVE_MAX], scale[PP_SOLVE_MAX];
    assert(n > 0 && n <= PP_SOLVE_MAX);
    if (!factorize(n, a, factor, scale))
        return false;
    for (size_t j = 0; j < n; j++) {
        double unit[PP_SOLVE_MAX] = { 0 }, column[PP_SOLVE_MAX];
        unit[j] = 1;
        substitute(n, factor, scale, unit, column);
        for (size_t i = 0; i < n; i++)
            inverse_out[i * n + j] = column[i];
    }
    return all_finite(n * n, inverse_out);
}

/* Solves for the unknowns in `set` only; x elsewhere 0. False: singular or some are negative. */
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
        for (size_t j = 0; j < size; j++)
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
    if (solve_set(n, a, b, all, x_out)) /* convex: nothing can be better */
        return true;
    double x[PP_SOLVE_NONNEGATIVE_MAX], best = INFINITY;
    for (unsigned set = 1; set < all; set++) {
        if (!solve_set(n, a, b, set, x))
            continue;
        double value = 0; /* x'ax = b'x where x solves its set */
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

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double pp_solve_median(double *values, size_t count)
{
    assert(count > 0);
    qsort(values, count, sizeof *values, compare_doubles);
    const double low = values[(count - 1) / 2], high = values[count / 2];
    return low + (high - low) / 2;
}

typedef struct normal_equations {
    double a[PP_SOLVE_MAX * PP_SOLVE_MAX], b[PP_SOLVE_MAX];
} normal_equations;

/* What row i predicts, kept positive so that its logarithm exists. */
static double predict(const pp_robust *p, size_t i, const double *theta, double *row)
{
    double sum = 0;
    p->row(p->context, i, theta, row);
    for (size_t k = 0; k < p->terms; k++)
        sum += row[k] * theta[k];
    return fmax(sum, p->seconds[i] * 1e-3);
}

static void add_row(normal_equations *n, size_t terms, const double *row, double weight,
                    double target)
{
    for (size_t k = 0; k < terms; k++) {
        if (row[k] == 0)
            continue;
        const double scaled = weight * row[k];
        n->b[k] += scaled * target;
        for (size_t l = 0; l <= k; l++)
            n->a[k * terms + l] += scaled * row[l];
    }
}

static void mirror(normal_equations *n, size_t terms)
{
    for (size_t k = 0; k < terms; k++) {
        for (size_t l = 0; l < k; l++)
            n->a[l * terms + k] = n->a[k * terms + l];
    }
}

static void clear(normal_equations *n, size_t terms)
{
    memset(n->a, 0, terms * terms * sizeof *n->a);
    memset(n->b, 0, terms * sizeof *n->b);
}

static double tukey_weight(double u)
{
    const double v = u / TUKEY, rest = 1 - v * v;
    return rest > 0 ? rest * rest : 0;
}

static double tukey_slope(double u)
{
    const double v = u / TUKEY, rest = 1 - v * v;
    return rest > 0 ? rest * (1 - 5 * v * v) : 0;
}

/* One step of Gauss and Newton for log errors, which are linearized at theta.
 * scale 0: absolute errors. */
static void linearize(const pp_robust *p, const double *theta, double scale, normal_equations *n)
{
    double row[PP_SOLVE_MAX];
    clear(n, p->terms);
    for (size_t i = 0; i < p->count; i++) {
        const double predicted = predict(p, i, theta, row);
        const double r = log(p->seconds[i] / predicted);
        double at = 0;
        for (size_t k = 0; k < p->terms; k++) {
            row[k] /= predicted;
            at += row[k] * theta[k];
        }
        const double weight = scale > 0 ? tukey_weight(r / scale) : 1 / fmax(fabs(r), 1e-3);
        add_row(n, p->terms, row, weight, r + at);
    }
    mirror(n, p->terms);
}

static void take_residuals(const pp_robust *p, const double *theta)
{
    double row[PP_SOLVE_MAX];
    for (size_t i = 0; i < p->count; i++)
        p->residual[i] = log(p->seconds[i] / predict(p, i, theta, row));
}

static bool solve_step(const pp_robust *p, const normal_equations *n, double *theta)
{
    return p->monotone ? pp_solve(p->terms, n->a, n->b, theta)
                       : pp_solve_nonnegative(p->terms, n->a, n->b, theta);
}

/* Relative errors, the first guess: an outlier that took too long weighs little in it. */
static bool start(const pp_robust *p, double *theta)
{
    normal_equations n;
    double row[PP_SOLVE_MAX], x[PP_SOLVE_MAX];
    clear(&n, p->terms);
    for (size_t i = 0; i < p->count; i++) {
        p->row(p->context, i, NULL, row);
        for (size_t k = 0; k < p->terms; k++)
            row[k] /= p->seconds[i];
        add_row(&n, p->terms, row, 1, 1);
    }
    mirror(&n, p->terms);
    return pp_solve(p->terms, n.a, n.b, x) && solve_step(p, &n, theta);
}

/* As many errors as there are unknowns can be made 0, and say nothing. */
static double scale_of(const pp_robust *p)
{
    for (size_t i = 0; i < p->count; i++)
        p->scratch[i] = fabs(p->residual[i]);
    qsort(p->scratch, p->count, sizeof *p->scratch, compare_doubles);
    const size_t skipped = p->terms < p->count ? p->terms : p->count - 1;
    const double median = pp_solve_median(p->scratch + skipped, p->count - skipped);
    return fmax(median / 0.6745, SCALE_LEAST);
}

static bool settled(size_t n, const double *a, const double *b)
{
    for (size_t i = 0; i < n; i++) {
        if (!(fabs(a[i] - b[i]) <= SETTLED * fabs(a[i])))
            return false;
    }
    return true;
}

static bool iterate(const pp_robust *p, double scale, int rounds, double *theta)
{
    normal_equations n;
    double before[PP_SOLVE_MAX];
    for (int round = 0; round < rounds; round++) {
        memcpy(before, theta, p->terms * sizeof *theta);
        linearize(p, theta, scale, &n);
        if (!solve_step(p, &n, theta))
            return false;
        if (settled(p->terms, theta, before))
            break;
    }
    return true;
}

/* Weighted as the fit weighs its knots. */
static void straighten(const pp_robust *p, double scale, double *theta)
{
    normal_equations n;
    double weights[PP_SOLVE_MAX] = { 0 };
    linearize(p, theta, scale, &n);
    for (size_t k = 0; k < p->terms; k++)
        weights[k] = fmax(n.a[k * p->terms + k], 1e-300);
    pp_solve_monotone(p->terms, weights, theta);
    take_residuals(p, theta);
}

bool pp_robust_start(const pp_robust *problem, double *theta_out)
{
    assert(problem->count > 0 && problem->terms > 0 && problem->terms <= PP_SOLVE_MAX);
    if (!start(problem, theta_out) || !iterate(problem, 0, ROUNDS_START, theta_out))
        return false;
    take_residuals(problem, theta_out);
    return all_finite(problem->terms, theta_out) && all_finite(problem->count, problem->residual);
}

bool pp_robust_finish(const pp_robust *problem, double *theta, double *scale_out)
{
    double refined[PP_SOLVE_MAX];
    if (!iterate(problem, 0, ROUNDS_ABSOLUTE, theta))
        return false;
    take_residuals(problem, theta);
    const double scale = scale_of(problem);
    memcpy(refined, theta, problem->terms * sizeof *theta);
    if (iterate(problem, scale, ROUNDS_TUKEY, refined)) /* else all repeats of a knot disagree */
        memcpy(theta, refined, problem->terms * sizeof *theta);
    take_residuals(problem, theta);
    *scale_out = fmax(scale, scale_of(problem)); /* each can be small by chance */
    if (problem->monotone)
        straighten(problem, scale, theta);
    return all_finite(problem->terms, theta) && all_finite(problem->count, problem->residual);
}

bool pp_robust_covariance(const pp_robust *p, const double *theta, double scale,
                          double *free_theta_out, double *covariance_out)
{
    normal_equations n;
    double row[PP_SOLVE_MAX], slopes = 0, slopes_squared = 0, squares = 0;
    take_residuals(p, theta);
    linearize(p, theta, scale, &n);
    if (!pp_solve(p->terms, n.a, n.b, free_theta_out))
        memcpy(free_theta_out, theta, p->terms * sizeof *theta);
    clear(&n, p->terms);
    for (size_t i = 0; i < p->count; i++) {
        const double predicted = predict(p, i, theta, row), u = p->residual[i] / scale;
        for (size_t k = 0; k < p->terms; k++)
            row[k] /= predicted;
        add_row(&n, p->terms, row, 1, 0);
        const double slope = tukey_slope(u), psi = u * tukey_weight(u);
        slopes += slope;
        slopes_squared += slope * slope;
        squares += psi * psi;
    }
    mirror(&n, p->terms);
    const double count = (double)p->count, unknowns = (double)p->terms;
    if (!(count > unknowns) || !pp_solve_inverse(p->terms, n.a, covariance_out))
        return false;
    const double slope = fmax(slopes / count, 0.1);
    const double spread = slopes_squared / count - slopes / count * (slopes / count);
    const double correction = 1 + unknowns / count * spread / (slope * slope);
    const double factor =
        correction * correction * scale * scale * squares / (count - unknowns) / (slope * slope);
    for (size_t k = 0; k < p->terms * p->terms; k++)
        covariance_out[k] *= factor;
    return true;
}
