/* Finds the names that are close to a mistyped one, by meaning (sim/base/synonyms.h) or else by
 * Levenshtein's distance (1965), checks UTF-8, and builds texts that grow. */
#include "sim/base/text.h"

#include "sim/base/alloc.h"
#include "sim/base/synonyms.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Levenshtein distance without regard to case, for names of up to 63 bytes. */
static size_t distance(const char *a, const char *b)
{
    size_t row[64];
    size_t na = strlen(a);
    size_t nb = strlen(b);
    if (na > 63 || nb > 63)
        return 64;
    for (size_t j = 0; j <= nb; j++)
        row[j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t same = tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]);
            size_t best = diagonal + !same;
            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[nb];
}

pp_text_search pp_text_search_begin(const char *noun, const char *text)
{
    return (pp_text_search){ .noun = noun,
                             .text = text,
                             .distance = strlen(text + strspn(text, "-")) / 3 + 2 };
}

void pp_text_search_offer(pp_text_search *search, const char *name)
{
    const size_t alike = pp_name_likeness(search->noun, search->text, name);
    const size_t d = alike == PP_LIKENESS_SAME ? 0 : alike ? 1 : distance(search->text, name);
    const bool closer =
        d < search->distance || (d == search->distance && search->count && alike > search->alike);
    if (closer) {
        search->distance = d;
        search->alike = alike;
        search->count = 0;
    } else if (d != search->distance || !alike || alike != search->alike) {
        return;
    }
    for (size_t i = 0; i < search->count; i++) {
        if (strcmp(search->nearest[i], name) == 0)
            return;
    }
    if (search->count < PP_TEXT_NEAREST_MAX)
        search->nearest[search->count++] = name;
}

const char *pp_text_search_hint(const pp_text_search *search, char hint[PP_TEXT_HINT_BYTES])
{
    size_t used = 0;
    hint[0] = '\0';
    for (size_t i = 0; i < search->count; i++)
        used += (size_t)snprintf(hint + used, PP_TEXT_HINT_BYTES - used, "%s'%.48s'",
                                 i == 0                   ? ", did you mean "
                                 : i + 1 == search->count ? " or "
                                                          : ", ",
                                 search->nearest[i]);
    if (used)
        snprintf(hint + used, PP_TEXT_HINT_BYTES - used, "?");
    return hint;
}

const char *pp_text_hint_end(const char *hint)
{
    return *hint ? "" : ";";
}

const char *pp_text_nearest(const char *text, const char *const names[])
{
    pp_text_search search = pp_text_search_begin(NULL, text);
    for (size_t i = 0; names[i]; i++)
        pp_text_search_offer(&search, names[i]);
    return search.count ? search.nearest[0] : NULL;
}

const char *pp_text_nearest_hint(const char *noun, const char *text, const char *const names[],
                                 char hint[PP_TEXT_HINT_BYTES])
{
    pp_text_search search = pp_text_search_begin(noun, text);
    for (size_t i = 0; names[i]; i++)
        pp_text_search_offer(&search, names[i]);
    return pp_text_search_hint(&search, hint);
}

size_t pp_text_sequence(const char *c)
{
    unsigned char first = (unsigned char)c[0];
    size_t length = first < 0x80                    ? 1
                    : first >= 0xc2 && first < 0xe0 ? 2
                    : first >= 0xe0 && first < 0xf0 ? 3
                    : first >= 0xf0 && first < 0xf5 ? 4
                                                    : 0;
    for (size_t i = 1; i < length; i++) {
        if (((unsigned char)c[i] & 0xc0) != 0x80)
            return 0;
    }
    unsigned char second = length > 2 ? (unsigned char)c[1] : 0;
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
        (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f))
        return 0; /* an overlong form, a surrogate, or beyond Unicode */
    return length;
}

void pp_text_add_bytes(pp_text *text, const char *bytes, size_t count)
{
    void *data = text->data;
    if (text->failed || pp_grow(&data, &text->capacity, text->bytes + count + 1, 1, NULL)) {
        text->failed = 1;
        return;
    }
    text->data = data;
    memcpy(text->data + text->bytes, bytes, count);
    text->bytes += count;
    text->data[text->bytes] = '\0';
}

void pp_text_add(pp_text *text, const char *format, ...)
{
    char small[512];
    va_list args;
    va_start(args, format);
    int needed = vsnprintf(small, sizeof small, format, args);
    va_end(args);
    if (needed < 0)
        return;
    if ((size_t)needed < sizeof small) {
        pp_text_add_bytes(text, small, (size_t)needed);
        return;
    }
    char *large = malloc((size_t)needed + 1);
    if (!large) {
        text->failed = 1;
        return;
    }
    va_start(args, format);
    vsnprintf(large, (size_t)needed + 1, format, args);
    va_end(args);
    pp_text_add_bytes(text, large, (size_t)needed);
    free(large);
}

void pp_text_free(pp_text *text)
{
    free(text->data);
    *text = (pp_text){ 0 };
}

pp_status pp_text_check(const pp_text *text, pp_err *err)
{
    return text->failed ? pp_err_nomem(err) : PP_OK;
}
