/* Whichever allocation fails: making, writing and reading a profile report it and leak nothing. The
 * numbers that are read are short: Jansson 2.14 asserts when its buffer for a long one does not
 * grow (load.c, lex_unget_unsave). */
#include "calib/import/import_read.h"
#include "calib/profile/profile.h"
#include "calib/profile/profile_read.h"
#include "calib/profile/profile_write.h"
#include "tests/torture/torture.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static const char measured[] = "# 8 GPUs per node\nbytes,n8,n16\n1024,0.1,0.05\n4096,0.4,0.2\n"
                               "16384,1.6,0.8\n65536,6.1,3.2\n262144,19.9,11\n1048576,44,31\n"
                               "4194304,60,47\n16777216,66,49\n";

static int make_body(void *context)
{
    pp_samples samples PP_CLEANUP(pp_samples_free) = { 0 };
    pp_profile *profile PP_CLEANUP(pp_profile_free) = NULL;
    char *text = NULL;
    size_t bytes = 0;
    pp_err err = { 0 };
    (void)context;
    pp_status status = pp_import_read(NULL, measured, sizeof measured - 1, "x", &samples, &err);
    if (!status)
        status = pp_profile_make(&samples, NULL, NULL, NULL, &profile, &err);
    if (!status)
        status = pp_profile_write(profile, &text, &bytes, &err);
    free(text);
    return (int)status;
}

static const char written[] =
    "{\"format\":\"ppsim.profile\",\"version\":1,\"device\":\"d\",\"skipped\":\"x: y\\n\","
    "\"kernels\":[{\"class\":\"stage_f\",\"form\":\"affine\",\"samples\":1,\"sizes\":1,"
    "\"outliers\":"
    "0,\"parameters\":{\"a_s\":{\"value\":1,\"se\":1,\"low\":0,\"high\":null,\"unit\":\"s\"},\"b_"
    "s\":{"
    "\"value\":1,\"se\":1,\"low\":0,\"high\":2,\"unit\":\"s\"}},\"covariance\":[1,0,0,1],\"worst\":"
    "{"
    "\"tokens\":5,\"seconds\":1},\"domain\":{\"tokens\":[5,5]},\"rejected\":[{\"form\":\"wave\","
    "\"cv_mape\":null,\"reason\":\"r\"}]}],\"links\":[{\"class\":\"send_recv\",\"form\":null,"
    "\"reason\":\"r\"}],\"environment\":{\"cpu\":\"c\",\"version\":\"v\",\"cores\":1,"
    "\"last_cache_bytes\":0},\"notes\":[],\"interrupted\":false,\"interference\":{\"compute\":2},"
    "\"series\":[{\"class\":\"stage_f\",\"link\":false,\"samples\":[{\"tokens\":5,\"seconds\":1}]},"
    "{\"class\":\"send_recv\",\"link\":true,\"ranks\":2,\"samples\":[{\"bytes\":5,\"seconds\":1}]}]"
    "}";

static int read_body(void *context)
{
    pp_profile *profile PP_CLEANUP(pp_profile_free) = NULL;
    pp_err *err = context;
    return (int)pp_profile_parse(written, sizeof written - 1, "x", &profile, err);
}

START_TEST(reading_survives_any_failed_allocation)
{
    long allocations = 0;
    pp_err err = { 0 };
    int status = pp_torture_run(read_body, &err, PP_NOMEM, 100000, &allocations);
    ck_assert_msg(status == 0, "status %d after allocation %ld failed: %s: %s", status, allocations,
                  err.where, err.text);
    ck_assert_int_gt(allocations, 50);
}
END_TEST

START_TEST(a_profile_survives_any_failed_allocation)
{
    long allocations = 0;
    int status = pp_torture_run(make_body, NULL, PP_NOMEM, 100000, &allocations);
    ck_assert_msg(status == 0, "status %d after allocation %ld failed", status, allocations);
    ck_assert_int_gt(allocations, 100);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("torture profile");
    TCase *tc = tcase_create("profile");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, a_profile_survives_any_failed_allocation);
    tcase_add_test(tc, reading_survives_any_failed_allocation);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
