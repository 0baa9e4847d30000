/* Reads Trace Event files: a list of events, or an object whose member "traceEvents" is one. The
 * syntax of the whole file is checked, except within texts, but of an event only the members of
 * pp_event are taken: the text of an event is there for those that need others. Time is linear in
 * the file. */
#include "traces/read/events.h"

#include "sim/base/json_stream.h"
#include "traces/read/gzip.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = 256 };

static void read_args(pp_json_stream *s, pp_event *event)
{
    pp_span key;
    if (pp_json_stream_peek(s) != PP_TOKEN_OBJECT) {
        (void)pp_json_stream_skip(s);
        return;
    }
    (void)pp_json_stream_enter(s, '{');
    while (pp_json_stream_key(s, &key)) {
        if (pp_span_is(key, "correlation"))
            (void)pp_json_stream_if_number(s, &event->correlation);
        else
            (void)pp_json_stream_skip(s);
    }
}

static void read_value(pp_json_stream *s, pp_span key, pp_event *event)
{
    if (pp_span_is(key, "ph")) {
        (void)pp_json_stream_if_text(s, &event->phase);
    } else if (pp_span_is(key, "cat")) {
        (void)pp_json_stream_if_text(s, &event->category);
    } else if (pp_span_is(key, "name")) {
        (void)pp_json_stream_if_text(s, &event->name);
    } else if (pp_span_is(key, "ts")) {
        (void)pp_json_stream_if_number(s, &event->begin_us);
    } else if (pp_span_is(key, "dur")) {
        (void)pp_json_stream_if_number(s, &event->duration_us);
    } else if (pp_span_is(key, "pid")) {
        (void)pp_json_stream_peek(s);
        event->process.at = s->at;
        (void)pp_json_stream_skip(s);
        event->process.bytes = (size_t)(s->at - event->process.at);
    } else if (pp_span_is(key, "args")) {
        read_args(s, event);
    } else {
        (void)pp_json_stream_skip(s);
    }
}

/* Goes to the next item of the list, whose first byte is then at hand. */
static bool find_item(pp_json_stream *s)
{
    bool found;
    do {
        pp_json_stream_mark(s);
        found = pp_json_stream_item(s);
    } while (!found && pp_json_stream_retry(s));
    return found;
}

/* Reads an item of the list; its text is empty when it is not an object. */
static bool read_event(pp_json_stream *s, pp_event *event)
{
    const pp_span none = { "", 0 };
    pp_span key;
    const bool object = pp_json_stream_peek(s) == PP_TOKEN_OBJECT;
    *event = (pp_event){ .text = { s->at, 0 },
                         .phase = none,
                         .category = none,
                         .name = none,
                         .process = none,
                         .begin_us = (double)NAN,
                         .duration_us = (double)NAN,
                         .correlation = (double)NAN };
    if (!object)
        return pp_json_stream_skip(s);
    (void)pp_json_stream_enter(s, '{');
    while (pp_json_stream_key(s, &key))
        read_value(s, key, event);
    event->text.bytes = (size_t)(s->at - event->text.at);
    return !s->fault;
}

/* Returns whether the part of a file that was read since `from` is too long to be kept. */
static bool is_long(const pp_json_stream *s, const char *from)
{
    return s->buffer && (size_t)(s->at - from) > PP_EVENT_BYTES_MAX;
}

static pp_status fail(pp_json_stream *s, const char *at, const char *file, const char *words,
                      pp_err *err)
{
    char where[256];
    snprintf(where, sizeof where, "%.200s:%zu", file, pp_json_stream_line(s, at));
    return pp_err_set(err, PP_INPUT, where, "%s", words);
}

/* Reads "u0046", an ASCII character, at the beginning of the text. */
static bool read_unit(pp_span text, char *c_out)
{
    unsigned unit = 0;
    if (text.bytes < 5)
        return false;
    for (size_t i = 1; i < 5; i++) {
        static const char digits[] = "0123456789abcdef";
        const char c = text.at[i];
        const char *digit = c ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;
        if (!digit)
            return false;
        unit = unit * 16 + (unsigned)(digit - digits);
    }
    *c_out = (char)unit;
    return unit < 128;
}

/* Undoes the escapes of ASCII characters: "0\u0046 0" is "0F 0". A text that has other escapes, or
 * is longer than any op's name, is unchanged. `plain` [TEXT_MAX] outlives the text. */
static void undo_escapes(pp_span *text, char *plain)
{
    static const char escaped[] = "\"\\/bfnrt";
    static const char meant[] = "\"\\/\b\f\n\r\t";
    size_t n = 0;
    if (text->bytes >= TEXT_MAX || !memchr(text->at, '\\', text->bytes))
        return;
    for (size_t i = 0; i < text->bytes; i++) {
        const char *place = NULL;
        char c = text->at[i];
        if (c == '\\') {
            c = text->at[++i]; /* a backslash is not the last character of a text */
            place = c ? strchr(escaped, c) : NULL;
            if (!place && !(c == 'u' && read_unit((pp_span){ text->at + i, text->bytes - i }, &c)))
                return;
            i += place ? 0 : 4;
        }
        plain[n++] = place ? meant[place - escaped] : c;
    }
    *text = (pp_span){ plain, n };
}

static pp_status visit_list(pp_json_stream *s, const char *file, const pp_events_visitor *visitor,
                            pp_err *err)
{
    pp_event event;
    size_t line = 0;
    size_t of_line = 0;
    char plain[3][TEXT_MAX];
    pp_status status = PP_OK;
    (void)pp_json_stream_enter(s, '[');
    while (!status && find_item(s)) {
        bool read;
        do {
            pp_json_stream_mark(s);
            read = read_event(s, &event);
            if (is_long(s, s->mark.at))
                return fail(s, s->mark.at, file, "an event is longer than 1 MiB", err);
        } while (pp_json_stream_retry(s));
        if (!read || !event.text.bytes)
            continue;
        undo_escapes(&event.phase, plain[0]);
        undo_escapes(&event.category, plain[1]);
        undo_escapes(&event.name, plain[2]);
        event.line = pp_json_stream_line(s, event.text.at);
        event.of_line = of_line = event.line == line ? of_line + 1 : 1;
        line = event.line;
        status = visitor->event(visitor->context, &event, err);
    }
    return status;
}

/* Reads the next member, or only the key of "traceEvents", for which it sets *events. Its text is
 * empty unless the key and the first byte of the value are at hand. Returns false at the end of the
 * object, and after a fault. */
static bool read_member(pp_json_stream *s, pp_event_member *member, bool *events)
{
    *events = false;
    member->text.at = NULL;
    if (!pp_json_stream_key(s, &member->key) || pp_json_stream_peek(s) == PP_TOKEN_NONE)
        return false;
    *events = pp_span_is(member->key, "traceEvents");
    member->text.at = member->key.at - 1; /* the quote */
    member->value.at = s->at;
    if (!*events && !pp_json_stream_skip(s))
        return false;
    member->value.bytes = (size_t)(s->at - member->value.at);
    member->text.bytes = (size_t)(s->at - member->text.at);
    return true;
}

/* Passes over a member that read_member found to be long, token by token. */
static bool skip_member(pp_json_stream *s)
{
    pp_span key;
    pp_json_stream_rewind(s);
    return pp_json_stream_key(s, &key) && pp_json_stream_skip(s);
}

static pp_status visit_object(pp_json_stream *s, const char *file, const pp_events_visitor *visitor,
                              pp_err *err)
{
    char where[256];
    pp_event_member member;
    pp_status status = PP_OK;
    bool more = pp_json_stream_enter(s, '{');
    while (more && !status) {
        bool events;
        pp_json_stream_mark(s);
        more = read_member(s, &member, &events);
        if (more && events && pp_json_stream_peek(s) != PP_TOKEN_ARRAY) {
            status =
                pp_err_set(err, PP_INPUT, pp_json_stream_place(s, s->at, file, where, sizeof where),
                           "\"traceEvents\": an array was expected");
        } else if (more && events) {
            status = visit_list(s, file, visitor, err);
        } else if (member.text.at && is_long(s, member.text.at)) { /* it is left out */
            more = (!s->fault || s->ended) && skip_member(s);
        } else if (pp_json_stream_retry(s)) {
            more = true;
        } else if (more) {
            member.line = pp_json_stream_line(s, member.text.at);
            status = visitor->member(visitor->context, &member, err);
        }
    }
    return status;
}

static pp_json_token peek_first(pp_json_stream *s)
{
    pp_json_token token;
    do {
        pp_json_stream_mark(s);
        token = pp_json_stream_peek(s);
    } while (pp_json_stream_retry(s));
    return token;
}

static pp_status visit(pp_json_stream *s, const char *file, const pp_events_visitor *visitor,
                       pp_err *err)
{
    pp_status status = peek_first(s) == PP_TOKEN_ARRAY ? visit_list(s, file, visitor, err)
                                                       : visit_object(s, file, visitor, err);
    if (status || s->fault)
        return status;
    do
        pp_json_stream_mark(s);
    while (!pp_json_stream_end(s) && pp_json_stream_retry(s));
    return PP_OK;
}

pp_status pp_events_recognise(const char *path, bool *is_out, pp_err *err)
{
    char text[4096];
    size_t bytes = 0;
    pp_gzip_file file PP_CLEANUP(pp_gzip_close) = { 0 };
    pp_status status = pp_gzip_open(path, &file, err);
    if (status || (status = pp_gzip_read_some(&file, text, sizeof text - 1, &bytes, err)))
        return status;
    text[bytes] = '\0';
    const char *begin = text + strspn(text, " \t\r\n");
    *is_out = *begin == '[' || (*begin == '{' && (strstr(text, "\"traceEvents\"") ||
                                                  strstr(text, "\"schemaVersion\"") ||
                                                  strstr(text, "\"displayTimeUnit\"")));
    return PP_OK;
}

bool pp_events_find(const char *text, size_t bytes, const char *key, pp_span *value_out)
{
    pp_json_stream s = pp_json_stream_of(text, bytes);
    pp_span found;
    if (pp_json_stream_peek(&s) != PP_TOKEN_OBJECT || !pp_json_stream_enter(&s, '{'))
        return false;
    while (pp_json_stream_key(&s, &found)) {
        if (pp_json_stream_peek(&s) == PP_TOKEN_NONE)
            return false;
        const char *begin = s.at;
        if (!pp_json_stream_skip(&s))
            return false;
        if (!pp_span_is(found, key))
            continue;
        *value_out = (pp_span){ begin, (size_t)(s.at - begin) };
        return true;
    }
    return false;
}

pp_status pp_events_read(const char *path, const pp_events_visitor *visitor, pp_err *err)
{
    pp_gzip_file file PP_CLEANUP(pp_gzip_close) = { 0 };
    pp_status status = pp_gzip_open(path, &file, err);
    if (status)
        return status;
    pp_json_stream s PP_CLEANUP(pp_json_stream_close) =
        pp_json_stream_open(pp_gzip_read_some, &file, err);
    const pp_json_token token = peek_first(&s);
    const bool begun = token == PP_TOKEN_OBJECT || token == PP_TOKEN_ARRAY;
    if (begun && (status = visit(&s, path, visitor, err)))
        return status;
    if (s.ended)
        return fail(&s, s.at, path, begun ? "is cut off" : "is empty", err);
    if (!begun && !s.status)
        return fail(&s, s.at, path, "is not a Trace Event file", err);
    return pp_json_stream_check(&s, path, err);
}

pp_status pp_events_parse(const char *text, size_t bytes, const char *file,
                          const pp_events_visitor *visitor, pp_err *err)
{
    pp_json_stream s = pp_json_stream_of(text, bytes);
    pp_status status = visit(&s, file, visitor, err);
    return status ? status : pp_json_stream_check(&s, file, err);
}

const char *pp_event_place(const char *file, const pp_event *event, char *where, size_t size)
{
    if (event->of_line > 1)
        snprintf(where, size, "%.200s:%zu, event %zu", file, event->line, event->of_line);
    else
        snprintf(where, size, "%.200s:%zu", file, event->line);
    return where;
}

pp_ns pp_event_ns(double us)
{
    double whole_us = floor(us);
    return (pp_ns)whole_us * 1000 + (pp_ns)floor((us - whole_us) * 1000 + 0.5);
}
