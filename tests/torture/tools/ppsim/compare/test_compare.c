/* Whichever allocation fails while two files are compared and the tables are made, the status
 * reports it and nothing leaks. */
#include "sim/base/alloc.h"
#include "sim/base/text.h"
#include "tests/torture/torture.h"
#include "tools/ppsim/compare/export.h"
#include "tools/ppsim/compare/read.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

typedef struct sides {
    const char *base, *now;
} sides;

static const sides jobs[] = {
    { "{\"format\":\"ppsim.report\",\"version\":1,\"step_ns\":10,\"schedule\":\"a\",\"later\":[1],"
      "\"peak_memory_bytes\":9,\"peak_memory_rank\":0,\"per_rank\":[{\"rank\":0,"
      "\"memory_at_peak\":{\"activations\":9}}],\"execution\":{\"iterations\":["
      "{\"step_ns\":10,\"makespan_ns\":9,\"void\":false}]}}",
      "{\"format\":\"ppsim.report\",\"version\":1,\"step_ns\":11,\"schedule\":\"b\",\"later\":[2],"
      "\"peak_memory_bytes\":8,\"peak_memory_rank\":0,\"sensitivity\":{\"x\":[1]},\"per_rank\":"
      "[{\"rank\":0,\"memory_at_peak\":{\"activations\":8}}]}" },
    { "{\"otherData\":{\"producer\":\"ppsim\"},\"traceEvents\":[{\"ph\":\"X\",\"pid\":0,"
      "\"ts\":0.5,\"dur\":1.25,\"name\":\"0F0\",\"cat\":\"compute\"}]}",
      "{\"otherData\":{\"producer\":\"ppsim\"},\"traceEvents\":[{\"ph\":\"X\",\"pid\":0,"
      "\"ts\":0.5,\"dur\":1.5,\"name\":\"0F0\",\"cat\":\"compute\"},{\"ph\":\"X\",\"pid\":0,"
      "\"ts\":2.5,\"dur\":1.5,\"name\":\"0F0\",\"cat\":\"compute\"}]}" },
};

static pp_status print(const pp_differences *differences, const pp_tolerances *tolerances,
                       pp_err *err)
{
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_compare_pairs pairs = { 0 };
    pp_json_build build = { 0 };
    char *json_text PP_CLEANUP(pp_free_text) = NULL;
    size_t bytes = 0;
    const pp_compare_print how = { .base = "a",
                                   .now = "b",
                                   .pairs = &pairs,
                                   .differences = differences,
                                   .tolerances = tolerances,
                                   .rows = 9 };
    pp_compare_text(&how, &text);
    pp_compare_markdown(&how, &text);
    pp_compare_junit(&how, &text);
    pp_status status = pp_text_check(&text, err);
    pp_json *json PP_CLEANUP(pp_json_free) = pp_compare_json(&how, &build);
    return status ? status : pp_json_print(&build, json, &json_text, &bytes, err);
}

static int compare(void *job)
{
    const sides *s = job;
    pp_compare_file base = { 0 };
    pp_compare_file now = { 0 };
    pp_differences differences PP_CLEANUP(pp_differences_free) = { 0 };
    pp_tolerances tolerances = { 0 };
    pp_err err = { 0 };
    pp_status status = pp_compare_parse(s->base, strlen(s->base), "a", &base, &err);
    if (!status)
        status = pp_compare_parse(s->now, strlen(s->now), "b", &now, &err);
    if (!status)
        status = pp_compare_judge("x", &base, &now, &tolerances, &differences, &err);
    if (!status) {
        pp_differences_sort(&differences);
        status = print(&differences, &tolerances, &err);
    }
    pp_compare_file_free(&base);
    pp_compare_file_free(&now);
    return (int)status;
}

START_TEST(no_allocation_is_taken_for_granted)
{
    long allocations = 0;
    int status =
        pp_torture_run(compare, (void *)(uintptr_t)&jobs[_i], PP_NOMEM, 5000, &allocations);
    ck_assert_msg(status == PP_OK, "allocation %ld: status %d", allocations, status);
    ck_assert_int_gt(allocations, 20);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compare torture");
    TCase *tc = tcase_create("compare");
    tcase_add_loop_test(tc, no_allocation_is_taken_for_granted, 0,
                        (int)(sizeof jobs / sizeof jobs[0]));
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
