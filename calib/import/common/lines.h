/* The lines of a text, one after the other. */
#ifndef PPSIM_CALIB_IMPORT_COMMON_LINES_H
#define PPSIM_CALIB_IMPORT_COMMON_LINES_H

#include "sim/base/span.h"

typedef struct pp_lines {
    const char *next, *end;
    size_t number; /* of the current line, from 1 */
    pp_span line;  /* the current line, without its line feed */
} pp_lines;

/* Begins before the first line. The text is not copied. */
pp_lines pp_lines_of(const char *text, size_t bytes);
/* Moves to the next line; returns false when there is none. */
bool pp_lines_next(pp_lines *lines);

#endif
