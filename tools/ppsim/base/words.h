/* Prints text in lines of 80 columns. */
#ifndef PPSIM_TOOLS_PPSIM_BASE_WORDS_H
#define PPSIM_TOOLS_PPSIM_BASE_WORDS_H

#include "sim/base/text.h"

#include <stddef.h>
#include <stdint.h>

#define PP_COLUMNS 80
/* Writes words, broken at blanks before PP_COLUMNS. The first line begins at `column`, later ones
 * at `indent`. Colour takes no column. */
void pp_print_words(pp_text *text, const char *words, size_t column, size_t indent);

/* Writes "label        words"; nothing when there are no words. */
void pp_print_labelled(pp_text *text, const char *label, const pp_text *words);
/* Does the same for words that are formatted as by printf. */
void pp_print_line(pp_text *text, const char *label, const char *format, ...) PP_PRINTF(3, 4);

/* Returns the length of the first clause of a reason, without the advice that follows. Text output
 * shows this part, and JSON the whole reason. */
int pp_first_clause(const char *reason);

/* Writes "7" if both ends are equal, else "1 to 7". */
void pp_range_print(char *buffer, size_t size, int64_t least, int64_t most);

#endif
