/* Prints differences as text and as Markdown. */
#ifndef PPSIM_TOOLS_PPSIM_COMPARE_PRINT_H
#define PPSIM_TOOLS_PPSIM_COMPARE_PRINT_H

#include "sim/base/text.h"
#include "tools/ppsim/compare/files.h"
#include "tools/ppsim/compare/judge.h"

typedef struct pp_compare_print {
    const char *base, *now; /* as given */
    const pp_compare_pairs *pairs;
    const pp_differences *differences;
    size_t rows; /* of the terminal */
} pp_compare_print;

enum { PP_CELL = 64, PP_MARKDOWN_LINES = 60 };

typedef struct pp_compare_cells {
    char before[PP_CELL], after[PP_CELL], delta[PP_CELL], percent[PP_CELL];
    char name[256]; /* metric and place */
} pp_compare_cells;

/* Formats a difference as the cells of a table row. */
void pp_compare_cells_of(const pp_difference *row, pp_compare_cells *cells_out);

/* Appends the differences as text that fits the terminal. */
void pp_compare_text(const pp_compare_print *print, pp_text *text);
void pp_compare_markdown(const pp_compare_print *print, pp_text *text);

#endif
