/* The cells of a table row. */
#ifndef PPSIM_TOOLS_PPSIM_COMPARE_CELLS_H
#define PPSIM_TOOLS_PPSIM_COMPARE_CELLS_H

#include "tools/ppsim/compare/judge.h"

enum { PP_CELL = 64 };

typedef struct pp_compare_cells {
    char before[PP_CELL], after[PP_CELL], delta[PP_CELL], percent[PP_CELL];
    char name[256];   /* metric and place */
    const char *unit; /* of before, after and delta: " tokens/s", or "" if they contain theirs */
} pp_compare_cells;

/* Formats a difference as the cells of a table row. */
void pp_compare_cells_of(const pp_difference *row, pp_compare_cells *cells_out);
/* Formats tokens per second, without the unit: "64,760". cell: [PP_CELL]. */
void pp_compare_rate(double tokens_per_s, char *cell);
/* Copies as many whole characters of `text` as fit into `columns`, ending in "..." if it is cut.
 * Returns the number of columns used. */
size_t pp_compare_fit(const char *text, size_t columns, char *buffer, size_t size);

#endif
