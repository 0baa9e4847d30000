/* Breaks text at blanks, or at the bars of a list of values, so that lines stay within 80
 * columns. */
#include "tools/ppsim/base/words.h"

#include "tools/ppsim/base/colour.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

int pp_first_clause(const char *reason)
{
    const char *advice = strstr(reason, "; ");
    const char *because = strstr(reason, ", since");
    const char *end = because && (!advice || because < advice) ? because : advice;
    return end ? (int)(end - reason) : (int)strlen(reason);
}

/* Returns how many bytes to print of a word that is longer than a line: as many as fit, up to the
 * last bar, as in "models|hardware|". Without such a bar it is the whole word. */
static size_t cut_at_bar(const char *word, size_t bytes, size_t room)
{
    size_t cut = room < bytes ? room : 0;
    while (cut && word[cut - 1] != '|')
        cut--;
    return cut ? cut : bytes;
}

/* Returns how many bytes of a word are colour and take no column. */
static size_t colour_bytes(const char *word, size_t bytes)
{
    size_t sum = 0;
    for (size_t i = 0; i < bytes;) {
        const size_t sequence = pp_colour_mark(word + i);
        sum += sequence;
        i += sequence ? sequence : 1;
    }
    return sum;
}

/* Returns whether a word is a percent sign or a unit of memory or time, which stays with its
 * number. */
static bool is_unit(const char *word)
{
    static const char *const times[] = { "ns", "us", "ms", "s" };
    const size_t letters = strcspn(word, " ,;:.)");
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        if (letters == strlen(times[i]) && strncmp(word, times[i], letters) == 0)
            return true;
    }
    return word[0] == '%' ||
           (word[0] && strchr("KMGTP", word[0]) && strncmp(word + 1, "iB", 2) == 0);
}

void pp_print_words(pp_text *text, const char *words, size_t column, size_t indent)
{
    bool first = true;
    for (const char *w = words; *w; first = false) {
        size_t bytes = strcspn(w, " ");
        if (w[bytes] && is_unit(w + bytes + 1))
            bytes += 1 + strcspn(w + bytes + 1, " ");
        const bool goes_on = !first && w[-1] == '|';
        if (bytes > PP_COLUMNS - indent)
            bytes = cut_at_bar(w, bytes, PP_COLUMNS - (first ? column : indent));
        const size_t columns = bytes - colour_bytes(w, bytes);
        if (goes_on || (!first && column + 1 + columns > PP_COLUMNS)) {
            pp_text_add(text, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!first) {
            pp_text_add(text, " ");
            column++;
        }
        pp_text_add(text, "%.*s", (int)bytes, w);
        column += columns;
        w += bytes + (w[bytes] == ' ');
    }
    pp_text_add(text, "\n");
}

#define LABEL_COLUMN 13

void pp_print_labelled(pp_text *text, const char *label, const pp_text *words)
{
    const size_t used = strlen(label) + 1;
    text->failed |= words->failed;
    if (!words->data || words->failed)
        return;
    pp_text_add(text, "%-12s ", label);
    pp_print_words(text, words->data, used > LABEL_COLUMN ? used : LABEL_COLUMN, LABEL_COLUMN);
}

void pp_print_line(pp_text *text, const char *label, const char *format, ...)
{
    char buffer[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(buffer, sizeof buffer, format, args);
    va_end(args);
    pp_text words PP_CLEANUP(pp_text_free) = { 0 };
    pp_text_add(&words, "%s", buffer);
    pp_print_labelled(text, label, &words);
}

void pp_range_print(char *buffer, size_t size, int64_t least, int64_t most)
{
    if (least == most)
        snprintf(buffer, size, "%" PRId64, most);
    else
        snprintf(buffer, size, "%" PRId64 " to %" PRId64, least, most);
}
