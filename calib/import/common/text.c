#include "sim/base/text.h"
#include "calib/import/common/import_int.h"
#include "sim/base/alloc.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
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

const char *pp_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

pp_lines pp_lines_of(const char *text, size_t bytes)
{
    pp_lines lines = { .next = text, .end = text + bytes };
    if (bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        lines.next += 3; /* a byte-order mark */
    return lines;
}

bool pp_lines_next(pp_lines *lines)
{
    if (lines->next == lines->end)
        return false;
    const char *feed = memchr(lines->next, '\n', (size_t)(lines->end - lines->next));
    const char *stop = feed ? feed : lines->end;
    lines->line = (pp_span){ lines->next, (size_t)(stop - lines->next) };
    if (lines->line.bytes && stop[-1] == '\r')
        lines->line.bytes--;
    lines->next = feed ? feed + 1 : lines->end;
    lines->number++;
    return true;
}

void pp_skip_add(pp_skips *notes, size_t line, const char *format, ...)
{
    char reason[sizeof notes->note->reason];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    for (size_t i = 0; i < notes->count; i++) {
        if (strcmp(notes->note[i].reason, reason) == 0) {
            notes->note[i].last = line;
            notes->note[i].count++;
            return;
        }
    }
    if (notes->count == PP_SKIPS_MAX) {
        notes->beyond++;
        return;
    }
    void *all = notes->note;
    if (pp_grow(&all, &notes->capacity, notes->count + 1, sizeof *notes->note, NULL)) {
        notes->failed = true;
        return;
    }
    notes->note = all;
    pp_skip *note = &notes->note[notes->count++];
    *note = (pp_skip){ .first = line, .last = line, .count = 1 };
    memcpy(note->reason, reason, sizeof reason);
}

void pp_skips_free(pp_skips *notes)
{
    free(notes->note);
    *notes = (pp_skips){ 0 };
}

static bool has_samples(const pp_samples *samples)
{
    for (size_t i = 0; i < samples->count; i++) {
        if (samples->series[i].count)
            return true;
    }
    return false;
}

pp_status pp_skips_finish(const pp_skips *notes, const char *file, const char *nothing,
                          pp_samples *samples, pp_err *err)
{
    char where[256];
    if (notes->failed)
        return pp_err_nomem(err);
    if (!has_samples(samples)) {
        const pp_skip *first = notes->count ? &notes->note[0] : NULL;
        snprintf(where, sizeof where, "%.200s:%zu", file, first && first->first ? first->first : 1);
        return pp_err_set(err, PP_INPUT, where, "%s%s%s", nothing, first ? "; skipped: " : "",
                          first ? first->reason : "");
    }
    pp_text text = { 0 };
    const char *name = pp_file_name(file); /* these lines are kept */
    for (size_t i = 0; i < notes->count; i++) {
        const pp_skip *note = &notes->note[i];
        pp_text_add(&text, "%.200s", name);
        if (note->first)
            pp_text_add(&text, ":%zu", note->first);
        pp_text_add(&text, ": %s", note->reason);
        if (note->count > 1 && note->last)
            pp_text_add(&text, " (%zu times, the last in line %zu)", note->count, note->last);
        else if (note->count > 1)
            pp_text_add(&text, " (%zu times)", note->count);
        pp_text_add(&text, "\n");
    }
    if (notes->beyond)
        pp_text_add(&text, "%.200s: %zu more, for other reasons\n", name, notes->beyond);
    pp_status status = pp_text_check(&text, err);
    if (status || !text.data) {
        pp_text_free(&text);
        return status;
    }
    samples->skipped = text.data;
    return PP_OK;
}
