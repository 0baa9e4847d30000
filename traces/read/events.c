/* Reads Trace Event files: a list of events, or an object whose member "traceEvents" is one. The
 * syntax of the whole file is checked, but of an event only the members of pp_event are taken: the
 * text of an event is there for those that need others. Time is linear in the file. */
#include "traces/read/events.h"

#include "sim/base/json_stream.h"
#include "traces/read/gzip.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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

/* Reads the next item of the list; its text is empty when it is no object. Returns false at the end
 * of the list, and after a fault. */
static bool read_event(pp_json_stream *s, pp_event *event)
{
    const pp_span none = { "", 0 };
    pp_span key;
    if (!pp_json_stream_item(s))
        return false;
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

/* Returns whether what was read of a file since the mark is too long to be kept. */
static bool is_long(const pp_json_stream *s)
{
    return s->buffer && (size_t)(s->at - s->mark.at) > PP_EVENT_BYTES_MAX;
}

static pp_status fail(pp_json_stream *s, const char *at, const char *file, const char *words,
                      pp_err *err)
{
    char where[256];
    snprintf(where, sizeof where, "%.200s:%zu", file, pp_json_stream_line(s, at));
    return pp_err_set(err, PP_INPUT, where, "%s", words);
}

static pp_status visit_list(pp_json_stream *s, const char *file, const pp_events_visitor *visitor,
                            pp_err *err)
{
    pp_event event;
    pp_status status = PP_OK;
    bool more = pp_json_stream_enter(s, '[');
    while (more && !status) {
        pp_json_stream_mark(s);
        more = read_event(s, &event);
        if (is_long(s))
            return fail(s, s->mark.at, file, "an event is longer than 1 MiB", err);
        if (pp_json_stream_retry(s)) {
            more = true;
        } else if (more && event.text.bytes) {
            event.line = pp_json_stream_line(s, event.text.at);
            status = visitor->event(visitor->context, &event, err);
        }
    }
    return status;
}

/* Reads the next member, or only the key of "traceEvents", for which it sets *events. Returns false
 * at the end of the object, and after a fault. */
static bool read_member(pp_json_stream *s, pp_event_member *member, bool *events)
{
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

static pp_status visit_object(pp_json_stream *s, const char *file, const pp_events_visitor *visitor,
                              pp_err *err)
{
    pp_event_member member;
    pp_status status = PP_OK;
    bool more = pp_json_stream_enter(s, '{');
    while (more && !status) {
        bool events = false;
        pp_json_stream_mark(s);
        more = read_member(s, &member, &events);
        if (is_long(s)) { /* it is left out */
            pp_json_stream_rewind(s);
            more = read_member(s, &member, &events);
        } else if (pp_json_stream_retry(s)) {
            more = true;
        } else if (more && events) {
            status = visit_list(s, file, visitor, err);
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
    if (status)
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
        return fail(&s, s.at, path, "is no Trace Event file", err);
    return pp_json_stream_check(&s, path, err);
}

pp_status pp_events_parse(const char *text, size_t bytes, const char *file,
                          const pp_events_visitor *visitor, pp_err *err)
{
    pp_json_stream s = pp_json_stream_of(text, bytes);
    pp_status status = visit(&s, file, visitor, err);
    return status ? status : pp_json_stream_check(&s, file, err);
}

pp_ns pp_event_ns(double us)
{
    double whole_us = floor(us);
    return (pp_ns)whole_us * 1000 + (pp_ns)floor((us - whole_us) * 1000 + 0.5);
}
