/* Lines of comma-separated values without quotes, cut into cells that record their line and
 * column. */
#ifndef PPSIM_CALIB_IMPORT_COMMON_COLUMNS_H
#define PPSIM_CALIB_IMPORT_COMMON_COLUMNS_H

#include "calib/import/common/lines.h"
#include "sim/base/status.h"

/* One cell. Its text is that of the line. */
typedef struct pp_cell_text {
    pp_span text;        /* without blanks around it */
    size_t line, column; /* both counted from 1; a column is a byte */
} pp_cell_text;

/* Copies the text after `key`, such as "# device: ", if the comment begins with it; otherwise
 * `text` is unchanged. */
void pp_comment_read(pp_span comment, const char *key, char *text, size_t size);

/* Cuts the current line into cells and writes at most `most` of them. Returns their number, which
 * may be larger. */
size_t pp_columns_split(const pp_lines *lines, pp_cell_text *cells, size_t most);
/* Sets the error, with the place of the cell as file:line:column, and returns INPUT. */
pp_status pp_cell_fail(const pp_cell_text *cell, const char *file, pp_err *err, const char *format,
                       ...) PP_PRINTF(4, 5);
/* Read a number from `low` to `high`, or a whole number from 0 to `high`. Fail: INPUT. */
PP_MUST_CHECK pp_status pp_cell_real(const pp_cell_text *cell, const char *file, double low,
                                     double high, double *value_out, pp_err *err);
PP_MUST_CHECK pp_status pp_cell_int(const pp_cell_text *cell, const char *file, int64_t high,
                                    int64_t *value_out, pp_err *err);

#endif
