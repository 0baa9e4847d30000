/* The look of pictures that are no timelines: grey letters, light grid lines, no frame, and one
 * accent colour. */
#ifndef PPSIM_TRACES_PLOT_DRAW_QUIET_H
#define PPSIM_TRACES_PLOT_DRAW_QUIET_H

#include "traces/plot/draw/head.h"

#define PP_PLOT_ACCENT "#2f62bd"
#define PP_PLOT_PALE "#b9cbe9"    /* the accent colour for what is less important */
#define PP_PLOT_SHADE "#eef1f6"   /* an area behind the data */
#define PP_PLOT_LETTERS "#5a5a5a" /* of axes and remarks */
#define PP_PLOT_GRID "#e2e2e2"
#define PP_PLOT_ALARM "#c8102e" /* over a limit */

enum { PP_PLOT_CAPTION_PX = 20 }; /* room between head and plot for the name of the vertical axis */

/* Appends axes without a frame. grid: the axes with grid lines, "x", "y" or "xy". */
void pp_plot_quiet_axes(const char *grid, pp_text *script);
/* Appends the names of the axes: x below the middle of the plot, y in a line above its left edge,
 * where it is read without turning the head. Either may be "". edges: left, top, right and bottom
 * of the plot, in pixels from the upper left corner. */
void pp_plot_captions(pp_plot_size size, const double edges[4], const char *x, const char *y,
                      pp_text *script);

/* A rectangle in pixels from the upper left corner. */
typedef struct pp_plot_rect {
    double left, top, right, bottom;
} pp_plot_rect;

/* The rectangles that labels must not cover. The owner frees it with pp_plot_taken_free. */
typedef struct pp_plot_taken {
    pp_plot_rect *rect;
    size_t count, capacity;
    pp_plot_rect within; /* labels stay inside this one */
    bool failed;         /* there was no memory */
} pp_plot_taken;

void pp_plot_taken_free(pp_plot_taken *taken);
void pp_plot_take(pp_plot_taken *taken, pp_plot_rect rect);
/* Appends a label like pp_plot_text_at if its place is free, and takes that place. Returns whether
 * it was free. script NULL: only looks and takes. */
bool pp_plot_label(pp_plot_taken *taken, pp_plot_size size, double x, double y, pp_plot_align align,
                   int font, const char *style, const char *words, pp_text *script);

#endif
