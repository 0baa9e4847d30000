/* Whichever allocation fails, every import reports it, leaks nothing and keeps what was read
 * before. */
#include "calib/import/import_read.h"
#include "tests/support/nccl_writer.h"
#include "tests/torture/torture.h"

#include <check.h>

typedef struct input {
    const char *import;
    const char *text;
    size_t bytes;
} input;

static int import_body(void *context)
{
    const input *in = context;
    pp_samples samples PP_CLEANUP(pp_samples_free) = { 0 };
    const pp_import *import = NULL;
    pp_err err = { 0 };
    pp_status status = pp_import_get(in->import, &import, &err);
    if (!status)
        status = pp_import_read(import, in->text, in->bytes, "x", &samples, &err);
    if (!status) /* a second file after it */
        status = pp_import_read(NULL, in->text, in->bytes, "y", &samples, &err);
    return (int)status;
}

static const struct {
    const char *import, *text;
} texts[] = {
    { "kineto",
      "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ppsim:0F0\",\"ts\":1,"
      "\"dur\":5},{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"ts\":2,\"dur\":1,\"args\":{"
      "\"correlation\":"
      "3}},{\"ph\":\"X\",\"cat\":\"kernel\",\"ts\":4,\"dur\":2,\"args\":{\"correlation\":3}},"
      "{\"ph\":\"X\",\"cat\":\"kernel\",\"ts\":4,\"dur\":2,\"args\":{\"correlation\":4}}]}" },
    { "megatron-log", "number of microbatches to constant 4\n(min, max) time across ranks (ms):\n"
                      "    forward-compute ...: (1.0, 2.0)\n    backward-compute ...: (1.0, x)\n" },
    { "samples-csv", "# ppsim.samples 1\nclass,seconds\na,1\nb,2\n" },
    { "samples-json",
      "{\"format\":\"ppsim.samples\",\"version\":1,\"series\":[{\"class\":\"a\",\"link\":false,"
      "\"samples\":[{\"seconds\":1}]}]}" },
    { "busbw-csv", "bytes,n2,n4\n1024,1.0,2.0\n2048,,2.0\n" },
};
enum { TEXTS = sizeof texts / sizeof texts[0] };

static void run_input(const input *in)
{
    long allocations = 0;
    input copy = *in;
    int status = pp_torture_run(import_body, &copy, PP_NOMEM, 100000, &allocations);
    ck_assert_msg(status == 0, "%s: status %d after allocation %ld failed", in->import, status,
                  allocations);
    ck_assert_int_gt(allocations, 1);
}

START_TEST(every_import_survives_any_failed_allocation)
{
    const input in = { texts[_i].import, texts[_i].text, strlen(texts[_i].text) };
    run_input(&in);
}
END_TEST

START_TEST(every_layout_survives_any_failed_allocation)
{
    nccl_log log = nccl_log_of((nccl_layout)_i);
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    log.ranks = 2;
    log.interleaved = true;
    nccl_write(&log, &text);
    bool rccl = log.layout == LAYOUT_RCCL || log.layout == LAYOUT_RCCL_IN;
    const input in = { rccl ? "rccl-tests" : "nccl-tests", text.data, text.bytes };
    run_input(&in);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("torture imports");
    TCase *tc = tcase_create("allocations");
    tcase_set_timeout(tc, 200);
    tcase_add_loop_test(tc, every_import_survives_any_failed_allocation, 0, TEXTS);
    tcase_add_loop_test(tc, every_layout_survives_any_failed_allocation, 0, LAYOUT_COUNT);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
