/* JSON is read strictly, errors have their place, and output can be read back exactly. */
#include "sim/base/json.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void free_json(pp_json **json)
{
    pp_json_free(json);
}

static void free_text(char **text)
{
    free(*text);
}

static pp_json *parsed(const char *text)
{
    pp_json *json = NULL;
    pp_err err = { 0 };
    ck_assert_msg(pp_json_parse(text, strlen(text), "f", &json, &err) == PP_OK, "%s: %s", err.where,
                  err.text);
    return json;
}

/* RFC 8259; in addition, duplicate keys, NaN and overflow are refused. */
START_TEST(what_is_not_strict_json_is_refused_with_line_and_column)
{
    static const struct {
        const char *text, *where;
    } cases[] = {
        { "", "f:1:0" },
        { "{", "f:1:1" },
        { "{\"a\":1,}", "f:1:8" },
        { "{\"a\":1}\n x", "f:2:2" },
        { "{\"a\":1,\n\"a\":2}", "f:2:3" },
        { "[NaN]", "f:1:4" },
        { "[Infinity]", "f:1:9" },
        { "[1e999]", "f:1:6" },
        { "[9223372036854775808]", "f:1:20" },
        { "[01]", "f:1:2" },
        { "[1.]", "f:1:3" },
        { "[+1]", "f:1:2" },
        { "['a']", "f:1:2" },
        { "[\"\\u0000\"]", "f:1:9" },
        { "[\"\xff\"]", "f:1:2" },
        { "[1 /* */]", "f:1:4" },
    };
    _Static_assert(sizeof cases / sizeof cases[0] == 16, "as often as main loops");
    pp_json *json PP_CLEANUP(free_json) = NULL;
    pp_err err = { 0 };
    ck_assert_int_eq(pp_json_parse(cases[_i].text, strlen(cases[_i].text), "f", &json, &err),
                     PP_INPUT);
    ck_assert_ptr_null(json);
    ck_assert_msg(strncmp(err.where, "f:", 2) == 0, "%s", err.where);
    ck_assert_msg(strncmp(err.where, cases[_i].where, 4) == 0, "%s: %s", err.where, err.text);
}
END_TEST

START_TEST(deep_nesting_is_an_error_and_not_a_crash)
{
    size_t depth = 1000000;
    char *text PP_CLEANUP(free_text) = malloc(depth);
    pp_json *json PP_CLEANUP(free_json) = NULL;
    pp_err err = { 0 };
    ck_assert_ptr_nonnull(text);
    memset(text, '[', depth);
    ck_assert_int_eq(pp_json_parse(text, depth, "f", &json, &err), PP_INPUT);
}
END_TEST

START_TEST(a_text_needs_no_nul_at_its_end)
{
    pp_json *json PP_CLEANUP(free_json) = NULL;
    pp_err err = { 0 };
    ck_assert_int_eq(pp_json_parse("[1]garbage", 3, "f", &json, &err), PP_OK);
}
END_TEST

START_TEST(messages_carry_the_json_pointer)
{
    pp_json *json PP_CLEANUP(free_json) = parsed("{\"a\":[0,{\"b\":true}]}");
    pp_json_at root = pp_json_root(json, "f.json");
    pp_json_at a;
    pp_json_at item;
    pp_json_at b;
    int64_t value = 5;
    pp_err err = { 0 };
    ck_assert_int_eq(pp_json_get(&root, "a", &a, &err), PP_OK);
    ck_assert_int_eq(pp_json_item(&a, 1, &item, &err), PP_OK);
    ck_assert_int_eq(pp_json_get(&item, "b", &b, &err), PP_OK);
    ck_assert_int_eq(pp_json_read_int(&b, 0, 9, &value, &err), PP_INPUT);
    ck_assert_str_eq(err.where, "f.json#/a/1/b");
    ck_assert_str_eq(err.text, "must be a whole number, not a boolean");
    ck_assert_int_eq(value, 5);
}
END_TEST

/* RFC 6901, section 3: ~ is written ~0 and / is written ~1. */
START_TEST(a_pointer_escapes_slash_and_tilde)
{
    pp_json *json PP_CLEANUP(free_json) = parsed("{\"a/b~c\":1}");
    pp_json_at root = pp_json_root(json, "f");
    pp_json_at at;
    pp_err err = { 0 };
    ck_assert_int_eq(pp_json_get(&root, "a/b~c", &at, &err), PP_OK);
    ck_assert_int_eq(pp_json_fail(&at, &err, "x"), PP_INPUT);
    ck_assert_str_eq(err.where, "f#/a~1b~0c");
}
END_TEST

START_TEST(a_long_place_is_cut_and_not_overrun)
{
    char text[4096];
    char name[400];
    size_t used = 0;
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    for (int i = 0; i < 50; i++)
        used += (size_t)sprintf(text + used, "{\"a-key-of-some-length-to-fill-up-%d\":", i);
    used += (size_t)sprintf(text + used, "1");
    for (int i = 0; i < 50; i++)
        used += (size_t)sprintf(text + used, "}");
    pp_json *json PP_CLEANUP(free_json) = parsed(text);
    pp_json_at at[51];
    pp_err err = { 0 };
    at[0] = pp_json_root(json, name);
    for (int i = 0; i < 50; i++) {
        char key[64];
        snprintf(key, sizeof key, "a-key-of-some-length-to-fill-up-%d", i);
        ck_assert_int_eq(pp_json_get(&at[i], key, &at[i + 1], &err), PP_OK);
        at[i + 1].key = "a-key-of-some-length-to-fill-up";
    }
    ck_assert_int_eq(pp_json_fail(&at[50], &err, "%2000s", "long"), PP_INPUT);
    ck_assert_uint_lt(strlen(err.where), sizeof err.where);
    ck_assert_uint_lt(strlen(err.text), sizeof err.text);
}
END_TEST

START_TEST(the_first_report_wins)
{
    pp_err err = { 0 };
    ck_assert_int_eq(pp_err_set(&err, PP_INPUT, "a", "one"), PP_INPUT);
    ck_assert_int_eq(pp_err_set(&err, PP_IO, "b", "two"), PP_IO);
    ck_assert_str_eq(err.text, "one");
    ck_assert_int_eq(err.status, PP_INPUT);
}
END_TEST

START_TEST(ranges_include_their_ends)
{
    pp_json *json PP_CLEANUP(free_json) =
        parsed("{\"i\":5,\"r\":2.5,\"big\":9223372036854775807,\"low\":-9223372036854775808}");
    pp_json_at root = pp_json_root(json, "f");
    int64_t value;
    double real;
    pp_err err = { 0 };
    ck_assert_int_eq(pp_json_get_int(&root, "i", 5, 5, &value, NULL), PP_OK);
    ck_assert_int_eq(pp_json_get_int(&root, "i", 6, 9, &value, NULL), PP_INPUT);
    ck_assert_int_eq(pp_json_get_int(&root, "i", 1, 4, &value, NULL), PP_INPUT);
    ck_assert_int_eq(pp_json_get_int(&root, "big", 0, INT64_MAX, &value, NULL), PP_OK);
    ck_assert_int_eq(value, INT64_MAX);
    ck_assert_int_eq(pp_json_get_int(&root, "low", INT64_MIN, 0, &value, NULL), PP_OK);
    ck_assert_int_eq(value, INT64_MIN);
    ck_assert_int_eq(pp_json_get_double(&root, "r", 2.5, 2.5, &real, NULL), PP_OK);
    ck_assert_int_eq(pp_json_get_double(&root, "i", 0, 9, &real, NULL), PP_OK);
    ck_assert(real == 5.0);
    ck_assert_int_eq(pp_json_get_int(&root, "r", 0, 9, &value, NULL), PP_INPUT);
    ck_assert_int_eq(pp_json_get_double(&root, "r", 3, 4, &real, &err), PP_INPUT);
    ck_assert_str_eq(err.where, "f#/r");
}
END_TEST

START_TEST(absent_and_null_differ_from_present)
{
    pp_json *json PP_CLEANUP(free_json) = parsed("{\"n\":null,\"f\":false}");
    pp_json_at root = pp_json_root(json, "f");
    pp_json_at at;
    bool flag = true;
    pp_err err = { 0 };
    ck_assert(!pp_json_has(&root, "n"));
    ck_assert(!pp_json_has(&root, "x"));
    ck_assert(pp_json_has(&root, "f"));
    ck_assert_int_eq(pp_json_get(&root, "n", &at, NULL), PP_OK);
    ck_assert_int_eq(pp_json_kind_at(&at), PP_JSON_NULL);
    ck_assert_int_eq(pp_json_get_bool(&root, "f", &flag, NULL), PP_OK);
    ck_assert(!flag);
    ck_assert_int_eq(pp_json_get(&root, "x", &at, &err), PP_INPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "\"x\" is missing"));
}
END_TEST

START_TEST(members_of_what_is_no_object_are_errors)
{
    static const char *const texts[] = { "[]", "1", "null", "\"a\"", "true" };
    _Static_assert(sizeof texts / sizeof texts[0] == 5, "as often as main loops");
    pp_json *json PP_CLEANUP(free_json) = parsed(texts[_i]);
    pp_json_at root = pp_json_root(json, "f");
    pp_json_at at;
    static const char *const keys[] = { "a", NULL };
    ck_assert(!pp_json_has(&root, "a"));
    ck_assert_int_eq(pp_json_get(&root, "a", &at, NULL), PP_INPUT);
    ck_assert_int_eq(pp_json_only(&root, keys, NULL), PP_INPUT);
    ck_assert_int_eq(pp_json_check_format(&root, "x", 1, NULL), PP_INPUT);
}
END_TEST

START_TEST(unknown_keys_are_named_with_the_nearest_known)
{
    static const char *const keys[] = { "layers", "hidden", NULL };
    pp_json *json PP_CLEANUP(free_json) = parsed("{\"hidden\":1,\"layer\":2}");
    pp_json_at root = pp_json_root(json, "f");
    pp_err err = { 0 };
    ck_assert_int_eq(pp_json_only(&root, keys, &err), PP_INPUT);
    ck_assert_str_eq(err.text, "unknown key \"layer\"; did you mean \"layers\"?");
}
END_TEST

START_TEST(formats_and_versions_are_checked)
{
    static const struct {
        const char *text, *where;
    } cases[] = {
        { "{\"format\":\"x\",\"version\":1}", NULL },
        { "{\"format\":\"x\",\"version\":2}", NULL },
        { "{\"format\":\"x\",\"version\":3}", "f#/version" },
        { "{\"format\":\"x\",\"version\":0}", "f#/version" },
        { "{\"format\":\"x\",\"version\":1.0}", "f#/version" },
        { "{\"format\":\"y\",\"version\":1}", "f#/format" },
        { "{\"format\":7,\"version\":1}", "f#/format" },
        { "{\"version\":1}", "f#" },
        { "{\"format\":\"x\"}", "f#" },
    };
    _Static_assert(sizeof cases / sizeof cases[0] == 9, "as often as main loops");
    pp_json *json PP_CLEANUP(free_json) = parsed(cases[_i].text);
    pp_json_at root = pp_json_root(json, "f");
    pp_err err = { 0 };
    pp_status status = pp_json_check_format(&root, "x", 2, &err);
    ck_assert_int_eq(status, cases[_i].where ? PP_INPUT : PP_OK);
    if (cases[_i].where)
        ck_assert_str_eq(err.where, cases[_i].where);
}
END_TEST

START_TEST(a_name_that_fills_its_buffer_is_refused)
{
    pp_json *json PP_CLEANUP(free_json) = parsed("{\"a\":\"1234\",\"n\":1}");
    pp_json_at root = pp_json_root(json, "f");
    char five[5];
    char four[4] = "abc";
    ck_assert_int_eq(pp_json_get_name(&root, "a", five, sizeof five, NULL), PP_OK);
    ck_assert_str_eq(five, "1234");
    ck_assert_int_eq(pp_json_get_name(&root, "a", four, sizeof four, NULL), PP_INPUT);
    ck_assert_str_eq(four, "abc");
    ck_assert_int_eq(pp_json_get_name(&root, "n", four, sizeof four, NULL), PP_INPUT);
}
END_TEST

static char *printed(pp_json_build *build, pp_json *json)
{
    char *text = NULL;
    size_t bytes = 0;
    pp_err err = { 0 };
    ck_assert_int_eq(pp_json_print(build, json, &text, &bytes, &err), PP_OK);
    ck_assert_uint_eq(strlen(text), bytes);
    return text;
}

/* Keys are sorted, and doubles have 17 digits. */
START_TEST(output_is_sorted_exact_and_reads_back)
{
    pp_json_build build = { 0 };
    pp_json *json PP_CLEANUP(free_json) = pp_json_new_object(&build);
    pp_json *list = pp_json_new_array(&build);
    pp_json_put_double(&build, json, "z", 0.1);
    pp_json_put_int(&build, json, "b", INT64_MAX);
    pp_json_put_bool(&build, json, "a", true);
    pp_json_put_text(&build, json, "none", NULL);
    pp_json_put_double(&build, json, "nan", (double)NAN);
    pp_json_put_text(&build, json, "t", "a\"\n\xc3\xa9");
    pp_json_add_int(&build, list, -1);
    pp_json_add_double(&build, list, 1e300);
    pp_json_add_text(&build, list, "x");
    pp_json_put(&build, json, "l", list);
    char *text PP_CLEANUP(free_text) = printed(&build, json);
    ck_assert_str_eq(text,
                     "{\n \"a\": true,\n \"b\": 9223372036854775807,\n \"l\": [\n  -1,\n  "
                     "1.0000000000000001e300,\n  \"x\"\n ],\n \"nan\": null,\n \"none\": null,\n"
                     " \"t\": \"a\\\"\\n\xc3\xa9\",\n \"z\": 0.10000000000000001\n}\n");
    pp_json *again PP_CLEANUP(free_json) = parsed(text);
    char *second PP_CLEANUP(free_text) = printed(&build, again);
    ck_assert_str_eq(text, second);
}
END_TEST

START_TEST(every_double_survives_the_way_out_and_in)
{
    static const double values[] = {
        0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, -0.0, 1e22, 2.5
    };
    _Static_assert(sizeof values / sizeof values[0] == 7, "as often as main loops");
    pp_json_build build = { 0 };
    pp_json *json PP_CLEANUP(free_json) = pp_json_new_object(&build);
    pp_json_put_double(&build, json, "v", values[_i]);
    char *text PP_CLEANUP(free_text) = printed(&build, json);
    pp_json *again PP_CLEANUP(free_json) = parsed(text);
    pp_json_at root = pp_json_root(again, "f");
    double back = 7;
    ck_assert_int_eq(pp_json_get_double(&root, "v", -INFINITY, INFINITY, &back, NULL), PP_OK);
    ck_assert_mem_eq(&back, &values[_i], sizeof back);
}
END_TEST

START_TEST(a_failed_build_is_reported_when_printed)
{
    pp_json_build build = { .failed = true };
    pp_json *json PP_CLEANUP(free_json) = pp_json_new_object(&build);
    char *text = NULL;
    size_t bytes = 0;
    ck_assert_int_eq(pp_json_print(&build, json, &text, &bytes, NULL), PP_NOMEM);
    ck_assert_ptr_null(text);
    pp_json_put_int(&build, NULL, "a", 1); /* harmless */
    pp_json_add_int(&build, NULL, 1);
}
END_TEST

START_TEST(a_file_that_is_missing_or_a_folder_is_an_io_error)
{
    pp_json *json PP_CLEANUP(free_json) = NULL;
    pp_err err = { 0 };
    ck_assert_int_eq(pp_json_load("no/such.json", &json, &err), PP_IO);
    ck_assert_str_eq(err.where, "no/such.json");
    ck_assert_int_eq(pp_json_load("/", &json, NULL), PP_IO);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("json_io");
    TCase *tc = tcase_create("json_io");
    suite_add_tcase(suite, tc);
    tcase_add_loop_test(tc, what_is_not_strict_json_is_refused_with_line_and_column, 0, 16);
    tcase_add_test(tc, deep_nesting_is_an_error_and_not_a_crash);
    tcase_add_test(tc, a_text_needs_no_nul_at_its_end);
    tcase_add_test(tc, messages_carry_the_json_pointer);
    tcase_add_test(tc, a_pointer_escapes_slash_and_tilde);
    tcase_add_test(tc, a_long_place_is_cut_and_not_overrun);
    tcase_add_test(tc, the_first_report_wins);
    tcase_add_test(tc, ranges_include_their_ends);
    tcase_add_test(tc, absent_and_null_differ_from_present);
    tcase_add_loop_test(tc, members_of_what_is_no_object_are_errors, 0, 5);
    tcase_add_test(tc, unknown_keys_are_named_with_the_nearest_known);
    tcase_add_loop_test(tc, formats_and_versions_are_checked, 0, 9);
    tcase_add_test(tc, a_name_that_fills_its_buffer_is_refused);
    tcase_add_test(tc, output_is_sorted_exact_and_reads_back);
    tcase_add_loop_test(tc, every_double_survives_the_way_out_and_in, 0, 7);
    tcase_add_test(tc, a_failed_build_is_reported_when_printed);
    tcase_add_test(tc, a_file_that_is_missing_or_a_folder_is_an_io_error);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
