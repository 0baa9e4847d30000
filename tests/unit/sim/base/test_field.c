/* Names of fields in messages: those of the library, or those of the command. */
#include "sim/base/field.h"
#include "sim/schedule/registry.h"
#include "tools/ppsim/base/option_names.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

START_TEST(every_field_has_both_names)
{
    const pp_err command = PP_COMMAND_ERR;
    const pp_field field = (pp_field)_i;
    ck_assert_ptr_nonnull(pp_option_names.of[field]);
    ck_assert_str_ne(pp_err_name(NULL, field), "");
    ck_assert_ptr_null(strstr(pp_err_name(NULL, field), "--"));
    ck_assert_ptr_null(strstr(pp_err_name(NULL, field), "ppsim "));
    ck_assert_str_eq(pp_err_name(&command, field), pp_option_names.of[field]);
}
END_TEST

static pp_err refuse_three_chunks(pp_err err)
{
    const pp_schedule_params shape = { .ranks = 2, .chunks = 3, .microbatches = 4 };
    ck_assert_int_eq(pp_schedule_check(pp_schedule_find("zbv"), &shape, &err), PP_USAGE);
    return err;
}

START_TEST(a_message_speaks_as_its_reader_does)
{
    pp_err library = refuse_three_chunks((pp_err){ 0 });
    pp_err command = refuse_three_chunks((pp_err)PP_COMMAND_ERR);
    ck_assert_str_eq(library.where, "chunks");
    ck_assert_str_eq(library.text, "zbv has 2 stages per rank, not 3; leave chunks out or choose "
                                   "'interleaved'");
    ck_assert_str_eq(command.where, "--vpp");
    ck_assert_str_eq(command.text, "zbv has 2 stages per rank, not 3; leave --vpp out or choose "
                                   "'interleaved'");
}
END_TEST

/* Values appear in messages unchanged, whatever they look like. */
START_TEST(values_are_not_names)
{
    static const char *const hostile[] = { "{chunks}",        "%s%n",    "--vpp", "chunks",
                                           "PP_FIELD_CHUNKS", "\x01\x02" };
    pp_err err = PP_COMMAND_ERR;
    const pp_schedule *schedule = NULL;
    char part[80];
    ck_assert_int_eq(pp_schedule_get(hostile[_i], &schedule, &err), PP_USAGE);
    snprintf(part, sizeof part, "there is no schedule '%s'", hostile[_i]);
    ck_assert_ptr_nonnull(strstr(err.text, part));
    pp_err outer = pp_err_like(&err);
    ck_assert_int_eq(pp_err_set(&outer, PP_INPUT, hostile[_i], "%s", err.text), PP_INPUT);
    ck_assert_str_eq(outer.where, hostile[_i]);
    ck_assert_str_eq(outer.text, err.text);
}
END_TEST

START_TEST(reports_inherit_names_alone)
{
    pp_err err = PP_COMMAND_ERR;
    ck_assert_int_eq(pp_err_set(&err, PP_INPUT, "here", "a reason"), PP_INPUT);
    pp_err inner = pp_err_like(&err);
    ck_assert_int_eq(inner.status, PP_OK);
    ck_assert_str_eq(inner.where, "");
    ck_assert_str_eq(inner.text, "");
    ck_assert_str_eq(pp_err_name(&inner, PP_FIELD_RANKS), "--pp");
    inner = pp_err_like(NULL);
    ck_assert_str_eq(pp_err_name(&inner, PP_FIELD_RANKS), "ranks");
}
END_TEST

/* A front end need not name all fields. */
START_TEST(what_has_no_name_keeps_its_own)
{
    const struct pp_field_names some = { .of = { [PP_FIELD_TP] = "width" } };
    const pp_err err = { .names = &some };
    ck_assert_str_eq(pp_err_name(&err, PP_FIELD_TP), "width");
    ck_assert_str_eq(pp_err_name(&err, PP_FIELD_CP), "cp");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("field");
    TCase *tc = tcase_create("field");
    tcase_add_loop_test(tc, every_field_has_both_names, PP_FIELD_MODEL, PP_FIELD_COUNT);
    tcase_add_test(tc, a_message_speaks_as_its_reader_does);
    tcase_add_loop_test(tc, values_are_not_names, 0, 6);
    tcase_add_test(tc, reports_inherit_names_alone);
    tcase_add_test(tc, what_has_no_name_keeps_its_own);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
