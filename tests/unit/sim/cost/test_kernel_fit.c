/* The curves of sim/cost/kernel.h can follow published kernels: fitted to them by non-linear least
 * squares of GSL, on the logarithms of times, they come as close as docs/explanation/cost-model.md
 * says. */
#include "sim/cost/kernel.h"
#include "tests/support/kernel_samples.h"

#include <gsl/gsl_multifit_nlinear.h>

enum {
    PARAMETERS_MAX = 6,
    ROUNDS = 5,       /* of reweighting */
    ITERATIONS = 200, /* of each round */
};
#define CORE 0.02 /* smaller errors have full weight */

/* The logarithms of the parameters are fitted, which keeps the parameters positive. */
typedef struct curve_fit {
    size_t parameters, count;
    double (*predict)(const struct curve_fit *fit, const double *values, size_t sample);
    const double *measured; /* [count], seconds */
    const void *samples;
    double peak_flops_per_s;
    int sm_count;
    pp_collective_curve collective;
} curve_fit;

static int residuals(const gsl_vector *x, void *data, gsl_vector *f)
{
    const curve_fit *fit = data;
    double values[PARAMETERS_MAX];
    for (size_t k = 0; k < fit->parameters; k++)
        values[k] = exp(gsl_vector_get(x, k));
    for (size_t i = 0; i < fit->count; i++)
        gsl_vector_set(f, i, log(fit->predict(fit, values, i) / fit->measured[i]));
    return GSL_SUCCESS;
}

/* values: the start, then the result. Large errors lose weight from round to round. */
static error_summary solve(curve_fit *fit, double *values)
{
    gsl_multifit_nlinear_parameters options = gsl_multifit_nlinear_default_parameters();
    gsl_multifit_nlinear_fdf system = {
        .f = residuals, .n = fit->count, .p = fit->parameters, .params = fit
    };
    gsl_multifit_nlinear_workspace *workspace = gsl_multifit_nlinear_alloc(
        gsl_multifit_nlinear_trust, &options, fit->count, fit->parameters);
    gsl_vector *x = gsl_vector_alloc(fit->parameters), *weights = gsl_vector_alloc(fit->count);
    gsl_set_error_handler_off(); /* missing progress is not a failure */
    for (size_t k = 0; k < fit->parameters; k++)
        gsl_vector_set(x, k, log(values[k]));
    gsl_vector_set_all(weights, 1);
    for (int round = 0; round < ROUNDS; round++) {
        int info = 0;
        gsl_multifit_nlinear_winit(x, weights, &system, workspace);
        gsl_multifit_nlinear_driver(ITERATIONS, 1e-9, 1e-9, 0, NULL, NULL, &info, workspace);
        gsl_vector_memcpy(x, gsl_multifit_nlinear_position(workspace));
        const gsl_vector *f = gsl_multifit_nlinear_residual(workspace); /* sqrt(weight) * error */
        for (size_t i = 0; i < fit->count; i++) {
            const double error = fabs(gsl_vector_get(f, i)) / sqrt(gsl_vector_get(weights, i));
            gsl_vector_set(weights, i, CORE / fmax(CORE, error));
        }
    }
    double *errors = calloc(fit->count, sizeof *errors);
    for (size_t k = 0; k < fit->parameters; k++)
        values[k] = exp(gsl_vector_get(x, k));
    for (size_t i = 0; i < fit->count; i++)
        errors[i] = fit->predict(fit, values, i) / fit->measured[i] - 1;
    const error_summary quality = summarize(errors, fit->count);
    free(errors);
    gsl_vector_free(weights);
    gsl_vector_free(x);
    gsl_multifit_nlinear_free(workspace);
    return quality;
}

enum { GEMM_T0, GEMM_E1, GEMM_K0, GEMM_E2, GEMM_FD, GEMM_A, GEMM_COUNT };

static double predict_gemm(const curve_fit *fit, const double *x, size_t i)
{
    const gemm_sample *s = (const gemm_sample *)fit->samples + i;
    const pp_gemm_curve curve = { .t0_s = x[GEMM_T0],
                                  .e1 = x[GEMM_E1],
                                  .k0 = x[GEMM_K0],
                                  .e2 = x[GEMM_E2],
                                  .fd_flops = x[GEMM_FD],
                                  .a = x[GEMM_A],
                                  .scale = 1,
                                  .weight_gradient = 1 };
    return pp_gemm_curve_seconds(&curve, fit->peak_flops_per_s, fit->sm_count, s->m, s->n, s->k, 1);
}

/* x: [GEMM_COUNT], the fitted parameters. */
static error_summary fit_gemm(const gemm_sample *list, size_t count, double peak_flops_per_s,
                              int sm_count, double *x)
{
    static const double start[GEMM_COUNT] = { 5e-6, 0.8, 100, 0.7, 1e12, 0.2 };
    double *measured = calloc(count, sizeof *measured);
    for (size_t i = 0; i < count; i++)
        measured[i] = list[i].seconds;
    curve_fit fit = { .parameters = GEMM_COUNT,
                      .count = count,
                      .predict = predict_gemm,
                      .measured = measured,
                      .samples = list,
                      .peak_flops_per_s = peak_flops_per_s,
                      .sm_count = sm_count };
    memcpy(x, start, sizeof start);
    const error_summary quality = solve(&fit, x);
    free(measured);
    return quality;
}

static const struct {
    const char *gpu;
    double peak_flops_per_s;
    int sm_count;
} gpus[] = { { "A100", 312e12, 108 },  { "H100", 989e12, 132 },  { "H200", 989e12, 132 },
             { "B200", 2250e12, 148 }, { "B300", 2250e12, 148 }, { "GB200", 2500e12, 152 },
             { "GB300", 2500e12, 152 } };

/* The form reaches 4 % mean on published GEMMs of each GPU. */
START_TEST(gemm_form_fits_published_kernels)
{
    const char *const words[] = { "gemm", gpus[_i].gpu };
    samples s = samples_read();
    gemm_sample *list = calloc(s.count, sizeof *list);
    double x[GEMM_COUNT];
    size_t count = 0;
    for (size_t i = 0; i < s.count; i++) {
        if (sample_is(s.rows[i], 2, words))
            list[count++] = sample_gemm(s.rows[i]);
    }
    ck_assert_uint_ge(count, 200);
    const error_summary q = fit_gemm(list, count, gpus[_i].peak_flops_per_s, gpus[_i].sm_count, x);
    printf("%s: t0 %.2f us e1 %.3f k0 %.0f e2 %.3f Fd %.2g a %.2f: bias %+.1f %% mean %.1f %% "
           "median %.1f %% max %.0f %%\n",
           gpus[_i].gpu, 1e6 * x[GEMM_T0], x[GEMM_E1], x[GEMM_K0], x[GEMM_E2], x[GEMM_FD],
           x[GEMM_A], 100 * q.bias, 100 * q.mean, 100 * q.median, 100 * q.max);
    ck_assert_double_lt(q.mean, 0.045);
    ck_assert_double_lt(q.median, 0.035);
    free(list);
    samples_free(&s);
}
END_TEST

/* Fits to samples made from a curve give back the curve: its parameters can be distinguished. */
START_TEST(gemm_parameters_come_back)
{
    const double truth[GEMM_COUNT] = { 4e-6, 0.85, 100, 0.7, 5e11, 0.3 };
    const curve_fit made = { .peak_flops_per_s = 3e14, .sm_count = 108 };
    gemm_sample list[200];
    double x[GEMM_COUNT];
    for (int i = 0; i < 200; i++) {
        curve_fit one = made;
        list[i] = (gemm_sample){ .m = 512 * (1 + i % 13),
                                 .n = 384 * (1 + i % 11),
                                 .k = 256 * (1 + i % 17) };
        one.samples = &list[i];
        list[i].seconds = predict_gemm(&one, truth, 0);
    }
    const error_summary q = fit_gemm(list, 200, 3e14, 108, x);
    ck_assert_double_lt(q.max, 1e-3);
    ck_assert_double_eq_tol(x[GEMM_K0], 100, 2);
    ck_assert_double_eq_tol(x[GEMM_A], 0.3, 0.01);
}
END_TEST

typedef struct collective_sample {
    double bytes, seconds;
} collective_sample;

static double predict_collective(const curve_fit *fit, const double *x, size_t i)
{
    const collective_sample *s = (const collective_sample *)fit->samples + i;
    const double n = fit->collective.ranks;
    const double share = (fit->collective.kind == PP_ALL_REDUCE ? 2 : 1) * (n - 1) / n;
    return x[0] + s->bytes * share / x[1] * (1 + sqrt(x[2] / s->bytes));
}

/* All-reduce, all-gather and reduce-scatter of the published tables: 12 % mean at worst (B200 has a
 * protocol step), 5 % typical. */
START_TEST(collective_form_fits_published_tables)
{
    static const char *const kinds[] = { "all_reduce", "all_gather", "reduce_scatter" };
    static const char *const sizes[] = { "2", "4", "8" };
    samples s = samples_read();
    double sum = 0;
    int curves = 0;
    for (size_t g = 0; g < sizeof gpus / sizeof gpus[0]; g++) {
        for (int c = 0; c < 9; c++) {
            const char *const words[] = { "collective", gpus[g].gpu, kinds[c / 3], sizes[c % 3] };
            collective_sample list[64];
            double measured[64], x[3] = { 1e-5, 3e11, 1e7 };
            size_t count = 0;
            for (size_t i = 0; i < s.count && count < 64; i++) {
                if (!sample_is(s.rows[i], 4, words))
                    continue;
                list[count] = (collective_sample){ sample_number(s.rows[i], 4),
                                                   1e-6 * sample_number(s.rows[i], 5) };
                measured[count] = list[count].seconds;
                count++;
            }
            if (count < 4)
                continue;
            curve_fit fit = { .parameters = 3,
                              .count = count,
                              .predict = predict_collective,
                              .measured = measured,
                              .samples = list,
                              .collective = { .kind = (pp_collective)(c / 3),
                                              .ranks = 2 << (c % 3) } };
            const error_summary q = solve(&fit, x);
            ck_assert_msg(q.mean < 0.14, "%s %s %s: %g", words[1], words[2], words[3], q.mean);
            sum += q.mean;
            curves++;
        }
    }
    ck_assert_int_ge(curves, 20);
    ck_assert_double_lt(sum / curves, 0.06);
    samples_free(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kernel fit");
    TCase *tc = tcase_create("kernel fit");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, gemm_form_fits_published_kernels, 0, 7);
    tcase_add_test(tc, gemm_parameters_come_back);
    tcase_add_test(tc, collective_form_fits_published_tables);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
