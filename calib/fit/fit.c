#include "calib/fit/fit.h"

#include "sim/base/alloc.h"
#include "sim/cost/kernel.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <gsl/gsl_statistics_double.h>
#include <gsl/gsl_vector.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define PARAMETERS_MAX 6
#define ROUNDS 5       /* of reweighting */
#define ITERATIONS 200 /* of each */
#define CORE 0.02      /* errors below this count in full */

/* x: logarithms of the parameters, which keeps them positive. */
typedef struct problem {
    size_t parameters, count;
    double (*predict)(const struct problem *problem, const double *x, size_t sample);
    const void *samples, *curve;
    double peak_flops_per_s;
    int sm_count;
    const double *measured; /* [count], seconds */
} problem;

static int residuals(const gsl_vector *x, void *data, gsl_vector *f)
{
    const problem *p = data;
    double values[PARAMETERS_MAX];
    for (size_t k = 0; k < p->parameters; k++)
        values[k] = exp(gsl_vector_get(x, k));
    for (size_t i = 0; i < p->count; i++) {
        const double predicted = p->predict(p, values, i);
        if (!(predicted > 0 && isfinite(predicted)))
            return GSL_EDOM;
        gsl_vector_set(f, i, log(predicted / p->measured[i]));
    }
    return GSL_SUCCESS;
}

static void free_workspace(gsl_multifit_nlinear_workspace **workspace)
{
    if (*workspace)
        gsl_multifit_nlinear_free(*workspace);
}

static void free_vector(gsl_vector **vector)
{
    if (*vector)
        gsl_vector_free(*vector);
}

static pp_status gsl_failed(int code, pp_err *err)
{
    if (code == GSL_ENOMEM)
        return pp_err_nomem(err);
    return pp_err_set(err, PP_INPUT, "fit", "the fit failed: %s", gsl_strerror(code));
}

/* values: start, then result. GSL's error handler must be off. */
static pp_status solve(problem *p, double *values, pp_err *err)
{
    gsl_multifit_nlinear_parameters options = gsl_multifit_nlinear_default_parameters();
    gsl_multifit_nlinear_fdf system = {
        .f = residuals, .n = p->count, .p = p->parameters, .params = p
    };
    gsl_multifit_nlinear_workspace *workspace PP_CLEANUP(free_workspace) =
        gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &options, p->count, p->parameters);
    gsl_vector *x PP_CLEANUP(free_vector) = gsl_vector_alloc(p->parameters);
    gsl_vector *weights PP_CLEANUP(free_vector) = gsl_vector_alloc(p->count);
    if (!workspace || !x || !weights)
        return pp_err_nomem(err);
    for (size_t k = 0; k < p->parameters; k++)
        gsl_vector_set(x, k, log(values[k]));
    gsl_vector_set_all(weights, 1);
    for (int round = 0; round < ROUNDS; round++) {
        int info = 0;
        int code = gsl_multifit_nlinear_winit(x, weights, &system, workspace);
        if (!code)
            code = gsl_multifit_nlinear_driver(ITERATIONS, 1e-9, 1e-9, 0, NULL, NULL, &info,
                                               workspace);
        if (code && code != GSL_EMAXITER && code != GSL_ENOPROG)
            return gsl_failed(code, err);
        const gsl_vector *best = gsl_multifit_nlinear_position(workspace);
        const gsl_vector *f = gsl_multifit_nlinear_residual(workspace);
        for (size_t k = 0; k < p->parameters; k++)
            gsl_vector_set(x, k, gsl_vector_get(best, k));
        for (size_t i = 0; i < p->count; i++) { /* f holds sqrt(weight) * error */
            const double old = sqrt(gsl_vector_get(weights, i));
            const double error = fabs(gsl_vector_get(f, i)) / old;
            gsl_vector_set(weights, i, CORE / fmax(CORE, error));
        }
    }
    for (size_t k = 0; k < p->parameters; k++) {
        values[k] = exp(gsl_vector_get(x, k));
        if (!isfinite(values[k]))
            return pp_err_set(err, PP_INPUT, "fit", "the fit ran away: too few distinct samples");
    }
    return PP_OK;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double pp_fit_student(double freedom)
{
    gsl_error_handler_t *old = gsl_set_error_handler_off();
    const double quantile = gsl_cdf_tdist_Pinv(0.975, fmax(1, freedom));
    gsl_set_error_handler(old);
    return isfinite(quantile) ? quantile : 12.706; /* of one degree, the widest */
}

pp_fit_quality pp_fit_quality_of(double *errors, size_t count)
{
    pp_fit_quality q = { 0 };
    if (count == 0)
        return q;
    q.bias = gsl_stats_mean(errors, 1, count);
    for (size_t i = 0; i < count; i++)
        errors[i] = fabs(errors[i]);
    qsort(errors, count, sizeof *errors, compare_doubles);
    q.mean = gsl_stats_mean(errors, 1, count);
    q.median = gsl_stats_median_from_sorted_data(errors, 1, count);
    q.max = errors[count - 1];
    return q;
}

static void free_doubles(double **array)
{
    free(*array);
}

static pp_status fit(problem *p, double *values, pp_fit_quality *quality_out, pp_err *err)
{
    double *errors PP_CLEANUP(free_doubles) = pp_alloc_array(p->count, sizeof *errors);
    if (!errors)
        return pp_err_nomem(err);
    gsl_error_handler_t *old = gsl_set_error_handler_off();
    const pp_status status = solve(p, values, err);
    gsl_set_error_handler(old);
    if (status)
        return status;
    for (size_t i = 0; i < p->count; i++)
        errors[i] = p->predict(p, values, i) / p->measured[i] - 1;
    *quality_out = pp_fit_quality_of(errors, p->count);
    return PP_OK;
}

/* Every `good` must hold; seconds are copied into measured: [count]. */
static pp_status check_sample(bool good, size_t index, pp_err *err)
{
    char where[40];
    if (good)
        return PP_OK;
    snprintf(where, sizeof where, "sample %zu", index);
    return pp_err_set(err, PP_INPUT, where, "sizes and time must be positive and finite");
}

static pp_status check_count(size_t count, size_t parameters, pp_err *err)
{
    if (count > parameters)
        return PP_OK;
    return pp_err_set(err, PP_INPUT, "fit", "%zu samples cannot fix %zu parameters; measure more",
                      count, parameters);
}

static double start_of(double value, double fallback)
{
    return value > 0 ? value : fallback;
}

enum { GEMM_T0, GEMM_E1, GEMM_K0, GEMM_E2, GEMM_FD, GEMM_A, GEMM_COUNT };

static pp_gemm_curve gemm_curve(const double *x)
{
    return (pp_gemm_curve){ .t0_s = x[GEMM_T0],
                            .e1 = x[GEMM_E1],
                            .k0 = x[GEMM_K0],
                            .e2 = x[GEMM_E2],
                            .fd_flops = x[GEMM_FD],
                            .a = x[GEMM_A],
                            .scale = 1,
                            .weight_gradient = 1 };
}

static double predict_gemm(const problem *p, const double *x, size_t i)
{
    const pp_gemm_sample *s = (const pp_gemm_sample *)p->samples + i;
    const pp_gemm_curve curve = gemm_curve(x);
    return pp_gemm_curve_seconds(&curve, p->peak_flops_per_s, p->sm_count, s->m, s->n, s->k, 1);
}

pp_status pp_fit_gemm(const pp_gemm_sample *samples, size_t count, double peak_flops_per_s,
                      int sm_count, pp_gemm_curve *curve, pp_fit_quality *quality_out, pp_err *err)
{
    double *measured PP_CLEANUP(free_doubles) = pp_alloc_array(count, sizeof *measured);
    pp_status status = measured ? check_count(count, GEMM_COUNT, err) : pp_err_nomem(err);
    for (size_t i = 0; i < count && !status; i++) {
        const pp_gemm_sample *s = &samples[i];
        status = check_sample(s->m > 0 && s->n > 0 && s->k > 0 && s->seconds > 0 &&
                                  isfinite(s->m * s->n * s->k * s->seconds),
                              i, err);
        measured[i] = s->seconds;
    }
    if (status)
        return status;
    double x[GEMM_COUNT] = { start_of(curve->t0_s, 5e-6),     start_of(curve->e1, 0.8),
                             start_of(curve->k0, 100),        start_of(curve->e2, 0.7),
                             start_of(curve->fd_flops, 1e12), start_of(curve->a, 0.2) };
    problem p = { .parameters = GEMM_COUNT,
                  .count = count,
                  .predict = predict_gemm,
                  .samples = samples,
                  .peak_flops_per_s = peak_flops_per_s,
                  .sm_count = sm_count,
                  .measured = measured };
    status = fit(&p, x, quality_out, err);
    if (status)
        return status;
    pp_gemm_curve fitted = gemm_curve(x);
    fitted.weight_gradient = curve->weight_gradient;
    fitted.scale = curve->scale;
    *curve = fitted;
    return PP_OK;
}

static double predict_attention(const problem *p, const double *x, size_t i)
{
    const pp_attention_sample *s = (const pp_attention_sample *)p->samples + i;
    const pp_attention_curve *curve = p->curve;
    return s->flops / (x[0] * p->peak_flops_per_s) * (1 + x[1] / s->length) *
           (1 + curve->b0 / s->blocks);
}

pp_status pp_fit_attention(const pp_attention_sample *samples, size_t count,
                           double peak_flops_per_s, pp_attention_curve *curve,
                           pp_fit_quality *quality_out, pp_err *err)
{
    double *measured PP_CLEANUP(free_doubles) = pp_alloc_array(count, sizeof *measured);
    pp_status status = measured ? check_count(count, 2, err) : pp_err_nomem(err);
    for (size_t i = 0; i < count && !status; i++) {
        const pp_attention_sample *s = &samples[i];
        status = check_sample(s->flops > 0 && s->length > 0 && s->blocks > 0 && s->seconds > 0 &&
                                  isfinite(s->flops * s->seconds),
                              i, err);
        measured[i] = s->seconds;
    }
    if (status)
        return status;
    double x[2] = { start_of(curve->e, 0.6), start_of(curve->s0, 500) };
    problem p = { .parameters = 2,
                  .count = count,
                  .predict = predict_attention,
                  .samples = samples,
                  .curve = curve,
                  .peak_flops_per_s = peak_flops_per_s,
                  .measured = measured };
    status = fit(&p, x, quality_out, err);
    if (status)
        return status;
    curve->e = x[0];
    curve->s0 = x[1];
    return PP_OK;
}

static double predict_collective(const problem *p, const double *x, size_t i)
{
    const pp_collective_sample *s = (const pp_collective_sample *)p->samples + i;
    const pp_collective_curve *curve = p->curve;
    const double n = curve->ranks;
    const double share = (curve->kind == PP_ALL_REDUCE ? 2 : 1) * (n - 1) / n;
    return x[0] + s->bytes * share / x[1] * (1 + sqrt(x[2] / s->bytes));
}

pp_status pp_fit_collective(const pp_collective_sample *samples, size_t count,
                            pp_collective_curve *curve, pp_fit_quality *quality_out, pp_err *err)
{
    double *measured PP_CLEANUP(free_doubles) = pp_alloc_array(count, sizeof *measured);
    pp_status status = measured ? check_count(count, 3, err) : pp_err_nomem(err);
    for (size_t i = 0; i < count && !status; i++) {
        const pp_collective_sample *s = &samples[i];
        status =
            check_sample(s->bytes > 0 && s->seconds > 0 && isfinite(s->bytes * s->seconds), i, err);
        measured[i] = s->seconds;
    }
    if (status)
        return status;
    double x[3] = { start_of(curve->a_s, 1e-5), start_of(curve->bytes_per_s, 3e11),
                    start_of(curve->b0_bytes, 1e7) };
    problem p = { .parameters = 3,
                  .count = count,
                  .predict = predict_collective,
                  .samples = samples,
                  .curve = curve,
                  .measured = measured };
    status = fit(&p, x, quality_out, err);
    if (status)
        return status;
    curve->a_s = x[0];
    curve->bytes_per_s = x[1];
    curve->b0_bytes = x[2];
    return PP_OK;
}
