/* Goes through a text line by line. A byte-order mark and the carriage returns of Windows are left
 * out. */
#include "calib/import/common/lines.h"

#include <string.h>

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
