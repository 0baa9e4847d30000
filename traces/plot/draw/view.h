/* The view of pictures that show ranks by time. */
#ifndef PPSIM_TRACES_PLOT_DRAW_VIEW_H
#define PPSIM_TRACES_PLOT_DRAW_VIEW_H

#include "traces/plot/draw/gnuplot.h"
#include "traces/plot/draw/head.h"
#include "traces/plot/draw/picture.h"
#include "traces/plot/draw/units.h"

enum { PP_PLOT_TIME_PX = 68 }; /* space reserved for a label of the time axis */

/* The part of a timeline that a picture shows, and its size. */
typedef struct pp_plot_view {
    uint32_t first_rank, last_rank; /* both are shown */
    pp_ns from_ns, to_ns;
    pp_plot_unit unit; /* of the time axis */
    pp_plot_size size;
    double plot_px, row_px; /* width of the time axis and height of a rank, in pixels */
    size_t tracks;          /* timelines that share the picture, and the bytes of its file */
    double edges[4]; /* left, top, right and bottom of the plot, from the upper left corner */
} pp_plot_view;

/* Finds the part of the picture's timelines that was requested, and the width of the picture and of
 * its time axis, which is left_px from the left side and right_px from the right one. Fails: USAGE
 * when nothing is left. */
PP_MUST_CHECK pp_status pp_plot_view_of(const pp_picture *picture, int left_px, int right_px,
                                        pp_plot_view *view_out, pp_err *err);
/* Returns whether any of the time from start_ns to end_ns is visible on this rank. */
bool pp_plot_shows(const pp_plot_view *view, uint32_t rank, pp_ns start_ns, pp_ns end_ns);
/* Returns how many ranks are shown. */
uint32_t pp_plot_ranks(const pp_plot_view *view);

/* Lays the head out and finds the heights: of the picture, the plot and its rows. row_px: height of
 * a rank, unless a size of the picture was requested. bottom_px: room below the plot. */
void pp_plot_place(const pp_picture *picture, pp_plot_view *view, pp_plot_head *head, int row_px,
                   int bottom_px);
/* Appends the terminal, the head, the margins, the ranges of both axes (time and ranks) and labels
 * for which there is room. */
void pp_plot_frame(const pp_plot_view *view, const pp_plot_head *head, pp_text *script);
/* The same without the axis of time. */
void pp_plot_rank_frame(const pp_plot_view *view, const pp_plot_head *head, pp_text *script);
/* Appends labels of times at round distances. */
void pp_plot_time_tics(const pp_plot_view *view, pp_text *script);
/* Returns the height that the head of a picture may have; requested_px: the height of the picture,
 * or 0. */
int pp_plot_head_room(int requested_px);

/* The columns of the plot command that draw the interval from column 1 to column 2 less a space (a
 * number follows: %g), whose row is from column 3 to column 4, as a thick line. */
#define PP_PLOT_THICK "using 1:(($3+$4)/2):($2-$1-%.6g):(0)"
/* Returns the thickness of stripes in boxes of a height, both in pixels. */
double pp_plot_stripe_px(double box_px);

/* The place of the boxes of a timeline within the row of each rank: the whole row is from -0.5 to
 * 0.5. */
typedef struct pp_plot_row {
    const char *prefix; /* the prefix of the names of its data sets */
    double low, high;
    bool bare; /* boxes have no border, even if there is room for one */
} pp_plot_row;

#endif
