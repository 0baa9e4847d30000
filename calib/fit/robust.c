/* Robust regression on relative errors: iteratively reweighted least squares on the logarithms of
 * measured over predicted times. It begins with least relative squares, continues with least
 * absolute errors (which fewer than half of the samples cannot mislead), takes the scale from their
 * median, and ends with Tukey's bisquare (Huber, Robust Statistics, 1981, chapter 7), which gives
 * outliers no weight. Every round solves the normal equations of one Gauss-Newton step in O(count *
 * terms^2 + terms^3).
 *
 * gsl_multifit_robust was measured and is not used: it takes one matrix for all rounds and has no
 * bounds, whereas rows here depend on theta and theta has bounds. With rows relative to the
 * measured times, on traces/data/links, it made a coefficient negative in 22 of 1,176 fits, and the
 * forms chosen there missed sizes that were left out by 5.9 % on average, not 5.6 % (H100 with
 * NVSwitch: 2.4 %, not 1.3 %); its 95 % intervals held the truth in 90 to 97 % of cases, not 93 to
 * 97 % (made samples, docs/explanation/calibration.md). With rows linearized before each of up to
 * ten calls, over all subsets of coefficients, it missed left-out sizes by 5.5 %, but took 20 to 45
 * times as long, and its intervals were too wide: 99 % and more, since GSL's scale includes that of
 * ordinary least squares, on which outliers weigh in full. */
#include "calib/fit/robust.h"

#include "calib/fit/least_squares.h"
#include "calib/samples/order_statistics.h"

#include <assert.h>
#include <gsl/gsl_sort.h>
#include <math.h>
#include <string.h>

#define TUKEY PP_ROBUST_OUTLIER /* 95 % efficient if errors are normal */
#define SCALE_LEAST 1e-4        /* clocks are no more accurate than this */
#define ROUNDS_START 3          /* enough to compare structures */
#define ROUNDS_ABSOLUTE 3
#define ROUNDS_TUKEY 10
#define SETTLED 1e-5 /* relative change; parameters are known to a hundredth at best */

/* Only the lower triangle of `a` is filled. */
typedef struct normal_equations {
    double a[PP_SOLVE_MAX * PP_SOLVE_MAX], b[PP_SOLVE_MAX];
} normal_equations;

/* Writes row i and returns the time that it predicts, kept positive so that its logarithm exists.
 */
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

/* Sets up the normal equations of one Gauss-Newton step for log errors, which are linearized at
 * theta. The weights are those of Tukey's bisquare, or those of least absolute errors if scale is
 * 0. */
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

/* The first guess minimizes squared errors relative to the measured time, so that an outlier which
 * took too long has little weight. */
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
    return pp_solve(p->terms, n.a, n.b, x) && solve_step(p, &n, theta);
}

/* Returns the standard deviation of log errors, estimated by the median of their absolute values.
 * The smallest `terms` ones are left out, since a fit can make as many errors 0 as it has
 * unknowns. */
static double scale_of(const pp_robust *p)
{
    for (size_t i = 0; i < p->count; i++)
        p->scratch[i] = fabs(p->residual[i]);
    gsl_sort(p->scratch, 1, p->count);
    const size_t skipped = p->terms < p->count ? p->terms : p->count - 1;
    const double median = pp_median(p->scratch + skipped, p->count - skipped);
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

/* Makes the knots non-decreasing, each with the weight that it has in the fit, and none shorter
 * than every measured time: of scattered samples a knot could otherwise be negative. Cutting off
 * what is below a bound solves isotonic regression with that bound. */
static void straighten(const pp_robust *p, double scale, double *theta)
{
    normal_equations n;
    double weights[PP_SOLVE_MAX] = { 0 }, shortest = p->seconds[0];
    linearize(p, theta, scale, &n);
    for (size_t k = 0; k < p->terms; k++)
        weights[k] = fmax(n.a[k * p->terms + k], 1e-300);
    pp_solve_monotone(p->terms, weights, theta);
    for (size_t i = 1; i < p->count; i++)
        shortest = fmin(shortest, p->seconds[i]);
    for (size_t k = 0; k < p->terms; k++)
        theta[k] = fmax(theta[k], shortest);
    take_residuals(p, theta);
}

bool pp_robust_start(const pp_robust *problem, double *theta_out)
{
    assert(problem->count > 0 && problem->terms > 0 && problem->terms <= PP_SOLVE_MAX);
    if (!start(problem, theta_out) || !iterate(problem, 0, ROUNDS_START, theta_out))
        return false;
    take_residuals(problem, theta_out);
    return pp_all_finite(problem->terms, theta_out) &&
           pp_all_finite(problem->count, problem->residual);
}

bool pp_robust_finish(const pp_robust *problem, double *theta, double *scale_out)
{
    double refined[PP_SOLVE_MAX];
    if (!iterate(problem, 0, ROUNDS_ABSOLUTE, theta))
        return false;
    take_residuals(problem, theta);
    const double scale = scale_of(problem);
    memcpy(refined, theta, problem->terms * sizeof *theta);
    /* it fails if all samples at some knot are outliers; the absolute errors then decide */
    if (iterate(problem, scale, ROUNDS_TUKEY, refined))
        memcpy(theta, refined, problem->terms * sizeof *theta);
    take_residuals(problem, theta);
    *scale_out = fmax(scale, scale_of(problem)); /* either can be small by chance */
    if (problem->monotone)
        straighten(problem, scale, theta);
    return pp_all_finite(problem->terms, theta) && pp_all_finite(problem->count, problem->residual);
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
