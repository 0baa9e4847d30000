/* Draws setups next to each other: each has a bar for its step, its bubble and its peak memory. */
#include "sim/base/field.h"
#include "traces/plot/draw/gnuplot.h"
#include "traces/plot/draw/head.h"
#include "traces/plot/draw/units.h"
#include "traces/plot/draw/view.h"
#include "traces/plot/plot.h"

#include <stdio.h>
#include <string.h>

enum { WIDTH = 1200, ROW = 26, BOTTOM = 32, RIGHT = 14 }; /* pixels */
enum { PANELS = 3, PANEL_TOP = 22, FONT = 12, FONT_LEAST = 8, BARS_MAX = 100, TIC_PX = 40 };

#define LIMIT_LINE "dt 2 lw 1.5 lc rgb 'black'"
#define OVER_FILL "fc rgb '#d62728' fs solid 1.0 noborder"

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
    bool over;          /* some bars exceed the limit */
} panel;

/* The layout, which all parts of the picture use. */
typedef struct sheet {
    pp_plot_size size;
    double top, bottom, row_px; /* edges of the panels, height of a bar's row */
    double names_px, panel_px, gap_px;
    int font; /* of names and numbers */
} sheet;

static void add_panel(const sheet *s, const panel *p, int number, pp_text *script)
{
    char title[32];
    const double left = s->names_px + number * (s->panel_px + s->gap_px);
    const double edges[4] = { left, s->top, left + s->panel_px, s->bottom };
    double end = p->most > p->limit ? p->most : p->limit;
    double number_px = pp_plot_text_px("00000", 5, s->font) + 12;
    bool numbers = s->panel_px > 2.5 * number_px && s->row_px >= s->font;
    end = end > 0 ? end : 1; /* an axis needs a length */
    end *= numbers ? s->panel_px / (s->panel_px - number_px) : 1.05;
    pp_plot_margins(s->size, edges, script);
    int font = pp_plot_fitting_font(p->title, FONT, s->panel_px);
    pp_plot_shorten(p->title, font, s->panel_px, title, sizeof title);
    pp_plot_text_at(s->size, left, s->top - 11, PP_PLOT_LEFT, font, "", title, script);
    pp_text_add(script, "set xrange [0:%.6g]\nset xtics nomirror %g\n", end,
                pp_plot_step(end, s->panel_px / TIC_PX));
    if (p->limit > 0)
        pp_text_add(script, "set arrow from %.6g,graph 0 to %.6g,graph 1 nohead " LIMIT_LINE "\n",
                    p->limit, p->limit);
    pp_text_add(script, "plot ");
    for (int over = 0; over < (p->over ? 2 : 1); over++) {
        pp_plot_next(script, "", over ? "over" : "bars");
        pp_text_add(script, "using (0):1:(0):%d:($1-0.35):($1+0.35) with boxxyerror %s notitle",
                    p->column, over ? OVER_FILL : p->fill);
    }
    if (numbers) {
        pp_plot_next(script, "", "bars");
        pp_text_add(script,
                    "using %d:1:(sprintf('%s',$%d)) with labels left offset 0.7,0 font ',%d' "
                    "notitle",
                    p->column, p->format, p->column, pp_plot_font(s->size.out, s->font));
    }
    pp_text_add(script, "\nunset arrow\nunset label\nunset object\n");
}

static void add_values(const pp_bar *bar, size_t i, pp_plot_unit time, pp_plot_unit bytes,
                       pp_text *data)
{
    pp_text_add(data, "%zu ", i);
    pp_plot_number(data, bar->step_ns, time);
    pp_text_add(data, " %.3f ", 100 * bar->bubble_fraction);
    if (bar->peak_bytes >= 0)
        pp_plot_number(data, bar->peak_bytes, bytes);
    else
        pp_text_add(data, "?"); /* the value is not known, and gnuplot leaves it out */
    pp_text_add(data, "\n");
}

/* Appends the values of all bars, and again those that exceed the limit. */
static void add_bars(const pp_picture *picture, pp_plot_unit time, pp_plot_unit bytes, bool over,
                     pp_text *data)
{
    pp_plot_begin(data, "", "bars");
    for (size_t i = 0; i < picture->bar_count; i++)
        add_values(&picture->bar[i], i, time, bytes, data);
    if (over)
        pp_plot_begin(data, "", "over");
    for (size_t i = 0; i < picture->bar_count && over; i++) {
        if (picture->bar[i].peak_bytes > picture->memory_limit_bytes)
            add_values(&picture->bar[i], i, time, bytes, data);
    }
}

/* Appends the names of the bars, or of every second, fourth and so on if rows are low. */
static void add_names(const sheet *s, const pp_picture *picture, pp_text *script)
{
    size_t step = 1;
    while (step < picture->bar_count && (double)step * s->row_px < s->font + 2)
        step *= 2;
    for (size_t i = 0; i < picture->bar_count; i += step) {
        char name[sizeof picture->bar[i].name];
        pp_plot_shorten(picture->bar[i].name, s->font, s->names_px - 14, name, sizeof name);
        pp_plot_text_at(s->size, s->names_px - 6, s->top + ((double)i + 0.5) * s->row_px,
                        PP_PLOT_RIGHT, s->font, "", name, script);
    }
}

/* Finds the longest bar of each panel. */
static pp_bar find_most(const pp_picture *picture)
{
    pp_bar most = { .step_ns = 1, .peak_bytes = -1 };
    for (size_t i = 0; i < picture->bar_count; i++) {
        const pp_bar *bar = &picture->bar[i];
        most.step_ns = bar->step_ns > most.step_ns ? bar->step_ns : most.step_ns;
        most.peak_bytes = bar->peak_bytes > most.peak_bytes ? bar->peak_bytes : most.peak_bytes;
        if (bar->bubble_fraction > most.bubble_fraction)
            most.bubble_fraction = bar->bubble_fraction;
    }
    return most;
}

static void make_head(const pp_picture *picture, pp_plot_unit bytes, int64_t limit, bool over,
                      pp_plot_head *head)
{
    char words[64];
    snprintf(head->title, sizeof head->title, "Step, bubble%s compared",
             bytes.divisor ? " and peak memory" : "");
    snprintf(head->note, sizeof head->note, "%s", picture->bars_share);
    snprintf(words, sizeof words, "memory limit, %.4g %s",
             limit ? (double)limit / (double)bytes.divisor : 0.0, bytes.name);
    if (limit)
        pp_plot_head_add(head, NULL, LIMIT_LINE, NULL, words);
    if (over)
        pp_plot_head_add(head, OVER_FILL, NULL, NULL, "over the limit");
}

/* Finds the sizes of the names and the panels. */
static sheet lay_out(const pp_picture *picture, int panels, pp_plot_head *head)
{
    sheet s = { .font = FONT, .size.out = picture->out };
    double widest = 0;
    s.size.width = picture->width ? picture->width : WIDTH;
    pp_plot_head_lay_out(head, s.size.width, pp_plot_head_room(picture->height));
    s.top = head->px + PANEL_TOP;
    s.size.height =
        picture->height ? picture->height : (int)s.top + BOTTOM + ROW * (int)picture->bar_count;
    s.bottom = s.size.height - BOTTOM;
    s.row_px = (s.bottom - s.top) / (double)picture->bar_count;
    for (s.font = FONT; s.font >= FONT_LEAST; s.font--) {
        widest = 0;
        for (size_t i = 0; i < picture->bar_count; i++) {
            const char *name = picture->bar[i].name;
            double own = pp_plot_text_px(name, strlen(name), s.font);
            widest = own > widest ? own : widest;
        }
        if (widest + 14 <= s.size.width * 0.35 || s.font == FONT_LEAST)
            break;
    }
    s.names_px = widest + 14 < s.size.width * 0.35 ? widest + 14 : s.size.width * 0.35;
    s.gap_px = s.size.width >= 800 ? 36 : 22; /* room for "1000" beside "0" */
    s.panel_px = (s.size.width - s.names_px - RIGHT - s.gap_px * (panels - 1)) / panels;
    return s;
}

static pp_status draw(const pp_picture *picture, pp_text *script, pp_text *data, pp_err *err)
{
    if (picture->bar_count > BARS_MAX)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_KIND),
                          "a picture shows at most %d setups, but there are %zu", BARS_MAX,
                          picture->bar_count);
    char step[32];
    char peak[32];
    pp_plot_head head = { .entries = 0 };
    const pp_bar most = find_most(picture);
    bool memory = most.peak_bytes > 0;
    int64_t limit = memory ? picture->memory_limit_bytes : 0;
    bool over = limit && most.peak_bytes > limit;
    int panels = memory ? PANELS : PANELS - 1;
    pp_plot_unit time = pp_plot_time_unit(most.step_ns);
    pp_plot_unit bytes = pp_plot_bytes_unit(most.peak_bytes > limit ? most.peak_bytes : limit);
    make_head(picture, memory ? bytes : (pp_plot_unit){ .name = "" }, limit, over, &head);
    const sheet s = lay_out(picture, panels, &head);
    snprintf(step, sizeof step, "step (%s)", time.name);
    snprintf(peak, sizeof peak, "peak memory (%s)", bytes.name);
    const panel columns[PANELS] = {
        { step, "fc rgb '#2f62bd' fs solid 1.0 noborder",
          (double)most.step_ns / (double)time.divisor, 0, 2, "%#.4g", false },
        { "bubble (%)", "fc rgb '#b0b0b0' fs solid 1.0 noborder", 100 * most.bubble_fraction, 0, 3,
          "%.1f", false },
        { peak, "fc rgb '#e0b050' fs solid 1.0 noborder",
          (double)most.peak_bytes / (double)bytes.divisor, (double)limit / (double)bytes.divisor, 4,
          "%#.4g", over },
    };
    pp_plot_terminal(s.size, script);
    pp_plot_head_draw(&head, s.size, script);
    pp_text_add(script,
                "set multiplot\nset yrange [%zu.5:-0.5]\nset border 3 lc rgb '#606060'\n"
                "unset key\nunset ytics\n",
                picture->bar_count - 1);
    add_names(&s, picture, script);
    add_bars(picture, time, bytes, over, data);
    for (int i = 0; i < panels; i++)
        add_panel(&s, &columns[i], i, script);
    pp_text_add(script, "unset multiplot\n");
    return PP_OK;
}

const pp_plot pp_plot_schedules = {
    .name = "schedules",
    .summary = "step, bubble and peak memory of several plans or candidates",
    .input = PP_FIELD_CANDIDATES_FILE,
    .fits = fits,
    .draw = draw,
};
