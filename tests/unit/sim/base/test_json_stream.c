/* Reads JSON value by value: valid text is read, whatever the window contains, and invalid text is
 * refused with its place. */
#include "sim/base/alloc.h"
#include "sim/base/json_stream.h"
#include "sim/base/text.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A text that comes in pieces. */
typedef struct pieces {
    const char *text;
    size_t bytes, at, piece;
    bool fails; /* at its end */
} pieces;

static pp_status bring(void *context, char *buffer, size_t most, size_t *bytes_out, pp_err *err)
{
    pieces *p = context;
    size_t n = p->bytes - p->at < p->piece ? p->bytes - p->at : p->piece;
    n = n < most ? n : most;
    if (n == 0 && p->fails)
        return pp_err_set(err, PP_IO, "disk", "is on fire");
    memcpy(buffer, p->text + p->at, n);
    p->at += n;
    *bytes_out = n;
    return PP_OK;
}

/* Reads a document whose values do not matter. */
static pp_status skip_document(pp_json_stream *s, bool marked, pp_err *err)
{
    if (marked) {
        do
            pp_json_stream_mark(s);
        while (!pp_json_stream_skip(s) && pp_json_stream_retry(s));
    } else {
        (void)pp_json_stream_skip(s);
    }
    do
        pp_json_stream_mark(s);
    while (!pp_json_stream_end(s) && pp_json_stream_retry(s));
    return pp_json_stream_check(s, "x", err);
}

/* In memory, and in pieces of every size, with and without a mark, the result is the same. */
static pp_status read_all_ways(const char *text, size_t bytes, pp_err *err)
{
    pp_json_stream whole = pp_json_stream_of(text, bytes);
    pp_status wanted = skip_document(&whole, false, err);
    const size_t most = bytes < 100 ? bytes : 100;
    for (size_t piece = 1; piece <= most; piece++) {
        for (int marked = 0; marked < 2; marked++) {
            pieces p = { .text = text, .bytes = bytes, .piece = piece };
            pp_err piece_err = { 0 };
            pp_json_stream s PP_CLEANUP(pp_json_stream_close) =
                pp_json_stream_open(bring, &p, &piece_err);
            ck_assert_int_eq(skip_document(&s, marked, &piece_err), wanted);
            ck_assert_str_eq(piece_err.where, err->where);
            ck_assert_str_eq(piece_err.text, err->text);
        }
    }
    return wanted;
}

static const char *const good[] = {
    "{}",
    " [ ]\r\n",
    "0",
    "-12.5e+3",
    "1e999",
    "123456789012345678901234567890123456789012345678901234567890123456789012345",
    "true",
    "[NaN, -NaN, nan, -nan, Infinity, -Infinity, inf, -inf]",
    "[0, -0, 0.5, 1E5, 10e-05]",
    "\t[true , false,null]",
    "\"\"",
    "{\"a\":[1,{\"b\":\"]}\"},[]],\"\":{}}",
    "[\"\\\"\\\\\",\"\\ud83d\\ude00\",\"\\ud800\",\"C:\\path\",\"\xf0\x9f\x98\x80\","
    "\"two\nlines\"]",
};

START_TEST(valid_documents_are_read)
{
    pp_err err = { 0 };
    ck_assert_msg(read_all_ways(good[_i], strlen(good[_i]), &err) == PP_OK, "%s: %s", err.where,
                  err.text);
}
END_TEST

static const struct {
    const char *text, *where, *words;
} bad[] = {
    { "", "x:1:1", "cut off" },
    { " \n ", "x:2:2", "cut off" },
    { "[", "x:1:2", "cut off" },
    { "[1", "x:1:3", "cut off" },
    { "[1,", "x:1:4", "cut off" },
    { "{\"a\"", "x:1:5", "cut off" },
    { "{\"a\":\n", "x:2:1", "cut off" },
    { "\"abc", "x:1:5", "cut off" },
    { "\"abc\\\"", "x:1:7", "cut off" },
    { "[1 2]", "x:1:4", "a comma" },
    { "[1,]", "x:1:4", "a value was expected" },
    { "[,1]", "x:1:2", "a value was expected" },
    { "[1}", "x:1:3", "a comma" },
    { "{\"a\" 1}", "x:1:6", "a colon was expected" },
    { "{1:2}", "x:1:2", "a string was expected" },
    { "{\"a\":1,}", "x:1:8", "a string was expected" },
    { "[nAN]", "x:1:2", "a value was expected" },
    { "[Inf]", "x:1:2", "a value was expected" },
    { "[-Nan]", "x:1:3", "a value was expected" },
    { "[NaN1]", "x:1:5", "a comma" },
    { "[+NaN]", "x:1:2", "a value was expected" },
    { "[tru]", "x:1:2", "a value was expected" },
    { "nul", "x:1:4", "cut off" },
    { "n", "x:1:2", "cut off" },
    { "[tr", "x:1:4", "cut off" },
    { "[-Infin", "x:1:8", "cut off" },
    { "[-", "x:1:3", "cut off" },
    { "[1e", "x:1:4", "cut off" },
    { "nulx", "x:1:1", "a value was expected" },
    { "+1", "x:1:1", "a value was expected" },
    { "[-]", "x:1:2", "no number" },
    { "[-e5]", "x:1:2", "no number" },
    { "[1.2.3]", "x:1:2", "no number" },
    { "[007]", "x:1:2", "no number" },
    { "[-01]", "x:1:2", "no number" },
    { "[1.]", "x:1:2", "no number" },
    { "[1.e5]", "x:1:2", "no number" },
    { "[1e]", "x:1:2", "no number" },
    { "[1e+]", "x:1:2", "no number" },
    { "[1-2]", "x:1:2", "no number" },
    { "'a'", "x:1:1", "a value was expected" },
    { "{}\n  {}", "x:2:3", "there is text after the end" },
};

START_TEST(bad_syntax_is_refused_with_its_place)
{
    pp_err err = { 0 };
    ck_assert_int_eq(read_all_ways(bad[_i].text, strlen(bad[_i].text), &err), PP_INPUT);
    ck_assert_str_eq(err.where, bad[_i].where);
    ck_assert_msg(strstr(err.text, bad[_i].words), "%s: %s", bad[_i].text, err.text);
}
END_TEST

START_TEST(depth_is_limited)
{
    char text[2 * PP_JSON_DEPTH_MAX + 2];
    memset(text, '[', PP_JSON_DEPTH_MAX + 1);
    memset(text + PP_JSON_DEPTH_MAX + 1, ']', PP_JSON_DEPTH_MAX + 1);
    pp_err err = { 0 };
    ck_assert_int_eq(read_all_ways(text + 1, sizeof text - 2, &err), PP_OK);
    ck_assert_int_eq(read_all_ways(text, sizeof text, &err), PP_INPUT);
    ck_assert(strstr(err.text, "nested too deeply"));
}
END_TEST

START_TEST(values_are_as_written)
{
    static const char text[] = "{\"a\\n\" : -1.5e3, \"b\" : \"x\\\"y\", \"c\" : 1e999, "
                               "\"d\" : [7, [8], 9], \"e\" : null, \"f\" : -inf}";
    for (size_t piece = 1; piece < sizeof text; piece++) {
        pieces p = { .text = text, .bytes = sizeof text - 1, .piece = piece };
        pp_err err = { 0 };
        pp_text seen PP_CLEANUP(pp_text_free) = { 0 };
        pp_json_stream s PP_CLEANUP(pp_json_stream_close) = pp_json_stream_open(bring, &p, &err);
        bool more = true;
        do
            pp_json_stream_mark(&s);
        while (!pp_json_stream_enter(&s, '{') && pp_json_stream_retry(&s));
        while (more) {
            pp_span key = { 0 };
            pp_span value = { 0 };
            double number = 0;
            pp_json_stream_mark(&s);
            more = pp_json_stream_key(&s, &key);
            const pp_json_token token = more ? pp_json_stream_peek(&s) : PP_TOKEN_NONE;
            if (token == PP_TOKEN_TEXT)
                (void)pp_json_stream_if_text(&s, &value);
            else if (more)
                (void)pp_json_stream_if_number(&s, &number);
            if (pp_json_stream_retry(&s))
                more = true;
            else if (more)
                pp_text_add(&seen, "%.*s=%.*s,%g;", (int)key.bytes, key.at, (int)value.bytes,
                            value.bytes ? value.at : "", isnan(number) ? -1 : number);
        }
        ck_assert_int_eq(pp_json_stream_check(&s, "x", &err), PP_OK);
        ck_assert_str_eq(seen.data, "a\\n=,-1500;b=x\\\"y,0;c=,-1;d=,0;e=,0;f=,-1;");
    }
}
END_TEST

/* Without a mark, skipped text leaves the window. */
START_TEST(a_long_value_takes_no_memory)
{
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_err err = { 0 };
    pp_text_add(&text, "[0");
    for (int i = 0; i < 300000; i++)
        pp_text_add(&text, ",\"%d\"", i);
    pp_text_add(&text, "]");
    pieces p = { .text = text.data, .bytes = text.bytes, .piece = SIZE_MAX };
    pp_json_stream s PP_CLEANUP(pp_json_stream_close) = pp_json_stream_open(bring, &p, &err);
    ck_assert_int_eq(skip_document(&s, false, &err), PP_OK);
    ck_assert_uint_lt(s.capacity, 1 << 18);
    ck_assert_uint_gt(text.bytes, 1 << 21);
}
END_TEST

static pp_status read_long_text(size_t bytes, pp_err *err)
{
    char *text PP_CLEANUP(pp_free_text) = pp_alloc_array(bytes, 1);
    ck_assert_ptr_nonnull(text);
    memset(text, 'x', bytes);
    text[0] = text[bytes - 1] = '"';
    pieces p = { .text = text, .bytes = bytes, .piece = SIZE_MAX };
    pp_json_stream s PP_CLEANUP(pp_json_stream_close) = pp_json_stream_open(bring, &p, err);
    return skip_document(&s, false, err);
}

START_TEST(a_text_above_32_mib_is_refused)
{
    pp_err err = { 0 };
    ck_assert_int_eq(read_long_text(PP_JSON_PIECE_MAX, &err), PP_OK);
    ck_assert_int_eq(read_long_text(PP_JSON_PIECE_MAX + 1, &err), PP_INPUT);
    ck_assert(strstr(err.text, "longer than 32 MiB"));
}
END_TEST

/* The end of the text is not the end of the document while a bracket is open. */
START_TEST(open_brackets_are_no_end)
{
    pp_err err = { 0 };
    pp_json_stream s = pp_json_stream_of("[", 1);
    ck_assert(pp_json_stream_enter(&s, '['));
    ck_assert(!pp_json_stream_end(&s));
    ck_assert_int_eq(pp_json_stream_check(&s, "x", &err), PP_INPUT);
    ck_assert(strstr(err.text, "cut off"));
}
END_TEST

START_TEST(errors_of_the_source_are_passed_on)
{
    for (int marked = 0; marked < 2; marked++) {
        pieces p = { .text = "[1", .bytes = 2, .piece = 1, .fails = true };
        pp_err err = { 0 };
        pp_json_stream s PP_CLEANUP(pp_json_stream_close) = pp_json_stream_open(bring, &p, &err);
        ck_assert_int_eq(skip_document(&s, marked, &err), PP_IO);
        ck_assert_str_eq(err.where, "disk");
    }
}
END_TEST

START_TEST(lines_are_counted_across_windows)
{
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_err err = { 0 };
    pp_text_add(&text, "[0");
    for (int i = 0; i < 50000; i++)
        pp_text_add(&text, ",\n%d", i);
    pp_text_add(&text, "   x");
    pieces p = { .text = text.data, .bytes = text.bytes, .piece = 1000 };
    pp_json_stream s PP_CLEANUP(pp_json_stream_close) = pp_json_stream_open(bring, &p, &err);
    ck_assert_int_eq(skip_document(&s, false, &err), PP_INPUT);
    ck_assert_str_eq(err.where, "x:50001:9");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("json_stream");
    TCase *tc = tcase_create("texts");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, valid_documents_are_read, 0, (int)(sizeof good / sizeof good[0]));
    tcase_add_loop_test(tc, bad_syntax_is_refused_with_its_place, 0,
                        (int)(sizeof bad / sizeof bad[0]));
    tcase_add_test(tc, depth_is_limited);
    tcase_add_test(tc, values_are_as_written);
    tcase_add_test(tc, a_long_value_takes_no_memory);
    tcase_add_test(tc, a_text_above_32_mib_is_refused);
    tcase_add_test(tc, open_brackets_are_no_end);
    tcase_add_test(tc, errors_of_the_source_are_passed_on);
    tcase_add_test(tc, lines_are_counted_across_windows);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
