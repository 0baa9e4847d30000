/* Writes gnuplot's language: texts, fonts, the terminal, data sets. All functions append. */
#ifndef PPSIM_TRACES_PLOT_DRAW_GNUPLOT_H
#define PPSIM_TRACES_PLOT_DRAW_GNUPLOT_H

#include "sim/base/text.h"

#include <stdbool.h>
#include <stddef.h>

/* Adds `words` in single quotes, in which gnuplot expands nothing. Control characters become
 * blanks.
 */
void pp_plot_quoted(pp_text *text, const char *words);
/* Adds `words` to data, for use between double quotes. */
void pp_plot_add_words(pp_text *data, const char *words);

/* The size of a picture in pixels. */
typedef struct pp_plot_size {
    int width, height;
    bool png;
} pp_plot_size;

/* Returns the size of a font of `pixels` in the unit of the terminal: pixels (SVG), points (PNG).
 */
int pp_plot_font(bool png, int pixels);
/* Sets the terminal, its size in pixels, the encoding and short tics. */
void pp_plot_terminal(bool png, int width, int height, pp_text *script);
/* Sets the edges of the plot: left, top, right and bottom, in pixels from the upper left corner of
 * the picture. */
void pp_plot_margins(pp_plot_size size, const double edges[4], pp_text *script);
/* Returns the colour of curve `index` of several, such as "#2f62bd". Colours repeat. */
const char *pp_plot_colour(size_t index);

/* Begins the data set named `prefix` and `name`. No name may begin with the name of another set. */
void pp_plot_begin(pp_text *data, const char *prefix, const char *name);
/* Begins the element of the plot command that draws this data set. */
void pp_plot_next(pp_text *script, const char *prefix, const char *name);

#endif
