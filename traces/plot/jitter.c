/* Draws the distribution of the step time under jitter: quantiles, mean, and the step without
 * jitter. Several distributions are shown relative to their own step without jitter. */
#include "sim/base/field.h"
#include "traces/plot/draw/gnuplot.h"
#include "traces/plot/draw/units.h"
#include "traces/plot/plot.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 900, HEIGHT = 500, KEY_MARGIN = 140 }; /* pixels */

/* The axis of step times. */
typedef struct axis {
    pp_plot_unit unit;
    bool relative; /* in percent beyond the step without jitter */
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
                      const char *words, pp_text *data)
{
    char time[32];
    words = a->relative ? "" : words; /* labels of several curves would touch */
    pp_text_add(data, "%.7g %.4g \"%s%s%s\"\n", place(a, spread, (double)at_ns), percent, words,
                *words ? " " : "", *words ? pp_format_duration(time, sizeof time, at_ns) : "");
}

/* Appends all quantiles: of n sorted scenarios, the q quantile is number ceil(q n). */
static void add_quantiles(const axis *a, const pp_spread *spread, const char *name, pp_text *data)
{
    const pp_jitter_result *j = &spread->jitter;
    bool known = j->twentieth_ns[0] > 0;
    pp_plot_begin(data, "quantiles ", name);
    add_point(a, spread, j->min_ns, 100.0 / (double)j->spec.scenarios, "", data);
    for (int i = 0; i < PP_JITTER_TWENTIETHS - 1; i++) {
        int percent = 5 * (i + 1);
        if (percent == 50)
            add_point(a, spread, j->p50_ns, 50, "p50", data);
        else if (known)
            add_point(a, spread, j->twentieth_ns[i], percent, "", data);
    }
    add_point(a, spread, j->p95_ns, 95, "p95", data);
    add_point(a, spread, j->p99_ns, 99, "p99", data);
    add_point(a, spread, j->max_ns, 100, "", data);
    pp_plot_begin(data, "mean ", name);
    pp_text_add(data, "%.7g\n", place(a, spread, j->mean_ns));
    pp_plot_begin(data, "step ", name);
    pp_text_add(data, "%.7g\n", place(a, spread, (double)spread->step_ns));
}

/* Prints what the key says about a curve; returns the length. */
static size_t name_curve(const axis *a, const pp_spread *spread, char *words, size_t size)
{
    char time[3][32];
    if (a->relative)
        snprintf(words, size, "%s: %s without jitter, p50 %s, p99 %s", spread->name,
                 pp_format_duration(time[0], sizeof time[0], spread->step_ns),
                 pp_format_duration(time[1], sizeof time[1], spread->jitter.p50_ns),
                 pp_format_duration(time[2], sizeof time[2], spread->jitter.p99_ns));
    else
        snprintf(words, size, "%s, %" PRId64 " scenarios", spread->name,
                 spread->jitter.spec.scenarios);
    return strlen(words);
}

/* Appends a curve. Each has its own line and points, so that curves differ without colour. */
static void add_curve(const axis *a, const pp_spread *spread, int number, const char *name,
                      pp_text *script)
{
    const char *shade = pp_plot_colour((size_t)number);
    char words[320];
    name_curve(a, spread, words, sizeof words);
    pp_plot_next(script, "quantiles ", name);
    pp_text_add(script, "using 1:2 with linespoints dt %d pt %d ps 0.6 lw 1.5 lc rgb '%s' title ",
                number % 5 + 1, 2 * (number % 4) + 5, shade);
    pp_plot_quoted(script, words);
    pp_plot_next(script, "quantiles ", name);
    pp_text_add(script, "using 1:2:3 with labels left offset 1,-0.6 notitle");
    pp_plot_next(script, "mean ", name);
    pp_text_add(script,
                "using 1:(0):(0):(100) with vectors nohead dt 3 lw 1.5 lc rgb '%s' title %s", shade,
                number ? "''" : "'mean'");
    if (a->relative && number)
        return; /* the line of the step without jitter is the same for all */
    pp_plot_next(script, "step ", name);
    pp_text_add(script,
                "using 1:(0):(0):(100) with vectors nohead dt 1 lw 1 lc rgb '%s' title "
                "'without jitter'",
                shade);
}

static pp_status draw(const pp_picture *picture, pp_text *script, pp_text *data, pp_err *err)
{
    pp_ns most_ns = 0;
    bool guesses = false;
    size_t letters = 0;
    axis a = { .relative = picture->spread_count > 1 };
    (void)err;
    for (size_t i = 0; i < picture->spread_count; i++) {
        const pp_spread *spread = &picture->spread[i];
        pp_ns own_ns =
            spread->jitter.max_ns > spread->step_ns ? spread->jitter.max_ns : spread->step_ns;
        most_ns = own_ns > most_ns ? own_ns : most_ns;
        char words[320];
        size_t length = name_curve(&a, spread, words, sizeof words);
        letters = length > letters ? length : letters;
        guesses |= spread->jitter.twentieth_ns[0] == 0;
    }
    a.unit = pp_plot_time_unit(most_ns);
    pp_plot_terminal(picture->png, picture->width ? picture->width : WIDTH,
                     picture->height ? picture->height : HEIGHT, script);
    pp_text_add(script,
                "set title 'step under jitter: quantiles%s'\n"
                "set xlabel '%s (%s)'\nset ylabel 'scenarios not slower (%%)'\n"
                "set yrange [0:105]\nset offsets graph 0.05,graph 0.12,0,0\n"
                "set grid ytics lt 1 lw 0.3 lc rgb '#cccccc'\n"
                "set key tmargin center vertical reverse Left samplen 3",
                guesses ? " (lines between points are guesses)" : "",
                a.relative ? "longer than without jitter" : "step", a.relative ? "%" : a.unit.name);
    pp_plot_fit_font(picture->png, (picture->width ? picture->width : WIDTH) - KEY_MARGIN, letters,
                     script);
    pp_text_add(script, "\nplot ");
    for (size_t i = 0; i < picture->spread_count; i++) {
        char name[32];
        snprintf(name, sizeof name, "%zu:", i);
        add_quantiles(&a, &picture->spread[i], name, data);
        add_curve(&a, &picture->spread[i], (int)i, name, script);
    }
    pp_text_add(script, "\n");
    return PP_OK;
}

const pp_plot pp_plot_jitter = {
    .name = "jitter",
    .summary = "the spread of the step under jitter",
    .input = PP_FIELD_JITTER_REPORTS,
    .fits = fits,
    .draw = draw,
};
