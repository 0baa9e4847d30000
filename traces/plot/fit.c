/* Draws cost functions with the measurements to which they were fitted: a cell per class, with
 * times above and deviations from the fit below. A band shows where 95 % of single measurements
 * are expected; over several decades of time only the deviations show its width. */
#include "traces/plot/draw/quiet.h"
#include "traces/plot/draw/units.h"
#include "traces/plot/draw/view.h"
#include "traces/plot/plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CELL_WIDTH = 420, CELL_HEIGHT = 320 };                                      /* pixels */
enum { LEFT = 72, RIGHT = 25, CELL_TOP = 26, BOTTOM = 46, GAP = 24, NARROW = 12 }; /* of a cell */
enum { COLUMNS = 3, DEVIATION_SHARE = 40, DEVIATION_TICS = 4 }; /* share in percent */
enum { LEAST_WIDTH = 260, LEAST_HEIGHT = 220, FONT = 12, TIC_PX = 24, PLACE_PX = 54 };

#define MEASURED "pt 6 ps 0.7 lw 1.2 lc rgb '#202020'"
#define FITTED "lw 2 lc rgb '" PP_PLOT_ACCENT "'"
#define BAND "fc rgb '" PP_PLOT_PALE "' fs solid 0.6 noborder"

/* The layout of all cells. */
typedef struct sheet {
    pp_plot_size size;
    int columns, width, height, top; /* size of a cell, height of the head */
    bool compact;                    /* there is no room for labels of axes */
} sheet;

static bool fits(const pp_picture *picture)
{
    return picture->curve_count > 0;
}

/* Appends the measurements of a curve: place, measured and fitted time, ends of the band; then
 * deviation and ends of the band in percent of the fitted time. */
static void add_data(const pp_picture *picture, size_t number, const char *name, pp_text *data)
{
    pp_plot_begin(data, "curve ", name);
    for (size_t i = 0; i < picture->fitted_count; i++) {
        const pp_fitted *point = &picture->fitted[i];
        if (point->curve != number)
            continue;
        const double values[] = { point->measured_s, point->low_s, point->high_s };
        pp_text_add(data, "%.6g %.6g %.5g %.5g %.5g", point->at, point->measured_s, point->fitted_s,
                    fmax(point->low_s, 1e-3 * point->fitted_s), point->high_s);
        for (int k = 0; k < 3; k++)
            pp_text_add(data, " %.3f", 100 * (values[k] / point->fitted_s - 1));
        pp_text_add(data, "\n");
    }
}

/* Finds the smallest and the largest time of a curve, or place on its axis. */
static void find_range(const pp_picture *picture, size_t number, bool place, double *low,
                       double *high)
{
    *low = HUGE_VAL;
    *high = 0;
    for (size_t i = 0; i < picture->fitted_count; i++) {
        const pp_fitted *point = &picture->fitted[i];
        const double values[2] = { place ? point->at : point->measured_s,
                                   place ? point->at : point->fitted_s };
        for (int k = 0; k < 2 && point->curve == number; k++) {
            *low = values[k] > 0 && values[k] < *low ? values[k] : *low;
            *high = values[k] > *high ? values[k] : *high;
        }
    }
    *low = *low < *high ? *low : *high;
    if (!(*high > 0))
        *low = *high = 1; /* an axis needs a range even if there is nothing to show */
}

/* Appends one of the two plots of a cell: band, fit and measurements. columns: of the ends of the
 * band, of the fit (0: a line at 0) and of the measurements. */
static void add_lines(const char *name, const int columns[4], pp_text *script)
{
    pp_text_add(script, "plot ");
    pp_plot_next(script, "curve ", name);
    pp_text_add(script, "using 1:%d:%d with filledcurves " BAND " notitle", columns[0], columns[1]);
    if (columns[2]) {
        pp_plot_next(script, "curve ", name);
        pp_text_add(script, "using 1:%d with lines " FITTED " notitle", columns[2]);
    } else {
        pp_text_add(script, ", \\\n    0 with lines " FITTED " notitle");
    }
    pp_plot_next(script, "curve ", name);
    pp_text_add(script, "using 1:%d with points " MEASURED " notitle\n", columns[3]);
}

static void add_times(const pp_picture *picture, const sheet *s, size_t number, const char *name,
                      const double edges[4], pp_text *script)
{
    static const int columns[4] = { 4, 5, 3, 2 };
    double low;
    double high;
    pp_plot_margins(s->size, edges, script);
    pp_text_add(script, "set logscale xy\nset format x ''\nset format y '%s'\n",
                s->compact ? "" : "%.0s %cs");
    find_range(picture, number, false, &low, &high);
    pp_plot_log_axis('y', low, high, (edges[3] - edges[1]) / TIC_PX, script);
    find_range(picture, number, true, &low, &high);
    pp_plot_log_axis('x', low, high, (edges[2] - edges[0]) / PLACE_PX, script);
    add_lines(name, columns, script);
    pp_text_add(script, "unset label\nunset object\nunset arrow\n");
}

/* Returns the end of the axis of deviations, in percent: that of the band, unless the band is much
 * wider than the deviations. */
static double most_deviation(const pp_picture *picture, size_t number)
{
    double most = picture->curve[number].most_error;
    double band = 0;
    for (size_t i = 0; i < picture->fitted_count; i++) {
        const pp_fitted *point = &picture->fitted[i];
        if (point->curve == number)
            band = fmax(band, 100 * fmax(point->high_s / point->fitted_s - 1,
                                         1 - point->low_s / point->fitted_s));
    }
    return fmax(most, fmin(band, 3 * most));
}

static void add_deviations(const pp_picture *picture, const sheet *s, size_t number,
                           const char *name, const double edges[4], pp_text *script)
{
    static const int columns[4] = { 7, 8, 0, 6 };
    bool is_time = strcmp(picture->curve[number].axis, PP_CURVE_TIME) == 0;
    double most = most_deviation(picture, number);
    double step = pp_plot_step(2.2 * most, DEVIATION_TICS);
    double end = step * ceil(1.1 * most / step);
    pp_plot_margins(s->size, edges, script);
    pp_text_add(script, "unset logscale y\nset yrange [%.4g:%.4g]\n", -end, end);
    if (!s->compact)
        pp_text_add(script, "set format y '%%g'\nset format x '%%.0s %%c%s'\n", is_time ? "s" : "");
    pp_text_add(script, "set ytics %.4g\n", step);
    add_lines(name, columns, script);
}

static void add_cell(const pp_picture *picture, const sheet *s, size_t number, pp_text *script,
                     pp_text *data)
{
    static const char letters[] = "tc rgb '" PP_PLOT_LETTERS "'";
    char name[32];
    char title[sizeof picture->curve[0].name];
    const pp_curve *curve = &picture->curve[number];
    const int left = (int)number % s->columns * s->width;
    const int top = s->top + (int)number / s->columns * s->height;
    const int side[2] = { s->compact ? NARROW : LEFT, s->compact ? NARROW : RIGHT };
    const int below = s->compact ? NARROW : BOTTOM;
    const int gap = s->compact ? 4 : GAP;
    const double bottom = top + s->height - below;
    const double middle = bottom - (bottom - top - CELL_TOP) * DEVIATION_SHARE / 100;
    const double times[4] = { left + side[0], top + CELL_TOP, left + s->width - side[1],
                              middle - gap / 2.0 };
    const double deviations[4] = { times[0], middle + gap / 2.0, times[2], bottom };
    int font = pp_plot_fitting_font(curve->name, FONT, s->width - 2 * NARROW);
    snprintf(name, sizeof name, "%zu:", number);
    add_data(picture, number, name, data);
    pp_plot_shorten(curve->name, font, s->width - 2 * NARROW, title, sizeof title);
    pp_plot_text_at(s->size, left + NARROW, top + CELL_TOP / 2.0, PP_PLOT_LEFT, font, "", title,
                    script);
    if (!s->compact) {
        pp_plot_text_at(s->size, times[0], middle, PP_PLOT_LEFT, FONT - 1, letters,
                        "deviation of a measurement from the fit (%)", script);
        pp_plot_text_at(s->size, (times[0] + times[2]) / 2, bottom + BOTTOM - 15, PP_PLOT_CENTRE,
                        FONT - 1, letters, curve->axis, script);
    }
    add_times(picture, s, number, name, times, script);
    add_deviations(picture, s, number, name, deviations, script);
}

static pp_status draw(const pp_picture *picture, pp_text *script, pp_text *data, pp_err *err)
{
    pp_plot_head head = { .entries = 0 };
    sheet s = { .size.out = picture->out };
    (void)err;
    int curves = (int)picture->curve_count;
    s.columns = curves < COLUMNS ? curves : COLUMNS;
    int rows = (curves + s.columns - 1) / s.columns;
    pp_plot_head_name(&head, "", "", "Fitted costs against measured times", "");
    pp_plot_head_add(&head, NULL, NULL, MEASURED, "measured");
    pp_plot_head_add(&head, NULL, FITTED, NULL, "fitted");
    pp_plot_head_add(&head, BAND, NULL, NULL, "95 % of single measurements are expected here");
    s.size.width = picture->width ? picture->width : CELL_WIDTH * s.columns;
    pp_plot_head_lay_out(&head, s.size.width, pp_plot_head_room(picture->height));
    s.top = head.px;
    s.size.height = picture->height ? picture->height : s.top + CELL_HEIGHT * rows;
    s.width = s.size.width / s.columns;
    s.height = (s.size.height - s.top) / rows;
    s.compact = s.width < LEAST_WIDTH || s.height < LEAST_HEIGHT;
    pp_plot_terminal(s.size, script);
    pp_plot_head_draw(&head, s.size, script);
    pp_text_add(script, "set multiplot\n");
    pp_plot_quiet_axes("xy", script);
    if (s.compact)
        pp_text_add(script, "unset xtics\nunset ytics\n");
    for (size_t i = 0; i < picture->curve_count; i++)
        add_cell(picture, &s, i, script, data);
    pp_text_add(script, "unset multiplot\n");
    return PP_OK;
}

const pp_plot pp_plot_fit = {
    .name = "fit",
    .summary = "fitted cost functions against the measurements, with a band of 95 %",
    .needs = "a profile",
    .fits = fits,
    .draw = draw,
};
