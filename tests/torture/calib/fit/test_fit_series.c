/* Whichever allocation fails while samples are read, fitted and predicted from, the status reports
 * it and nothing leaks. */
#include "calib/fit/fit_series.h"
#include "calib/samples/samples_json.h"
#include "tests/torture/torture.h"

#include <check.h>
#include <stdlib.h>

static pp_status fill(pp_samples *samples, pp_err *err)
{
    pp_series *series = NULL;
    pp_status status = pp_samples_add_series(samples, "stage_f", &series, err);
    for (int i = 0; i < 24 && !status; i++) {
        pp_sample sample = pp_sample_of(1e-5 + 1e-7 * (1 + i % 8));
        sample.at[PP_VARIABLE_TOKENS] = 1 + i % 8;
        status = pp_series_add(series, &sample, err);
    }
    return status;
}

static pp_status copy(const pp_samples *samples, pp_samples *copy_out, pp_err *err)
{
    pp_json_build build = { 0 };
    pp_json *json PP_CLEANUP(pp_json_free) = pp_samples_write(samples, &build);
    if (build.failed)
        return pp_err_nomem(err);
    const pp_json_at root = pp_json_root(json, "samples");
    return pp_samples_read(&root, copy_out, err);
}

static int fit(void *choice)
{
    pp_samples written PP_CLEANUP(pp_samples_free) = { 0 };
    pp_samples samples PP_CLEANUP(pp_samples_free) = { 0 };
    pp_err err = { 0 };
    pp_status status;
    if ((status = fill(&written, &err)) || (status = copy(&written, &samples, &err)))
        return (int)status;
    const pp_series *const list[] = { samples.series };
    return (int)pp_fit_series(list, 1, NULL, choice, &err);
}

START_TEST(no_allocation_is_taken_for_granted)
{
    pp_fit_choice choice;
    long allocations = 0;
    const int status = pp_torture_run(fit, &choice, PP_NOMEM, 100000, &allocations);
    ck_assert_msg(status == PP_OK, "allocation %ld: status %d", allocations, status);
    ck_assert_int_gt(allocations, 10);
    ck_assert_str_eq(choice.fit.form->name, "affine");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fit torture");
    TCase *tc = tcase_create("fit");
    tcase_set_timeout(tc, 240);
    tcase_add_test(tc, no_allocation_is_taken_for_granted);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
