/* Whichever allocation fails, reading and writing JSON reports it and leaks nothing. */
#include "sim/base/json.h"
#include "tests/torture/torture.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static int read_document(void *text)
{
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    pp_err err = { 0 };
    return (int)pp_json_parse(text, strlen(text), "torture", &json, &err);
}

static int write_document(void *unused)
{
    (void)unused;
    pp_err err = { 0 };
    pp_json_build build = { 0 };
    pp_json *json PP_CLEANUP(pp_json_free) = pp_json_new_object(&build);
    pp_json *list = pp_json_new_array(&build);
    pp_json_add_int(&build, list, 1);
    pp_json_add_double(&build, list, 0.5);
    pp_json_add_text(&build, list, "x");
    pp_json_put(&build, json, "list", list);
    pp_json_put_bool(&build, json, "flag", true);
    pp_json_put_text(&build, json, "none", NULL);
    char *text = NULL;
    size_t bytes = 0;
    int status = (int)pp_json_print(&build, json, &text, &bytes, &err);
    free(text);
    return status;
}

static void expect_clean(int (*body)(void *), void *context)
{
    long allocations = 0;
    int status = pp_torture_run(body, context, PP_NOMEM, 1000, &allocations);
    ck_assert_msg(status == 0, "status %d after allocation %ld failed", status, allocations);
    ck_assert_int_gt(allocations, 3); /* otherwise the hooks have no effect */
}

START_TEST(reading_survives_any_failed_allocation)
{
    char text[] = "{\"a\":[1,2.5,\"x\",null,true],\"b\":{\"c\":{}}}";
    expect_clean(read_document, text);
}
END_TEST

START_TEST(writing_survives_any_failed_allocation)
{
    expect_clean(write_document, NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("torture json_io");
    TCase *tc = tcase_create("allocations");
    tcase_add_test(tc, reading_survives_any_failed_allocation);
    tcase_add_test(tc, writing_survives_any_failed_allocation);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
