/* Traces are read event by event. */
#include "tests/support/peak_memory.h"
#include "traces/read/chrome_read.h"

/* The tree of a trace takes ten times its text; the ops, with what sorting them takes, half of it.
 */
START_TEST(a_trace_takes_no_more_than_its_text)
{
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_track track PP_CLEANUP(pp_track_free) = { 0 };
    pp_err err = { 0 };
    if (!peak_is_known())
        return;
    print_long_trace((size_t)32 << 20, &text);
    const size_t before = peak_bytes();
    ck_assert(pp_chrome_recognise(text.data, text.bytes));
    STEP_OK(pp_chrome_read(text.data, text.bytes, "x", &track, &err), err);
    const size_t more = peak_bytes() - before;
    ck_assert_uint_ge(track.box_count, 90000);
    ck_assert_uint_eq(track.gap_count, track.box_count);
    ck_assert_msg(more < text.bytes, "%zu bytes beside a text of %zu", more, text.bytes);
}
END_TEST

START_TEST(what_has_no_events_is_no_trace)
{
    static const struct {
        const char *text;
        bool is;
    } rows[] = {
        { "{\"traceEvents\":[]}", true },
        { " {\"a\":{\"traceEvents\":1},\"b\":[1,2] , \"traceEvents\" : 7}", true },
        { "{\"a\":{\"traceEvents\":[]}}", false },
        { "[{\"traceEvents\":[]}]", false },
        { "{\"traceEvents\":[}", false },
        { "{\"traceEvents\"", false },
        { "{\"traceEvents\":", false },
        { "{", false },
        { "", false },
        { "0F0,0B0\n", false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        ck_assert_msg(pp_chrome_recognise(rows[i].text, strlen(rows[i].text)) == rows[i].is, "%s",
                      rows[i].text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("chrome_read");
    TCase *tc = tcase_create("chrome_read");
    tcase_set_timeout(tc, (double)(60 * step_patience()));
    tcase_add_test(tc, a_trace_takes_no_more_than_its_text);
    tcase_add_test(tc, what_has_no_events_is_no_trace);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
