/* Our CSV: cells parted by commas, without quotes, every one with its place. */
#ifndef PPSIM_CALIB_IMPORT_COMMON_COLUMNS_H
#define PPSIM_CALIB_IMPORT_COMMON_COLUMNS_H

#include "calib/import/common/lines.h"
#include "sim/base/status.h"

typedef struct pp_cell_text {
    pp_span text;        /* without blanks around it */
    size_t line, column; /* from 1, in bytes */
} pp_cell_text;

/* The rest of a comment that begins with `key`, such as "# device: ", into `text`; another comment
 * leaves it as it is. */
void pp_comment_read(pp_span comment, const char *key, char *text, size_t size);

/* Cuts the line into at most `most` cells; returns how many there are, also beyond `most`. */
size_t pp_columns_split(const pp_lines *lines, pp_cell_text *cells, size_t most);
/* INPUT at the cell's file:line:column. */
pp_status pp_cell_fail(const pp_cell_text *cell, const char *file, pp_err *err, const char *format,
                       ...) PP_PRINTF(4, 5);
/* A number from `low` to `high`. */
PP_MUST_CHECK pp_status pp_cell_real(const pp_cell_text *cell, const char *file, double low,
                                     double high, double *value_out, pp_err *err);
PP_MUST_CHECK pp_status pp_cell_int(const pp_cell_text *cell, const char *file, int64_t high,
                                    int64_t *value_out, pp_err *err);

#endif
