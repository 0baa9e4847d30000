/* Trace Event files are read piece by piece: every event and member is complete, wherever a chunk
 * ends. */
#include "sim/base/alloc.h"
#include "sim/base/text.h"
#include "tests/support/scratch_file.h"
#include "traces/read/events.h"
#include "traces/read/gzip.h"

#include <check.h>
#include <string.h>

typedef struct seen {
    pp_text events, members;
    size_t last_line;
} seen;

static void free_seen(seen *s)
{
    pp_text_free(&s->events);
    pp_text_free(&s->members);
}

static pp_status take_event(void *context, const pp_event *event, pp_err *err)
{
    seen *s = context;
    (void)err;
    pp_text_add_bytes(&s->events, event->text.at, event->text.bytes);
    pp_text_add_bytes(&s->events, "|", 1);
    s->last_line = event->line;
    return PP_OK;
}

static pp_status take_member(void *context, const pp_event_member *member, pp_err *err)
{
    seen *s = context;
    (void)err;
    pp_text_add_bytes(&s->members, member->text.at, member->text.bytes);
    pp_text_add_bytes(&s->members, "|", 1);
    return PP_OK;
}

static pp_status print_event(void *context, const pp_event *e, pp_err *err)
{
    const pp_span spans[] = { e->phase, e->category, e->name, e->process };
    (void)err;
    for (size_t i = 0; i < sizeof spans / sizeof spans[0]; i++) {
        pp_text_add_bytes(context, spans[i].at, spans[i].bytes);
        pp_text_add_bytes(context, " ", 1);
    }
    pp_text_add(context, "%g %g %g %zu|", e->begin_us, e->duration_us, e->correlation, e->line);
    return PP_OK;
}

/* Leaves only the part after the file's name in err->where. */
static pp_status read_text_err(const char *text, size_t bytes, seen *out, pp_err *err)
{
    scratch_file file PP_CLEANUP(scratch_remove) = scratch_write(text, bytes);
    const pp_events_visitor visitor = { take_event, take_member, out };
    const pp_status status = pp_events_read(file.path, &visitor, err);
    const size_t name = strlen(file.path);
    if (strncmp(err->where, file.path, name) == 0)
        memmove(err->where, err->where + name, strlen(err->where + name) + 1);
    return status;
}

static pp_status read_text(const char *text, size_t bytes, seen *out)
{
    pp_err err = { 0 };
    return read_text_err(text, bytes, out, &err);
}

static const struct {
    const char *text, *events, *members;
} good[] = {
    { "{\"traceEvents\":[{\"a\":1},{\"b\":{\"c\":[1,{}]}}]}", "{\"a\":1}|{\"b\":{\"c\":[1,{}]}}|",
      NULL },
    { " [ {\"a\":1}\n, {\"b\":2} ]\n", "{\"a\":1}|{\"b\":2}|", NULL },
    { "{\"x\": 1, \"traceEvents\" : [ ] , \"y\":[{\"n\":\",\"}]}", NULL,
      "\"x\": 1|\"y\":[{\"n\":\",\"}]|" },
    { "{\"traceEvents\":[{\"n\":\"]}\\\"{[\"},{\"n\":\"\\\\\"}]}",
      "{\"n\":\"]}\\\"{[\"}|{\"n\":\"\\\\\"}|", NULL },
    { "{\"a\":{\"traceEvents\":[{\"no\":1}]},\"traceEvents\":[{\"yes\":1}]}", "{\"yes\":1}|",
      "\"a\":{\"traceEvents\":[{\"no\":1}]}|" },
};

START_TEST(events_and_members_are_whole)
{
    seen found PP_CLEANUP(free_seen) = { 0 };
    ck_assert_int_eq(read_text(good[_i].text, strlen(good[_i].text), &found), PP_OK);
    ck_assert_pstr_eq(found.events.data, good[_i].events);
    ck_assert_pstr_eq(found.members.data, good[_i].members);
}
END_TEST

/* Whatever precedes them, the events have these members, or there is none of that type. */
static void expect_events(const char *text, const char *wanted)
{
    pp_text found PP_CLEANUP(pp_text_free) = { 0 };
    const pp_events_visitor visitor = { print_event, NULL, &found };
    pp_err err = { 0 };
    ck_assert_int_eq(pp_events_parse(text, strlen(text), "x", &visitor, &err), PP_OK);
    ck_assert_str_eq(found.data, wanted);
}

START_TEST(members_of_an_event_are_read)
{
    static const char text[] =
        "[5,[{}],{\"args\":{\"correlation\":7,\"x\":[{}]},\"pid\": 12 ,\"ph\":\"X\",\"dur\":1e3,"
        "\"ts\":-2.5,\"name\":\"a\\\"b\",\"cat\":\"c\"}\n,{\"args\":1,\"pid\":\"p\",\"ph\":1,"
        "\"dur\":\"1\",\"ts\":null,\"name\":[],\"cat\":{}},{}]";
    static const char wanted[] = "X c a\"b 12 -2.5 1000 7 1|   \"p\" nan nan nan 2|    nan nan "
                                 "nan 2|";
    expect_events(text, wanted);
}
END_TEST

static const struct {
    const char *text, *where, *words;
} bad[] = {
    { "", ":1", "is empty" },
    { "  \n", ":2", "is empty" },
    { "x", ":1", "is not a Trace Event file" },
    { "\n7", ":2", "is not a Trace Event file" },
    { "{\"traceEvents\":[{\"a\":1}", ":1", "is cut off" },
    { "{\"traceEvents\":[{\"a\":1}\n]", ":2", "is cut off" },
    { "[{\"a\":\"", ":1", "is cut off" },
    { "[{\"a\":tru", ":1", "is cut off" },
    { "{} {}", ":1:4", "there is text after the end" },
    { "[{\"a\":1}\n{\"a\":1}]", ":2:1", "a comma" },
    { "{\"traceEvents\":{}}", ":1:16", "\"traceEvents\": an array was expected" },
    { "{\"traceEvents\":null}", ":1:16", "\"traceEvents\": an array was expected" },
};

START_TEST(what_is_cut_off_or_no_such_file_is_refused)
{
    seen found PP_CLEANUP(free_seen) = { 0 };
    pp_err err = { 0 };
    ck_assert_int_eq(read_text_err(bad[_i].text, strlen(bad[_i].text), &found, &err), PP_INPUT);
    ck_assert_str_eq(err.where, bad[_i].where);
    ck_assert_msg(strstr(err.text, bad[_i].words), "%s", err.text);
}
END_TEST

/* Longer than a chunk, at every offset of its end; compressed or not. */
START_TEST(chunks_do_not_show)
{
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_text wanted PP_CLEANUP(pp_text_free) = { 0 };
    char *packed PP_CLEANUP(pp_free_text) = NULL;
    size_t packed_bytes = 0;
    pp_err err = { 0 };
    pp_text_add(&text, "{%*s\"traceEvents\":[", _i, "");
    for (int i = 0; i < 9000; i++) {
        pp_text_add(&text, "%s{\"n\":\"%d\\\"]\"}", i ? ",\n" : "", i);
        pp_text_add(&wanted, "{\"n\":\"%d\\\"]\"}|", i);
    }
    pp_text_add(&text, "]}\n");
    ck_assert_uint_gt(text.bytes, 2 << 16);
    seen plain PP_CLEANUP(free_seen) = { 0 };
    ck_assert_int_eq(read_text(text.data, text.bytes, &plain), PP_OK);
    ck_assert_str_eq(plain.events.data, wanted.data);
    ck_assert_uint_eq(plain.last_line, 9000);
    ck_assert_int_eq(pp_gzip(text.data, text.bytes, &packed, &packed_bytes, &err), PP_OK);
    ck_assert_uint_lt(packed_bytes, text.bytes);
    seen unpacked PP_CLEANUP(free_seen) = { 0 };
    ck_assert_int_eq(read_text(packed, packed_bytes, &unpacked), PP_OK);
    ck_assert_str_eq(unpacked.events.data, wanted.data);
}
END_TEST

/* An event above the limit is refused, a member above it is left out. */
START_TEST(nothing_grows_with_the_file)
{
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    seen found PP_CLEANUP(free_seen) = { 0 };
    char *blank PP_CLEANUP(pp_free_text) = pp_alloc_array(PP_EVENT_BYTES_MAX + 1, 1);
    ck_assert_ptr_nonnull(blank);
    memset(blank, 'x', PP_EVENT_BYTES_MAX);
    pp_text_add(&text, "{\"a\":\"%s\",\"traceEvents\":[{\"b\":1}],\"c\":2}", blank);
    ck_assert_int_eq(read_text(text.data, text.bytes, &found), PP_OK);
    ck_assert_str_eq(found.events.data, "{\"b\":1}|");
    ck_assert_str_eq(found.members.data, "\"c\":2|");
}
END_TEST

typedef struct long_case {
    const char *before, *after; /* of the long part */
    char fill;                  /* the character that it consists of */
    const char *events;         /* NULL: the file is refused */
    const char *where, *words;  /* with this */
} long_case;

static const long_case long_cases[] = {
    { "{\"traceEvents\":[{}],\"", "", 'k', NULL, ":1", "is cut off" },
    { "{\"traceEvents\":[{}],\"", "\"", 'k', NULL, ":1", "is cut off" },
    { "{\"traceEvents\":[{}],\"k\"", "", ' ', NULL, ":1", "is cut off" },
    { "{\"traceEvents\":[{}],\"k\":", "", ' ', NULL, ":1", "is cut off" },
    { "{\"traceEvents\":[{}],\"k\":\"", "", 'v', NULL, ":1", "is cut off" },
    { "{\"traceEvents\":[{}],\"k\":\"", "\"", 'v', NULL, ":1", "is cut off" },
    { "{\"traceEvents\":[{}],\"k\":\"", "\",", 'v', NULL, ":1", "is cut off" },
    { "{\"traceEvents\":[{}],", "", ' ', NULL, ":1", "is cut off" },
    { "{\"traceEvents\":[{}]", "", ' ', NULL, ":1", "is cut off" },
    { "{\"traceEvents\":[{}", "", ' ', NULL, ":1", "is cut off" },
    { "{\"traceEvents\":[{}],\"", "\":1}", 'k', "{}|", NULL, NULL },
    { "{\"traceEvents\":[{}],\"k\"", ":[1,{}]}", ' ', "{}|", NULL, NULL },
    { "{\"traceEvents\":[{}],\"k\":", "[1,{}]}", ' ', "{}|", NULL, NULL },
    { "{\"traceEvents\":", "[{}]}", ' ', "{}|", NULL, NULL },
    { "{\"traceEvents\"", ":[{}]}", ' ', "{}|", NULL, NULL },
    { "{", "\"traceEvents\":[{}]}", ' ', "{}|", NULL, NULL },
    { "", "{\"traceEvents\":[{}]}", ' ', "{}|", NULL, NULL },
    { "[{}", ",{}]", ' ', "{}|{}|", NULL, NULL },
    { "[{},", "{}]", ' ', "{}|{}|", NULL, NULL },
    { "[{},{}", "]", ' ', "{}|{}|", NULL, NULL },
    { "[{\"a\":\"", "\"}]", 'v', NULL, ":1", "an event is longer than 1 MiB" },
    { "{\"k\":[1,", "\n,]}", ' ', NULL, ":2:1", "a value was expected" },
    { "{\"k\":[1,\"", "\",\n?]}", 'v', NULL, ":2:1", "a value was expected" },
};

START_TEST(long_parts_of_any_kind_are_read)
{
    const long_case *c = &long_cases[_i];
    const size_t most = PP_EVENT_BYTES_MAX + PP_EVENT_BYTES_MAX / 4;
    char *part PP_CLEANUP(pp_free_text) = pp_alloc_array(most + 1, 1);
    ck_assert_ptr_nonnull(part);
    memset(part, c->fill, most);
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    seen found PP_CLEANUP(free_seen) = { 0 };
    pp_err err = { 0 };
    pp_text_add(&text, "%s%s%s", c->before, part, c->after);
    const pp_status status = read_text_err(text.data, text.bytes, &found, &err);
    ck_assert_int_eq(status, c->events ? PP_OK : PP_INPUT);
    if (c->events) {
        ck_assert_pstr_eq(found.events.data, c->events);
    } else {
        if (strcmp(c->words, "is cut off") != 0)
            ck_assert_str_eq(err.where, c->where);
        ck_assert_msg(strstr(err.text, c->words), "%s", err.text);
    }
}
END_TEST

/* Counted from its first byte to its last, without the text before it. */
START_TEST(an_event_may_have_1_mib)
{
    static const char *const before[] = { "[", "[{},", "[{} ,\n   ", "{\"traceEvents\" : [ " };
    const size_t inner = PP_EVENT_BYTES_MAX - strlen("{\"a\":\"\"}");
    char *part PP_CLEANUP(pp_free_text) = pp_alloc_array(inner + 2, 1);
    ck_assert_ptr_nonnull(part);
    for (size_t more = 0; more < 2; more++) {
        pp_text text PP_CLEANUP(pp_text_free) = { 0 };
        seen found PP_CLEANUP(free_seen) = { 0 };
        pp_err err = { 0 };
        memset(part, 'x', inner + more);
        pp_text_add(&text, "%s{\"a\":\"%s\"}]%s", before[_i], part,
                    before[_i][0] == '{' ? "}" : "");
        const pp_status status = read_text_err(text.data, text.bytes, &found, &err);
        ck_assert_msg(status == (more ? PP_INPUT : PP_OK), "%s: %s", err.where, err.text);
    }
}
END_TEST

/* PyTorch writes NaN and infinities. */
START_TEST(numbers_that_are_not_finite_are_read)
{
    static const char text[] = "[{\"args\":{\"x\":NaN,\"correlation\":-Infinity},\"ts\":nan,"
                               "\"dur\":inf}]";
    pp_text found PP_CLEANUP(pp_text_free) = { 0 };
    const pp_events_visitor visitor = { print_event, NULL, &found };
    pp_err err = { 0 };
    ck_assert_int_eq(pp_events_parse(text, sizeof text - 1, "x", &visitor, &err), PP_OK);
    ck_assert_str_eq(found.data, "    nan nan nan 1|");
}
END_TEST

/* ASCII escapes in names are decoded; a text with other escapes stays as it is. */
START_TEST(escapes_in_names_are_undone)
{
    static const char text[] =
        "[{\"ph\":\"\\u0058\",\"cat\":\"c\\u006Fm\",\"name\":\"0\\u00460 \\\"\\\\\\/\\n\"},"
        "{\"name\":\"C:\\path\",\"cat\":\"\\u00e9\\n\",\"ph\":\"\\u00\"}]";
    static const char wanted[] = "X com 0F0 \"\\/\n  nan nan nan 1|"
                                 "\\u00 \\u00e9\\n C:\\path  nan nan nan 1|";
    expect_events(text, wanted);
}
END_TEST

START_TEST(gzip_is_undone_by_gunzip)
{
    const char words[] = "equal text, equal text, equal bytes";
    char *packed PP_CLEANUP(pp_free_text) = NULL;
    char *again PP_CLEANUP(pp_free_text) = NULL;
    char *text PP_CLEANUP(pp_free_text) = NULL;
    size_t bytes = 0;
    size_t bytes_again = 0;
    size_t unpacked = 0;
    pp_err err = { 0 };
    ck_assert_int_eq(pp_gzip(words, sizeof words, &packed, &bytes, &err), PP_OK);
    ck_assert_int_eq(pp_gzip(words, sizeof words, &again, &bytes_again, &err), PP_OK);
    ck_assert_uint_eq(bytes, bytes_again);
    ck_assert_mem_eq(packed, again, bytes);
    ck_assert(pp_gzip_recognise(packed, bytes));
    ck_assert_int_eq(pp_gunzip(packed, bytes, 4096, "x", &text, &unpacked, &err), PP_OK);
    ck_assert_uint_eq(unpacked, sizeof words);
    ck_assert_str_eq(text, words);
    ck_assert(pp_gzip_named("a.json.gz") && !pp_gzip_named(".gz") && !pp_gzip_named("a.json"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("events");
    TCase *tc = tcase_create("files");
    tcase_add_loop_test(tc, events_and_members_are_whole, 0, (int)(sizeof good / sizeof good[0]));
    tcase_add_test(tc, members_of_an_event_are_read);
    tcase_add_loop_test(tc, what_is_cut_off_or_no_such_file_is_refused, 0,
                        (int)(sizeof bad / sizeof bad[0]));
    tcase_add_loop_test(tc, chunks_do_not_show, 0, 24);
    tcase_add_test(tc, nothing_grows_with_the_file);
    tcase_add_loop_test(tc, long_parts_of_any_kind_are_read, 0,
                        (int)(sizeof long_cases / sizeof long_cases[0]));
    tcase_add_loop_test(tc, an_event_may_have_1_mib, 0, 4);
    tcase_add_test(tc, numbers_that_are_not_finite_are_read);
    tcase_add_test(tc, escapes_in_names_are_undone);
    tcase_add_test(tc, gzip_is_undone_by_gunzip);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
