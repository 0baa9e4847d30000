/* Whichever allocation fails, a probe reports it, ends its threads and leaks nothing. */
#include "calib/probe/calibrate.h"
#include "calib/profile/interference.h"
#include "runtime/cpu/matmul.h"
#include "tests/torture/torture.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pp_calibrate_options tiny(const char *const *names)
{
    pp_calibrate_options options = pp_calibrate_default(true);
    options.names = names;
    options.probe =
        (pp_probe_options){ .scale = PP_PROBE_TINY, .settings = "hidden=8,heads=2,mlp=8" };
    options.protocol.passes = 1;
    options.protocol.timings_max = 6;
    options.protocol.first_warmup_ns = options.protocol.warmup_ns = 1000;
    options.protocol.batch_ns = 1000;
    options.protocol.flush_bytes = 4096;
    options.protocol.total_ns = 0;
    return options;
}

static int calibrate(void *context)
{
    const pp_probe *probe = context;
    const char *const names[] = { probe->name, NULL };
    const pp_calibrate_options options = tiny(names);
    pp_samples samples PP_CLEANUP(pp_samples_free) = { 0 };
    pp_calibration calibration PP_CLEANUP(pp_calibration_free) = { 0 };
    pp_interference found;
    pp_err err = { 0 };
    pp_status status = pp_calibrate_probes(&options, &samples, &calibration, &err);
    return (int)(status ? status : pp_interference_of(&samples, &found, &err));
}

/* A run's threads allocate at the same time, so the n-th allocation would be random; torture.run
 * tests the allocations of runs. */
static int open_only(void *context)
{
    const pp_probe *probe = context;
    const pp_probe_options options = { .scale = PP_PROBE_TINY };
    const pp_subject *subject;
    void *state = NULL;
    pp_err err = { 0 };
    pp_status status = probe->open(&options, &state, &subject, &err);
    if (!status)
        probe->close(state);
    return (int)status;
}

START_TEST(no_allocation_is_taken_for_granted)
{
    const pp_probe *probe = pp_probe_at((size_t)_i);
    bool runs = strcmp(probe->name, "instruction") == 0;
    long allocations = 0;
    int status =
        pp_torture_run(runs ? open_only : calibrate, (void *)probe, PP_NOMEM, 1000, &allocations);
    ck_assert_msg(status == PP_OK, "%s: allocation %ld: status %d", probe->name, allocations,
                  status);
    ck_assert_int_gt(allocations, 0);
}
END_TEST

int main(void)
{
    pp_err err = { 0 };
    pp_cpu_blas blas;
    if (pp_cpu_blas_open(&blas, &err)) {
        puts("skipped: built without OpenBLAS");
        return 77;
    }
    Suite *suite = suite_create("probes torture");
    TCase *tc = tcase_create("probes");
    tcase_set_timeout(tc, 100);
    tcase_add_loop_test(tc, no_allocation_is_taken_for_granted, 0, (int)pp_probe_count());
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
