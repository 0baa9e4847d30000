/* Fits to samples made from a form give back that form, with parameters inside their intervals. */
#include "calib/fit/form/registry.h"
#include "tests/support/fit_truth.h"
#include "tests/support/sample.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static double tokens(int index, double *at)
{
    return at[PP_VARIABLE_TOKENS] = floor(256 * pow(2, index / 2.0));
}

static double affine(const double *p, int index, fit_random *random, double *at)
{
    (void)random;
    return p[0] + p[1] * tokens(index, at);
}

static double flat_then_affine(const double *p, int index, fit_random *random, double *at)
{
    (void)random;
    return fmax(p[0], p[1] + p[2] * tokens(index, at));
}

static double saturation(const double *p, int index, fit_random *random, double *at)
{
    static const double columns[] = { 1024, 4096, 14336, 28672 };
    (void)random;
    const double m = at[PP_VARIABLE_ROWS] = 64 << (2 * (index / 4));
    const double n = at[PP_VARIABLE_COLUMNS] = columns[index % 4];
    const double k = at[PP_VARIABLE_DEPTH] = 4096;
    return 2 * m * n * k / (p[0] * m / (m + p[1]));
}

/* Tiles of 128 x 256 on 132 SMs. */
static double wave(const double *p, int index, fit_random *random, double *at)
{
    (void)random;
    const double m = at[PP_VARIABLE_ROWS] = 200 * (index + 1);
    const double n = at[PP_VARIABLE_COLUMNS] = index % 2 ? 4096 : 5700;
    const double k = at[PP_VARIABLE_DEPTH] = 4096;
    return p[0] + p[1] * k * ceil(ceil(m / 128) * ceil(n / 256) / 132);
}

/* Many or few sequences of up to `longest` tokens. */
static void mix(int index, int longest, fit_random *random, double *at)
{
    double sum = 0, squares = 0, most = 0, tiles = 0;
    const int count = 1 + index % 12 * 3;
    for (int i = 0; i < count; i++) {
        const double draw = fit_uniform(random);
        const double length = floor(16 + longest * draw * draw);
        sum += length;
        squares += length * length;
        most = fmax(most, length);
        tiles += ceil(length / 128) * ceil(length / 128);
    }
    at[PP_VARIABLE_TOKENS] = sum;
    at[PP_VARIABLE_SQUARES] = squares;
    at[PP_VARIABLE_LONGEST] = most;
    at[PP_VARIABLE_TILES] = tiles;
}

static double attention(const double *p, int index, fit_random *random, double *at)
{
    mix(index, 8000, random, at);
    return p[0] * at[PP_VARIABLE_SQUARES] + p[1] * at[PP_VARIABLE_TOKENS] + p[2];
}

static double attention_tiles(const double *p, int index, fit_random *random, double *at)
{
    mix(index, 400, random, at);
    return p[0] * at[PP_VARIABLE_SQUARES] + p[1] * at[PP_VARIABLE_TOKENS] + p[2] +
           p[3] * at[PP_VARIABLE_TILES];
}

static double attention_longest(const double *p, int index, fit_random *random, double *at)
{
    mix(index, 8000, random, at);
    return p[0] * at[PP_VARIABLE_SQUARES] + p[1] * at[PP_VARIABLE_TOKENS] + p[2] +
           p[3] * at[PP_VARIABLE_LONGEST];
}

static double alpha_beta(const double *p, int index, fit_random *random, double *at)
{
    (void)random;
    const double bytes = at[PP_VARIABLE_BYTES] = ldexp(1024, index);
    return p[0] + bytes / p[1];
}

/* 8 ranks on an NVSwitch: by hand from NCCL 2.29's rule, one channel per 64 KiB up to 4, then
 * twice as many while one would carry more than 16 MiB. */
static double channels(const double *p, int index, fit_random *random, double *at)
{
    static const double n[] = { 1, 2, 4, 4, 4, 4, 4, 4, 4, 4, 4, 8, 16, 32, 32, 32, 32, 32 };
    (void)random;
    const double bytes = at[PP_VARIABLE_BYTES] = ldexp(65536, index);
    const double thin = 1 / (n[index] * p[1]), thick = 1 / p[2];
    return p[0] + bytes * pow(pow(thin, 8) + pow(thick, 8), 0.125);
}

static double all_reduce(const double *p, int index, fit_random *random, double *at)
{
    (void)random;
    const double bytes = at[PP_VARIABLE_BYTES] = ldexp(65536, index);
    return p[0] + 1.75 * bytes / p[1] * (1 + sqrt(p[2] / bytes));
}

/* Exponential, which neither a line nor a floor and a line can follow. */
static double piecewise(const double *p, int index, fit_random *random, double *at)
{
    (void)random;
    at[PP_VARIABLE_TOKENS] = 512 * (index + 1);
    return p[index];
}

/* form, class, link, sizes, passes, parameters */
static const fit_truth truths[] = {
    { "affine", "stage_f", false, 15, 3, 2, { 20e-6, 5e-8 }, affine },
    { "floor", "stage_f", false, 15, 3, 3, { 70e-6, 10e-6, 3e-8 }, flat_then_affine },
    { "saturation", "gemm_fwd", false, 20, 2, 2, { 6e14, 400 }, saturation },
    { "wave", "gemm_fwd", false, 20, 2, 2, { 8e-6, 1.5e-8 }, wave },
    { "attention", "attention_fwd", false, 24, 2, 3, { 4e-12, 2e-9, 8e-6 }, attention },
    { "attention_tiles",
      "attention_fwd",
      false,
      24,
      2,
      4,
      { 1e-10, 2e-8, 8e-6, 8e-6 },
      attention_tiles },
    { "attention_longest",
      "attention_fwd",
      false,
      24,
      2,
      4,
      { 4e-12, 2e-9, 8e-6, 2e-8 },
      attention_longest },
    { "alpha_beta", "send_recv", true, 20, 2, 2, { 12e-6, 4e10 }, alpha_beta },
    { "channels", "send_recv", true, 18, 2, 3, { 25e-6, 2.1e10, 3.65e11 }, channels },
    { "all_reduce", "all_reduce", true, 18, 2, 3, { 25e-6, 4.5e11, 2e7 }, all_reduce },
    { "piecewise",
      "stage_f",
      false,
      12,
      5,
      12,
      { 1.00e-4, 1.28e-4, 1.65e-4, 2.12e-4, 2.72e-4, 3.49e-4, 4.48e-4, 5.75e-4, 7.39e-4, 9.49e-4,
        12.2e-4, 15.6e-4 },
      piecewise },
};

enum { TRUTHS = sizeof truths / sizeof truths[0] };

/* Of every sixth form enough for the shares that are asserted, of the others enough to see that all
 * is well. Checked builds are ten times slower. */
static int seeds(int form)
{
    return sample_stride(1, 2) > 1 || sample_skips((uint64_t)form, 6, 1) ? 20 : 500;
}

START_TEST(parameters_and_form_come_back)
{
    const fit_truth *truth = &truths[_i];
    const pp_fit_options options = { .sm_count = 132 };
    const int count = seeds(_i);
    const clock_t began = clock();
    int right = 0, inside[12] = { 0 };
    for (int seed = 0; seed < count; seed++) {
        pp_samples samples PP_CLEANUP(fit_free_samples) = { 0 };
        pp_fit_choice choice;
        pp_err err = { 0 };
        fit_make(truth, (uint64_t)seed, &samples);
        const pp_series *const list[] = { samples.series };
        ck_assert_msg(pp_fit_series(list, 1, &options, &choice, &err) == PP_OK, "%s", err.text);
        const bool found = strcmp(choice.fit.form->name, truth->form) == 0;
        right += found;
        if (!found)
            ck_assert_msg(pp_fit_form(list, 1, pp_form_find(truth->form), &options, &choice.fit,
                                      &err) == PP_OK,
                          "%s seed %d: %s", truth->form, seed, err.text);
        ck_assert_uint_eq(choice.fit.parameters, truth->parameters);
        for (size_t k = 0; k < truth->parameters; k++)
            inside[k] += choice.fit.low[k] <= truth->parameter[k] &&
                         truth->parameter[k] <= choice.fit.high[k];
    }
    printf("%s: chosen %.1f %%; inside", truth->form, 100.0 * right / count);
    int least = count;
    for (size_t k = 0; k < truth->parameters; k++) {
        least = inside[k] < least ? inside[k] : least;
        printf(" %.1f", 100.0 * inside[k] / count);
    }
    printf(" %%; %.1f s\n", (double)(clock() - began) / CLOCKS_PER_SEC);
    if (count < 500)
        return;
    ck_assert_msg(right >= 0.9 * count, "chosen in %d of %d", right, count);
    ck_assert_msg(least >= 0.93 * count, "inside in %d of %d", least, count);
}
END_TEST

/* Every form of the table is tried here. */
START_TEST(every_form_is_tried)
{
    for (size_t i = 0; i < pp_form_count(); i++) {
        bool found = false;
        for (int k = 0; k < TRUTHS; k++)
            found = found || strcmp(truths[k].form, pp_form_at(i)->name) == 0;
        ck_assert_msg(found, "%s has no truth", pp_form_at(i)->name);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fit truth");
    TCase *tc = tcase_create("truth");
    tcase_set_timeout(tc, 110);
    tcase_add_loop_test(tc, parameters_and_form_come_back, 0, TRUTHS);
    tcase_add_test(tc, every_form_is_tried);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
