/* Draws cost functions with the measurements to which they were fitted: a cell per class, with
 * times above and errors below. */
#include "traces/plot/draw/gnuplot.h"
#include "traces/plot/draw/units.h"
#include "traces/plot/plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CELL_WIDTH = 420, CELL_HEIGHT = 300, TOP = 35 };               /* pixels */
enum { LEFT = 75, RIGHT = 25, CELL_TOP = 30, BOTTOM = 52, GAP = 18 }; /* of a cell */
enum { COLUMNS = 3, ERROR_SHARE = 3, ERROR_TICS = 4 }; /* errors have a third of a cell */

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

/* Places one panel of a cell. top and bottom are in pixels from the upper edge of the cell. */
static void place(const int cell[2], const int size[2], int top, int bottom, int columns,
                  pp_text *script)
{
    int width = size[0] / columns;
    pp_plot_margins((double)(cell[0] * width + LEFT) / size[0],
                    (double)((cell[0] + 1) * width - RIGHT) / size[0], 1 - (double)top / size[1],
                    1 - (double)bottom / size[1], script);
}

static void add_cell(const pp_picture *picture, size_t number, const int size[2], int columns,
                     int height, pp_text *script, pp_text *data)
{
    char name[32];
    const pp_curve *curve = &picture->curve[number];
    const int cell[2] = { (int)number % columns, (int)number / columns };
    int top = TOP + cell[1] * height + CELL_TOP;
    int bottom = TOP + (cell[1] + 1) * height - BOTTOM;
    int middle = bottom - (bottom - top) / ERROR_SHARE;
    bool is_time = strcmp(curve->axis, PP_CURVE_TIME) == 0;
    snprintf(name, sizeof name, "%zu:", number);
    add_data(picture, number, name, data);
    place(cell, size, top, middle - GAP / 2, columns, script);
    pp_text_add(script, "set title ");
    pp_plot_quoted(script, curve->name);
    pp_plot_fit_font(picture->png, size[0] / columns - 10, strlen(curve->name), script);
    pp_text_add(script, "\nset logscale xy\nset yrange [*:*]\nset format x ''\nset format y "
                        "'%%.0s%%cs'\nset ytics autofreq\nunset xlabel\nset ylabel 'time'\nplot ");
    pp_plot_next(script, "curve ", name);
    pp_text_add(script, "using 1:2 with points pt 6 ps 0.8 lc rgb '#4a78ad' title 'measured'");
    pp_plot_next(script, "curve ", name);
    pp_text_add(script, "using 1:3 with points pt 2 ps 0.6 lc rgb 'black' title 'fitted'\n");
    place(cell, size, middle + GAP / 2, bottom, columns, script);
    pp_text_add(script,
                "unset key\nunset title\nunset logscale y\nset format y '%%g'\n"
                "set format x '%%.0s%%c%s'\nset ylabel 'error (%%)'\nset xlabel ",
                is_time ? "s" : "");
    pp_plot_quoted(script, curve->axis);
    double step = pp_plot_step(2.2 * curve->most_error, ERROR_TICS);
    double end = step * ceil(1.1 * curve->most_error / step);
    pp_text_add(script, "\nset yrange [%.4g:%.4g]\nset ytics %.4g\nplot ", -end, end, step);
    pp_plot_next(script, "curve ", name);
    pp_text_add(script, "using 1:4 with points pt 2 ps 0.6 lc rgb 'black' notitle, \\\n"
                        "    0 with lines lw 0.6 lc rgb '#606060' notitle\n");
}

static pp_status draw(const pp_picture *picture, pp_text *script, pp_text *data, pp_err *err)
{
    (void)err;
    int curves = (int)picture->curve_count;
    int columns = curves < COLUMNS ? curves : COLUMNS;
    int rows = (curves + columns - 1) / columns;
    const int size[2] = { picture->width ? picture->width : CELL_WIDTH * columns,
                          picture->height ? picture->height : TOP + CELL_HEIGHT * rows };
    pp_plot_terminal(picture->png, size[0], size[1], script);
    pp_text_add(script,
                "set multiplot\nset key at screen 0.5,%.5f center top horizontal maxrows 1\n"
                "set grid y lt 1 lw 0.3 lc rgb '#cccccc'\n",
                1 - 6.0 / size[1]);
    for (size_t i = 0; i < picture->curve_count; i++)
        add_cell(picture, i, size, columns, (size[1] - TOP) / rows, script, data);
    pp_text_add(script, "unset multiplot\n");
    return PP_OK;
}

const pp_plot pp_plot_fit = {
    .name = "fit",
    .summary = "cost functions against what was measured, with their errors",
    .needs = "a profile",
    .fits = fits,
    .draw = draw,
};
