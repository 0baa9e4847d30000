/* The view of pictures that show ranks by time. */
#ifndef PPSIM_TRACES_PLOT_DRAW_VIEW_H
#define PPSIM_TRACES_PLOT_DRAW_VIEW_H

#include "traces/plot/draw/gnuplot.h"
#include "traces/plot/draw/picture.h"
#include "traces/plot/draw/units.h"

/* The part of a timeline that a picture shows, and its size. */
typedef struct pp_plot_view {
    uint32_t first_rank, last_rank; /* both are shown */
    pp_ns from_ns, to_ns;
    pp_plot_unit unit; /* of the time axis */
    int width, height; /* of the picture, in pixels */
    bool png;
    double plot_px, row_px; /* width of the time axis and height of a rank, in pixels */
} pp_plot_view;

/* Finds the part of the picture's timelines that was requested; the sizes are set by pp_plot_frame.
 * Fails: USAGE when nothing is left. */
PP_MUST_CHECK pp_status pp_plot_view_of(const pp_picture *picture, pp_plot_view *view_out,
                                        pp_err *err);
/* Returns whether any of the time from start_ns to end_ns is visible on this rank. */
bool pp_plot_shows(const pp_plot_view *view, uint32_t rank, pp_ns start_ns, pp_ns end_ns);

/* The margins of the plot, in pixels. */
typedef struct pp_plot_sides {
    int left, right, top, bottom;
} pp_plot_sides;

/* Appends the terminal, the margins, the key above the plot, and labels of ranks where they have
 * room. row_px: height of a rank, unless a size of the picture was requested. Sets the sizes of
 * the view. */
void pp_plot_frame(const pp_picture *picture, pp_plot_view *view, int row_px, pp_plot_sides sides,
                   pp_text *script);

/* Appends the ranges of both axes: time and ranks. */
void pp_plot_axes(const pp_plot_view *view, pp_text *script);

/* The place of the boxes of a timeline within the row of each rank: the whole row is from -0.5 to
 * 0.5. */
typedef struct pp_plot_row {
    const char *prefix; /* with which the names of its data sets begin */
    double low, high;
    bool bare; /* boxes have no border, even if there is room for one */
} pp_plot_row;

#endif
