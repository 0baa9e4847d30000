/* The step under jitter: its quantiles, the mean, and the step without jitter. */
#include "traces/plot_int.h"

#include <inttypes.h>
#include <stdio.h>

enum { WIDTH = 900, HEIGHT = 500 }; /* pixels */

static bool fits(const pp_picture *picture)
{
    return picture->spread_count > 0;
}

/* Scenario of rank ceil(q n): the least one is the 1/n quantile. */
static void add_quantiles(const pp_spread *spread, pp_plot_unit unit, const char *name,
                          pp_text *data)
{
    const pp_jitter_result *j = &spread->jitter;
    const struct {
        pp_ns at_ns;
        double percent;
        const char *words; /* "": no label, it would touch its neighbour's */
    } points[] = { { j->min_ns, 100.0 / (double)j->spec.scenarios, "" },
                   { j->p50_ns, 50, "p50" },
                   { j->p95_ns, 95, "p95" },
                   { j->p99_ns, 99, "p99" },
                   { j->max_ns, 100, "" } };
    pp_plot_begin(data, "quantiles ", name);
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        pp_plot_number(data, points[i].at_ns, unit);
        if (*points[i].words)
            pp_text_add(data, " %.4g \"%s %.4g\"\n", points[i].percent, points[i].words,
                        (double)points[i].at_ns / (double)unit.divisor);
        else
            pp_text_add(data, " %.4g \"\"\n", points[i].percent);
    }
    pp_plot_begin(data, "mean ", name);
    pp_plot_number(data, (pp_ns)j->mean_ns, unit);
    pp_text_add(data, "\n");
    pp_plot_begin(data, "step ", name);
    pp_plot_number(data, spread->step_ns, unit);
    pp_text_add(data, "\n");
}

/* Lines and points are told apart without colour. */
static void add_curve(const pp_spread *spread, int number, const char *name, pp_text *script)
{
    static const char *const shades[] = { "#000000", "#4a78ad", "#a8781f", "#3d7a3d" };
    const char *shade = shades[(size_t)number % (sizeof shades / sizeof shades[0])];
    pp_plot_next(script, "quantiles ", name);
    pp_text_add(script, "using 1:2 with linespoints dt %d pt %d lw 1.5 lc rgb '%s' title ",
                number % 5 + 1, 2 * (number % 4) + 5, shade);
    char words[256];
    snprintf(words, sizeof words, "%s, %" PRId64 " scenarios", spread->name,
             spread->jitter.spec.scenarios);
    pp_plot_quoted(script, words);
    pp_plot_next(script, "quantiles ", name);
    pp_text_add(script, "using 1:2:3 with labels left offset 1,-0.6 notitle");
    pp_plot_next(script, "mean ", name);
    pp_text_add(script,
                "using 1:(0):(0):(100) with vectors nohead dt 3 lw 1.5 lc rgb '%s' title %s", shade,
                number ? "''" : "'mean'");
    pp_plot_next(script, "step ", name);
    pp_text_add(script, "using 1:(0):(0):(100) with vectors nohead dt 1 lw 1 lc rgb '%s' title %s",
                shade, number ? "''" : "'without jitter'");
}

static pp_status draw(const pp_picture *picture, pp_text *script, pp_text *data, pp_err *err)
{
    pp_ns most_ns = 0;
    (void)err;
    for (size_t i = 0; i < picture->spread_count; i++) {
        const pp_spread *spread = &picture->spread[i];
        pp_ns own_ns =
            spread->jitter.max_ns > spread->step_ns ? spread->jitter.max_ns : spread->step_ns;
        most_ns = own_ns > most_ns ? own_ns : most_ns;
    }
    pp_plot_unit unit = pp_plot_time_unit(most_ns);
    pp_plot_terminal(picture, picture->width ? picture->width : WIDTH,
                     picture->height ? picture->height : HEIGHT, script);
    pp_text_add(
        script,
        "set title 'step time under jitter: quantiles (lines between them are guesses)'\n"
        "set xlabel 'step (%s)'\nset ylabel 'scenarios not slower (%%)'\n"
        "set yrange [0:105]\nset offsets graph 0.05,graph 0.12,0,0\n"
        "set key tmargin center vertical reverse Left samplen 3\nset grid ytics lt 1 lw 0.3 lc rgb "
        "'#cccccc'\nplot ",
        unit.name);
    for (size_t i = 0; i < picture->spread_count; i++) {
        char name[32];
        snprintf(name, sizeof name, "%zu:", i);
        add_quantiles(&picture->spread[i], unit, name, data);
        add_curve(&picture->spread[i], (int)i, name, script);
    }
    pp_text_add(script, "\n");
    return PP_OK;
}

const pp_plot pp_plot_jitter = {
    .name = "jitter",
    .summary = "quantiles of the step under jitter",
    .needs = "reports of 'simulate --jitter'",
    .fits = fits,
    .draw = draw,
};
