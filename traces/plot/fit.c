/* Draws cost functions with the measurements to which they were fitted: a cell per class, with
 * times above and errors below. */
#include "traces/plot/draw/gnuplot.h"
#include "traces/plot/draw/units.h"
#include "traces/plot/draw/view.h"
#include "traces/plot/plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CELL_WIDTH = 420, CELL_HEIGHT = 300 };                                      /* pixels */
enum { LEFT = 72, RIGHT = 25, CELL_TOP = 26, BOTTOM = 46, GAP = 18, NARROW = 12 }; /* of a cell */
enum { COLUMNS = 3, ERROR_SHARE = 3, ERROR_TICS = 4 }; /* errors have a third of a cell */
enum { LEAST_WIDTH = 260, LEAST_HEIGHT = 220, FONT = 12, TIC_PX = 24 };

#define MEASURED "pt 6 ps 0.8 lc rgb '#2f62bd'"
#define FITTED_POINT "pt 2 ps 0.6 lc rgb '#c9421a'"
#define FITTED_LINE "lw 1.2 lc rgb '#c9421a'"

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

static void add_data(const pp_picture *picture, size_t number, const char *name, pp_text *data)
{
    pp_plot_begin(data, "curve ", name);
    for (size_t i = 0; i < picture->fitted_count; i++) {
        const pp_fitted *point = &picture->fitted[i];
        if (point->curve == number)
            pp_text_add(data, "%.6g %.6g %.5g %.3f\n", point->at, point->measured_s,
                        point->fitted_s, 100 * (point->fitted_s / point->measured_s - 1));
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

/* Appends the times of a curve. The fit is drawn as a line if the axis alone determines it. */
static void add_times(const pp_picture *picture, const sheet *s, size_t number, const char *name,
                      const double edges[4], pp_text *script)
{
    double low;
    double high;
    bool is_time = strcmp(picture->curve[number].axis, PP_CURVE_TIME) == 0;
    pp_plot_margins(s->size, edges, script);
    pp_text_add(script, "set logscale xy\nset format x ''\nset format y '%s'\n",
                s->compact ? "" : "%.0s%cs");
    find_range(picture, number, false, &low, &high);
    pp_plot_log_axis('y', low, high, (edges[3] - edges[1]) / TIC_PX, script);
    find_range(picture, number, true, &low, &high);
    pp_plot_log_axis('x', low, high, (edges[2] - edges[0]) / PP_PLOT_TIME_PX, script);
    pp_text_add(script, "plot ");
    pp_plot_next(script, "curve ", name);
    pp_text_add(script, "using 1:2 with points " MEASURED " notitle");
    pp_plot_next(script, "curve ", name);
    pp_text_add(script, "using 1:3 %snotitle\nunset label\nunset object\nunset arrow\n",
                is_time ? "with points " FITTED_POINT " "
                        : "smooth unique with lines " FITTED_LINE " ");
}

static void add_errors(const sheet *s, const pp_curve *curve, const char *name,
                       const double edges[4], pp_text *script)
{
    bool is_time = strcmp(curve->axis, PP_CURVE_TIME) == 0;
    double step = pp_plot_step(2.2 * curve->most_error, ERROR_TICS);
    double end = step * ceil(1.1 * curve->most_error / step);
    pp_plot_margins(s->size, edges, script);
    pp_text_add(script, "unset logscale y\nset yrange [%.4g:%.4g]\n", -end, end);
    if (!s->compact)
        pp_text_add(script, "set format y '%%g'\nset format x '%%.0s%%c%s'\n", is_time ? "s" : "");
    pp_text_add(script, "set ytics %.4g\n", step);
    pp_text_add(script, "plot ");
    pp_plot_next(script, "curve ", name);
    pp_text_add(script, "using 1:4 with points " FITTED_POINT " notitle, \\\n"
                        "    0 with lines lw 0.6 lc rgb '#606060' notitle\n");
}

static void add_cell(const pp_picture *picture, const sheet *s, size_t number, pp_text *script,
                     pp_text *data)
{
    char name[32];
    char title[sizeof picture->curve[0].name];
    const pp_curve *curve = &picture->curve[number];
    const int left = (int)number % s->columns * s->width;
    const int top = s->top + (int)number / s->columns * s->height;
    const int side[2] = { s->compact ? NARROW : LEFT, s->compact ? NARROW : RIGHT };
    const int below = s->compact ? NARROW : BOTTOM;
    const int gap = s->compact ? 4 : GAP;
    const double bottom = top + s->height - below;
    const double middle = bottom - (bottom - top - CELL_TOP) / ERROR_SHARE;
    const double times[4] = { left + side[0], top + CELL_TOP, left + s->width - side[1],
                              middle - gap / 2.0 };
    const double errors[4] = { times[0], middle + gap / 2.0, times[2], bottom };
    int font = pp_plot_fitting_font(curve->name, FONT, s->width - 2 * NARROW);
    snprintf(name, sizeof name, "%zu:", number);
    add_data(picture, number, name, data);
    pp_plot_shorten(curve->name, font, s->width - 2 * NARROW, title, sizeof title);
    pp_plot_text_at(s->size, left + NARROW, top + CELL_TOP / 2.0, PP_PLOT_LEFT, font, "", title,
                    script);
    if (!s->compact) {
        pp_plot_text_at(s->size, left + 12, (times[1] + times[3]) / 2, PP_PLOT_CENTRE, FONT - 1,
                        "rotate by 90", "time", script);
        pp_plot_text_at(s->size, left + 12, (errors[1] + errors[3]) / 2, PP_PLOT_CENTRE, FONT - 1,
                        "rotate by 90", "error (%)", script);
        pp_plot_text_at(s->size, (times[0] + times[2]) / 2, bottom + BOTTOM - 13, PP_PLOT_CENTRE,
                        FONT - 1, "", curve->axis, script);
    }
    add_times(picture, s, number, name, times, script);
    add_errors(s, curve, name, errors, script);
}

static pp_status draw(const pp_picture *picture, pp_text *script, pp_text *data, pp_err *err)
{
    pp_plot_head head = { .title = "Measured times and their fits" };
    sheet s = { .size.out = picture->out };
    (void)err;
    int curves = (int)picture->curve_count;
    s.columns = curves < COLUMNS ? curves : COLUMNS;
    int rows = (curves + s.columns - 1) / s.columns;
    pp_plot_head_add(&head, NULL, NULL, MEASURED, "measured");
    pp_plot_head_add(&head, NULL, FITTED_LINE, FITTED_POINT, "fitted");
    s.size.width = picture->width ? picture->width : CELL_WIDTH * s.columns;
    pp_plot_head_lay_out(&head, s.size.width, pp_plot_head_room(picture->height));
    s.top = head.px;
    s.size.height = picture->height ? picture->height : s.top + CELL_HEIGHT * rows;
    s.width = s.size.width / s.columns;
    s.height = (s.size.height - s.top) / rows;
    s.compact = s.width < LEAST_WIDTH || s.height < LEAST_HEIGHT;
    pp_plot_terminal(s.size, script);
    pp_plot_head_draw(&head, s.size, script);
    pp_text_add(script, "set multiplot\nunset key\nset grid y lt 1 lw 0.3 lc rgb '#cccccc'\n%s",
                s.compact ? "unset xtics\nunset ytics\n" : "");
    for (size_t i = 0; i < picture->curve_count; i++)
        add_cell(picture, &s, i, script, data);
    pp_text_add(script, "unset multiplot\n");
    return PP_OK;
}

const pp_plot pp_plot_fit = {
    .name = "fit",
    .summary = "fitted cost functions against the measurements, with their errors",
    .needs = "a profile",
    .fits = fits,
    .draw = draw,
};
