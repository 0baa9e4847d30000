/* Whichever allocation fails, reading a recording and taking a part of it report it and leak
 * nothing. */
#include "sim/base/alloc.h"
#include "sim/base/text.h"
#include "tests/support/scratch_file.h"
#include "tests/torture/torture.h"
#include "traces/read/events_cut.h"
#include "traces/read/gzip.h"
#include "traces/read/recording.h"

#include <check.h>
#include <string.h>

static const char recorded[] =
    "{\"distributedInfo\":{\"rank\":0},\"baseTimeNanoseconds\":5,\"traceEvents\":["
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"PP:0F0\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2},"
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"PP:0B0\",\"pid\":1,\"tid\":1,\"ts\":3,\"dur\":2}]"
    "}";

static const char written[] =
    "{\"otherData\":{\"schedule\":\"x\"},\"traceEvents\":["
    "{\"ph\":\"X\",\"cat\":\"compute\",\"name\":\"0F0\",\"pid\":0,\"tid\":0,\"ts\":1,\"dur\":2},"
    "{\"ph\":\"X\",\"cat\":\"compute\",\"name\":\"1F0\",\"pid\":1,\"tid\":0,\"ts\":4,\"dur\":2},"
    "{\"ph\":\"X\",\"cat\":\"recv\",\"name\":\"1RECV_F0\",\"pid\":1,\"tid\":3,\"ts\":3,\"dur\":1,"
    "\"args\":{\"peer\":0}},"
    "{\"ph\":\"X\",\"cat\":\"idle\",\"name\":\"data\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":3,"
    "\"args\":{\"op\":\"1F0\",\"waits_for\":\"0F0\"}},"
    "{\"ph\":\"C\",\"pid\":1,\"tid\":0,\"ts\":3,\"name\":\"memory "
    "(bytes)\",\"args\":{\"outputs\":1}}]}";

static int read_body(void *context)
{
    const char *path = context;
    pp_recording found PP_CLEANUP(pp_recording_free) = { 0 };
    pp_err err = { 0 };
    return (int)pp_recording_read(&path, 1, SIZE_MAX, &found, &err);
}

static int cut_body(void *context)
{
    const pp_events_part part = { -1, -1, 0, 0 };
    size_t kept = 0;
    pp_err err = { 0 };
    return (int)pp_events_cut(context, &part, "/dev/null", NULL, &kept, &err);
}

static int gzip_body(void *context)
{
    char *packed PP_CLEANUP(pp_free_text) = NULL;
    size_t bytes = 0;
    pp_err err = { 0 };
    (void)context;
    return (int)pp_gzip(recorded, sizeof recorded - 1, &packed, &bytes, &err);
}

/* An event that is longer than a window of the reader, so that the window grows. */
START_TEST(the_window_may_fail_to_grow)
{
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    long allocations = 0;
    pp_text_add(&text, "[{\"args\":\"%0300000d\"},", 0);
    pp_text_add_bytes(&text, strchr(recorded, '[') + 1, strlen(strchr(recorded, '[')) - 2);
    scratch_file file PP_CLEANUP(scratch_remove) = scratch_write(text.data, text.bytes);
    int status = pp_torture_run(read_body, file.path, PP_NOMEM, 100000, &allocations);
    ck_assert_msg(status == 0, "status %d after allocation %ld failed", status, allocations);
    status = pp_torture_run(cut_body, file.path, PP_NOMEM, 100000, &allocations);
    ck_assert_msg(status == 0, "status %d after allocation %ld failed", status, allocations);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
    static const struct {
        int (*body)(void *context);
        const char *text;
    } runs[] = { { read_body, recorded },
                 { read_body, written },
                 { cut_body, recorded },
                 { gzip_body, recorded } };
    scratch_file file PP_CLEANUP(scratch_remove) =
        scratch_write(runs[_i].text, strlen(runs[_i].text));
    long allocations = 0;
    int status = pp_torture_run(runs[_i].body, file.path, PP_NOMEM, 100000, &allocations);
    ck_assert_msg(status == 0, "status %d after allocation %ld failed", status, allocations);
    ck_assert_int_ge(allocations, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("torture recording");
    TCase *tc = tcase_create("allocations");
    tcase_set_timeout(tc, 200);
    tcase_add_loop_test(tc, every_allocation_may_fail, 0, 4);
    tcase_add_test(tc, the_window_may_fail_to_grow);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
