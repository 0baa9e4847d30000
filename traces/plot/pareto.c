/* Draws the trade between memory and time: the fastest step at every memory limit, and the lower
 * bound of the step. */
#include "sim/base/field.h"
#include "traces/plot/draw/gnuplot.h"
#include "traces/plot/draw/units.h"
#include "traces/plot/draw/view.h"
#include "traces/plot/plot.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { WIDTH = 1000, HEIGHT = 600, LEFT = 72, RIGHT = 30, BOTTOM = 48 }; /* pixels */
enum { FONT = 11, LINE_PX = 15, TIC_PX = 26, SCHEDULES_MAX = 32, LABELS_MAX = 400 };

/* The layout and the ranges, which all parts of the picture use. */
typedef struct sheet {
    const pp_picture *picture;
    pp_plot_size size;
    double edges[4]; /* of the plot, in pixels from the upper left corner */
    bool per_gpu;    /* costs are GPU seconds, as numbers of GPUs differ */
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

static const char *line_of(size_t front, bool bound, char line[48])
{
    snprintf(line, 48, "lw %s dt %s lc rgb '%s'", bound ? "1" : "2", bound ? "2" : "1",
             pp_plot_colour(front));
    return line;
}

/* Prints the mark of a schedule. */
static const char *point_of(size_t schedule, char point[48])
{
    static const int kinds[] = { 7, 5, 9, 11, 13, 6, 4, 8, 10, 12, 1, 2, 3 };
    size_t count = sizeof kinds / sizeof kinds[0];
    snprintf(point, 48, "pt %d ps 1 lc rgb '#202020'", kinds[schedule % count]);
    return point;
}

static void add_key(const sheet *s, pp_plot_head *head)
{
    const pp_picture *p = s->picture;
    char style[48];
    snprintf(head->title, sizeof head->title, "%s", "The fastest step at every memory limit");
    snprintf(head->note, sizeof head->note, "%s",
             "Left of a dotted line no setup fits that was tried.");
    for (size_t i = 0; i < p->front_count; i++)
        pp_plot_head_add(head, NULL, line_of(i, false, style), NULL, p->front[i].name);
    pp_plot_head_add(head, NULL, "lw 1 dt 2 lc rgb '#202020'", NULL,
                     "bound: no order of ops in any setup tried is faster");
    for (size_t k = 0; k < s->schedules; k++)
        pp_plot_head_add(head, NULL, NULL, point_of(k, style), s->schedule[k]);
}

/* Appends a front from the smallest limit to the largest; it is level from the peak of a setup to
 * the largest limit for which that setup is the fastest. */
static void add_stairs(const sheet *s, size_t front, bool bound, pp_text *script, pp_text *data)
{
    const pp_picture *p = s->picture;
    char name[32];
    char line[48];
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
    pp_text_add(script, "using 1:2 with lines %s notitle", line_of(front, bound, line));
}

/* Appends the points; every schedule has its own mark. */
static void add_marks(const sheet *s, pp_text *script, pp_text *data)
{
    const pp_picture *p = s->picture;
    for (size_t k = 0; k < s->schedules; k++) {
        char style[48];
        char name[32]; /* a number, since a schedule's name may not be a valid name in gnuplot */
        snprintf(name, sizeof name, "%zu:", k);
        pp_plot_begin(data, "schedule ", name);
        for (size_t i = 0; i < p->trade_count; i++) {
            const pp_trade *trade = &p->trade[i];
            if (strcmp(s->schedule[k], trade->schedule) == 0)
                pp_text_add(data, "%.6g %.6g\n", memory_of(s, trade->peak_bytes),
                            cost_of(s, trade, trade->cost_s));
        }
        pp_plot_next(script, "schedule ", name);
        pp_text_add(script, "using 1:2 with points %s notitle", point_of(k, style));
    }
}

/* The left edge and the middle of the height of a label, in pixels. A label is above and right of
 * its mark. */
typedef struct spot {
    double x, y;
    double width;
} spot;

static bool is_free(const spot *taken, size_t count, const spot *request, const double edges[4])
{
    if (request->x + request->width > edges[2] || request->y < edges[1])
        return false;
    for (size_t i = 0; i < count; i++) {
        if (request->x < taken[i].x + taken[i].width && taken[i].x < request->x + request->width &&
            request->y < taken[i].y + LINE_PX && taken[i].y < request->y + LINE_PX)
            return false;
    }
    return true;
}

/* Appends the settings of points, unless they would touch those of other points. */
static void add_labels(const sheet *s, pp_text *script)
{
    const pp_picture *p = s->picture;
    const double wide = s->edges[2] - s->edges[0];
    const double high = s->edges[3] - s->edges[1];
    spot taken[LABELS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < p->trade_count && count < LABELS_MAX; i++) {
        const pp_trade *trade = &p->trade[i];
        double x = (memory_of(s, trade->peak_bytes) - s->low[0]) / (s->high[0] - s->low[0]);
        double y = (cost_of(s, trade, trade->cost_s) - s->low[1]) / (s->high[1] - s->low[1]);
        const spot request = { s->edges[0] + x * wide + 7, s->edges[3] - y * high - 8,
                               pp_plot_text_px(trade->settings, strlen(trade->settings), FONT) };
        if (!is_free(taken, count, &request, s->edges))
            continue;
        taken[count++] = request;
        pp_plot_text_at(s->size, request.x, request.y, PP_PLOT_LEFT, FONT, "", trade->settings,
                        script);
    }
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
    char words[2][64];
    pp_plot_head head = { .entries = 0 };
    sheet s = { .picture = picture,
                .size = { picture->width ? picture->width : WIDTH,
                          picture->height ? picture->height : HEIGHT, picture->out } };
    (void)err;
    find_schedules(&s);
    find_ranges(&s);
    add_key(&s, &head);
    pp_plot_head_lay_out(&head, s.size.width, pp_plot_head_room(s.size.height));
    s.edges[0] = LEFT;
    s.edges[1] = head.px;
    s.edges[2] = s.size.width - RIGHT;
    s.edges[3] = s.size.height - BOTTOM;
    pp_plot_terminal(s.size, script);
    pp_plot_head_draw(&head, s.size, script);
    pp_plot_margins(s.size, s.edges, script);
    snprintf(words[0], sizeof words[0], "memory limit per GPU (%s)", s.bytes.name);
    snprintf(words[1], sizeof words[1], "%s (%s%s)",
             s.per_gpu ? "fastest step x GPUs" : "fastest step", s.per_gpu ? "GPU " : "",
             s.time.name);
    pp_plot_axis_names(s.size, s.edges, words[0], words[1], script);
    pp_text_add(script,
                "set xrange [%.6g:%.6g]\nset yrange [%.6g:%.6g]\nunset key\n"
                "set xtics nomirror %g\nset ytics nomirror %g\nset border 3 lc rgb '#606060'\n",
                s.low[0], s.high[0], s.low[1], s.high[1],
                pp_plot_step(s.high[0] - s.low[0], (s.edges[2] - s.edges[0]) / PP_PLOT_TIME_PX),
                pp_plot_step(s.high[1] - s.low[1], (s.edges[3] - s.edges[1]) / TIC_PX));
    add_ends(&s, script);
    add_labels(&s, script);
    pp_text_add(script, "plot ");
    for (size_t i = 0; i < picture->front_count; i++) {
        add_stairs(&s, i, false, script, data);
        add_stairs(&s, i, true, script, data);
    }
    add_marks(&s, script, data);
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
