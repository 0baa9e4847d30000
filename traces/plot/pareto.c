/* Draws the trade between memory and time: the fastest step at every memory limit as a falling
 * staircase, and below it the lower bound of the step. The setups of the widest steps, which are
 * the answer for most limits, get their labels first; a label without a free place is left out. */
#include "sim/base/alloc.h"
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

enum { WIDTH = 1000, HEIGHT = 560, LEFT = 60, RIGHT = 24, BOTTOM = 48 }; /* pixels */
enum { FONT = 11, TIC_PX = 34, TICS_MOST = 9, MARK_PX = 5, NAME_STEP_PX = 30 };

#define BOUND_LINE "lw 1.2 dt 2 lc rgb '#8a8a8a'"

/* The settings of a setup that a label can name. */
enum { SCHEDULE, TP, VPP, MICRO_BATCH, RECOMPUTE, SETTINGS };

/* The layout and the ranges, which all parts of the picture use. */
typedef struct sheet {
    const pp_picture *picture;
    pp_plot_size size;
    double edges[4]; /* of the plot, in pixels from the upper left corner */
    bool per_gpu;    /* costs are GPU seconds, as numbers of GPUs differ */
    pp_plot_unit time, bytes;
    double low[2], high[2]; /* ranges of memory and cost, in these units */
    pp_plot_taken taken;
} sheet;

static bool fits(const pp_picture *picture)
{
    return picture->front_count > 0;
}

static double cost_of(const sheet *s, const pp_trade *trade, double cost_s)
{
    double gpus = s->per_gpu ? 1 : (double)s->picture->front[trade->front].gpus;
    return cost_s * 1e9 / gpus / (double)s->time.divisor;
}

static double memory_of(const sheet *s, int64_t bytes)
{
    return (double)bytes / (double)s->bytes.divisor;
}

static void find_ranges(sheet *s)
{
    const pp_picture *p = s->picture;
    double most_ns = 0;
    int64_t limit = 0;
    for (size_t i = 0; i < p->front_count; i++)
        s->per_gpu |= p->front[i].gpus == 0;
    s->time.divisor = 1;
    for (size_t i = 0; i < p->trade_count; i++) {
        double cost_ns = cost_of(s, &p->trade[i], p->trade[i].cost_s);
        most_ns = cost_ns > most_ns ? cost_ns : most_ns;
        limit = p->trade[i].limit_bytes > limit ? p->trade[i].limit_bytes : limit;
    }
    s->time = pp_plot_time_unit(s->per_gpu ? PP_NS_MAX : (pp_ns)most_ns);
    s->bytes = pp_plot_bytes_unit(limit);
    for (size_t i = 0; i < p->trade_count; i++) {
        const pp_trade *trade = &p->trade[i];
        const double least[2] = { memory_of(s, trade->peak_bytes),
                                  cost_of(s, trade, trade->least_s) };
        const double most[2] = { memory_of(s, trade->limit_bytes),
                                 cost_of(s, trade, trade->cost_s) };
        for (int k = 0; k < 2; k++) {
            s->low[k] = i == 0 || least[k] < s->low[k] ? least[k] : s->low[k];
            s->high[k] = i == 0 || most[k] > s->high[k] ? most[k] : s->high[k];
        }
    }
    for (int k = 0; k < 2; k++) {
        double room = s->high[k] > s->low[k] ? s->high[k] - s->low[k] : s->high[k];
        s->low[k] -= 0.08 * room;
        s->high[k] += 0.08 * room * k;
    }
}

/* Finds the settings in which the setups of a front differ. */
static void compare_settings(const sheet *s, size_t front, bool differ[SETTINGS])
{
    const pp_picture *p = s->picture;
    const pp_trade *first = NULL;
    for (const pp_trade *t = p->trade; t < p->trade + p->trade_count; t++) {
        if (t->front != front)
            continue;
        first = first ? first : t;
        differ[SCHEDULE] |= strcmp(t->schedule, first->schedule) != 0;
        differ[TP] |= t->tp != first->tp;
        differ[VPP] |= t->vpp != first->vpp;
        differ[MICRO_BATCH] |= t->micro_batch != first->micro_batch;
        differ[RECOMPUTE] |= strcmp(t->recompute, first->recompute) != 0;
    }
}

/* Prints the settings in which the setups of a front differ, or those in which they do not. */
static void print_settings(const sheet *s, const pp_trade *t, bool differ, char text[160])
{
    char values[SETTINGS][64];
    bool differs[SETTINGS] = { false };
    bool none = strcmp(t->recompute, "none") == 0;
    size_t used = 0;
    compare_settings(s, t->front, differs);
    snprintf(values[SCHEDULE], sizeof values[0], "%s", t->schedule);
    snprintf(values[TP], sizeof values[0], "tp %" PRId64, t->tp);
    snprintf(values[VPP], sizeof values[0], "vpp %" PRId64, t->vpp);
    snprintf(values[MICRO_BATCH], sizeof values[0], "micro-batch %" PRId64, t->micro_batch);
    snprintf(values[RECOMPUTE], sizeof values[0], "%s%s",
             none                           ? "no recompute"
             : strcmp(t->recompute, "full") ? "recompute "
                                            : "full recompute",
             none || strcmp(t->recompute, "full") == 0 ? "" : t->recompute);
    text[0] = '\0';
    for (int i = 0; i < SETTINGS; i++) {
        if (differs[i] == differ)
            used += (size_t)snprintf(text + used, 160 - used, "%s%s", used ? ", " : "", values[i]);
    }
}

/* Prints the name of a front, with the settings that its setups share. */
static void print_name(const sheet *s, size_t front, char name[330])
{
    const pp_trade *first = s->picture->trade;
    char shared[160];
    while (first->front != front)
        first++;
    print_settings(s, first, false, shared);
    snprintf(name, 330, "%s%s%s", s->picture->front[front].name, *shared ? ", " : "", shared);
}

static void make_head(const sheet *s, bool named, pp_plot_head *head)
{
    const pp_picture *p = s->picture;
    char shared[160] = "";
    char line[64];
    char name[330];
    char about[200] = "";
    char more[300];
    *head = (pp_plot_head){ .entries = 0 };
    if (p->front_count == 1) {
        snprintf(about, sizeof about, "%s", p->front[0].name);
        print_settings(s, p->trade, false, shared);
    }
    if (p->front_count == 1 && p->front[0].gpus)
        snprintf(about, sizeof about, "%s, %" PRId64 " GPU%s", p->front[0].name, p->front[0].gpus,
                 p->front[0].gpus == 1 ? "" : "s");
    snprintf(more, sizeof more, "%s%s%s%s", *shared ? "All setups: " : "", shared,
             *shared ? ". " : "",
             p->front_count > 1 ? "Left of a dotted line no setup that was tried fits."
                                : "In the grey area no setup that was tried fits.");
    pp_plot_head_name(head, about, "", "The fastest step at every memory limit", more);
    for (size_t i = 0; i < p->front_count && !named; i++) {
        snprintf(line, sizeof line, "lw 2.5 lc rgb '%s'", pp_plot_colour(i));
        print_name(s, i, name);
        pp_plot_head_add(head, NULL, line, NULL, name);
    }
    pp_plot_head_add(head, NULL, BOUND_LINE, NULL,
                     "lower bound: no order of ops in any setup tried is faster");
}

static double pixel(const sheet *s, int axis, double value)
{
    double share = (value - s->low[axis]) / (s->high[axis] - s->low[axis]);
    return axis ? s->edges[3] - share * (s->edges[3] - s->edges[1])
                : s->edges[0] + share * (s->edges[2] - s->edges[0]);
}

/* Appends a staircase from the smallest limit to the largest; it is level from the peak of a setup
 * to the largest limit for which that setup is the fastest. */
static void add_stairs(const sheet *s, size_t front, bool bound, pp_text *script, pp_text *data)
{
    const pp_picture *p = s->picture;
    char name[32];
    snprintf(name, sizeof name, "%zu:", front);
    pp_plot_begin(data, bound ? "bound " : "front ", name);
    for (size_t i = p->trade_count; i-- > 0;) {
        const pp_trade *trade = &p->trade[i];
        double cost = cost_of(s, trade, bound ? trade->least_s : trade->cost_s);
        if (trade->front == front)
            pp_text_add(data, "%.6g %.6g\n%.6g %.6g\n", memory_of(s, trade->peak_bytes), cost,
                        memory_of(s, trade->limit_bytes), cost);
    }
    pp_plot_next(script, bound ? "bound " : "front ", name);
    if (bound)
        pp_text_add(script, "using 1:2 with lines " BOUND_LINE " notitle");
    else
        pp_text_add(script, "using 1:2 with lines lw 2.5 lc rgb '%s' notitle",
                    pp_plot_colour(front));
}

/* Returns whether a setup of another front of the same model needs neither more memory nor more
 * time. */
static bool is_dominated(const sheet *s, const pp_trade *trade)
{
    const pp_picture *p = s->picture;
    for (size_t i = 0; i < p->trade_count; i++) {
        const pp_trade *other = &p->trade[i];
        if (other->front != trade->front &&
            strcmp(p->front[other->front].model, p->front[trade->front].model) == 0 &&
            other->peak_bytes <= trade->peak_bytes &&
            cost_of(s, other, other->cost_s) < cost_of(s, trade, trade->cost_s))
            return true;
    }
    return false;
}

/* Appends the setups of a front, filled, or only those that are dominated, as rings. */
static void add_marks(const sheet *s, size_t front, bool dominated, pp_text *script, pp_text *data)
{
    const pp_picture *p = s->picture;
    char name[32];
    bool any = false;
    snprintf(name, sizeof name, "%zu:", front);
    for (size_t i = 0; i < p->trade_count; i++) {
        const pp_trade *trade = &p->trade[i];
        if (trade->front != front || is_dominated(s, trade) != dominated)
            continue;
        if (!any)
            pp_plot_begin(data, dominated ? "dominated " : "setups ", name);
        any = true;
        pp_text_add(data, "%.6g %.6g\n", memory_of(s, trade->peak_bytes),
                    cost_of(s, trade, trade->cost_s));
    }
    if (!any)
        return;
    pp_plot_next(script, dominated ? "dominated " : "setups ", name);
    pp_text_add(script, "using 1:2 with points pt %d ps 0.8 lc rgb '%s' notitle", dominated ? 6 : 7,
                pp_plot_colour(front));
}

/* Takes the places of all lines and marks. */
static void take_lines(sheet *s)
{
    const pp_picture *p = s->picture;
    for (size_t i = 0; i < p->trade_count; i++) {
        const pp_trade *trade = &p->trade[i];
        const double x[2] = { pixel(s, 0, memory_of(s, trade->peak_bytes)),
                              pixel(s, 0, memory_of(s, trade->limit_bytes)) };
        const double mark = pixel(s, 1, cost_of(s, trade, trade->cost_s));
        bool last = i + 1 == p->trade_count || trade[1].front != trade->front;
        if (last && p->front_count > 1)
            pp_plot_take(&s->taken,
                         (pp_plot_rect){ x[0] - 1, s->edges[1], x[0] + 1, mark }); /* dotted */
        pp_plot_take(&s->taken, (pp_plot_rect){ x[0] - MARK_PX, mark - MARK_PX, x[0] + MARK_PX,
                                                mark + MARK_PX });
        for (int bound = 0; bound < 2; bound++) {
            double y = bound ? pixel(s, 1, cost_of(s, trade, trade->least_s)) : mark;
            double up =
                last ? y
                     : pixel(s, 1,
                             cost_of(s, &trade[1], bound ? trade[1].least_s : trade[1].cost_s));
            pp_plot_take(&s->taken, (pp_plot_rect){ x[0], y - 1, x[1], y + 1 });
            pp_plot_take(&s->taken, (pp_plot_rect){ x[0] - 1, up, x[0] + 1, y });
        }
    }
}

/* Returns the height, in pixels, of a front at x. fastest: its first setup. */
static double level(const sheet *s, const pp_trade *fastest, double x)
{
    const pp_trade *at = fastest;
    const pp_trade *end = s->picture->trade + s->picture->trade_count;
    while (at + 1 < end && at[1].front == fastest->front &&
           pixel(s, 0, memory_of(s, at->peak_bytes)) > x)
        at++;
    return pixel(s, 1, cost_of(s, at, at->cost_s));
}

/* Appends the names of the fronts above their lines, as far right as there is room. Returns whether
 * all have room. */
static bool add_names(sheet *s, pp_text *script)
{
    const pp_picture *p = s->picture;
    bool all = true;
    for (size_t i = 0; i < p->trade_count && p->front_count > 1; i++) {
        const pp_trade *trade = &p->trade[i];
        char style[48];
        char name[330];
        bool placed = false;
        if (i && trade[-1].front == trade->front)
            continue;
        snprintf(style, sizeof style, "tc rgb '%s'", pp_plot_colour(trade->front));
        print_name(s, trade->front, name);
        double wide = pp_plot_text_px(name, strlen(name), FONT + 1);
        for (int back = 0; back < 12 && !placed; back++) {
            double right = s->edges[2] - back * NAME_STEP_PX;
            placed = pp_plot_label(&s->taken, s->size, right, level(s, trade, right - wide) - 12,
                                   PP_PLOT_RIGHT, FONT + 1, style, name, script);
        }
        all &= placed;
    }
    return all;
}

static int by_width(const void *left, const void *right)
{
    const pp_trade *a = *(const pp_trade *const *)left;
    const pp_trade *b = *(const pp_trade *const *)right;
    int64_t wide[2] = { a->limit_bytes - a->peak_bytes, b->limit_bytes - b->peak_bytes };
    if (wide[0] != wide[1])
        return wide[0] > wide[1] ? -1 : 1;
    return (a > b) - (a < b);
}

/* Appends the settings of the setups for which there is room, right of their marks. */
static pp_status add_labels(sheet *s, pp_text *script, pp_err *err)
{
    const pp_picture *p = s->picture;
    const pp_trade **list PP_CLEANUP(pp_free_array) = pp_alloc_array(p->trade_count, sizeof *list);
    if (!list)
        return pp_err_nomem(err);
    for (size_t i = 0; i < p->trade_count; i++)
        list[i] = &p->trade[i];
    qsort(list, p->trade_count, sizeof *list, by_width);
    for (size_t i = 0; i < p->trade_count; i++) {
        char words[160];
        double x = pixel(s, 0, memory_of(s, list[i]->peak_bytes));
        double y = pixel(s, 1, cost_of(s, list[i], list[i]->cost_s));
        print_settings(s, list[i], true, words);
        if (*words)
            pp_plot_label(&s->taken, s->size, x + 8, y - 9, PP_PLOT_LEFT, FONT,
                          "tc rgb '" PP_PLOT_LETTERS "'", words, script);
    }
    return PP_OK;
}

/* Appends what tells where no setup was found: an area, or a line for each of several fronts. */
static void add_ends(const sheet *s, pp_text *script)
{
    const pp_picture *p = s->picture;
    for (size_t i = 0; i < p->trade_count; i++) {
        const pp_trade *trade = &p->trade[i];
        if (i + 1 < p->trade_count && trade[1].front == trade->front)
            continue;
        double x = memory_of(s, trade->peak_bytes);
        if (p->front_count == 1)
            pp_text_add(script,
                        "set object rectangle from graph 0, graph 0 to first %.6g, graph 1 behind "
                        "fc rgb '" PP_PLOT_SHADE "' fs solid 1.0 noborder\n",
                        x);
        else
            pp_text_add(script,
                        "set arrow from %.6g,%.6g to %.6g,graph 1 nohead dt 3 lw 1.5 lc rgb '%s'\n",
                        x, cost_of(s, trade, trade->cost_s), x, pp_plot_colour(trade->front));
    }
}

static void add_axes(const sheet *s, pp_text *script)
{
    char words[2][64];
    snprintf(words[0], sizeof words[0], "memory limit per GPU (%s)", s->bytes.name);
    snprintf(words[1], sizeof words[1], "%s (%s%s)",
             s->per_gpu ? "fastest step x GPUs" : "fastest step", s->per_gpu ? "GPU " : "",
             s->time.name);
    pp_plot_captions(s->size, s->edges, words[0], words[1], script);
    pp_plot_quiet_axes("y", script);
    pp_text_add(script,
                "set xrange [%.6g:%.6g]\nset yrange [%.6g:%.6g]\nset xtics %g\nset ytics %g\n",
                s->low[0], s->high[0], s->low[1], s->high[1],
                pp_plot_step(s->high[0] - s->low[0], (s->edges[2] - s->edges[0]) / PP_PLOT_TIME_PX),
                pp_plot_step(s->high[1] - s->low[1],
                             fmin((s->edges[3] - s->edges[1]) / TIC_PX, TICS_MOST)));
}

/* Finds the edges and the places that lines take. named: the key does not name the fronts. */
static void lay_out(sheet *s, bool named, pp_plot_head *head)
{
    make_head(s, named, head);
    pp_plot_head_lay_out(head, s->size.width, pp_plot_head_room(s->size.height));
    s->edges[0] = LEFT;
    s->edges[1] = head->px + PP_PLOT_CAPTION_PX;
    s->edges[2] = s->size.width - RIGHT;
    s->edges[3] = s->size.height - BOTTOM;
    s->taken.count = 0;
    s->taken.within = (pp_plot_rect){ s->edges[0], s->edges[1], s->edges[2], s->edges[3] };
    take_lines(s);
}

static void free_sheet(sheet *s)
{
    pp_plot_taken_free(&s->taken);
}

static pp_status draw(const pp_picture *picture, pp_text *script, pp_text *data, pp_err *err)
{
    pp_plot_head head;
    sheet s PP_CLEANUP(free_sheet) = { .picture = picture,
                                       .size = { picture->width ? picture->width : WIDTH,
                                                 picture->height ? picture->height : HEIGHT,
                                                 picture->out } };
    find_ranges(&s);
    lay_out(&s, true, &head);
    bool named = add_names(&s, NULL);
    lay_out(&s, named, &head);
    pp_plot_terminal(s.size, script);
    pp_plot_head_draw(&head, s.size, script);
    pp_plot_margins(s.size, s.edges, script);
    add_axes(&s, script);
    add_ends(&s, script);
    if (named)
        add_names(&s, script);
    pp_status status = add_labels(&s, script, err);
    if (status || s.taken.failed)
        return status ? status : pp_err_nomem(err);
    pp_text_add(script, "plot ");
    for (size_t i = 0; i < picture->front_count; i++) {
        add_stairs(&s, i, true, script, data);
        add_stairs(&s, i, false, script, data);
    }
    for (size_t i = 0; i < picture->front_count; i++) {
        add_marks(&s, i, true, script, data);
        add_marks(&s, i, false, script, data);
    }
    pp_text_add(script, "\n");
    return PP_OK;
}

const pp_plot pp_plot_pareto = {
    .name = "pareto",
    .summary = "fastest step at every memory limit, with its lower bound",
    .input = PP_FIELD_PARETO_FILE,
    .fits = fits,
    .draw = draw,
};
