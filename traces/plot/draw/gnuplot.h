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

/* The formats of pictures: identifier, end of the file's name. */
#define PP_PLOT_FORMAT_MAP(X) \
    X(SVG, svg)               \
    X(PNG, png)               \
    X(PDF, pdf)

typedef enum pp_plot_format {
#define PP_PLOT_FORMAT_ENUM(name, suffix) PP_PLOT_##name,
    PP_PLOT_FORMAT_MAP(PP_PLOT_FORMAT_ENUM)
#undef PP_PLOT_FORMAT_ENUM
        PP_PLOT_FORMATS
} pp_plot_format;

/* Returns the end of the names of files of this format, without the dot: "svg". */
const char *pp_plot_suffix(pp_plot_format format);

/* How a picture is written. */
typedef struct pp_plot_output {
    pp_plot_format format;
    double scale; /* PNG: dots per pixel of the picture; 0: 1 */
} pp_plot_output;

/* The size of a picture in pixels. */
typedef struct pp_plot_size {
    int width, height;
    pp_plot_output out;
} pp_plot_size;

/* Returns the size of a font of `pixels` in the unit of the terminal: pixels (SVG), points (PNG,
 * PDF). */
double pp_plot_font(pp_plot_output out, int pixels);
/* Sets the terminal, its size, the encoding and short tics. A line of width 1 is 1 pixel wide in
 * every format; in a PDF 1 pixel is 1/96 inch. */
void pp_plot_terminal(pp_plot_size size, pp_text *script);
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
