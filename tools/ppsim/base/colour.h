/* Colour in texts for people: commands mark words with it, and it is kept only if stdout is a
 * terminal that wants it. */
#ifndef PPSIM_TOOLS_PPSIM_BASE_COLOUR_H
#define PPSIM_TOOLS_PPSIM_BASE_COLOUR_H

#include "sim/base/text.h"

#include <stdbool.h>

typedef enum pp_colour {
    PP_COLOUR_NONE,
    PP_COLOUR_ANSWER, /* bold: the answer */
    PP_COLOUR_GOOD,   /* green: it fits, it passes */
    PP_COLOUR_BAD,    /* red: it is over the limit, it fails */
} pp_colour;

/* Return the mark that begins a colour, or that ends any colour. It takes no column, and
 * pp_print_words does not count it. PP_COLOUR_NONE: "". */
const char *pp_colour_begin(pp_colour colour);
const char *pp_colour_end(pp_colour colour);
/* Returns the number of bytes of the mark at `c`; 0 when there is none. */
size_t pp_colour_mark(const char *c);
/* Returns the escape sequence of a mark, as a terminal obeys it. */
const char *pp_colour_sequence(const char *mark);
/* Removes all colour from a text. */
void pp_colour_strip(pp_text *text);
/* Returns whether stdout is a terminal, NO_COLOR is not set or empty (no-color.org), and TERM is
 * not dumb. */
bool pp_colour_is_wanted(void);

#endif
