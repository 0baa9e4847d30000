/* Timelines are read event by event. */
#include "tests/support/peak_memory.h"
#include "tools/ppsim/compare/read.h"

/* The quantities of a timeline are not larger than its text; a tree takes ten times that. */
START_TEST(a_timeline_takes_no_more_than_its_text)
{
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_compare_file file PP_CLEANUP(pp_compare_file_free) = { 0 };
    pp_err err = { 0 };
    if (!peak_is_known())
        return;
    print_long_trace((size_t)32 << 20, &text);
    const size_t before = peak_bytes();
    STEP_OK(pp_compare_parse(text.data, text.bytes, "x", &file, &err), err);
    const size_t more = peak_bytes() - before;
    ck_assert_int_eq(file.kind, PP_COMPARE_TIMELINE);
    ck_assert_uint_ge(file.count, 90000);
    ck_assert_msg(more < text.bytes, "%zu bytes beside a text of %zu", more, text.bytes);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("compare_timeline");
    TCase *tc = tcase_create("timeline");
    tcase_set_timeout(tc, (double)(60 * step_patience()));
    tcase_add_test(tc, a_timeline_takes_no_more_than_its_text);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
