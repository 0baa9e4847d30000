/* Draws setups next to each other, a row for each: a bar for the step, whose light part is the
 * share of idle time, a bar for the peak memory, and the numbers in columns between them. */
#include "sim/base/field.h"
#include "traces/plot/draw/head.h"
#include "traces/plot/draw/quiet.h"
#include "traces/plot/draw/units.h"
#include "traces/plot/draw/view.h"
#include "traces/plot/plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 1000, ROW = 26, BOTTOM = 30, EDGE = 12 }; /* pixels */
enum { HEADS = 22, FONT = 12, FONT_LEAST = 8, BARS_MAX = 100, TIC_PX = 45, GAP = 14 };
enum { PANEL_LEAST_PX = 70 };

#define LIMIT_LINE "dt 2 lw 1.5 lc rgb '#202020'"
#define FASTEST_FILL "fc rgb '" PP_PLOT_ACCENT "' fs solid 1.0 noborder"
#define STEP_FILL "fc rgb '#93a9cf' fs solid 1.0 noborder"
#define IDLE_FILL "fc rgb '#d5dce8' fs solid 1.0 noborder"
#define MEMORY_FILL "fc rgb '#b4b4b4' fs solid 1.0 noborder"
#define OVER_FILL "fc rgb '" PP_PLOT_ALARM "' fs solid 1.0 noborder"

/* The columns of numbers, in the order in which they are left out of narrow pictures. */
enum { BEHIND, PEAK, STEP, IDLE, COLUMNS };

/* The layout and the values, which all parts of the picture use. */
typedef struct sheet {
    const pp_picture *picture;
    pp_plot_size size;
    double top, bottom, row_px; /* edges of the panels, height of a bar's row */
    int font;                   /* of names and numbers */
    size_t every;               /* rows are too low for letters: only each n-th has some */
    bool memory;                /* some peaks are known, and there is a panel for them */
    int64_t limit;              /* 0: none */
    pp_plot_unit time, bytes;
    double most[2];   /* the longest bars, or the limit, in these units */
    pp_ns fastest_ns; /* of the setups that fit */
    size_t fastest;   /* its index; SIZE_MAX: none fits */
    char head[COLUMNS][40];
    double names_px, panel_px, column_px[COLUMNS]; /* width 0: the column is left out */
} sheet;

static bool fits(const pp_picture *picture)
{
    return picture->bar_count > 0 && picture->bar_count >= picture->inputs;
}

static bool is_over(const sheet *s, const pp_bar *bar)
{
    return s->limit && bar->peak_bytes > s->limit;
}

static void find_most(sheet *s)
{
    const pp_picture *p = s->picture;
    pp_ns step_ns = 1;
    int64_t peak = -1;
    for (size_t i = 0; i < p->bar_count; i++) {
        step_ns = p->bar[i].step_ns > step_ns ? p->bar[i].step_ns : step_ns;
        peak = p->bar[i].peak_bytes > peak ? p->bar[i].peak_bytes : peak;
    }
    s->memory = peak > 0;
    s->limit = s->memory ? p->memory_limit_bytes : 0;
    peak = peak > s->limit ? peak : s->limit;
    s->fastest = SIZE_MAX;
    for (size_t i = 0; i < p->bar_count; i++) {
        if (is_over(s, &p->bar[i]) ||
            (s->fastest != SIZE_MAX && p->bar[i].step_ns >= s->fastest_ns))
            continue;
        s->fastest = i;
        s->fastest_ns = p->bar[i].step_ns;
    }
    s->time = pp_plot_time_unit(step_ns);
    s->bytes = pp_plot_bytes_unit(peak);
    s->most[0] = (double)step_ns / (double)s->time.divisor;
    s->most[1] = (double)peak / (double)s->bytes.divisor;
    snprintf(s->head[STEP], sizeof s->head[0], "%s", s->time.name);
    snprintf(s->head[BEHIND], sizeof s->head[0], "vs fastest");
    snprintf(s->head[IDLE], sizeof s->head[0], "idle");
    snprintf(s->head[PEAK], sizeof s->head[0], "%s", s->bytes.name);
}

/* Prints a value with four digits. */
static void print_value(double value, char text[40])
{
    snprintf(text, 40, value < 999.95 ? "%#.4g" : "%.0f", value);
}

/* Prints the number of a setup in a column. */
static void print_number(const sheet *s, const pp_bar *bar, int column, char text[40])
{
    double later = 100 * ((double)bar->step_ns / (double)s->fastest_ns - 1);
    text[0] = '\0';
    if (column == STEP)
        print_value((double)bar->step_ns / (double)s->time.divisor, text);
    else if (column == IDLE)
        snprintf(text, 40, "%.1f %%", 100 * bar->bubble_fraction);
    else if (column == PEAK && bar->peak_bytes >= 0)
        print_value((double)bar->peak_bytes / (double)s->bytes.divisor, text);
    else if (column == BEHIND && s->fastest != SIZE_MAX && bar != &s->picture->bar[s->fastest])
        snprintf(text, 40, "%+.1f %%", later);
}

static void make_head(const sheet *s, pp_plot_head *head)
{
    const pp_picture *p = s->picture;
    char words[80];
    char limit[40];
    char shared[200];
    bool same = true;
    bool over = false;
    for (size_t i = 0; i < p->bar_count; i++) {
        same &= strcmp(p->bar[i].about, p->bar[0].about) == 0;
        over |= is_over(s, &p->bar[i]);
    }
    snprintf(shared, sizeof shared, "%s%s%s", *p->bars_share ? "All setups: " : "", p->bars_share,
             *p->bars_share ? "." : "");
    pp_plot_head_name(head, same ? p->bar[0].about : "", "",
                      s->memory ? "Step, idle time and peak memory" : "Step and idle time", shared);
    if (s->fastest != SIZE_MAX)
        pp_plot_head_add(head, FASTEST_FILL, NULL, NULL,
                         s->limit ? "fastest that fits" : "fastest");
    pp_plot_head_add(head, IDLE_FILL, NULL, NULL, "idle: share of all ranks' time");
    snprintf(words, sizeof words, "memory limit, %s",
             pp_format_limit(limit, sizeof limit, s->limit));
    if (s->limit)
        pp_plot_head_add(head, NULL, LIMIT_LINE, NULL, words);
    if (over)
        pp_plot_head_add(head, OVER_FILL, NULL, NULL, "over the limit");
}

/* Finds the font and the width of the names: at most a third of the picture. */
static void place_names(sheet *s)
{
    const pp_picture *p = s->picture;
    double widest = 0;
    for (s->font = FONT; s->font >= FONT_LEAST; s->font--) {
        widest = 0;
        for (size_t i = 0; i < p->bar_count; i++)
            widest = fmax(widest, pp_plot_text_px(p->bar[i].name, strlen(p->bar[i].name), s->font));
        if (widest <= s->size.width * 0.35 || s->font == FONT_LEAST)
            break;
    }
    s->names_px = EDGE + fmin(widest, s->size.width * 0.35) + GAP;
    s->every = 1;
    while (s->every < p->bar_count && (double)s->every * s->row_px < s->font + 2)
        s->every *= 2;
}

/* Finds the widths of the columns, and leaves some out until both panels have room. */
static void place_columns(sheet *s)
{
    const pp_picture *p = s->picture;
    double rest = s->size.width - s->names_px - EDGE;
    int panels = s->memory ? 2 : 1;
    for (int k = 0; k < COLUMNS; k++) {
        bool any = false;
        double wide = pp_plot_text_px(s->head[k], strlen(s->head[k]), s->font);
        for (size_t i = 0; i < p->bar_count; i++) {
            char text[40];
            print_number(s, &p->bar[i], k, text);
            any |= *text != '\0';
            wide = fmax(wide, pp_plot_text_px(text, strlen(text), s->font));
        }
        s->column_px[k] = any ? wide + GAP : 0;
        rest -= s->column_px[k];
    }
    rest -= s->memory ? 2 * GAP : 0;
    for (int k = 0; k < COLUMNS && rest < panels * PANEL_LEAST_PX; k++) {
        rest += s->column_px[k];
        s->column_px[k] = 0;
    }
    s->panel_px = fmax(rest / panels, 20);
}

static void add_values(const sheet *s, size_t i, pp_text *data)
{
    const pp_bar *bar = &s->picture->bar[i];
    pp_text_add(data, "%zu ", i);
    pp_plot_number(data, bar->step_ns, s->time);
    pp_text_add(data, " %.7g ",
                (1 - bar->bubble_fraction) * (double)bar->step_ns / (double)s->time.divisor);
    if (bar->peak_bytes >= 0)
        pp_plot_number(data, bar->peak_bytes, s->bytes);
    else
        pp_text_add(data, "?"); /* the value is not known, and gnuplot leaves it out */
    pp_text_add(data, "\n");
}

/* Appends the values of all bars, and again those of the fastest one and of those over the limit.
 * Returns whether some are over. */
static bool add_bars(const sheet *s, pp_text *data)
{
    const pp_picture *p = s->picture;
    bool over = false;
    pp_plot_begin(data, "", "bars");
    for (size_t i = 0; i < p->bar_count; i++)
        add_values(s, i, data);
    if (s->fastest != SIZE_MAX) {
        pp_plot_begin(data, "", "fastest");
        add_values(s, s->fastest, data);
    }
    for (size_t i = 0; i < p->bar_count; i++) {
        if (!is_over(s, &p->bar[i]))
            continue;
        if (!over)
            pp_plot_begin(data, "", "over");
        over = true;
        add_values(s, i, data);
    }
    return over;
}

static void add_boxes(const char *set, int column, const char *fill, pp_text *script)
{
    pp_plot_next(script, "", set);
    pp_text_add(script, "using (0):1:(0):%d:($1-0.36):($1+0.36) with boxxyerror %s notitle", column,
                fill);
}

/* Appends a panel whose left edge is at `left`: the steps, or the peaks. */
static void add_panel(const sheet *s, bool peaks, double left, bool over, pp_text *script)
{
    const double edges[4] = { left, s->top, left + s->panel_px, s->bottom };
    char words[48];
    char title[48];
    double end = s->most[peaks] > 0 ? s->most[peaks] * 1.02 : 1; /* an axis needs a length */
    pp_plot_margins(s->size, edges, script);
    snprintf(words, sizeof words, "%s (%s)", peaks ? "peak memory" : "step",
             peaks ? s->bytes.name : s->time.name);
    pp_plot_shorten(words, s->font, s->panel_px, title, sizeof title);
    pp_plot_text_at(s->size, left, s->top - HEADS / 2.0, PP_PLOT_LEFT, s->font,
                    "tc rgb '" PP_PLOT_LETTERS "'", title, script);
    pp_text_add(script, "set xrange [0:%.6g]\nset xtics nomirror %g\n", end,
                pp_plot_step(end, s->panel_px / TIC_PX));
    if (peaks && s->limit)
        pp_text_add(script,
                    "set arrow from %.6g,graph 0 to %.6g,graph 1 nohead front " LIMIT_LINE "\n",
                    (double)s->limit / (double)s->bytes.divisor,
                    (double)s->limit / (double)s->bytes.divisor);
    pp_text_add(script, "plot ");
    add_boxes("bars", peaks ? 4 : 2, peaks ? MEMORY_FILL : IDLE_FILL, script);
    if (!peaks)
        add_boxes("bars", 3, STEP_FILL, script);
    if (!peaks && s->fastest != SIZE_MAX)
        add_boxes("fastest", 3, FASTEST_FILL, script);
    if (peaks && over)
        add_boxes("over", 4, OVER_FILL, script);
    pp_text_add(script, "\nunset arrow\nunset label\nunset object\n");
}

/* Appends a column of numbers whose right edge is at `right`, with its head. */
static void add_column(const sheet *s, int column, double right, pp_text *script)
{
    const pp_picture *p = s->picture;
    if (s->column_px[column] == 0)
        return;
    pp_plot_text_at(s->size, right, s->top - HEADS / 2.0, PP_PLOT_RIGHT, s->font,
                    "tc rgb '" PP_PLOT_LETTERS "'", s->head[column], script);
    for (size_t i = 0; i < p->bar_count; i += s->every) {
        char text[40];
        bool red = column == PEAK && is_over(s, &p->bar[i]);
        print_number(s, &p->bar[i], column, text);
        if (*text)
            pp_plot_text_at(s->size, right, s->top + ((double)i + 0.5) * s->row_px, PP_PLOT_RIGHT,
                            s->font, red ? "tc rgb '" PP_PLOT_ALARM "'" : "", text, script);
    }
}

static void add_names(const sheet *s, pp_text *script)
{
    const pp_picture *p = s->picture;
    for (size_t i = 0; i < p->bar_count; i += s->every) {
        char name[sizeof p->bar[i].name];
        pp_plot_shorten(p->bar[i].name, s->font, s->names_px - EDGE - GAP, name, sizeof name);
        pp_plot_text_at(s->size, EDGE, s->top + ((double)i + 0.5) * s->row_px, PP_PLOT_LEFT,
                        s->font, i == s->fastest ? "tc rgb '" PP_PLOT_ACCENT "'" : "", name,
                        script);
    }
}

static pp_status draw(const pp_picture *picture, pp_text *script, pp_text *data, pp_err *err)
{
    if (picture->bar_count > BARS_MAX)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_KIND),
                          "a picture shows at most %d setups, but there are %zu", BARS_MAX,
                          picture->bar_count);
    pp_plot_head head = { .entries = 0 };
    sheet s = { .picture = picture, .size.out = picture->out };
    find_most(&s);
    make_head(&s, &head);
    s.size.width = picture->width ? picture->width : WIDTH;
    pp_plot_head_lay_out(&head, s.size.width, pp_plot_head_room(picture->height));
    s.top = head.px + HEADS;
    s.size.height =
        picture->height ? picture->height : (int)s.top + BOTTOM + ROW * (int)picture->bar_count;
    s.bottom = s.size.height - BOTTOM;
    s.row_px = (s.bottom - s.top) / (double)picture->bar_count;
    place_names(&s);
    place_columns(&s);
    pp_plot_terminal(s.size, script);
    pp_plot_head_draw(&head, s.size, script);
    pp_text_add(script, "set multiplot\nset yrange [%zu.5:-0.5]\n", picture->bar_count - 1);
    pp_plot_quiet_axes("x", script);
    pp_text_add(script, "unset ytics\n");
    bool over = add_bars(&s, data);
    double right = s.names_px + s.panel_px;
    add_names(&s, script);
    add_column(&s, STEP, right += s.column_px[STEP], script);
    add_column(&s, BEHIND, right += s.column_px[BEHIND], script);
    add_column(&s, IDLE, right += s.column_px[IDLE], script);
    add_column(&s, PEAK, s.size.width - EDGE, script);
    add_panel(&s, false, s.names_px, over, script);
    if (s.memory)
        add_panel(&s, true, right + 2 * GAP, over, script);
    pp_text_add(script, "unset multiplot\n");
    return PP_OK;
}

const pp_plot pp_plot_schedules = {
    .name = "schedules",
    .summary = "step, idle share and peak memory of several plans or candidates",
    .input = PP_FIELD_CANDIDATES_FILE,
    .fits = fits,
    .draw = draw,
};
