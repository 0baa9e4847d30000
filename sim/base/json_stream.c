/* A pull parser of JSON (RFC 8259) over a window of the text. Parsing functions read only the
 * window. One that reaches the end of the window sets a fault; pp_json_stream_retry then moves the
 * window so that it begins at the mark, and the caller parses the marked piece again. The window
 * thus grows to the size of the longest piece, and a piece is read more than once only at the end
 * of a window. Time is linear in the text. The grammar of RFC 8259 is checked except inside texts:
 * profilers write Windows paths with single backslashes, so escapes are not checked, and neither
 * are control characters, UTF-8 and surrogates. Keys may occur twice. NaN and infinities, which
 * PyTorch writes, count as numbers. */
#include "sim/base/json_stream.h"

#include "sim/base/alloc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 1 << 16 };

pp_json_stream pp_json_stream_of(const char *text, size_t bytes)
{
    return (pp_json_stream){
        .begin = text, .at = text, .end = text + bytes, .counted = text, .line = 1
    };
}

pp_json_stream pp_json_stream_open(pp_json_source source, void *context, pp_err *err)
{
    pp_json_stream s = pp_json_stream_of("", 0);
    s.source = source;
    s.context = context;
    s.err = err;
    return s;
}

void pp_json_stream_close(pp_json_stream *s)
{
    free(s->buffer);
    s->buffer = NULL;
}

static bool fail(pp_json_stream *s, const char *fault)
{
    if (!s->fault) {
        s->ended = s->at == s->end;
        s->fault = s->ended ? "the file ends here; it was cut off" : fault;
    }
    return false;
}

/* Sets a fault at the end of the window and returns false. */
static bool reach_end(pp_json_stream *s)
{
    s->at = s->end;
    return fail(s, "");
}

static void skip_blanks(pp_json_stream *s)
{
    const char *at = s->at;
    while (at < s->end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r'))
        at++;
    s->at = at;
}

static void count_lines(pp_json_stream *s, const char *to)
{
    const char *feed;
    while (s->counted < to && (feed = memchr(s->counted, '\n', (size_t)(to - s->counted)))) {
        s->line++;
        s->counted = feed + 1;
        s->line_begin = s->passed + (size_t)(s->counted - s->begin);
    }
    s->counted = s->counted < to ? to : s->counted;
}

/* Moves the window so that it begins at `at`, and fills it. At the end of the text nothing is
 * added, and the source is not called again. */
static bool fill(pp_json_stream *s)
{
    const size_t kept = (size_t)(s->end - s->at);
    void *buffer = s->buffer;
    size_t got = 0;
    s->ended = false;
    if (kept >= PP_JSON_PIECE_MAX) {
        s->fault = "a text, or blank space, is longer than 32 MiB";
        return false;
    }
    count_lines(s, s->at);
    const size_t counted = (size_t)(s->counted - s->at);
    s->passed += (size_t)(s->at - s->begin);
    if (kept)
        memmove(s->buffer, s->at, kept);
    s->status = pp_reserve(&buffer, &s->capacity, kept + WINDOW, 1, s->err);
    s->buffer = buffer;
    if (!s->status) {
        const size_t most = s->capacity < PP_JSON_PIECE_MAX ? s->capacity : PP_JSON_PIECE_MAX;
        s->status = s->source(s->context, s->buffer + kept, most - kept, &got, s->err);
    }
    s->begin = s->at = s->buffer ? s->buffer : "";
    s->end = s->begin + kept + got;
    s->counted = s->begin + counted;
    if (got == 0)
        s->source = NULL;
    s->fault = s->status ? "" : NULL;
    return !s->fault;
}

void pp_json_stream_mark(pp_json_stream *s)
{
    if (s->fault)
        return;
    do
        skip_blanks(s);
    while (s->at == s->end && s->source && fill(s));
    s->mark = (pp_json_mark){ s->at, s->depth, s->depth && s->open[s->depth - 1].begun };
}

void pp_json_stream_rewind(pp_json_stream *s)
{
    s->at = s->mark.at;
    s->depth = s->mark.depth;
    if (s->depth)
        s->open[s->depth - 1].begun = s->mark.begun;
    if (s->ended)
        s->fault = NULL;
    s->ended = false;
    s->mark.at = NULL;
}

bool pp_json_stream_retry(pp_json_stream *s)
{
    if (!s->ended || !s->source)
        return false;
    pp_json_stream_rewind(s);
    return fill(s);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

pp_json_token pp_json_stream_peek(pp_json_stream *s)
{
    if (s->fault)
        return PP_TOKEN_NONE;
    skip_blanks(s);
    const char c = s->at < s->end ? *s->at : '\0';
    switch (c) {
    case '{':
        return PP_TOKEN_OBJECT;
    case '[':
        return PP_TOKEN_ARRAY;
    case '"':
        return PP_TOKEN_TEXT;
    case 't':
    case 'f':
        return PP_TOKEN_WORD;
    case 'n': /* null, or nan */
        if (s->at + 1 == s->end) {
            (void)reach_end(s);
            return PP_TOKEN_NONE;
        }
        return s->at[1] == 'a' ? PP_TOKEN_NUMBER : PP_TOKEN_WORD;
    default:
        if (c == '-' || c == 'N' || c == 'I' || c == 'i' || is_digit(c))
            return PP_TOKEN_NUMBER;
        fail(s, "a value was expected");
        return PP_TOKEN_NONE;
    }
}

bool pp_json_stream_enter(pp_json_stream *s, char bracket)
{
    if (s->fault)
        return false;
    skip_blanks(s);
    if (s->at == s->end || *s->at != bracket)
        return fail(s, bracket == '{' ? "an object was expected" : "an array was expected");
    if (s->depth == PP_JSON_DEPTH_MAX)
        return fail(s, "is nested too deeply");
    s->at++;
    s->open[s->depth].close = bracket == '{' ? '}' : ']';
    s->open[s->depth++].begun = false;
    return true;
}

bool pp_json_stream_item(pp_json_stream *s)
{
    if (s->fault)
        return false;
    skip_blanks(s);
    if (s->at < s->end && *s->at == s->open[s->depth - 1].close) {
        s->at++;
        s->depth--;
        return false;
    }
    if (s->open[s->depth - 1].begun) {
        if (s->at == s->end || *s->at != ',')
            return fail(s, "a comma or the end of the array or object was expected");
        s->at++;
        skip_blanks(s);
    }
    s->open[s->depth - 1].begun = true;
    return s->at < s->end ? true : fail(s, "");
}

static bool read_text(pp_json_stream *s, pp_span *text_out)
{
    if (s->fault)
        return false;
    skip_blanks(s);
    if (s->at == s->end || *s->at != '"')
        return fail(s, "a string was expected");
    const char *from = s->at + 1;
    for (const char *at = from; at < s->end; at++) {
        if (*at == '"') {
            *text_out = (pp_span){ from, (size_t)(at - from) };
            s->at = at + 1;
            return true;
        }
        at += *at == '\\';
    }
    return reach_end(s);
}

bool pp_json_stream_key(pp_json_stream *s, pp_span *key_out)
{
    if (!pp_json_stream_item(s) || !read_text(s, key_out))
        return false;
    skip_blanks(s);
    if (s->at == s->end || *s->at != ':')
        return fail(s, "a colon was expected");
    s->at++;
    return true;
}

/* Consumes one of the words. If the window ends within a word, the fault is the end of the
 * window. */
static bool read_word(pp_json_stream *s, const char *const words[], size_t count, const char *fault)
{
    const pp_span rest = { s->at, (size_t)(s->end - s->at) };
    for (size_t i = 0; i < count; i++) {
        const size_t length = strlen(words[i]);
        const size_t same = rest.bytes < length ? rest.bytes : length;
        if (memcmp(rest.at, words[i], same) == 0) {
            s->at += length == same ? same : 0;
            return length == same ? true : reach_end(s);
        }
    }
    return fail(s, fault);
}

static size_t count_digits(pp_span span, size_t from)
{
    size_t i = from;
    while (i < span.bytes && is_digit(span.at[i]))
        i++;
    return i - from;
}

/* Returns true if the span is a number without a sign. */
static bool is_number(pp_span span)
{
    size_t i = count_digits(span, 0);
    size_t more = 1;
    if (i == 0 || (i > 1 && *span.at == '0'))
        return false;
    if (i < span.bytes && span.at[i] == '.') {
        more = count_digits(span, i + 1);
        i += 1 + more;
    }
    if (more && i < span.bytes && (span.at[i] == 'e' || span.at[i] == 'E')) {
        i++;
        if (i < span.bytes && (span.at[i] == '+' || span.at[i] == '-'))
            i++;
        more = count_digits(span, i);
        i += more;
    }
    return more && i == span.bytes;
}

static bool is_of_number(char c)
{
    return is_digit(c) || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-';
}

static bool read_number(pp_json_stream *s, double *value_out)
{
    static const char *const words[] = { "NaN", "nan", "Infinity", "inf" };
    if (pp_json_stream_peek(s) != PP_TOKEN_NUMBER)
        return fail(s, "a number was expected");
    const bool negative = *s->at == '-';
    pp_span span = { s->at + negative, 0 };
    *value_out = (double)NAN;
    if (span.at < s->end && strchr("NnIi", *span.at)) {
        s->at = span.at;
        return read_word(s, words, sizeof words / sizeof words[0], "a value was expected");
    }
    while (span.at + span.bytes < s->end && is_of_number(span.at[span.bytes]))
        span.bytes++;
    const bool at_end = span.at + span.bytes == s->end;
    if (at_end && (s->source || !span.bytes || !is_digit(s->end[-1])))
        return reach_end(s);
    if (!is_number(span))
        return fail(s, "no number");
    double value;
    if (pp_span_real(span, &value)) /* fits a double and is not too long */
        *value_out = negative ? -value : value;
    s->at = span.at + span.bytes;
    return true;
}

static bool skip_word(pp_json_stream *s)
{
    static const char *const words[] = { "true", "false", "null" };
    return read_word(s, words, sizeof words / sizeof words[0], "a value was expected");
}

/* Consumes a scalar, or the bracket that begins a list or object, or the one that ends it. */
static bool skip_token(pp_json_stream *s, size_t outside)
{
    pp_span text;
    double value;
    if (s->depth > outside) {
        const bool object = s->open[s->depth - 1].close == '}';
        if (!(object ? pp_json_stream_key(s, &text) : pp_json_stream_item(s)))
            return !s->fault;
    }
    switch (pp_json_stream_peek(s)) {
    case PP_TOKEN_OBJECT:
    case PP_TOKEN_ARRAY:
        return pp_json_stream_enter(s, *s->at);
    case PP_TOKEN_TEXT:
        return read_text(s, &text);
    case PP_TOKEN_NUMBER:
        return read_number(s, &value);
    case PP_TOKEN_WORD:
        return skip_word(s);
    case PP_TOKEN_NONE:
        break;
    }
    return false;
}

bool pp_json_stream_skip(pp_json_stream *s)
{
    const size_t outside = s->depth;
    const bool by_token = s->source && !s->mark.at;
    bool more;
    do {
        if (by_token)
            pp_json_stream_mark(s);
        more = skip_token(s, outside) ? s->depth > outside : by_token && pp_json_stream_retry(s);
    } while (more);
    if (by_token)
        s->mark.at = NULL;
    return !s->fault;
}

bool pp_json_stream_if_number(pp_json_stream *s, double *value_out)
{
    if (pp_json_stream_peek(s) == PP_TOKEN_NUMBER)
        return read_number(s, value_out);
    (void)pp_json_stream_skip(s);
    return false;
}

bool pp_json_stream_if_text(pp_json_stream *s, pp_span *text_out)
{
    if (pp_json_stream_peek(s) == PP_TOKEN_TEXT)
        return read_text(s, text_out);
    (void)pp_json_stream_skip(s);
    return false;
}

bool pp_json_stream_end(pp_json_stream *s)
{
    if (s->fault)
        return false;
    skip_blanks(s);
    if (s->at < s->end || s->source)
        return fail(s, "there is text after the end of the document");
    return s->depth ? fail(s, "") : true;
}

size_t pp_json_stream_line(pp_json_stream *s, const char *at)
{
    count_lines(s, at);
    return s->line;
}

const char *pp_json_stream_place(pp_json_stream *s, const char *at, const char *file, char *buffer,
                                 size_t size)
{
    const size_t line = pp_json_stream_line(s, at);
    const size_t column = s->passed + (size_t)(at - s->begin) - s->line_begin + 1;
    snprintf(buffer, size, "%.200s:%zu:%zu", file, line, column);
    return buffer;
}

pp_status pp_json_stream_check(pp_json_stream *s, const char *file, pp_err *err)
{
    char where[256];
    if (s->status || !s->fault)
        return s->status;
    pp_json_stream_place(s, s->at, file, where, sizeof where);
    return pp_err_set(err, PP_INPUT, where, "not valid JSON: %s", s->fault);
}
