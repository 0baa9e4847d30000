/* Runs every probe of the table on a few points and checks that the samples its classes promise are
 * there. */

#include "calib/probe/calibrate.h"
#include "calib/profile/interference.h"
#include "calib/samples/environment_json.h"
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BIT(variable) (1u << PP_VARIABLE_##variable)
#define OF_MIX (BIT(TOKENS) | BIT(SQUARES) | BIT(LONGEST) | BIT(TILES))
#define OF_PRODUCT (BIT(ROWS) | BIT(COLUMNS) | BIT(DEPTH))

/* docs/reference/calibration-probes.md; the first entry that is a prefix counts. */
static const struct {
    const char *prefix;
    unsigned variables;
    bool link;
} promised[] = {
    { "stage_", OF_MIX, false },
    { "gemm_", OF_PRODUCT, false },
    { "compute_", OF_MIX, false },
    { "copy", BIT(BYTES), false },
    { "instruction", 0, false },
    { "thread_link", BIT(BYTES), true },
    { "mpi_link", BIT(BYTES), true },
    { "link_", BIT(BYTES), true },
    { "attn_", OF_MIX, false },
    { "norm_", BIT(BYTES), false },
    { "gelu_", BIT(BYTES), false },
    { "swiglu_", BIT(BYTES), false },
    { "cross_entropy", BIT(TOKENS), false },
    { "embedding_", BIT(TOKENS), false },
    { "adam", BIT(PARAMETERS), false },
    { "quantize_", BIT(BYTES), false },
    { "product_fewer_sms", OF_PRODUCT | BIT(CHANNELS), false },
    { "product_beside_self", OF_PRODUCT | BIT(CHANNELS), false },
    { "product_", OF_PRODUCT, false },
    { "send_recv", BIT(BYTES), true },
    { "shape_message", BIT(BYTES), true },
    { "all_", BIT(BYTES), true },
    { "nccl_post", BIT(BYTES), false },
    { "launch", 0, false },
};

static pp_calibrate_options tiny(const char *const *names)
{
    pp_calibrate_options options = pp_calibrate_default(true);
    options.names = names;
    options.probe =
        (pp_probe_options){ .scale = PP_PROBE_TINY, .settings = "hidden=16,heads=2,mlp=32" };
    options.protocol.timings_max = 12;
    options.protocol.first_warmup_ns = options.protocol.warmup_ns = 100000;
    options.protocol.flush_bytes = 1 << 20;
    options.protocol.total_ns = 500000000;
    return options;
}

static bool can_run(const pp_samples *samples, const pp_calibration *calibration)
{
    return !samples->skipped && calibration->count > 0;
}

static void check_series(const pp_series *series, uint32_t passes)
{
    size_t k = 0;
    const size_t kinds = sizeof promised / sizeof promised[0];
    while (k < kinds &&
           strncmp(series->class_name, promised[k].prefix, strlen(promised[k].prefix)) != 0)
        k++;
    ck_assert_msg(k < kinds, "%s promises nothing", series->class_name);
    ck_assert_int_eq(series->link, promised[k].link);
    ck_assert_uint_gt(strlen(series->source), 0);
    ck_assert_uint_ge(series->count, passes);
    for (size_t i = 0; i < series->count; i++) {
        const pp_sample *s = &series->sample[i];
        ck_assert_msg(isfinite(s->seconds) && s->seconds > 0, "%s", series->class_name);
        ck_assert(s->p10_s <= s->seconds && s->seconds <= s->p90_s);
        ck_assert_uint_ge(s->repeats, 6);
        ck_assert_uint_lt(s->pass, passes);
        for (int v = 0; v < PP_VARIABLE_COUNT; v++) {
            bool said = (promised[k].variables >> v) & 1;
            ck_assert_msg(said ? s->at[v] > 0 : isnan(s->at[v]), "%s, %s: %g", series->class_name,
                          pp_variable_key((pp_variable)v), s->at[v]);
        }
    }
}

START_TEST(every_probe_keeps_its_promises)
{
    const pp_probe *probe = pp_probe_at((size_t)_i);
    const char *const names[] = { probe->name, NULL };
    const pp_calibrate_options options = tiny(names);
    pp_samples samples = { 0 };
    pp_calibration calibration = { 0 };
    pp_err err = { 0 };
    pp_status status = pp_calibrate_probes(&options, &samples, &calibration, &err);
    ck_assert_msg(status == PP_OK, "%s: %s: %s", probe->name, err.where, err.text);
    ck_assert(!calibration.interrupted && !calibration.helped);
    if (!can_run(&samples, &calibration)) {
        ck_assert_ptr_nonnull(samples.skipped);
        ck_assert_ptr_nonnull(strstr(samples.skipped, probe->name));
        ck_assert(!probe->asked || !getenv("PPSIM_MODULE_DIR") /* tests/cuda/probes.sh */
                  || strstr(samples.skipped, "built without cuDNN"));
    }
    ck_assert_uint_eq(calibration.count, samples.count);
    for (size_t k = 0; k < calibration.count; k++) {
        const pp_series *series = pp_samples_find(&samples, calibration.note[k].class_name);
        ck_assert_ptr_nonnull(series);
        check_series(series, options.protocol.passes);
        ck_assert_uint_eq(calibration.note[k].points, series->count);
    }
    pp_samples_free(&samples);
    pp_calibration_free(&calibration);
}
END_TEST

/* Both orders of a point are alike, and nothing is measured twice. */
START_TEST(all_probes_run_and_resume)
{
    pp_calibrate_options options = tiny(NULL);
    volatile sig_atomic_t stop = 1;
    pp_samples samples = { 0 };
    pp_calibration calibration = { 0 };
    pp_err err = { 0 };
    options.protocol.stop = &stop;
    ck_assert_int_eq(pp_calibrate_probes(&options, &samples, &calibration, &err), PP_OK);
    ck_assert(calibration.interrupted);
    ck_assert_uint_eq(samples.count, 0);
    pp_calibration_free(&calibration);
    stop = 0;
    pp_status status = pp_calibrate_probes(&options, &samples, &calibration, &err);
    ck_assert_msg(status == PP_OK, "%s: %s", err.where, err.text);
    ck_assert(!calibration.interrupted);
    pp_calibration_free(&calibration);
    char *skipped = samples.skipped ? strdup(samples.skipped) : NULL;
    size_t points = 0;
    for (size_t k = 0; k < samples.count; k++)
        points += samples.series[k].count;
    ck_assert_int_eq(pp_calibrate_probes(&options, &samples, &calibration, &err), PP_OK);
    for (size_t k = 0; k < samples.count; k++)
        points -= samples.series[k].count;
    ck_assert_uint_eq(points, 0);
    for (size_t k = 0; k < calibration.count; k++)
        ck_assert_uint_eq(calibration.note[k].points, 0);
    if (skipped)
        ck_assert_str_eq(samples.skipped, skipped);
    free(skipped);
    pp_samples_free(&samples);
    pp_calibration_free(&calibration);
}
END_TEST

START_TEST(unknown_probes_are_refused)
{
    static const char *const names[] = { "cpu-opps", NULL };
    const pp_calibrate_options options = tiny(names);
    pp_samples samples = { 0 };
    pp_calibration calibration = { 0 };
    pp_err err = { 0 };
    ck_assert_int_eq(pp_calibrate_probes(&options, &samples, &calibration, &err), PP_USAGE);
    ck_assert_ptr_nonnull(strstr(err.text, "cpu-ops"));
}
END_TEST

/* Medians over points of the time with interference divided by the time alone; never below 1. */
START_TEST(interference_is_the_ratio)
{
    pp_samples samples = { 0 };
    pp_interference found = { 0 };
    pp_err err = { 0 };
    static const char *const classes[] = { "compute_alone", "compute_beside_link", "link_alone",
                                           "link_beside_compute" };
    static const double factor[] = { 1, 1.2, 1, 0.9 };
    ck_assert_int_eq(pp_interference_of(&samples, &found, &err), PP_OK);
    ck_assert(isnan(found.compute) && isnan(found.comm));
    for (size_t k = 0; k < 4; k++) {
        pp_series *series;
        ck_assert_int_eq(pp_samples_add_series(&samples, classes[k], &series, &err), PP_OK);
        for (uint32_t i = 0; i < 6; i++) {
            pp_sample sample = pp_sample_of(factor[k] * (i / 2 + 1));
            sample.at[PP_VARIABLE_BYTES] = i / 2 + 1;
            sample.pass = i % 2;
            ck_assert_int_eq(pp_series_add(series, &sample, &err), PP_OK);
        }
    }
    ck_assert_int_eq(pp_interference_of(&samples, &found, &err), PP_OK);
    ck_assert_double_eq_tol(found.compute, 1.2, 1e-12);
    ck_assert_double_eq(found.comm, 1);
    ck_assert(isnan(found.compute_beside_copy));
    pp_samples_free(&samples);
}
END_TEST

START_TEST(environment_names_the_machine_but_no_person)
{
    pp_environment environment;
    char name[256] = "";
    pp_environment_look(&environment);
    ck_assert_int_ge(environment.cores, 1);
    ck_assert_str_eq(environment.version, PPSIM_VERSION);
    ck_assert_uint_gt(strlen(environment.kernel), 0);
    pp_json_build build = { 0 };
    pp_json *json = pp_environment_write(&environment, &build);
    char *text = NULL;
    size_t bytes;
    pp_err err = { 0 };
    ck_assert_int_eq(pp_json_print(&build, json, &text, &bytes, &err), PP_OK);
    (void)!gethostname(name, sizeof name - 1);
    if (strlen(name) > 5)
        ck_assert_ptr_null(strstr(text, name));
    free(text);
    pp_json_free(&json);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("probes");
    TCase *tc = tcase_create("probes");
    tcase_set_timeout(tc, 100);
    tcase_add_loop_test(tc, every_probe_keeps_its_promises, 0, (int)pp_probe_count());
    tcase_add_test(tc, all_probes_run_and_resume);
    tcase_add_test(tc, unknown_probes_are_refused);
    tcase_add_test(tc, interference_is_the_ratio);
    tcase_add_test(tc, environment_names_the_machine_but_no_person);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
