#include "calib/import/common/json_scan.h"

#include "sim/base/span.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 256 };

pp_scan pp_scan_of(const char *text, size_t bytes)
{
    return (pp_scan){ .begin = text, .at = text, .end = text + bytes };
}

static bool fail(pp_scan *s, const char *fault)
{
    if (!s->fault)
        s->fault = s->at == s->end ? "the file ends here; it was cut off" : fault;
    return false;
}

static void skip_blanks(pp_scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\n' || *s->at == '\t' || *s->at == '\r'))
        s->at++;
}

pp_scan_kind pp_scan_peek(pp_scan *s)
{
    if (s->fault)
        return PP_SCAN_NONE;
    skip_blanks(s);
    char c = '\0';
    if (s->at < s->end)
        c = *s->at;
    switch (c) {
    case '{':
        return PP_SCAN_OBJECT;
    case '[':
        return PP_SCAN_ARRAY;
    case '"':
        return PP_SCAN_TEXT;
    case 't':
    case 'f':
    case 'n':
        return PP_SCAN_WORD;
    default:
        if (c == '-' || (c >= '0' && c <= '9'))
            return PP_SCAN_NUMBER;
        fail(s, "a value was expected");
        return PP_SCAN_NONE;
    }
}

bool pp_scan_enter(pp_scan *s, char open)
{
    if (s->fault)
        return false;
    skip_blanks(s);
    if (s->at == s->end || *s->at != open)
        return fail(s, open == '{' ? "an object was expected" : "a list was expected");
    s->at++;
    return true;
}

/* At the next member: true; behind the closing bracket: false. */
static bool next_member(pp_scan *s, bool *first, char close)
{
    if (s->fault)
        return false;
    skip_blanks(s);
    if (s->at < s->end && *s->at == close) {
        s->at++;
        return false;
    }
    if (!*first) {
        if (s->at == s->end || *s->at != ',')
            return fail(s, "a comma or the end of the list or object was expected");
        s->at++;
        skip_blanks(s);
    }
    *first = false;
    return s->at < s->end ? true : fail(s, "");
}

bool pp_scan_item(pp_scan *s, bool *first)
{
    return next_member(s, first, ']');
}

bool pp_scan_key(pp_scan *s, bool *first, pp_span *key_out)
{
    if (!next_member(s, first, '}') || !pp_scan_text(s, key_out))
        return false;
    skip_blanks(s);
    if (s->at == s->end || *s->at != ':')
        return fail(s, "a colon was expected");
    s->at++;
    return true;
}

bool pp_scan_text(pp_scan *s, pp_span *text_out)
{
    if (s->fault)
        return false;
    skip_blanks(s);
    if (s->at == s->end || *s->at != '"')
        return fail(s, "a text was expected");
    const char *from = s->at + 1;
    for (const char *at = from; at < s->end; at++) {
        if (*at == '"') {
            *text_out = (pp_span){ from, (size_t)(at - from) };
            s->at = at + 1;
            return true;
        }
        /* Profilers write paths of Windows with single backslashes: any escape passes. */
        if (*at == '\\')
            at++;
    }
    s->at = s->end;
    return fail(s, "");
}

bool pp_scan_number(pp_scan *s, double *value_out)
{
    char copy[64];
    pp_span span = { s->at, 0 };
    if (pp_scan_peek(s) != PP_SCAN_NUMBER)
        return fail(s, "a number was expected");
    bool negative = *s->at == '-';
    span.at = s->at + negative;
    while (span.at + span.bytes < s->end && memchr("0123456789.eE+-", span.at[span.bytes], 15))
        span.bytes++;
    double value = (double)NAN;
    if (!pp_span_real(span, &value)) {
        /* Too large or too many digits is a number still. */
        size_t n = span.bytes < sizeof copy ? span.bytes : sizeof copy - 1;
        memcpy(copy, span.at, n);
        copy[n] = '\0';
        if (!span.bytes || strspn(copy, "0123456789.eE+-") != n || copy[0] < '0' || copy[0] > '9')
            return fail(s, "no number");
        value = (double)NAN;
    }
    s->at = span.at + span.bytes;
    *value_out = negative ? -value : value;
    return true;
}

static bool skip_word(pp_scan *s)
{
    static const char *const words[] = { "true", "false", "null" };
    pp_span rest = { s->at, (size_t)(s->end - s->at) };
    for (size_t i = 0; i < 3; i++) {
        if (pp_span_begins(rest, words[i])) {
            s->at += strlen(words[i]);
            return true;
        }
    }
    return fail(s, "a value was expected");
}

/* One value that holds no others, or the begin of one that does. */
static bool skip_scalar(pp_scan *s, pp_scan_kind kind)
{
    pp_span text;
    double value;
    if (kind == PP_SCAN_TEXT)
        return pp_scan_text(s, &text);
    return kind == PP_SCAN_NUMBER ? pp_scan_number(s, &value) : skip_word(s);
}

bool pp_scan_skip(pp_scan *s)
{
    bool object[DEPTH_MAX];
    bool first[DEPTH_MAX];
    size_t depth = 0;
    pp_span key;
    for (;;) {
        pp_scan_kind kind = pp_scan_peek(s);
        if (kind == PP_SCAN_NONE)
            return false;
        if (kind == PP_SCAN_OBJECT || kind == PP_SCAN_ARRAY) {
            if (depth == DEPTH_MAX)
                return fail(s, "is nested too deeply");
            object[depth] = kind == PP_SCAN_OBJECT;
            first[depth++] = true;
            s->at++;
        } else if (!skip_scalar(s, kind)) {
            return false;
        }
        while (depth && !(object[depth - 1] ? pp_scan_key(s, &first[depth - 1], &key)
                                            : pp_scan_item(s, &first[depth - 1]))) {
            if (s->fault)
                return false;
            depth--;
        }
        if (!depth)
            return true;
    }
}

bool pp_scan_if_number(pp_scan *s, double *value_out)
{
    if (pp_scan_peek(s) == PP_SCAN_NUMBER)
        return pp_scan_number(s, value_out);
    (void)pp_scan_skip(s);
    return false;
}

bool pp_scan_if_text(pp_scan *s, pp_span *text_out)
{
    if (pp_scan_peek(s) == PP_SCAN_TEXT)
        return pp_scan_text(s, text_out);
    (void)pp_scan_skip(s);
    return false;
}

bool pp_scan_end(pp_scan *s)
{
    if (s->fault)
        return false;
    skip_blanks(s);
    return s->at == s->end ? true : fail(s, "something follows behind the end of the document");
}

pp_status pp_scan_check(const pp_scan *s, const char *file, pp_err *err)
{
    char where[256];
    size_t line = 1;
    const char *start = s->begin;
    if (!s->fault)
        return PP_OK;
    for (const char *at = s->begin; at < s->at; at++) {
        if (*at == '\n') {
            line++;
            start = at + 1;
        }
    }
    snprintf(where, sizeof where, "%.200s:%zu:%zu", file, line, (size_t)(s->at - start) + 1);
    return pp_err_set(err, PP_INPUT, where, "not valid JSON: %s", s->fault);
}
