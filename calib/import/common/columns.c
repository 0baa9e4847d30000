/* Cuts a line of comma-separated values into cells, and reads numbers from them; errors name the
 * line and column of the cell. Quoted cells are not supported: the files read have none. */
#include "calib/import/common/columns.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

void pp_comment_read(pp_span comment, const char *key, char *text, size_t size)
{
    const size_t skip = strlen(key);
    if (pp_span_begins(comment, key))
        pp_span_copy((pp_span){ comment.at + skip, comment.bytes - skip }, text, size);
}

size_t pp_columns_split(const pp_lines *lines, pp_cell_text *cells, size_t most)
{
    const char *begin = lines->line.at;
    const char *end = begin + lines->line.bytes;
    const char *from = begin;
    size_t count = 0;
    for (const char *at = begin;; at++) {
        if (at < end && *at != ',')
            continue;
        if (count < most) {
            const char *to = at;
            while (from < to && is_blank(*from))
                from++;
            while (to > from && is_blank(to[-1]))
                to--;
            cells[count] = (pp_cell_text){ { from, (size_t)(to - from) },
                                           lines->number,
                                           (size_t)(from - begin) + 1 };
        }
        count++;
        if (at == end)
            return count;
        from = at + 1;
    }
}

pp_status pp_cell_fail(const pp_cell_text *cell, const char *file, pp_err *err, const char *format,
                       ...)
{
    char where[256];
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    snprintf(where, sizeof where, "%.200s:%zu:%zu", file, cell->line, cell->column);
    return pp_err_set(err, PP_INPUT, where, "%s", text);
}

pp_status pp_cell_real(const pp_cell_text *cell, const char *file, double low, double high,
                       double *value_out, pp_err *err)
{
    char shown[40];
    double value = 0;
    pp_span_copy(cell->text, shown, sizeof shown);
    if (!pp_span_real(cell->text, &value))
        return pp_cell_fail(cell, file, err, "'%s' is not a number; write digits, as in 12.5",
                            shown);
    if (!(value >= low && value <= high))
        return pp_cell_fail(cell, file, err, "must be from %g to %g, not %s", low, high, shown);
    *value_out = value;
    return PP_OK;
}

pp_status pp_cell_int(const pp_cell_text *cell, const char *file, int64_t high, int64_t *value_out,
                      pp_err *err)
{
    char shown[40];
    pp_span_copy(cell->text, shown, sizeof shown);
    if (!pp_span_int(cell->text, high, value_out))
        return pp_cell_fail(cell, file, err, "'%s' is not a whole number from 0 to %" PRId64, shown,
                            high);
    return PP_OK;
}
