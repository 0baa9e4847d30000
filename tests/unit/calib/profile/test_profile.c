/* A profile keeps what was fitted, to the last bit, and detects changes. */
#include "calib/profile/profile.h"
#include "calib/profile/profile_read.h"
#include "calib/profile/profile_write.h"
#include "sim/base/alloc.h"
#include "tests/support/fit_truth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pp_series *add(pp_samples *samples, const char *name, bool link)
{
    pp_series *series = NULL;
    pp_err err = { 0 };
    ck_assert(pp_samples_add_series(samples, name, &series, &err) == PP_OK);
    series->link = link;
    return series;
}

/* 10 us + bytes / rate, with a ripple of 1 %. */
static void add_link(pp_samples *samples, int32_t ranks, int32_t nodes, double bytes_per_s)
{
    pp_series *series = add(samples, "send_recv", true);
    pp_err err = { 0 };
    series->ranks = ranks;
    series->nodes = nodes;
    for (int k = 0; k < 12; k++) {
        double bytes = ldexp(1024, k);
        pp_sample sample = pp_sample_of((1e-5 + bytes / bytes_per_s) * (1 + 0.01 * (k % 3 - 1)));
        sample.at[PP_VARIABLE_BYTES] = bytes;
        sample.pass = (uint32_t)k % 2;
        ck_assert(pp_series_add(series, &sample, &err) == PP_OK);
    }
}

static void add_copy(pp_samples *samples, bool cold)
{
    pp_series *series = pp_samples_find(samples, "copy");
    pp_err err = { 0 };
    series = series ? series : add(samples, "copy", false);
    for (int k = 0; k < 10; k++) {
        pp_sample sample = pp_sample_of((cold ? 3e-6 : 1e-6) + ldexp(1024, k) * 1e-10);
        sample.at[PP_VARIABLE_BYTES] = ldexp(1024, k);
        sample.cold = cold;
        ck_assert(pp_series_add(series, &sample, &err) == PP_OK);
    }
}

static void add_one(pp_samples *samples, const char *name, double seconds)
{
    const pp_sample sample = pp_sample_of(seconds);
    pp_err err = { 0 };
    ck_assert(pp_series_add(add(samples, name, false), &sample, &err) == PP_OK);
}

static pp_profile *make(void)
{
    pp_samples samples = { .device = "a machine" };
    pp_calibration calibration = { .environment = { .cpu = "a processor", .cores = 2, .load = -1 },
                                   .note = calloc(1, sizeof(pp_series_note)),
                                   .count = 1 };
    const pp_fit_options options = { .sm_count = 132 };
    pp_profile *profile = NULL;
    pp_err err = { 0 };
    snprintf(calibration.note->class_name, sizeof calibration.note->class_name, "copy");
    calibration.note->drift = 1.0 / 3;
    calibration.gpus = (pp_gpu_states){ .driver = "580.1", .count = 1 };
    calibration.gpus.state[0] = (pp_gpu_state){
        .probe = "copy", .after = true, .gpu = 3, .sm_mhz = 1980, .celsius = -1, .reasons = 0x24
    };
    add_link(&samples, 8, 1, 3e11);
    add_link(&samples, 16, 2, 4e10);
    add_link(&samples, 32, 4, 4e10);
    add_copy(&samples, false);
    add_copy(&samples, true);
    add_one(&samples, "compute_alone", 1e-6);
    add_one(&samples, "compute_beside_link", 1.25e-6);
    add_one(&samples, "instruction", 1e-6);
    ck_assert_msg(pp_profile_make(&samples, &calibration, &options, NULL, &profile, &err) == PP_OK,
                  "%s", err.text);
    ck_assert_uint_eq(samples.count, 0); /* moved */
    ck_assert_ptr_null(calibration.note);
    return profile;
}

static char *text_of(pp_profile *profile, size_t *bytes)
{
    char *text = NULL;
    pp_err err = { 0 };
    ck_assert_msg(pp_profile_write(profile, &text, bytes, &err) == PP_OK, "%s", err.text);
    return text;
}

/* Kernels before links, each by class; warm before cold; links inside a node before the others. */
START_TEST(kinds_are_fitted_apart)
{
    pp_profile *profile PP_CLEANUP(pp_profile_free) = make();
    const char *const classes[] = { "compute_alone", "compute_beside_link", "copy",     "copy",
                                    "instruction",   "send_recv",           "send_recv" };
    ck_assert_uint_eq(profile->count, sizeof classes / sizeof classes[0]);
    for (size_t i = 0; i < profile->count; i++)
        ck_assert_str_eq(profile->entry[i].class_name, classes[i]);
    ck_assert(!profile->entry[2].cold && profile->entry[3].cold);
    ck_assert(!profile->entry[5].spans && profile->entry[6].spans);
    ck_assert_uint_eq(profile->entry[6].series_count, 2);
    ck_assert_uint_eq(profile->entry[3].choice.fit.samples, 10); /* the cold ones alone */
    ck_assert(!profile->entry[4].fitted && profile->entry[4].reason[0]);
    ck_assert_double_eq_tol(profile->interference.compute, 1.25, 1e-12);
    ck_assert(isnan(profile->interference.comm));
}
END_TEST

START_TEST(an_entry_is_found_by_what_is_asked)
{
    pp_profile *profile PP_CLEANUP(pp_profile_free) = make();
    pp_sample at = pp_sample_of(NAN);
    pp_fit_value near, far;
    pp_err err = { 0 };
    const pp_series in = { .class_name = "send_recv", .link = true, .ranks = 8, .nodes = 1 };
    const pp_series out = { .class_name = "send_recv", .link = true, .ranks = 16, .nodes = 2 };
    const pp_profile_entry *node = pp_profile_find(profile, "send_recv", false);
    const pp_profile_entry *network = pp_profile_find(profile, "send_recv", true);
    at.at[PP_VARIABLE_BYTES] = 1 << 20;
    ck_assert(pp_fit_predict(&node->choice.fit, &in, &at, &near, &err) == PP_OK);
    ck_assert(pp_fit_predict(&network->choice.fit, &out, &at, &far, &err) == PP_OK);
    ck_assert_double_eq_tol(near.seconds, 1e-5 + (1 << 20) / 3e11, 0.03 * near.seconds);
    ck_assert_double_eq_tol(far.seconds, 1e-5 + (1 << 20) / 4e10, 0.03 * far.seconds);
    ck_assert(!pp_profile_find(profile, "copy", true)->cold); /* kernels span nothing */
    ck_assert_ptr_null(pp_profile_find(profile, "instruction", false));
    ck_assert_ptr_null(pp_profile_find(profile, "all_reduce", false));
}
END_TEST

START_TEST(written_and_read_is_the_same)
{
    pp_profile *profile PP_CLEANUP(pp_profile_free) = make();
    pp_profile *read PP_CLEANUP(pp_profile_free) = NULL;
    pp_err err = { 0 };
    size_t bytes = 0, again_bytes = 0;
    char *text PP_CLEANUP(pp_free_text) = text_of(profile, &bytes);
    ck_assert_msg(pp_profile_parse(text, bytes, "x", &read, &err) == PP_OK, "%s: %s", err.where,
                  err.text);
    char *again PP_CLEANUP(pp_free_text) = text_of(read, &again_bytes);
    ck_assert_str_eq(text, again);
    ck_assert_str_eq(profile->sha256, read->sha256);
    ck_assert_uint_eq(strlen(read->sha256), 64);
    ck_assert_uint_eq(read->count, profile->count);
    for (size_t i = 0; i < read->count; i++) {
        const pp_fit *a = &profile->entry[i].choice.fit, *b = &read->entry[i].choice.fit;
        ck_assert_int_eq(profile->entry[i].fitted, read->entry[i].fitted);
        if (!profile->entry[i].fitted)
            continue;
        ck_assert_ptr_eq(a->form, b->form);
        ck_assert_int_eq(memcmp(a->theta, b->theta, a->parameters * sizeof *a->theta), 0);
        ck_assert_int_eq(memcmp(a->covariance, b->covariance,
                                a->parameters * a->parameters * sizeof *a->covariance),
                         0);
    }
    ck_assert_double_eq(read->note[0].drift, 1.0 / 3);
    ck_assert_str_eq(read->environment.cpu, "a processor");
    ck_assert_str_eq(read->gpus.driver, "580.1");
    ck_assert_uint_eq(read->gpus.count, 1);
    ck_assert_double_eq(read->gpus.state[0].sm_mhz, 1980);
    ck_assert_double_lt(read->gpus.state[0].celsius, 0);
    ck_assert_int_eq(read->gpus.state[0].gpu, 3);
    char reasons[64];
    ck_assert_str_eq(pp_gpu_reasons(read->gpus.state[0].reasons, reasons, sizeof reasons),
                     "power cap, heat");
}
END_TEST

START_TEST(states_that_are_left_out_are_reported)
{
    pp_gpu_states before = { .count = PP_GPU_STATES_MAX };
    pp_gpu_states states = { .count = 1 };
    pp_gpu_states_carry(&before, &states);
    ck_assert_uint_eq(states.count, PP_GPU_STATES_MAX);
    ck_assert_str_eq(states.lacks, "only the first 128 states were kept");
    before.count--;
    states = (pp_gpu_states){ .count = 1 };
    pp_gpu_states_carry(&before, &states);
    ck_assert_uint_eq(states.count, PP_GPU_STATES_MAX);
    ck_assert_str_eq(states.lacks, "");
}
END_TEST

/* The text to replace, its replacement, and the place that the error must have ("": there is no
 * error). */
static const char *const changes[][3] = {
    { "\"bytes\": 1048576.0", "\"bytes\": 1048577.0", "x#/sha256" },
    { "\"version\": 1", "\"version\": 2", "x#/version" },
    { "ppsim.profile", "ppsim.plan", "x#/format" },
    { "\"form\": \"affine\"", "\"form\": \"afine\"", "x#/kernels/" },
    { "\"cv_mape\"", "\"cv_map\"", "x#/kernels/" },
    { "\"kernels\": [", "\"kernel\": [", "x" },
    { "\"clock\": \"thread\"", "\"clock\": \"threads\"", "x#/notes/0" },
    { "\"class\": \"instruction\"", "\"class\": \"instructions\"", "x#/" },
};

START_TEST(what_was_changed_is_reported)
{
    pp_profile *profile PP_CLEANUP(pp_profile_free) = make();
    pp_profile *read PP_CLEANUP(pp_profile_free) = NULL;
    pp_err err = { 0 };
    size_t bytes = 0;
    char *text PP_CLEANUP(pp_free_text) = text_of(profile, &bytes);
    const char *at = strstr(text, changes[_i][0]);
    pp_text changed PP_CLEANUP(pp_text_free) = { 0 };
    ck_assert_msg(at, "%s", changes[_i][0]);
    pp_text_add(&changed, "%.*s%s%s", (int)(at - text), text, changes[_i][1],
                at + strlen(changes[_i][0]));
    ck_assert_int_eq(pp_profile_parse(changed.data, changed.bytes, "x", &read, &err), PP_INPUT);
    ck_assert_msg(strncmp(err.where, changes[_i][2], strlen(changes[_i][2])) == 0, "%s: %s",
                  err.where, err.text);
    ck_assert_ptr_null(read);
}
END_TEST

/* Without the line with the hash, a change is intended. */
START_TEST(a_meant_change_is_taken)
{
    pp_profile *profile PP_CLEANUP(pp_profile_free) = make();
    pp_profile *read PP_CLEANUP(pp_profile_free) = NULL;
    pp_err err = { 0 };
    size_t bytes = 0;
    char *text PP_CLEANUP(pp_free_text) = text_of(profile, &bytes);
    char before[65];
    memcpy(before, profile->sha256, sizeof before);
    char *line = strstr(text, " \"sha256\""), *device = strstr(text, "a machine");
    memcpy(device, "b", 1);
    size_t length = strcspn(line, "\n") + 1;
    memmove(line, line + length, strlen(line + length) + 1);
    ck_assert_msg(pp_profile_parse(text, strlen(text), "x", &read, &err) == PP_OK, "%s: %s",
                  err.where, err.text);
    ck_assert_str_ne(read->sha256, before);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("profile");
    TCase *tc = tcase_create("profile");
    tcase_add_test(tc, kinds_are_fitted_apart);
    tcase_add_test(tc, an_entry_is_found_by_what_is_asked);
    tcase_add_test(tc, written_and_read_is_the_same);
    tcase_add_test(tc, states_that_are_left_out_are_reported);
    tcase_add_loop_test(tc, what_was_changed_is_reported, 0, sizeof changes / sizeof changes[0]);
    tcase_add_test(tc, a_meant_change_is_taken);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
