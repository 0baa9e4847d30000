/* Draws setups next to each other: each has a bar for its step, its bubble and its peak memory. */
#include "sim/base/field.h"
#include "traces/plot/draw/gnuplot.h"
#include "traces/plot/draw/units.h"
#include "traces/plot/plot.h"

#include <stdio.h>
#include <string.h>

enum { WIDTH = 1200, ROW = 26, TOP = 50, BOTTOM = 50, RIGHT = 30, GAP = 40 }; /* pixels */
enum { LETTER_PX = 7, BARS_MAX = 100, TIC_PX = 36 };

static bool fits(const pp_picture *picture)
{
    return picture->bar_count > 0 && picture->bar_count >= picture->inputs;
}

/* A column of bars. */
typedef struct panel {
    const char *title;
    const char *fill;
    double most;        /* value of the longest bar */
    double limit;       /* 0: none */
    int column;         /* column of the data */
    const char *format; /* format of the number after a bar */
    bool png;
} panel;

static void add_panel(const panel *p, int width_px, pp_text *script)
{
    double end = 1.25 * (p->most > p->limit ? p->most : p->limit);
    end = end > 0 ? end : 1; /* an axis needs a length */
    pp_text_add(script, "set title '%s'", p->title);
    pp_plot_fit_font(p->png, width_px + GAP - 4, strlen(p->title), script);
    pp_text_add(script, "\nset xrange [0:%.6g]\nset xtics nomirror %g\n", end,
                pp_plot_step(end, width_px / TIC_PX));
    if (p->limit > 0)
        pp_text_add(script, "set arrow from %.6g,graph 0 to %.6g,graph 1 nohead dt 2 lw 2\n",
                    p->limit, p->limit);
    pp_text_add(script, "plot ");
    pp_plot_next(script, "", "bars");
    pp_text_add(script,
                "using (0):1:(0):%d:($1-0.35):($1+0.35) with boxxyerror %s border lc rgb '#303030' "
                "notitle",
                p->column, p->fill);
    pp_plot_next(script, "", "bars");
    pp_text_add(script,
                "using %d:1:(sprintf('%s',$%d)) with labels left offset 0.7,0 boxed notitle",
                p->column, p->format, p->column);
    pp_text_add(script, "\nunset ytics\nunset arrow\n");
}

/* Appends the bars. names_px: width of the longest name, which has `letters` characters. */
static void add_bars(const pp_picture *picture, pp_plot_unit time, pp_plot_unit bytes, int names_px,
                     size_t letters, pp_text *script, pp_text *data)
{
    pp_plot_begin(data, "", "bars");
    pp_text_add(script, "set ytics scale 0 (");
    for (size_t i = 0; i < picture->bar_count; i++) {
        const pp_bar *bar = &picture->bar[i];
        pp_text_add(script, "%s", i ? ", " : "");
        pp_plot_quoted(script, bar->name);
        pp_text_add(script, " %zu", i);
        pp_text_add(data, "%zu ", i);
        pp_plot_number(data, bar->step_ns, time);
        pp_text_add(data, " %.3f ", 100 * bar->bubble_fraction);
        if (bar->peak_bytes >= 0)
            pp_plot_number(data, bar->peak_bytes, bytes);
        else
            pp_text_add(data, "?"); /* it is not known, and gnuplot leaves it out */
        pp_text_add(data, "\n");
    }
    pp_text_add(script, ")");
    pp_plot_fit_font(picture->png, names_px - 14, letters, script);
    pp_text_add(script, "\n");
}

static void add_margins(int left, int right, int width, pp_text *script)
{
    pp_text_add(script, "set lmargin at screen %.5f\nset rmargin at screen %.5f\n",
                (double)left / width, (double)right / width);
}

static pp_status draw(const pp_picture *picture, pp_text *script, pp_text *data, pp_err *err)
{
    pp_bar most = { .step_ns = 1, .peak_bytes = -1 };
    size_t letters = 0;
    if (picture->bar_count > BARS_MAX)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_KIND),
                          "%zu set-ups are too many for a picture, %d at most", picture->bar_count,
                          BARS_MAX);
    for (size_t i = 0; i < picture->bar_count; i++) {
        const pp_bar *bar = &picture->bar[i];
        most.step_ns = bar->step_ns > most.step_ns ? bar->step_ns : most.step_ns;
        most.peak_bytes = bar->peak_bytes > most.peak_bytes ? bar->peak_bytes : most.peak_bytes;
        if (bar->bubble_fraction > most.bubble_fraction)
            most.bubble_fraction = bar->bubble_fraction;
        letters = strlen(bar->name) > letters ? strlen(bar->name) : letters;
    }
    bool memory = most.peak_bytes > 0;
    int64_t limit = memory ? picture->memory_limit_bytes : 0;
    pp_plot_unit time = pp_plot_time_unit(most.step_ns);
    pp_plot_unit bytes = pp_plot_bytes_unit(most.peak_bytes > limit ? most.peak_bytes : limit);
    int width = picture->width ? picture->width : WIDTH;
    int height = picture->height ? picture->height : TOP + BOTTOM + ROW * (int)picture->bar_count;
    int names_px = (int)letters * LETTER_PX + 20;
    names_px = names_px > width / 2 ? width / 2 : names_px;
    int panels = memory ? 3 : 2;
    int each = (width - names_px - RIGHT + GAP) / panels;
    char step[32];
    char peak[64];
    snprintf(step, sizeof step, "step (%s)", time.name);
    snprintf(peak, sizeof peak, limit ? "peak (%s), limit %.4g" : "peak memory (%s)", bytes.name,
             (double)limit / (double)bytes.divisor);
    const panel columns[] = {
        { step, "fc rgb '#4a78ad' fs solid 1.0", (double)most.step_ns / (double)time.divisor, 0, 2,
          "%#.4g", picture->png },
        { "bubble (%)", "fc rgb '#dddddd' fs solid 1.0", 100 * most.bubble_fraction, 0, 3, "%.1f",
          picture->png },
        { peak, "fc rgb '#707070' fs pattern 5", (double)most.peak_bytes / (double)bytes.divisor,
          (double)limit / (double)bytes.divisor, 4, "%#.4g", picture->png },
    };
    pp_plot_terminal(picture->png, width, height, script);
    pp_text_add(script,
                "set multiplot\nset tmargin at screen %.5f\nset bmargin at screen %.5f\n"
                "set yrange [%zu.5:-0.5]\nset border 3\nunset key\n"
                "set style textbox opaque noborder margins 0.2,0.2 fc rgb 'white'\n",
                1 - (double)TOP / height, (double)BOTTOM / height, picture->bar_count - 1);
    add_bars(picture, time, bytes, names_px, letters, script, data);
    for (int i = 0; i < panels; i++) {
        add_margins(names_px + i * each, names_px + (i + 1) * each - GAP, width, script);
        add_panel(&columns[i], each - GAP, script);
    }
    pp_text_add(script, "unset multiplot\n");
    return PP_OK;
}

const pp_plot pp_plot_schedules = {
    .name = "schedules",
    .summary = "set-ups compared: step, bubble and peak memory",
    .input = PP_FIELD_CANDIDATES_FILE,
    .fits = fits,
    .draw = draw,
};
