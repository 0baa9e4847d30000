/* A borrowed part of a text, such as a word of a file that was read whole. */
#ifndef PPSIM_SIM_BASE_SPAN_H
#define PPSIM_SIM_BASE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Not NUL-terminated; valid as long as the text is. */
typedef struct pp_span {
    const char *at;
    size_t bytes;
} pp_span;

bool pp_span_is(pp_span span, const char *text);
bool pp_span_begins(pp_span span, const char *text);
/* Returns where `text` first begins in the span, or NULL. */
const char *pp_span_find(pp_span span, const char *text);
/* Reads the whole span as a whole number without a sign. Returns false if it is anything else, or
 * above `high`. */
bool pp_span_int(pp_span span, int64_t high, int64_t *value_out);
/* Reads the whole span as digits, at most one point and an exponent. Returns false if it is
 * anything else, such as a sign, hexadecimal digits or NaN, or is beyond what a double holds. */
bool pp_span_real(pp_span span, double *value_out);
/* Cuts the next word off the front of `rest`; returns false at its end. Blanks, tabs, carriage
 * returns, vertical tabs and form feeds separate words. */
bool pp_span_word(pp_span *rest, pp_span *word_out);
/* Copies the span into `buffer`, cut to fit and NUL-terminated; characters that are not printable
 * ASCII become '?'. */
void pp_span_copy(pp_span span, char *buffer, size_t size);

#endif
