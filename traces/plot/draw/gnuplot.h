/* gnuplot's language: texts, fonts, the terminal, data sets. */
#ifndef PPSIM_TRACES_PLOT_DRAW_GNUPLOT_H
#define PPSIM_TRACES_PLOT_DRAW_GNUPLOT_H

#include "sim/base/text.h"

#include <stdbool.h>
#include <stddef.h>

/* Adds a text in single quotes, in which gnuplot expands nothing. Control characters become blanks.
 */
void pp_plot_quoted(pp_text *text, const char *words);
/* Adds a text to data, for a place between double quotes. */
void pp_plot_add_words(pp_text *data, const char *words);

/* The size of a font of `pixels` for the terminal, which counts in pixels (SVG) or points (PNG). */
int pp_plot_font(bool png, int pixels);
#define PP_PLOT_FONT_PX 13
/* Adds " font ',9'" where a line of `letters` must be smaller to fit into `room_px`. */
void pp_plot_fit_font(bool png, double room_px, size_t letters, pp_text *script);
/* Sets the terminal and the encoding. */
void pp_plot_terminal(bool png, int width, int height, pp_text *script);
/* Sets the edges of the plot, as shares of the picture's width from the left and of its height from
 * the bottom. */
void pp_plot_margins(double left, double right, double top, double bottom, pp_text *script);
/* The colour of the index-th of several curves: "#4a78ad". */
const char *pp_plot_colour(size_t index);

/* Begins the data set named `prefix` and `name`. No name may begin with the name of another set. */
void pp_plot_begin(pp_text *data, const char *prefix, const char *name);
/* Begins the element of the plot command that draws this data set. */
void pp_plot_next(pp_text *script, const char *prefix, const char *name);

#endif
