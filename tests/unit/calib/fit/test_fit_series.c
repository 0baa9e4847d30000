/* Series of samples are fitted, judged by sizes that were held out, written, and read back. */
#include "calib/fit/fit_series.h"
#include "calib/fit/form/registry.h"
#include "calib/fit/least_squares.h"
#include "calib/samples/order_statistics.h"
#include "calib/samples/samples_json.h"
#include "tests/support/fit_truth.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Minimize (x - 1)^2 + (y + 2)^2: y is held at 0. */
START_TEST(nonnegative_by_hand)
{
    const double a[] = { 1, 0, 0, 1 }, b[] = { 1, -2 };
    double x[2] = { 7, 7 };
    ck_assert(pp_solve_nonnegative(2, a, b, x));
    ck_assert_double_eq_tol(x[0], 1, 1e-12);
    ck_assert_double_eq(x[1], 0);
    /* rows (1 1), (1 2), (1 3); right side 3, 2, 1: the line is 4 - x, without a slope it is 2 */
    const double line[] = { 3, 6, 6, 14 }, right[] = { 6, 10 };
    ck_assert(pp_solve_nonnegative(2, line, right, x));
    ck_assert_double_eq_tol(x[0], 2, 1e-12);
    ck_assert_double_eq(x[1], 0);
    /* right side 1, 2, 3: y = x, on the bound but inside */
    const double rising[] = { 6, 14 };
    ck_assert(pp_solve_nonnegative(2, line, rising, x));
    ck_assert_double_eq_tol(x[0], 0, 1e-12);
    ck_assert_double_eq_tol(x[1], 1, 1e-12);
}
END_TEST

/* Among the sets that solve the problem without negative values, one with fewer unknowns can be
 * worse: with a = diag(1, 100) and b = (1, 10), each alone is a solution, and both together are
 * better. */
START_TEST(nonnegative_takes_the_best_set)
{
    const double a[] = { 1, 0, 0, 0, 100, 0, 0, 0, 1 }, b[] = { 1, 10, -1 };
    double x[3];
    ck_assert(pp_solve_nonnegative(3, a, b, x));
    ck_assert_double_eq_tol(x[0], 1, 1e-12);
    ck_assert_double_eq_tol(x[1], 0.1, 1e-12);
    ck_assert_double_eq(x[2], 0);
    const double none[] = { -1, -1, -1 };
    ck_assert(!pp_solve_nonnegative(3, a, none, x)); /* all 0 is not a fit */
    const double singular[] = { 1, 1, 1, 1 }, both[] = { 1, 1 };
    ck_assert(!pp_solve(2, singular, both, x));
    ck_assert(pp_solve_nonnegative(2, singular, both, x)); /* one of them alone */
}
END_TEST

/* Barlow 1972's pooling: 1 3 2 4 -> 1 2.5 2.5 4; weights pull; a late small value pools far back.
 */
START_TEST(monotone_by_hand)
{
    const double ones[] = { 1, 1, 1, 1 }, heavy[] = { 1, 3, 1, 1 };
    double a[] = { 1, 3, 2, 4 }, b[] = { 1, 3, 2, 4 }, c[] = { 3, 4, 5, 0 }, d[] = { 4, 3, 2, 1 };
    pp_solve_monotone(4, ones, a);
    ck_assert_double_eq(a[0], 1);
    ck_assert_double_eq(a[1], 2.5);
    ck_assert_double_eq(a[2], 2.5);
    ck_assert_double_eq(a[3], 4);
    pp_solve_monotone(4, heavy, b);
    ck_assert_double_eq(b[1], 2.75);
    ck_assert_double_eq(b[2], 2.75);
    pp_solve_monotone(4, ones, c);
    for (int i = 0; i < 4; i++)
        ck_assert_double_eq(c[i], 3);
    pp_solve_monotone(4, ones, d);
    ck_assert_double_eq(d[0], 2.5);
    ck_assert_double_eq(d[3], 2.5);
}
END_TEST

static pp_series *add_series(pp_samples *samples, const char *class_name, bool link)
{
    pp_err err = { 0 };
    pp_series *series = NULL;
    ck_assert_int_eq(pp_samples_add_series(samples, class_name, &series, &err), PP_OK);
    series->link = link;
    return series;
}

static void add_point(pp_series *series, pp_variable variable, double at, double seconds)
{
    pp_err err = { 0 };
    pp_sample sample = pp_sample_of(seconds);
    sample.at[variable] = at;
    ck_assert_int_eq(pp_series_add(series, &sample, &err), PP_OK);
}

/* Sizes that are held out are not seen: the error of every size is that of a fit without it,
 * whichever pass and series its repeats belong to. */
START_TEST(held_out_sizes_do_not_leak)
{
    pp_samples samples PP_CLEANUP(fit_free_samples) = { 0 };
    pp_series *series = NULL;
    fit_random random = { 5 };
    pp_err err = { 0 };
    for (int i = 0; i < 2; i++) {
        series = add_series(&samples, "stage_f", false);
        for (int k = 0; k < 27; k++) /* repeats apart, in other passes and another series */
            add_point(series, PP_VARIABLE_TOKENS, 100 << (k % 9),
                      (1e-5 + 1e-7 * (100 << (k % 9))) * exp(0.1 * fit_normal(&random)));
    }
    const pp_series *const list[] = { &samples.series[0], &samples.series[1] };
    const pp_form *form = pp_form_find("affine");
    pp_fit fit, without;
    ck_assert_int_eq(pp_fit_form(list, 2, form, NULL, &fit, &err), PP_OK);
    double sum = 0;
    for (int size = 0; size < 9; size++) {
        pp_samples rest PP_CLEANUP(fit_free_samples) = { 0 };
        series = add_series(&rest, "stage_f", false);
        double errors[6];
        size_t held = 0;
        for (int s = 0; s < 2; s++) {
            for (size_t k = 0; k < 27; k++) {
                if (k % 9 != (size_t)size)
                    ck_assert_int_eq(pp_series_add(series, &list[s]->sample[k], &err), PP_OK);
            }
        }
        const pp_series *const kept[] = { series };
        ck_assert_int_eq(pp_fit_form(kept, 1, form, NULL, &without, &err), PP_OK);
        for (int s = 0; s < 2; s++) {
            for (size_t k = (size_t)size; k < 27; k += 9) {
                pp_fit_value value;
                ck_assert_int_eq(
                    pp_fit_predict(&without, series, &list[s]->sample[k], &value, &err), PP_OK);
                errors[held++] = fabs(value.seconds / list[s]->sample[k].seconds - 1);
            }
        }
        sum += pp_median(errors, held);
    }
    ck_assert_double_eq_tol(fit.cv_mape, sum / 9, 1e-9);
    ck_assert_uint_eq(fit.sizes, 9);
}
END_TEST

/* Eight repeats of a size that share their error: lines between the sizes follow the samples, but
 * not those that were held out. */
START_TEST(repeats_do_not_flatter_a_curve)
{
    pp_samples samples PP_CLEANUP(fit_free_samples) = { 0 };
    pp_series *series = add_series(&samples, "stage_f", false);
    fit_random random = { 3 };
    pp_err err = { 0 };
    pp_fit fit;
    for (int size = 0; size < 10; size++) {
        const double shared = exp(0.2 * fit_normal(&random));
        for (int k = 0; k < 8; k++)
            add_point(series, PP_VARIABLE_TOKENS, 1000 * (size + 1),
                      1e-4 * (size + 5) * shared * exp(0.01 * fit_normal(&random)));
    }
    const pp_series *const list[] = { series };
    ck_assert_int_eq(pp_fit_form(list, 1, pp_form_find("piecewise"), NULL, &fit, &err), PP_OK);
    ck_assert_double_gt(fit.cv_mape, 0.1);
}
END_TEST

/* However far times are off, no knot is below the shortest one: a profile with a negative time
 * would be refused where it is read. */
START_TEST(no_knot_is_below_every_time)
{
    fit_random random = { 11 };
    for (int draw = 0; draw < 200; draw++) {
        pp_samples samples PP_CLEANUP(fit_free_samples) = { 0 };
        pp_series *series = add_series(&samples, "stage_f", false);
        double shortest = INFINITY;
        pp_err err = { 0 };
        pp_fit fit;
        for (int i = 0; i < 24; i++) {
            const double seconds = 1e-5 * (1 + i) * exp(2 * fit_normal(&random));
            add_point(series, PP_VARIABLE_TOKENS, 256 << i / 3, seconds);
            shortest = fmin(shortest, seconds);
        }
        const pp_series *const list[] = { series };
        if (pp_fit_form(list, 1, pp_form_find("piecewise"), NULL, &fit, &err))
            continue;
        for (size_t k = 0; k < fit.parameters; k++)
            ck_assert_msg(fit.value[k] >= shortest, "draw %d: knot %zu is %g, the shortest time %g",
                          draw, k, fit.value[k], shortest);
    }
}
END_TEST

/* 8 ranks were measured, 4 are asked for: NCCL gives each message other channels, and the rates
 * stay the same. */
START_TEST(channels_carry_to_fewer_ranks)
{
    static const double n[] = { 4, 4, 8, 16, 32, 32 }; /* of 8 ranks, from 32 MiB on */
    pp_samples samples PP_CLEANUP(fit_free_samples) = { 0 };
    pp_series *series = add_series(&samples, "send_recv", true);
    pp_err err = { 0 };
    pp_fit fit;
    pp_fit_value value;
    series->ranks = 8;
    series->nodes = 1;
    for (int i = 0; i < 12; i++) {
        const double bytes = ldexp(33554432, i / 2), rate = fmin(n[i / 2] * 20e9, 1e13);
        add_point(series, PP_VARIABLE_BYTES, bytes,
                  20e-6 + bytes * pow(pow(rate, -8) + pow(365e9, -8), 0.125));
    }
    const pp_series *const list[] = { series };
    ck_assert_msg(pp_fit_form(list, 1, pp_form_find("channels"), NULL, &fit, &err) == PP_OK, "%s",
                  err.text);
    ck_assert(fit.assumed_channels);
    pp_series four = *series;
    four.ranks = 4;
    pp_sample at = pp_sample_of(NAN);
    at.at[PP_VARIABLE_BYTES] = 33554432; /* 8 channels: 160 GB/s */
    ck_assert_int_eq(pp_fit_predict(&fit, &four, &at, &value, &err), PP_OK);
    ck_assert_double_eq_tol(value.seconds, 20e-6 + 33554432 / 160e9, 1e-6);
    ck_assert_ptr_null(value.outside);
    ck_assert_double_lt(value.low_s, value.seconds);
    ck_assert_double_gt(value.high_s, value.seconds);
    at.at[PP_VARIABLE_BYTES] = 1024;
    ck_assert_int_eq(pp_fit_predict(&fit, &four, &at, &value, &err), PP_OK);
    ck_assert_str_eq(value.outside, "bytes");
    four.nodes = 0; /* then NCCL's rule is unknown */
    ck_assert_int_eq(pp_fit_predict(&fit, &four, &at, &value, &err), PP_INPUT);
}
END_TEST

/* 8 and 4 ranks together: a size is identified by its bytes, whatever its channels, and is held out
 * of both. */
START_TEST(a_size_is_left_out_of_all_communicators)
{
    pp_samples samples PP_CLEANUP(fit_free_samples) = { 0 };
    fit_random random = { 9 };
    pp_err err = { 0 };
    pp_fit fit;
    add_series(&samples, "send_recv", true);
    add_series(&samples, "send_recv", true);
    for (int s = 0; s < 2; s++) {
        samples.series[s].ranks = 8 >> s;
        samples.series[s].nodes = 1;
        for (int i = 0; i < 8; i++)
            add_point(&samples.series[s], PP_VARIABLE_BYTES, ldexp(33554432, i),
                      (1e-5 + ldexp(1e-4, i)) * exp(0.03 * fit_normal(&random)));
    }
    const pp_series *const list[] = { &samples.series[0], &samples.series[1] };
    ck_assert_int_eq(pp_fit_form(list, 2, pp_form_find("alpha_beta"), NULL, &fit, &err), PP_OK);
    ck_assert_uint_eq(fit.sizes, 8);
    ck_assert_uint_eq(fit.samples, 16);
    ck_assert_int_eq(fit.ranks_low, 4);
    ck_assert_int_eq(fit.ranks_high, 8);
    samples.series[1].link = false;
    ck_assert_int_eq(pp_fit_form(list, 2, pp_form_find("alpha_beta"), NULL, &fit, &err), PP_INPUT);
}
END_TEST

/* 95 % of new measurements are inside the interval, and the truth is as often inside the interval
 * of the mean. */
START_TEST(predictions_hold_what_they_say)
{
    fit_random random = { 11 };
    int single = 0, mean = 0;
    const int rounds = 400;
    for (int round = 0; round < rounds; round++) {
        pp_samples samples PP_CLEANUP(fit_free_samples) = { 0 };
        pp_series *series = add_series(&samples, "optimizer", false);
        pp_err err = { 0 };
        pp_fit fit;
        pp_fit_value value;
        for (int i = 0; i < 24; i++)
            add_point(series, PP_VARIABLE_PARAMETERS, 1e6 * (1 + i / 2),
                      (1e-5 + 1e-11 * 1e6 * (1 + i / 2)) * exp(0.03 * fit_normal(&random)));
        const pp_series *const list[] = { series };
        ck_assert_int_eq(pp_fit_form(list, 1, pp_form_find("affine"), NULL, &fit, &err), PP_OK);
        pp_sample at = pp_sample_of(NAN);
        at.at[PP_VARIABLE_PARAMETERS] = 3.3e6;
        const double truth = 1e-5 + 3.3e-5, new_one = truth * exp(0.03 * fit_normal(&random));
        ck_assert_int_eq(pp_fit_predict(&fit, series, &at, &value, &err), PP_OK);
        single += value.low_s <= new_one && new_one <= value.high_s;
        mean += value.mean_low_s <= truth && truth <= value.mean_high_s;
    }
    ck_assert_int_ge(single, (int)(0.93 * rounds));
    ck_assert_int_ge(mean, (int)(0.93 * rounds));
    ck_assert_int_lt(mean, rounds); /* the intervals are not too wide */
}
END_TEST

/* A constant time has no rate, and no significant slope above 0. */
START_TEST(a_bound_keeps_its_upper_limit)
{
    pp_samples samples PP_CLEANUP(fit_free_samples) = { 0 };
    pp_series *series = add_series(&samples, "stage_f", false);
    fit_random random = { 2 };
    pp_err err = { 0 };
    pp_fit fit;
    for (int i = 0; i < 30; i++) /* through 0: a is held there */
        add_point(series, PP_VARIABLE_TOKENS, 100 * (1 + i % 10),
                  1e-7 * (100 * (1 + i % 10) - 20) * exp(0.02 * fit_normal(&random)));
    const pp_series *const list[] = { series };
    ck_assert_int_eq(pp_fit_form(list, 1, pp_form_find("affine"), NULL, &fit, &err), PP_OK);
    ck_assert_double_eq(fit.value[0], 0);
    ck_assert_double_eq(fit.low[0], 0);
    ck_assert_double_gt(fit.se[0], 0);
}
END_TEST

static const struct {
    const char *what;
    int count;
    double tokens[9], seconds[9];
    const char *text;
} bad[] = {
    { "nothing", 0, { 0 }, { 0 }, "there are no samples; measure or import some" },
    { "one size",
      9,
      { 5, 5, 5, 5, 5, 5, 5, 5, 5 },
      { 1, 1, 1, 1, 1, 1, 1, 1, 1 },
      "9 samples of 1 sizes" },
    { "few", 3, { 1, 2, 3 }, { 1, 2, 3 }, "3 samples of 3 sizes" },
    { "time 0",
      4,
      { 1, 2, 3, 4 },
      { 1, 2, 0, 4 },
      "time must be positive and at most 1e9 s, not 0" },
    { "time NaN", 2, { 1, 2 }, { 1, NAN }, "must be positive" },
    { "time infinite", 2, { 1, 2 }, { 1, INFINITY }, "must be positive" },
    { "size negative", 2, { 1, -2 }, { 1, 1 }, "tokens must be from 0 to 1e30, not -2" },
    { "size infinite", 2, { 1, INFINITY }, { 1, 1 }, "tokens must be from 0 to 1e30, not inf" },
    { "no size", 2, { 1, NAN }, { 1, 1 }, "needs tokens, m, n and k, parameters or bytes" },
};

START_TEST(bad_samples_are_named)
{
    pp_samples samples PP_CLEANUP(fit_free_samples) = { 0 };
    pp_series *series = add_series(&samples, "stage_f", false);
    pp_fit_choice choice;
    pp_err err = { 0 };
    for (int i = 0; i < bad[_i].count; i++)
        add_point(series, PP_VARIABLE_TOKENS, bad[_i].tokens[i], bad[_i].seconds[i]);
    const pp_series *const list[] = { series };
    ck_assert_int_eq(pp_fit_series(list, 1, NULL, &choice, &err), PP_INPUT);
    ck_assert_msg(strstr(err.text, bad[_i].text), "%s: %s", bad[_i].what, err.text);
    ck_assert_msg(strstr(err.where, "stage_f"), "%s", err.where);
}
END_TEST

/* Sizes and times of all magnitudes, zeros and equal times give an answer or an error. The
 * sanitizers watch. */
START_TEST(odd_samples_do_no_harm)
{
    static const double sizes[] = { 0, 1, 1e-30, 1e30, 1e15, 7, 7, 1e29 };
    static const double times[] = { 1e-300, 1e9, 1e-9, 1, 1, 2, 5e-324, 1e-5 };
    for (int mask = 0; mask < 64; mask++) {
        pp_samples samples PP_CLEANUP(fit_free_samples) = { 0 };
        pp_series *series = add_series(&samples, mask & 1 ? "send_recv" : "all_reduce", mask & 2);
        pp_fit_choice choice = { 0 };
        pp_err err = { 0 };
        series->ranks = 2 + mask;
        series->nodes = 1;
        for (int i = 0; i < 40; i++)
            add_point(series, PP_VARIABLE_BYTES, sizes[(i * (mask + 1)) % 8] * (1 + i % 5),
                      times[(i + (mask >> 2)) % 8] * (1 + i % 3) / 3);
        const pp_series *const list[] = { series };
        const pp_status status = pp_fit_series(list, 1, NULL, &choice, &err);
        ck_assert(status == PP_OK || (status == PP_INPUT && err.text[0]));
        for (size_t k = 0; status == PP_OK && k < choice.fit.parameters; k++)
            ck_assert_msg(isfinite(choice.fit.value[k]) && choice.fit.value[k] >= 0, "%g",
                          choice.fit.value[k]);
    }
}
END_TEST

/* Every form that was not chosen is listed with a score or a reason. */
START_TEST(rejected_forms_say_why)
{
    pp_samples samples PP_CLEANUP(fit_free_samples) = { 0 };
    pp_series *series = add_series(&samples, "stage_f", false);
    pp_fit_choice choice;
    pp_err err = { 0 };
    for (int i = 0; i < 30; i++)
        add_point(series, PP_VARIABLE_TOKENS, 100 * (1 + i % 10),
                  1e-5 + 1e-7 * (100 * (1 + i % 10)) * (1 + 0.01 * (i / 10)));
    series->sample[7].seconds *= 2;
    const pp_series *const list[] = { series };
    ck_assert_int_eq(pp_fit_series(list, 1, NULL, &choice, &err), PP_OK);
    ck_assert_str_eq(choice.fit.form->name, "affine");
    ck_assert_uint_eq(choice.rejected_count, pp_form_count() - 1);
    ck_assert_uint_eq(choice.fit.outliers, 1);
    ck_assert_double_eq(choice.fit.worst.at[PP_VARIABLE_TOKENS], 800);
    ck_assert_double_eq_tol(choice.fit.max_ape, 0.5, 0.02);
    for (size_t i = 0; i < choice.rejected_count; i++) {
        const pp_fit_rejected *rejected = &choice.rejected[i];
        ck_assert_msg(rejected->reason[0], "%s", rejected->form->name);
        if (strcmp(rejected->form->name, "attention") == 0)
            ck_assert_str_eq(rejected->reason, "needs square_sum");
        if (strcmp(rejected->form->name, "alpha_beta") == 0)
            ck_assert_str_eq(rejected->reason, "is for links");
        if (strcmp(rejected->form->name, "wave") == 0)
            ck_assert_str_eq(rejected->reason, "needs the number of SMs");
    }
}
END_TEST

/* What is written is read back to the last bit; errors have their place. */
START_TEST(samples_round_trip)
{
    pp_samples samples PP_CLEANUP(fit_free_samples) = { 0 };
    pp_samples read PP_CLEANUP(fit_free_samples) = { 0 };
    pp_series *series = add_series(&samples, "send_recv", true);
    pp_json_build build = { 0 };
    pp_err err = { 0 };
    series->ranks = 8;
    series->channels_peer = 4;
    snprintf(series->library, sizeof series->library, "nccl 2.29.2");
    add_point(series, PP_VARIABLE_BYTES, 1.0 / 3, 1e-5 / 7);
    series->sample[0].cold = true;
    series->sample[0].repeats = 30;
    series->sample[0].p90_s = 2e-6;
    pp_json *json PP_CLEANUP(pp_json_free) = pp_samples_write(&samples, &build);
    ck_assert(!build.failed);
    const pp_json_at root = pp_json_root(json, "x");
    ck_assert_msg(pp_samples_read(&root, &read, &err) == PP_OK, "%s %s", err.where, err.text);
    ck_assert_uint_eq(read.count, 1);
    ck_assert_int_eq(memcmp(read.series[0].sample, series->sample, sizeof *series->sample), 0);
    ck_assert_str_eq(read.series[0].library, "nccl 2.29.2");
    ck_assert_int_eq(read.series[0].channels_peer, 4);
    ck_assert(read.series[0].link);
}
END_TEST

static const char *const bad_json[][2] = {
    { "[{\"class\":\"x\",\"link\":true,\"samples\":[{\"bytes\":1,\"seconds\":0}]}]",
      "x#/0/samples/0/seconds" },
    { "[{\"class\":\"x\",\"link\":true,\"samples\":[{\"byte\":1,\"seconds\":1}]}]",
      "x#/0/samples/0" },
    { "[{\"class\":\"x\",\"link\":true,\"samples\":[{\"bytes\":1}]}]", "x#/0/samples/0" },
    { "[{\"class\":\"x\",\"link\":true,\"samples\":[{\"bytes\":-1,\"seconds\":1}]}]",
      "x#/0/samples/0/bytes" },
    { "[{\"class\":\"x\",\"link\":1,\"samples\":[]}]", "x#/0/link" },
    { "[{\"link\":true,\"samples\":[]}]", "x#/0" },
    { "{}", "x" },
};

START_TEST(bad_files_are_named)
{
    const char *text = bad_json[_i][0];
    pp_samples samples = { 0 };
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    pp_err err = { 0 };
    ck_assert_int_eq(pp_json_parse(text, strlen(text), "x", &json, &err), PP_OK);
    const pp_json_at root = pp_json_root(json, "x");
    ck_assert_int_eq(pp_samples_read(&root, &samples, &err), PP_INPUT);
    ck_assert_msg(strncmp(err.where, bad_json[_i][1], strlen(bad_json[_i][1])) == 0, "%s",
                  err.where);
    ck_assert_ptr_null(samples.series);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fit series");
    TCase *tc = tcase_create("fit series");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, nonnegative_by_hand);
    tcase_add_test(tc, nonnegative_takes_the_best_set);
    tcase_add_test(tc, monotone_by_hand);
    tcase_add_test(tc, held_out_sizes_do_not_leak);
    tcase_add_test(tc, repeats_do_not_flatter_a_curve);
    tcase_add_test(tc, no_knot_is_below_every_time);
    tcase_add_test(tc, channels_carry_to_fewer_ranks);
    tcase_add_test(tc, a_size_is_left_out_of_all_communicators);
    tcase_add_test(tc, predictions_hold_what_they_say);
    tcase_add_test(tc, a_bound_keeps_its_upper_limit);
    tcase_add_loop_test(tc, bad_samples_are_named, 0, (int)(sizeof bad / sizeof bad[0]));
    tcase_add_test(tc, odd_samples_do_no_harm);
    tcase_add_test(tc, rejected_forms_say_why);
    tcase_add_test(tc, samples_round_trip);
    tcase_add_loop_test(tc, bad_files_are_named, 0, (int)(sizeof bad_json / sizeof bad_json[0]));
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
