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
/* Adds `words` to data where they stand between double quotes. */
void pp_plot_add_words(pp_text *data, const char *words);

/* Returns the size of a font of `pixels` in the unit of the terminal: pixels (SVG), points (PNG).
 */
int pp_plot_font(bool png, int pixels);
#define PP_PLOT_FONT_PX 13
/* Adds a smaller font (" font ',9'") if a line of `letters` characters needs one to fit into
 * `room_px`. */
void pp_plot_fit_font(bool png, double room_px, size_t letters, pp_text *script);
/* Sets the terminal, its size in pixels, and the encoding. */
void pp_plot_terminal(bool png, int width, int height, pp_text *script);
/* Sets the edges of the plot. left and right are shares (0 to 1) of the picture's width, from its
 * left; top and bottom are shares of its height, from its bottom. */
void pp_plot_margins(double left, double right, double top, double bottom, pp_text *script);
/* Returns the colour of curve `index` of several, such as "#4a78ad". Colours repeat. */
const char *pp_plot_colour(size_t index);

/* Begins the data set named `prefix` and `name`. No name may begin with the name of another set. */
void pp_plot_begin(pp_text *data, const char *prefix, const char *name);
/* Begins the element of the plot command that draws this data set. */
void pp_plot_next(pp_text *script, const char *prefix, const char *name);

#endif
