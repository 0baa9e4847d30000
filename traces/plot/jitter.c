/* Draws the distribution of the step time under jitter: quantiles, mean, and the step without
 * jitter. Several distributions are shown relative to their own step without jitter. */
#include "sim/base/field.h"
#include "traces/plot/draw/gnuplot.h"
#include "traces/plot/draw/units.h"
#include "traces/plot/draw/view.h"
#include "traces/plot/plot.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 900, HEIGHT = 500, LEFT = 62, RIGHT = 30, BOTTOM = 48, TIC_PX = 24 }; /* pixels */

/* The axis of step times. */
typedef struct axis {
    pp_plot_unit unit;
    bool relative;    /* in percent beyond the step without jitter */
    double low, high; /* its ends */
} axis;

static bool fits(const pp_picture *picture)
{
    return picture->spread_count > 0;
}

static double place(const axis *a, const pp_spread *spread, double ns)
{
    double step_ns = spread->step_ns ? (double)spread->step_ns : 1;
    return a->relative ? 100 * (ns / step_ns - 1) : ns / (double)a->unit.divisor;
}

static void add_point(const axis *a, const pp_spread *spread, pp_ns at_ns, double percent,
                      pp_text *data)
{
    pp_text_add(data, "%.7g %.4g\n", place(a, spread, (double)at_ns), percent);
}

/* Appends all quantiles: of n sorted scenarios, the q quantile is number ceil(q n). */
static void add_quantiles(const axis *a, const pp_spread *spread, const char *name, pp_text *data)
{
    const pp_jitter_result *j = &spread->jitter;
    bool known = j->twentieth_ns[0] > 0;
    pp_plot_begin(data, "quantiles ", name);
    add_point(a, spread, j->min_ns, 100.0 / (double)j->spec.scenarios, data);
    for (int i = 0; i < PP_JITTER_TWENTIETHS - 1; i++) {
        int percent = 5 * (i + 1);
        if (percent == 50)
            add_point(a, spread, j->p50_ns, 50, data);
        else if (known)
            add_point(a, spread, j->twentieth_ns[i], percent, data);
    }
    add_point(a, spread, j->p95_ns, 95, data);
    add_point(a, spread, j->p99_ns, 99, data);
    add_point(a, spread, j->max_ns, 100, data);
    pp_plot_begin(data, "mean ", name);
    pp_text_add(data, "%.7g\n", place(a, spread, j->mean_ns));
    pp_plot_begin(data, "step ", name);
    pp_text_add(data, "%.7g\n", place(a, spread, (double)spread->step_ns));
}

/* Adds a curve to the key. */
static void add_key(const pp_spread *spread, const char *line, const char *point,
                    pp_plot_head *head)
{
    char time[4][32];
    char words[sizeof head->entry[0].words];
    snprintf(words, sizeof words, "%s: %s without jitter, p50 %s, p95 %s, p99 %s", spread->name,
             pp_format_duration(time[0], sizeof time[0], spread->step_ns),
             pp_format_duration(time[1], sizeof time[1], spread->jitter.p50_ns),
             pp_format_duration(time[2], sizeof time[2], spread->jitter.p95_ns),
             pp_format_duration(time[3], sizeof time[3], spread->jitter.p99_ns));
    pp_plot_head_add(head, NULL, line, point, words);
}

/* Appends a curve. Each has its own line and points, so that curves differ without colour. */
static void add_curve(const axis *a, const pp_spread *spread, int number, const char *name,
                      pp_plot_head *head, pp_text *script)
{
    const char *shade = pp_plot_colour((size_t)number);
    char line[48];
    char point[48];
    snprintf(line, sizeof line, "dt %d lw 1.5 lc rgb '%s'", number % 5 + 1, shade);
    snprintf(point, sizeof point, "pt %d ps 0.6 lc rgb '%s'", 2 * (number % 4) + 5, shade);
    add_key(spread, line, point, head);
    pp_plot_next(script, "quantiles ", name);
    pp_text_add(script, "using 1:2 with linespoints %s pt %d ps 0.6 notitle", line,
                2 * (number % 4) + 5);
    pp_plot_next(script, "mean ", name);
    pp_text_add(script, "using 1:(0):(0):(100) with vectors nohead dt 3 lw 1.5 lc rgb '%s' notitle",
                shade);
    if (a->relative && number)
        return; /* the line of the step without jitter is the same for all */
    pp_plot_next(script, "step ", name);
    pp_text_add(script, "using 1:(0):(0):(100) with vectors nohead dt 1 lw 1 lc rgb '%s' notitle",
                shade);
}

/* Finds the axis; returns whether only some quantiles of a report are known. */
static bool look(const pp_picture *picture, axis *a)
{
    pp_ns most_ns = 0;
    bool guesses = false;
    for (size_t i = 0; i < picture->spread_count; i++) {
        const pp_spread *spread = &picture->spread[i];
        pp_ns own_ns =
            spread->jitter.max_ns > spread->step_ns ? spread->jitter.max_ns : spread->step_ns;
        most_ns = own_ns > most_ns ? own_ns : most_ns;
        guesses |= spread->jitter.twentieth_ns[0] == 0;
    }
    a->unit = pp_plot_time_unit(most_ns);
    for (size_t i = 0; i < picture->spread_count; i++) {
        const pp_spread *spread = &picture->spread[i];
        pp_ns step_ns = spread->step_ns;
        pp_ns min_ns = spread->jitter.min_ns;
        pp_ns max_ns = spread->jitter.max_ns;
        double low = place(a, spread, (double)(min_ns < step_ns ? min_ns : step_ns));
        double high = place(a, spread, (double)(max_ns > step_ns ? max_ns : step_ns));
        a->low = i == 0 || low < a->low ? low : a->low;
        a->high = i == 0 || high > a->high ? high : a->high;
    }
    double room = a->high > a->low ? 0.05 * (a->high - a->low) : 1; /* an axis needs a length */
    a->low -= room;
    a->high += room;
    return guesses;
}

static void make_head(const pp_picture *picture, bool guesses, pp_plot_head *head)
{
    char scenarios[64];
    snprintf(scenarios, sizeof scenarios, ", %" PRId64 " scenarios",
             picture->spread[0].jitter.spec.scenarios);
    snprintf(head->title, sizeof head->title, "Step time under jitter%s",
             picture->spread_count == 1 ? scenarios : "");
    snprintf(head->note, sizeof head->note,
             "A point is the share of the scenarios whose step takes at most so long.%s",
             guesses ? " The lines between points are guesses." : "");
}

static pp_status draw(const pp_picture *picture, pp_text *script, pp_text *data, pp_err *err)
{
    char words[64];
    axis a = { .relative = picture->spread_count > 1 };
    pp_plot_head head = { .entries = 0 };
    pp_text elements PP_CLEANUP(pp_text_free) = { 0 };
    const pp_plot_size size = { picture->width ? picture->width : WIDTH,
                                picture->height ? picture->height : HEIGHT, picture->out };
    (void)err;
    make_head(picture, look(picture, &a), &head);
    pp_text_add(&elements, "plot ");
    for (size_t i = 0; i < picture->spread_count; i++) {
        char name[32];
        snprintf(name, sizeof name, "%zu:", i);
        add_quantiles(&a, &picture->spread[i], name, data);
        add_curve(&a, &picture->spread[i], (int)i, name, &head, &elements);
    }
    pp_plot_head_add(&head, NULL, "dt 1 lw 1 lc rgb 'black'", NULL, "without jitter");
    pp_plot_head_add(&head, NULL, "dt 3 lw 1.5 lc rgb 'black'", NULL, "mean");
    pp_plot_head_lay_out(&head, size.width, pp_plot_head_room(size.height));
    const double edges[4] = { LEFT, head.px, size.width - RIGHT, size.height - BOTTOM };
    pp_plot_terminal(size, script);
    pp_plot_head_draw(&head, size, script);
    pp_plot_margins(size, edges, script);
    snprintf(words, sizeof words, "%s (%s)", a.relative ? "longer than without jitter" : "step",
             a.relative ? "%" : a.unit.name);
    pp_plot_axis_names(size, edges, words, "scenarios (%)", script);
    pp_text_add(script,
                "unset key\nset border 3 lc rgb '#606060'\nset xtics nomirror %g\n"
                "set ytics nomirror %g\nset xrange [%.7g:%.7g]\nset yrange [0:105]\n"
                "set grid ytics lt 1 lw 0.3 lc rgb '#cccccc'\n",
                pp_plot_step(a.high - a.low, (edges[2] - edges[0]) / PP_PLOT_TIME_PX),
                pp_plot_step(100, (edges[3] - edges[1]) / TIC_PX), a.low, a.high);
    pp_text_add_bytes(script, elements.data ? elements.data : "", elements.bytes);
    script->failed |= elements.failed;
    pp_text_add(script, "\n");
    return PP_OK;
}

const pp_plot pp_plot_jitter = {
    .name = "jitter",
    .summary = "distribution of the step time under jitter",
    .input = PP_FIELD_JITTER_REPORTS,
    .fits = fits,
    .draw = draw,
};
