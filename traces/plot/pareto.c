/* Draws the trade between memory and time: the fastest step at every memory limit, and the lower
 * bound of the step. */
#include "sim/base/field.h"
#include "traces/plot/draw/gnuplot.h"
#include "traces/plot/draw/units.h"
#include "traces/plot/plot.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 1000, HEIGHT = 600, LEFT = 75, RIGHT = 30, TOP = 25, BOTTOM = 55 }; /* pixels */
enum { KEY_WIDTH = 260 };
enum { LETTER_PX = 7, LINE_PX = 15, SCHEDULES_MAX = 32, LABELS_MAX = 400 };

/* The layout and the ranges, which all parts of the picture use. The key stands in the upper right
 * corner, which a falling curve leaves free, or next to the plot if there are several curves. */
typedef struct sheet {
    const pp_picture *picture;
    int width, height, right;
    bool per_gpu; /* costs are GPU seconds, as numbers of GPUs differ */
    pp_plot_unit time, bytes;
    double low[2], high[2];              /* ranges of memory and cost, in these units */
    const char *schedule[SCHEDULES_MAX]; /* all schedules of the points */
    size_t schedules;
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
        s->low[k] -= 0.04 * room;
        s->high[k] += 0.08 * room * k;
    }
}

static void find_schedules(sheet *s)
{
    const pp_picture *p = s->picture;
    for (size_t i = 0; i < p->trade_count && s->schedules < SCHEDULES_MAX; i++) {
        size_t k = 0;
        while (k < s->schedules && strcmp(s->schedule[k], p->trade[i].schedule) != 0)
            k++;
        if (k == s->schedules)
            s->schedule[s->schedules++] = p->trade[i].schedule;
    }
}

/* Appends a front from the smallest limit to the largest; it is level from the peak of a setup to
 * the largest limit for which that setup is the fastest. */
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
    pp_text_add(script, "using 1:2 with lines lw %s dt %s lc rgb '%s' title ", bound ? "1" : "2",
                bound ? "2" : "1", pp_plot_colour(front));
    pp_plot_quoted(script, !bound       ? p->front[front].name
                           : front == 0 ? "no order of any candidate is faster"
                                        : "");
}

/* Appends the points; every schedule has a mark of its own. */
static void add_marks(const sheet *s, pp_text *script, pp_text *data)
{
    const pp_picture *p = s->picture;
    for (size_t k = 0; k < s->schedules; k++) {
        char name[32]; /* a number, since names of schedules may be none of gnuplot's */
        snprintf(name, sizeof name, "%zu:", k);
        pp_plot_begin(data, "schedule ", name);
        for (size_t i = 0; i < p->trade_count; i++) {
            const pp_trade *trade = &p->trade[i];
            if (strcmp(s->schedule[k], trade->schedule) == 0)
                pp_text_add(data, "%.6g %.6g\n", memory_of(s, trade->peak_bytes),
                            cost_of(s, trade, trade->cost_s));
        }
        pp_plot_next(script, "schedule ", name);
        pp_text_add(script, "using 1:2 with points pt %zu ps 1.2 lw 1.5 lc rgb 'black' title ",
                    k % 15 + 1);
        pp_plot_quoted(script, s->schedule[k]);
    }
}

/* The left edge and the height, in pixels, of a label, which stands above and right of its mark. */
typedef struct spot {
    double x, y;
    double width;
} spot;

static bool is_free(const spot *taken, size_t count, const spot *request, double end_px)
{
    if (request->x + request->width > end_px)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (request->x < taken[i].x + taken[i].width && taken[i].x < request->x + request->width &&
            request->y < taken[i].y + LINE_PX && taken[i].y < request->y + LINE_PX)
            return false;
    }
    return true;
}

/* Appends the settings of points, unless they would touch those of other points. */
static void add_labels(const sheet *s, pp_text *script, pp_text *data)
{
    const pp_picture *p = s->picture;
    const int plot_px[2] = { s->width - LEFT - s->right, s->height - TOP - BOTTOM };
    spot taken[LABELS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < p->trade_count && count < LABELS_MAX; i++) {
        const pp_trade *trade = &p->trade[i];
        double at[2] = { memory_of(s, trade->peak_bytes), cost_of(s, trade, trade->cost_s) };
        const spot request = { (at[0] - s->low[0]) / (s->high[0] - s->low[0]) * plot_px[0] + 8,
                               (at[1] - s->low[1]) / (s->high[1] - s->low[1]) * plot_px[1],
                               (double)(LETTER_PX * strlen(trade->settings)) };
        if (!is_free(taken, count, &request, plot_px[0]))
            continue;
        if (count == 0)
            pp_plot_begin(data, "", "labels");
        taken[count++] = request;
        pp_text_add(data, "%.6g %.6g \"", at[0], at[1]);
        pp_plot_add_words(data, trade->settings);
        pp_text_add(data, "\"\n");
    }
    if (count == 0)
        return;
    pp_plot_next(script, "", "labels");
    pp_text_add(script, "using 1:2:3 with labels left offset 0.8,0.6 font ',%d' notitle",
                pp_plot_font(p->png, 11));
}

/* Appends a line at the smallest peak of each curve, below which no setup was found. */
static void add_ends(const sheet *s, pp_text *script)
{
    const pp_picture *p = s->picture;
    for (size_t i = 0; i < p->trade_count; i++) {
        const pp_trade *trade = &p->trade[i];
        if (i + 1 < p->trade_count && trade[1].front == trade->front)
            continue;
        double x = memory_of(s, trade->peak_bytes);
        pp_text_add(script,
                    "set arrow from %.6g,%.6g to %.6g,graph 1 nohead dt 3 lw 1.5 lc rgb '%s'\n", x,
                    cost_of(s, trade, trade->cost_s), x, pp_plot_colour(trade->front));
    }
}

static pp_status draw(const pp_picture *picture, pp_text *script, pp_text *data, pp_err *err)
{
    sheet s = { .picture = picture,
                .width = picture->width ? picture->width : WIDTH,
                .height = picture->height ? picture->height : HEIGHT,
                .right = picture->front_count > 1 ? KEY_WIDTH : RIGHT };
    (void)err;
    find_schedules(&s);
    find_ranges(&s);
    pp_plot_terminal(picture->png, s.width, s.height, script);
    pp_plot_margins((double)LEFT / s.width, 1 - (double)s.right / s.width,
                    1 - (double)TOP / s.height, (double)BOTTOM / s.height, script);
    pp_text_add(script, "set xrange [%.6g:%.6g]\nset yrange [%.6g:%.6g]\n", s.low[0], s.high[0],
                s.low[1], s.high[1]);
    pp_text_add(script,
                "set xlabel 'memory limit per GPU (%s); nothing found left of the dots'\n"
                "set ylabel '%s (%s%s)'\nset xtics nomirror\nset ytics nomirror\nset border 3\n"
                "set key at screen %.5f,%.5f right top vertical samplen 2\n",
                s.bytes.name, s.per_gpu ? "fastest step x GPUs" : "fastest step",
                s.per_gpu ? "GPU " : "", s.time.name, 1 - 10.0 / s.width, 1 - 12.0 / s.height);
    add_ends(&s, script);
    pp_text_add(script, "plot ");
    for (size_t i = 0; i < picture->front_count; i++) {
        add_stairs(&s, i, false, script, data);
        add_stairs(&s, i, true, script, data);
    }
    add_marks(&s, script, data);
    add_labels(&s, script, data);
    pp_text_add(script, "\n");
    return PP_OK;
}

const pp_plot pp_plot_pareto = {
    .name = "pareto",
    .summary = "the fastest step at every memory limit, with the bound",
    .input = PP_FIELD_PARETO_FILE,
    .fits = fits,
    .draw = draw,
};
