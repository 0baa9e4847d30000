/* Breaks text at blanks, or at the bars of a list of values, so that lines stay within 80
 * columns. */
#include "tools/ppsim/base/words.h"

#include <inttypes.h>
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

/* Returns how many bytes of a word that is longer than a line to print: as many as fit, up to the
 * last bar, as in "models|hardware|". Without such a bar it is the whole word. */
static size_t cut_at_bar(const char *word, size_t bytes, size_t room)
{
    size_t cut = room < bytes ? room : 0;
    while (cut && word[cut - 1] != '|')
        cut--;
    return cut ? cut : bytes;
}

void pp_print_words(pp_text *text, const char *words, size_t column, size_t indent)
{
    bool first = true;
    for (const char *w = words; *w; first = false) {
        size_t bytes = strcspn(w, " ");
        const bool goes_on = !first && w[-1] == '|';
        if (bytes > PP_COLUMNS - indent)
            bytes = cut_at_bar(w, bytes, PP_COLUMNS - (first ? column : indent));
        if (goes_on || (!first && column + 1 + bytes > PP_COLUMNS)) {
            pp_text_add(text, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!first) {
            pp_text_add(text, " ");
            column++;
        }
        pp_text_add(text, "%.*s", (int)bytes, w);
        column += bytes;
        w += bytes + (w[bytes] == ' ');
    }
    pp_text_add(text, "\n");
}

void pp_range_print(char *buffer, size_t size, int64_t least, int64_t most)
{
    if (least == most)
        snprintf(buffer, size, "%" PRId64, most);
    else
        snprintf(buffer, size, "%" PRId64 " to %" PRId64, least, most);
}
