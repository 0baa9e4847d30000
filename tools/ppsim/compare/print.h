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
    const pp_tolerances *tolerances;
    bool all;    /* --rows is given: `rows` rows, else PP_COMPARE_ROWS, a metric of several ranks or
                    stages once */
    size_t rows; /* of a table */
} pp_compare_print;

enum { PP_COMPARE_ROWS = 10 };

/* Appends the differences as text that fits the terminal. */
void pp_compare_text(const pp_compare_print *print, pp_text *text);
void pp_compare_markdown(const pp_compare_print *print, pp_text *text);

#endif
