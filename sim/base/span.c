/* Borrowed parts of a text: comparison, search, words and numbers, without copies. Numbers have a
 * grammar of their own, since strtod() also takes signs, hexadecimal digits, "nan" and the locale's
 * decimal point. */
#include "sim/base/span.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool pp_span_is(pp_span span, const char *text)
{
    return span.bytes == strlen(text) && memcmp(span.at, text, span.bytes) == 0;
}

bool pp_span_begins(pp_span span, const char *text)
{
    size_t length = strlen(text);
    return span.bytes >= length && memcmp(span.at, text, length) == 0;
}

const char *pp_span_find(pp_span span, const char *text)
{
    size_t length = strlen(text);
    while (span.bytes >= length) {
        const char *at = memchr(span.at, text[0], span.bytes - length + 1);
        if (!at)
            return NULL;
        if (memcmp(at, text, length) == 0)
            return at;
        span.bytes -= (size_t)(at - span.at) + 1;
        span.at = at + 1;
    }
    return NULL;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool pp_span_int(pp_span span, int64_t high, int64_t *value_out)
{
    int64_t value = 0;
    for (size_t i = 0; i < span.bytes; i++) {
        int digit = span.at[i] - '0';
        if (!is_digit(span.at[i]) || value > (high - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *value_out = value;
    return span.bytes > 0;
}

static size_t digits(pp_span span, size_t from)
{
    size_t i = from;
    while (i < span.bytes && is_digit(span.at[i]))
        i++;
    return i - from;
}

bool pp_span_real(pp_span span, double *value_out)
{
    char copy[64];
    size_t i = digits(span, 0);
    if (i == 0 || span.bytes >= sizeof copy)
        return false;
    if (i < span.bytes && span.at[i] == '.')
        i += 1 + digits(span, i + 1);
    if (i < span.bytes && (span.at[i] == 'e' || span.at[i] == 'E')) {
        i++;
        if (i < span.bytes && (span.at[i] == '+' || span.at[i] == '-'))
            i++;
        size_t exponent = digits(span, i);
        if (exponent == 0)
            return false;
        i += exponent;
    }
    if (i != span.bytes)
        return false;
    memcpy(copy, span.at, span.bytes);
    copy[span.bytes] = '\0';
    *value_out = strtod(copy, NULL);
    return isfinite(*value_out);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

bool pp_span_word(pp_span *rest, pp_span *word_out)
{
    while (rest->bytes && is_blank(*rest->at)) {
        rest->at++;
        rest->bytes--;
    }
    size_t length = 0;
    while (length < rest->bytes && !is_blank(rest->at[length]))
        length++;
    *word_out = (pp_span){ rest->at, length };
    rest->at += length;
    rest->bytes -= length;
    return length > 0;
}

void pp_span_copy(pp_span span, char *buffer, size_t size)
{
    size_t n = span.bytes < size - 1 ? span.bytes : size - 1;
    for (size_t i = 0; i < n; i++)
        buffer[i] = span.at[i];
    for (size_t i = 0; i < n; i++) {
        if (buffer[i] < ' ' || buffer[i] > '~')
            buffer[i] = '?';
    }
    buffer[n] = '\0';
}
