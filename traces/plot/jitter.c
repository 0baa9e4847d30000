/* Draws the distribution of the step time under jitter as a histogram per report, with the step
 * without jitter, the median and the p95 marked. A report has quantiles, not scenarios: the
 * scenarios between two quantiles are taken as evenly spread. Several reports stand below each
 * other and are shown relative to their own step without jitter. */
#include "sim/base/field.h"
#include "traces/plot/draw/quiet.h"
#include "traces/plot/draw/units.h"
#include "traces/plot/draw/view.h"
#include "traces/plot/plot.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 900, HEIGHT = 420, ROW = 170, LEFT = 50, RIGHT = 24, BOTTOM = 48 }; /* pixels */
enum { FONT = 12, FONT_LEAST = 8, LINE_PX = 16, LABEL_PX = 5, GAP = 10 };
enum { TIC_PX = 30, BIN_PX = 14, BINS_MAX = 60 };
enum { MARKS = 3, LEAST_PX = 30, QUANTILES = PP_JITTER_TWENTIETHS + 3 };

#define BAR_FILL "fc rgb '" PP_PLOT_PALE "' fs solid 1.0 border lc rgb 'white'"
#define TAIL_FILL "fc rgb '" PP_PLOT_ACCENT "' fs solid 1.0 border lc rgb 'white'"

/* The layout and the axis of step times. */
typedef struct sheet {
    const pp_picture *picture;
    pp_plot_size size;
    double top, row_px; /* of the first report */
    double left, right; /* edges of the plots in pixels */
    pp_plot_unit unit;
    bool relative;    /* in percent beyond the step without jitter */
    double low, high; /* ends of the axis */
    int font;         /* of the words at marks; 0: there is no room */
    double high_bin;  /* share of the highest bar of all reports */
    int bins;
} sheet;

static bool fits(const pp_picture *picture)
{
    return picture->spread_count > 0;
}

static double place(const sheet *s, const pp_spread *spread, double ns)
{
    double step_ns = spread->step_ns ? (double)spread->step_ns : 1;
    return s->relative ? 100 * (ns / step_ns - 1) : ns / (double)s->unit.divisor;
}

static double pixel(const sheet *s, double at)
{
    return s->left + (at - s->low) / (s->high - s->low) * (s->right - s->left);
}

/* A share of the scenarios whose steps take at most so long. */
typedef struct quantile {
    double percent, at;
} quantile;

/* Lists the known quantiles of a report, from the fastest step to the slowest; of n sorted
 * scenarios, the q quantile is number ceil(q n). Returns how many there are. */
static size_t list_quantiles(const sheet *s, const pp_spread *spread, quantile list[QUANTILES])
{
    const pp_jitter_result *j = &spread->jitter;
    bool known = j->twentieth_ns[0] > 0;
    size_t count = 0;
    list[count++] = (quantile){ 0, place(s, spread, (double)j->min_ns) };
    for (int i = 0; i < PP_JITTER_TWENTIETHS - 1; i++) {
        int percent = 5 * (i + 1);
        if (percent == 50)
            list[count++] = (quantile){ 50, place(s, spread, (double)j->p50_ns) };
        else if (known)
            list[count++] = (quantile){ percent, place(s, spread, (double)j->twentieth_ns[i]) };
    }
    list[count++] = (quantile){ 95, place(s, spread, (double)j->p95_ns) };
    list[count++] = (quantile){ 99, place(s, spread, (double)j->p99_ns) };
    list[count++] = (quantile){ 100, place(s, spread, (double)j->max_ns) };
    return count;
}

/* Returns the percentage of the scenarios from `from` to `to`. Scenarios of one time belong to the
 * interval that ends there. */
static double share(const quantile *list, size_t count, double from, double to)
{
    double percent = 0;
    for (size_t i = 1; i < count; i++) {
        const quantile *a = &list[i - 1];
        const quantile *b = &list[i];
        double wide = b->at - a->at;
        double common = fmin(to, b->at) - fmax(from, a->at);
        if (wide <= 0)
            percent += a->at > from && a->at <= to ? b->percent - a->percent : 0;
        else if (common > 0)
            percent += (b->percent - a->percent) * common / wide;
    }
    return percent;
}

/* Finds the axis; returns whether only some quantiles of a report are known. */
static bool find_axis(sheet *s)
{
    const pp_picture *p = s->picture;
    pp_ns most_ns = 0;
    bool guesses = false;
    for (size_t i = 0; i < p->spread_count; i++) {
        const pp_spread *spread = &p->spread[i];
        pp_ns own_ns =
            spread->jitter.max_ns > spread->step_ns ? spread->jitter.max_ns : spread->step_ns;
        most_ns = own_ns > most_ns ? own_ns : most_ns;
        guesses |= spread->jitter.twentieth_ns[0] == 0;
    }
    s->unit = pp_plot_time_unit(most_ns);
    for (size_t i = 0; i < p->spread_count; i++) {
        const pp_spread *spread = &p->spread[i];
        pp_ns step_ns = spread->step_ns;
        pp_ns min_ns = spread->jitter.min_ns;
        pp_ns max_ns = spread->jitter.max_ns;
        double low = place(s, spread, (double)(min_ns < step_ns ? min_ns : step_ns));
        double high = place(s, spread, (double)(max_ns > step_ns ? max_ns : step_ns));
        s->low = i == 0 || low < s->low ? low : s->low;
        s->high = i == 0 || high > s->high ? high : s->high;
    }
    double room = s->high > s->low ? 0.05 * (s->high - s->low) : 1; /* an axis needs a length */
    s->low -= room;
    s->high += room;
    return guesses;
}

static void make_head(const sheet *s, bool guesses, pp_plot_head *head)
{
    const pp_picture *p = s->picture;
    const pp_spread *first = &p->spread[0];
    char more[256];
    char name[300];
    char shown[80];
    bool one = p->spread_count == 1;
    snprintf(name, sizeof name, "%.120s%s%.160s", first->name, *first->about ? ", " : "",
             first->about);
    snprintf(shown, sizeof shown, "step time under jitter, %" PRId64 " scenarios",
             first->jitter.spec.scenarios);
    snprintf(
        more, sizeof more, "%sThe slowest twentieth of the scenarios, beyond the p95, is dark.%s",
        s->relative ? "Bars show percentages of the scenarios. " : "",
        guesses ? " Only some quantiles are known, and the bars between them are guesses." : "");
    pp_plot_head_name(head, "", one ? name : "", one ? shown : "Step time under jitter", more);
}

/* Appends the bars of a report, those up to the p95 and those beyond it. */
static void add_bars(const sheet *s, size_t number, pp_text *data)
{
    const pp_spread *spread = &s->picture->spread[number];
    quantile list[QUANTILES];
    size_t count = list_quantiles(s, spread, list);
    double p95 = place(s, spread, (double)spread->jitter.p95_ns);
    double wide = (s->high - s->low) / s->bins;
    for (int tail = 0; tail < 2; tail++) {
        char name[32];
        snprintf(name, sizeof name, "%zu:", number);
        pp_plot_begin(data, tail ? "tail " : "steps ", name);
        for (int bin = 0; bin < s->bins; bin++) {
            double from = s->low + bin * wide;
            double percent = share(list, count, from, from + wide);
            double end[2] = { tail ? fmax(from, p95) : from,
                              tail ? from + wide : fmin(from + wide, p95) };
            if (percent > 0 && end[0] < end[1])
                pp_text_add(data, "%.7g %.7g %.4g\n", end[0], end[1], percent);
        }
    }
}

static double highest(const sheet *s)
{
    double most = 1;
    for (size_t i = 0; i < s->picture->spread_count; i++) {
        quantile list[QUANTILES];
        size_t count = list_quantiles(s, &s->picture->spread[i], list);
        double wide = (s->high - s->low) / s->bins;
        for (int bin = 0; bin < s->bins; bin++)
            most = fmax(most, share(list, count, s->low + bin * wide, s->low + (bin + 1) * wide));
    }
    return most;
}

/* One of the times that are marked, with its label. */
typedef struct mark {
    double x; /* in pixels */
    char words[96];
    bool flipped; /* the label is left of the line, since there is no room right of it */
    const char *line, *style;
} mark;

static const mark looks[MARKS] = {
    { .words = "without jitter",
      .line = "dt 2 lw 1.2 lc rgb '#707070'",
      .style = "tc rgb '" PP_PLOT_LETTERS "'" },
    { .words = "median", .line = "lw 1.8 lc rgb '#202020'", .style = "" },
    { .words = "p95",
      .line = "lw 1.8 lc rgb '" PP_PLOT_ACCENT "'",
      .style = "tc rgb '" PP_PLOT_ACCENT "'" },
};

/* Orders marks from the highest label to the lowest, so that no line crosses a label: the line of a
 * mark begins at its label, and a label reaches over the marks behind it in this order. */
static int by_height(const void *left, const void *right)
{
    const mark *a = left;
    const mark *b = right;
    if (a->flipped != b->flipped)
        return a->flipped ? -1 : 1;
    double ahead = a->flipped ? b->x - a->x : a->x - b->x;
    return (ahead > 0) - (ahead < 0);
}

/* Returns how far a label reaches from its line. */
static double label_px(const mark *m, int font)
{
    return pp_plot_text_px(m->words, strlen(m->words), font) + LABEL_PX;
}

static void list_marks(const sheet *s, const pp_spread *spread, int font, mark list[MARKS])
{
    const pp_ns at_ns[MARKS] = { spread->step_ns, spread->jitter.p50_ns, spread->jitter.p95_ns };
    for (int i = 0; i < MARKS; i++) {
        char time[32];
        double later = spread->step_ns ? 100 * ((double)at_ns[i] / (double)spread->step_ns - 1) : 0;
        list[i] = looks[i];
        list[i].x = pixel(s, place(s, spread, (double)at_ns[i]));
        size_t used = strlen(list[i].words);
        used += (size_t)snprintf(list[i].words + used, sizeof list[i].words - used, " %s",
                                 pp_format_duration(time, sizeof time, at_ns[i]));
        if (i)
            snprintf(list[i].words + used, sizeof list[i].words - used, ", %+.2f %%", later);
        list[i].flipped = list[i].x + label_px(&list[i], font) > s->size.width - 4;
    }
    qsort(list, MARKS, sizeof *list, by_height);
}

/* Appends the lines of the marks and, unless font is 0, their labels above the plot, each in a line
 * of its own. top, bottom: edges of the plot. */
static void add_marks(const sheet *s, const pp_spread *spread, double top, double bottom, int font,
                      pp_text *script)
{
    mark list[MARKS];
    list_marks(s, spread, font, list);
    for (int i = 0; i < MARKS; i++) {
        const mark *m = &list[i];
        double y = top - (MARKS - i - 0.5) * LINE_PX * font / FONT;
        pp_text_add(script, "set arrow from screen %.5f,%.5f to screen %.5f,%.5f nohead front %s\n",
                    m->x / s->size.width, 1 - bottom / s->size.height, m->x / s->size.width,
                    1 - (font ? y - 5 : top) / s->size.height, m->line);
        if (font && (!m->flipped || m->x > label_px(m, font)))
            pp_plot_text_at(s->size, m->flipped ? m->x - LABEL_PX : m->x + LABEL_PX, y,
                            m->flipped ? PP_PLOT_RIGHT : PP_PLOT_LEFT, font, m->style, m->words,
                            script);
    }
}

/* Returns the height of the letters above a report: its name, if there are several, and marks. */
static double letters_px(const sheet *s, int font)
{
    return (s->relative + MARKS) * LINE_PX * font / FONT + GAP;
}

/* Places the plots below the head. */
static void lay_out(sheet *s, pp_plot_head *head)
{
    int count = (int)s->picture->spread_count;
    int request = s->picture->height;
    pp_plot_head_lay_out(head, s->size.width, pp_plot_head_room(request));
    s->top = head->px + (s->relative ? 0 : PP_PLOT_CAPTION_PX);
    s->size.height = request ? request : s->relative ? (int)s->top + ROW * count + BOTTOM : HEIGHT;
    s->row_px = (s->size.height - BOTTOM - s->top) / count;
    s->font = FONT;
    while (letters_px(s, s->font) > s->row_px - LEAST_PX && s->font >= FONT_LEAST)
        s->font--;
    if (s->font < FONT_LEAST)
        s->font = 0;
}

/* Appends the plot of a report. */
static void add_row(const sheet *s, size_t number, pp_text *script)
{
    const pp_spread *spread = &s->picture->spread[number];
    bool last = number + 1 == s->picture->spread_count;
    int font = s->font;
    double top = s->top + (double)number * s->row_px;
    double letters = letters_px(s, font);
    char name[32];
    const double gap = fmin(4, s->row_px / 4);
    const double edges[4] = { s->left, top + (font ? letters : gap), s->right,
                              top + s->row_px - gap };
    pp_plot_margins(s->size, edges, script);
    if (font && s->relative) {
        char words[sizeof spread->name];
        pp_plot_shorten(spread->name, font, s->size.width - 24, words, sizeof words);
        pp_plot_text_at(s->size, 12, top + GAP + LINE_PX * 0.5 * font / FONT, PP_PLOT_LEFT, font,
                        "", words, script);
    }
    add_marks(s, spread, edges[1], edges[3], font, script);
    pp_text_add(script, "set xtics nomirror %g\nset format x '%s'\nset ytics %g\n",
                pp_plot_step(s->high - s->low, (s->right - s->left) / PP_PLOT_TIME_PX),
                last ? "%g" : "", pp_plot_step(s->high_bin, (edges[3] - edges[1]) / TIC_PX));
    snprintf(name, sizeof name, "%zu:", number);
    pp_text_add(script, "plot ");
    for (int tail = 0; tail < 2; tail++) {
        pp_plot_next(script, tail ? "tail " : "steps ", name);
        pp_text_add(script, "using (0):(0):1:2:(0):3 with boxxyerror %s notitle",
                    tail ? TAIL_FILL : BAR_FILL);
    }
    pp_text_add(script, "\nunset arrow\nunset label\nunset object\n");
}

static pp_status draw(const pp_picture *picture, pp_text *script, pp_text *data, pp_err *err)
{
    char words[64];
    pp_plot_head head = { .entries = 0 };
    sheet s = { .picture = picture,
                .relative = picture->spread_count > 1,
                .size = { picture->width ? picture->width : WIDTH, 0, picture->out } };
    (void)err;
    make_head(&s, find_axis(&s), &head);
    lay_out(&s, &head);
    if (!s.font) { /* no room for words at the marks */
        for (int i = 0; i < MARKS; i++)
            pp_plot_head_add(&head, NULL, looks[i].line, NULL, looks[i].words);
        lay_out(&s, &head);
        s.font = 0;
    }
    s.left = LEFT;
    s.right = s.size.width - RIGHT;
    s.bins = (int)((s.right - s.left) / BIN_PX);
    s.bins = s.bins > BINS_MAX ? BINS_MAX : s.bins;
    s.high_bin = highest(&s);
    pp_plot_terminal(s.size, script);
    pp_plot_head_draw(&head, s.size, script);
    snprintf(words, sizeof words, "%s (%s)", s.relative ? "longer than without jitter" : "step",
             s.relative ? "%" : s.unit.name);
    const double edges[4] = { s.left, s.top, s.right, s.size.height - BOTTOM };
    pp_plot_captions(s.size, edges, words, s.relative ? "" : "scenarios (%)", script);
    pp_plot_quiet_axes("y", script);
    pp_text_add(script, "set multiplot\nset xrange [%.7g:%.7g]\nset yrange [0:%.4g]\n", s.low,
                s.high, s.high_bin * 1.05);
    for (size_t i = 0; i < picture->spread_count; i++) {
        add_bars(&s, i, data);
        add_row(&s, i, script);
    }
    pp_text_add(script, "unset multiplot\n");
    return PP_OK;
}

const pp_plot pp_plot_jitter = {
    .name = "jitter",
    .summary = "distribution of the step time under jitter, with median and p95",
    .input = PP_FIELD_JITTER_REPORTS,
    .fits = fits,
    .draw = draw,
};
