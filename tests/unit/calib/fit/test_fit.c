/* Fits give back the parameters of made samples and come close to published kernels and tables. */
#include "calib/fit/fit.h"
#include "sim/cost/kernel.h"
#include "tests/support/kernel_samples.h"

#include <math.h>

static const struct {
    const char *gpu;
    double peak_flops_per_s;
    int sm_count;
} gpus[] = { { "A100", 312e12, 108 },
             { "H100", 989e12, 132 },
             { "H200", 989e12, 132 },
             { "B200", 2250e12, 148 } };

static size_t read_gemms(const samples *s, const char *gpu, pp_gemm_sample *out)
{
    const char *const words[] = { "gemm", gpu };
    size_t count = 0;
    for (size_t i = 0; i < s->count; i++) {
        if (sample_is(s->rows[i], 2, words))
            out[count++] = sample_gemm(s->rows[i]);
    }
    return count;
}

/* The form reaches 4 % mean on published GEMMs of each GPU. */
START_TEST(gemm_form_fits_published_kernels)
{
    samples s = samples_read();
    pp_gemm_sample *list = calloc(s.count, sizeof *list);
    const size_t count = read_gemms(&s, gpus[_i].gpu, list);
    pp_gemm_curve curve = { 0 };
    pp_fit_quality q;
    pp_err err = { 0 };
    ck_assert_uint_ge(count, 200);
    ck_assert_msg(pp_fit_gemm(list, count, gpus[_i].peak_flops_per_s, gpus[_i].sm_count, &curve, &q,
                              &err) == PP_OK,
                  "%s", err.text);
    printf("%s: t0 %.2f us e1 %.3f k0 %.0f e2 %.3f Fd %.2g a %.2f: bias %+.1f %% mean %.1f %% "
           "median %.1f %% max %.0f %%\n",
           gpus[_i].gpu, 1e6 * curve.t0_s, curve.e1, curve.k0, curve.e2, curve.fd_flops, curve.a,
           100 * q.bias, 100 * q.mean, 100 * q.median, 100 * q.max);
    ck_assert_double_lt(q.mean, 0.045);
    ck_assert_double_lt(q.median, 0.03);
    free(list);
    samples_free(&s);
}
END_TEST

/* Samples made from a curve give the curve back. */
START_TEST(gemm_fit_finds_the_truth)
{
    const pp_gemm_curve truth = { .t0_s = 4e-6,
                                  .e1 = 0.85,
                                  .k0 = 100,
                                  .e2 = 0.7,
                                  .fd_flops = 5e11,
                                  .a = 0.3,
                                  .scale = 1,
                                  .weight_gradient = 0.9 };
    pp_gemm_sample list[200];
    for (int i = 0; i < 200; i++) {
        list[i] = (pp_gemm_sample){ .m = 512 * (1 + i % 13),
                                    .n = 384 * (1 + i % 11),
                                    .k = 256 * (1 + i % 17) };
        list[i].seconds =
            pp_gemm_curve_seconds(&truth, 3e14, 108, list[i].m, list[i].n, list[i].k, 1);
    }
    pp_gemm_curve curve = { .weight_gradient = 0.9, .scale = 1 };
    pp_fit_quality q;
    pp_err err = { 0 };
    ck_assert_msg(pp_fit_gemm(list, 200, 3e14, 108, &curve, &q, &err) == PP_OK, "%s", err.text);
    ck_assert_double_lt(q.max, 1e-3);
    ck_assert_double_eq_tol(curve.k0, truth.k0, 2);
    ck_assert_double_eq_tol(curve.a, truth.a, 0.01);
    ck_assert_double_eq(curve.weight_gradient, 0.9);
}
END_TEST

START_TEST(attention_fit_finds_the_truth)
{
    pp_attention_sample list[8];
    for (int i = 0; i < 8; i++) {
        list[i] = (pp_attention_sample){ .flops = 1e12 * (i + 1),
                                         .length = 512 * (i + 1),
                                         .blocks = 2048 };
        list[i].seconds =
            list[i].flops / (0.65 * 3e14) * (1 + 490 / list[i].length) * (1 + 100 / list[i].blocks);
    }
    pp_attention_curve curve = { .b0 = 100 };
    pp_fit_quality q;
    pp_err err = { 0 };
    ck_assert_int_eq(pp_fit_attention(list, 8, 3e14, &curve, &q, &err), PP_OK);
    ck_assert_double_eq_tol(curve.e, 0.65, 1e-4);
    ck_assert_double_eq_tol(curve.s0, 490, 1);
}
END_TEST

/* All-reduce, all-gather and reduce-scatter of the published tables: 12 % mean at worst (B200 has a
 * protocol step), 5 % typical. */
START_TEST(collective_form_fits_published_tables)
{
    static const char *const kinds[] = { "all_reduce", "all_gather", "reduce_scatter" };
    static const char *const sizes[] = { "2", "4", "8" };
    samples s = samples_read();
    double sum = 0;
    int curves = 0;
    for (int g = 0; g < 4; g++) {
        for (int c = 0; c < 9; c++) {
            const char *const words[] = { "collective", gpus[g].gpu, kinds[c / 3], sizes[c % 3] };
            pp_collective_sample list[64];
            size_t count = 0;
            for (size_t i = 0; i < s.count && count < 64; i++) {
                if (sample_is(s.rows[i], 4, words))
                    list[count++] = (pp_collective_sample){ sample_number(s.rows[i], 4),
                                                            1e-6 * sample_number(s.rows[i], 5) };
            }
            if (count < 4)
                continue;
            pp_collective_curve curve = { .kind = (pp_collective)(c / 3), .ranks = 2 << (c % 3) };
            pp_fit_quality q;
            pp_err err = { 0 };
            ck_assert_msg(pp_fit_collective(list, count, &curve, &q, &err) == PP_OK, "%s",
                          err.text);
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

START_TEST(bad_samples_are_refused)
{
    pp_gemm_sample gemms[8] = { { 1, 1, 1, 1 } };
    pp_collective_sample transfers[2] = { { 1, 1 }, { 2, 2 } };
    pp_gemm_curve gemm = { .scale = 7 };
    pp_collective_curve collective = { .ranks = 2 };
    pp_fit_quality q;
    pp_err err = { 0 };
    ck_assert_int_eq(pp_fit_gemm(gemms, 8, 1e12, 10, &gemm, &q, &err), PP_INPUT);
    ck_assert_str_eq(err.where, "sample 1");
    err = (pp_err){ 0 };
    ck_assert_int_eq(pp_fit_gemm(gemms, 1, 1e12, 10, &gemm, &q, &err), PP_INPUT);
    ck_assert_double_eq(gemm.scale, 7);
    err = (pp_err){ 0 };
    ck_assert_int_eq(pp_fit_collective(transfers, 2, &collective, &q, &err), PP_INPUT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fit");
    TCase *tc = tcase_create("fit");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, gemm_form_fits_published_kernels, 0, 4);
    tcase_add_test(tc, gemm_fit_finds_the_truth);
    tcase_add_test(tc, attention_fit_finds_the_truth);
    tcase_add_test(tc, collective_form_fits_published_tables);
    tcase_add_test(tc, bad_samples_are_refused);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
