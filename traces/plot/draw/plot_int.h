/* What kinds of pictures share: texts and numbers in gnuplot's language, the frame, ops as boxes.
 */
#ifndef PPSIM_TRACES_PLOT_DRAW_PLOT_INT_H
#define PPSIM_TRACES_PLOT_DRAW_PLOT_INT_H

#include "traces/plot/plot.h"

/* A unit in which the largest value reads well: value / divisor has 1 to 4 digits before the dot.
 */
typedef struct pp_plot_unit {
    const char *name; /* "ms", "GiB" */
    int64_t divisor;
    int digits; /* behind the dot, so that nothing is lost; bytes are rounded */
} pp_plot_unit;

pp_plot_unit pp_plot_time_unit(pp_ns largest_ns);
pp_plot_unit pp_plot_bytes_unit(int64_t largest);
/* 1500000 ns in ms: "1.5". */
void pp_plot_number(pp_text *text, int64_t value, pp_plot_unit unit);

/* A step of labels from 0 to `most`, so that there are `count` at most: 1, 2 or 5 times a power of
 * ten. */
double pp_plot_step(double most, double count);

/* A text in single quotes, in which gnuplot expands nothing; control characters become blanks. */
void pp_plot_quoted(pp_text *text, const char *words);
/* For data, between double quotes. */
void pp_plot_add_words(pp_text *data, const char *words);

/* What is shown of a timeline, and how large. */
typedef struct pp_plot_view {
    uint32_t first_rank, last_rank;
    pp_ns from_ns, to_ns;
    pp_plot_unit unit;
    int width, height; /* of the picture */
    bool png;
    double plot_px, row_px; /* width of the time axis; height of a rank */
} pp_plot_view;

/* What was asked for of the picture's timelines; not yet the sizes. Fails: USAGE when nothing is
 * left. */
PP_MUST_CHECK pp_status pp_plot_view_of(const pp_picture *picture, pp_plot_view *view_out,
                                        pp_err *err);
bool pp_plot_shows(const pp_plot_view *view, uint32_t rank, pp_ns start_ns, pp_ns end_ns);

/* Pixels around the plot. */
typedef struct pp_plot_sides {
    int left, right, top, bottom;
} pp_plot_sides;

/* What the terminal calls a font of `pixels`: it counts in pixels (SVG) or points (PNG). */
int pp_plot_font(bool png, int pixels);
#define PP_PLOT_FONT_PX 13
/* Adds " font ',9'" where a line of `letters` must be smaller to fit into `room_px`. */
void pp_plot_fit_font(bool png, double room_px, size_t letters, pp_text *script);
/* Terminal and encoding. */
void pp_plot_terminal(const pp_picture *picture, int width, int height, pp_text *script);
/* The same for ranks by time, `row_px` high unless a size was asked for; margins, the key above the
 * plot, labels of ranks where they do not touch. Sets the view's sizes. */
void pp_plot_frame(const pp_picture *picture, pp_plot_view *view, int row_px, pp_plot_sides sides,
                   pp_text *script);

/* The ranges of time and ranks. */
void pp_plot_axes(const pp_plot_view *view, pp_text *script);

/* Where the boxes of a timeline lie: from low to high above the rank's place, -0.5 to 0.5. */
typedef struct pp_plot_row {
    const char *prefix; /* of the names of its data */
    double low, high;
    bool bare; /* boxes have no border, though there is room */
} pp_plot_row;

/* Are most boxes wide enough for a border? */
bool pp_plot_is_wide(const pp_track *track, const pp_plot_view *view);

/* All ops and their labels: their data, and the elements of the plot command that draw them; as
 * shares where they are dense. titled: they have lines in the key. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_plot_boxes(const pp_track *track, const pp_plot_view *view,
                                      pp_plot_row row, bool titled, pp_text *script, pp_text *data,
                                      pp_err *err);
/* Are most ops too narrow to be seen one by one? */
bool pp_plot_is_dense(const pp_track *track, const pp_plot_view *view);
/* As pp_plot_boxes, for dense ops: columns of time, idle time by cause included. */
PP_MUST_CHECK pp_status pp_plot_shares(const pp_track *track, const pp_plot_view *view,
                                       pp_plot_row row, bool titled, pp_text *script, pp_text *data,
                                       pp_err *err);

/* Begins a data set `prefix``name`. No such name begins another one. */
void pp_plot_begin(pp_text *data, const char *prefix, const char *name);
/* Begins the element of the plot command that draws it. */
void pp_plot_next(pp_text *script, const char *prefix, const char *name);

#endif
