/* Draws the memory of every rank over time, in a panel each: the components stacked on each other,
 * the limit, the peak with the op that runs at it, and the instant at which the job runs out of
 * memory. Of the samples of a column of pixels the largest is drawn; if that is more than an SVG of
 * a megabyte holds, columns become wider. */
#include "sim/base/alloc.h"
#include "traces/plot/draw/components.h"
#include "traces/plot/draw/gnuplot.h"
#include "traces/plot/draw/units.h"
#include "traces/plot/draw/view.h"
#include "traces/plot/plot.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BOTTOM = 44, LEFT = 32, RIGHT = 10 }; /* of the picture, in pixels */
enum {
    PANEL_LEFT = 42,
    PANEL_RIGHT = 10,
    PANEL_TOP = 24,
    COMPACT_TOP = 17,
    PANEL = 110,
    TITLE_FONT = 12,
    COMPACT_FONT = 10
}; /* of a panel, in pixels */
enum {
    COLUMNS_MAX = 8,
    PANEL_LEAST = 70,
    TIC_PX = 22,
    TIC_WIDTH = 60,
    TICS_MOST = 8,
    PEAK_LEAST = 40,
    POINTS_MOST = 20000 /* of all edges: an SVG has some 17 bytes for each */
};

#define CHANGE_PX 0.4    /* smaller changes of memory are not seen */
#define LAYER_LEAST 0.01 /* share of the axis, below which components share a layer */
#define PEAK_POINT "pt 11 ps 0.9 lc rgb 'black'"
#define DIES_POINT "pt 2 ps 1.3 lw 2.5 lc rgb '#a00000'"
#define DIES_LINE "lw 1.2 lc rgb '#a00000'"

/* The layout and the ranges, which all panels use. */
typedef struct sheet {
    const pp_track *track;
    pp_plot_view view;
    pp_plot_unit unit;   /* of bytes */
    int64_t most_bytes;  /* the largest of all peaks and the limit */
    int64_t limit_bytes; /* 0: none */
    pp_plot_layers layers;
    int columns, rows, panel_px;      /* height of a panel */
    double column_px;                 /* of which one sample is drawn */
    bool peaks;                       /* compact panels have room for the peak beside the rank */
    const pp_memory_sample_row *dies; /* the first sample over the limit; NULL: none */
    bool compact;                     /* there is no room for labels of axes */
    pp_plot_head head;
} sheet;

/* What a panel points out; NULL if there is nothing to point out. */
typedef struct marks {
    const pp_memory_sample_row *peak, *over; /* the largest sample; the first over the limit */
} marks;

/* The samples of a rank that are drawn. */
typedef struct curve {
    pp_memory_sample_row start; /* the state at the start of the picture */
    const pp_memory_sample_row **kept;
    size_t count;
} curve;

static void free_curve(curve *c)
{
    free(c->kept);
}

static bool fits(const pp_picture *picture)
{
    return picture->tracks == 1 && picture->track[0].sample_count > 0;
}

static pp_status look(const pp_picture *picture, sheet *s, pp_err *err)
{
    s->track = &picture->track[0];
    s->limit_bytes = picture->memory_limit_bytes;
    s->most_bytes = s->limit_bytes > 1 ? s->limit_bytes : 1; /* an axis needs a length */
    pp_status status =
        pp_plot_view_of(picture, LEFT + PANEL_LEFT, RIGHT + PANEL_RIGHT, &s->view, err);
    for (size_t i = 0; i < s->track->sample_count && !status; i++) {
        const pp_memory_sample_row *sample = &s->track->sample[i];
        if (sample->rank < s->view.first_rank || sample->rank > s->view.last_rank)
            continue;
        int64_t total = pp_plot_total(sample);
        s->most_bytes = total > s->most_bytes ? total : s->most_bytes;
        if (s->limit_bytes && total > s->limit_bytes &&
            (!s->dies || sample->at_ns < s->dies->at_ns))
            s->dies = sample;
    }
    if (!status)
        pp_plot_find_layers(s->track, &s->view, (int64_t)(LAYER_LEAST * (double)s->most_bytes),
                            &s->layers);
    s->unit = pp_plot_bytes_unit(s->most_bytes);
    return status;
}

/* Says which rank runs out of memory first, when and in which op; "" if none does. */
static void name_end(const sheet *s, char *text, size_t bytes)
{
    char time[32];
    char op[32];
    *text = '\0';
    if (!s->dies)
        return;
    pp_plot_op_at(s->track, s->dies, op, sizeof op);
    snprintf(text, bytes, "Rank %" PRIu32 " runs out of memory first, at %s%s%s. ", s->dies->rank,
             pp_format_duration(time, sizeof time, s->dies->at_ns), *op ? " in " : "", op);
}

/* Makes the title and the key, in the order in which the components are stacked. */
static void make_head(sheet *s)
{
    const pp_track *track = s->track;
    char shown[48];
    char end[160];
    char more[480];
    snprintf(shown, sizeof shown, "memory per rank (%s)", s->unit.name);
    name_end(s, end, sizeof end);
    int used = snprintf(more, sizeof more,
                        "%sThe components are stacked from below in the order of the key.", end);
    if (s->compact)
        snprintf(more + used, sizeof more - (size_t)used,
                 " Every panel shows 0 to %.4g %s over %.4g to %.4g %s, with the rank%s.",
                 (double)s->most_bytes / (double)s->unit.divisor, s->unit.name,
                 (double)s->view.from_ns / (double)s->view.unit.divisor,
                 (double)s->view.to_ns / (double)s->view.unit.divisor, s->view.unit.name,
                 s->peaks ? " and its peak" : "");
    s->head.entries = 0;
    pp_plot_head_name(&s->head, track->about, track->name, shown, more);
    pp_plot_layers_key(&s->layers, s->limit_bytes, s->dies != NULL, &s->head);
    pp_plot_head_add(&s->head, NULL, NULL, PEAK_POINT, "peak");
    if (s->dies)
        pp_plot_head_add(&s->head, NULL, NULL, DIES_POINT, "out of memory");
}

/* Finds the size of the panels below a head of the present height. */
static void size_panels(const pp_picture *picture, sheet *s)
{
    int ranks = (int)pp_plot_ranks(&s->view);
    int around = s->head.px + (s->compact ? RIGHT : BOTTOM);
    s->columns = ranks <= 4 ? 1 : ranks <= 16 ? 2 : 4;
    s->rows = (ranks + s->columns - 1) / s->columns;
    s->view.size.height = picture->height ? picture->height : around + PANEL * s->rows;
    while (picture->height && s->columns < COLUMNS_MAX &&
           (s->view.size.height - around) / s->rows < PANEL_LEAST) {
        s->columns *= 2;
        s->rows = (ranks + s->columns - 1) / s->columns;
    }
    s->panel_px = (s->view.size.height - around) / s->rows;
    s->view.plot_px =
        (s->view.size.width - LEFT - RIGHT) / (double)s->columns - PANEL_LEFT - PANEL_RIGHT;
    s->peaks = s->view.plot_px >= pp_plot_text_px("00: 00.0", 8, COMPACT_FONT);
    s->compact = s->view.plot_px < 3 * TIC_WIDTH || s->panel_px < PANEL_TOP + 2 * TIC_PX;
}

/* Arranges the panels in columns: more of them for more ranks, and as many as leave every panel
 * high enough if a height was requested. The head of compact panels has more text, and is
 * higher. */
static void lay_out(const pp_picture *picture, sheet *s)
{
    for (int i = 0; i < 2; i++) {
        bool compact = s->compact;
        make_head(s);
        pp_plot_head_lay_out(&s->head, s->view.size.width, pp_plot_head_room(picture->height));
        size_panels(picture, s);
        s->compact |= compact;
    }
}

/* Returns what a rank holds before its first op. */
static pp_memory_sample_row start_of(const pp_memory_sample_row *first)
{
    pp_memory_sample_row start = { .rank = first->rank };
    for (int c = 0; c < PP_MEMORY_COUNT; c++)
        start.bytes[c] = pp_memory_is_static((pp_memory_component)c) ? first->bytes[c] : 0;
    return start;
}

/* Finds the peak of a rank and its first sample over the limit. */
static marks find_marks(const sheet *s, uint32_t rank)
{
    marks found = { NULL, NULL };
    for (size_t i = 0; i < s->track->sample_count; i++) {
        const pp_memory_sample_row *sample = &s->track->sample[i];
        if (sample->rank != rank)
            continue;
        if (!found.peak || pp_plot_total(sample) > pp_plot_total(found.peak))
            found.peak = sample;
        if (!found.over && s->limit_bytes && pp_plot_total(sample) > s->limit_bytes)
            found.over = sample;
    }
    return found;
}

/* Keeps the samples from number `first` on that share a column of column_px: the largest one, and
 * the last one too unless the next column has a sample. Returns the number of the sample after
 * them. */
static size_t keep_column(const sheet *s, size_t first, curve *c)
{
    const pp_memory_sample_row *sample = s->track->sample;
    const double columns = s->view.plot_px / s->column_px;
    const double per_ns = columns / (double)(s->view.to_ns - s->view.from_ns);
    const double end = floor((double)(sample[first].at_ns - s->view.from_ns) * per_ns) + 1;
    size_t most = first;
    size_t i = first;
    for (; i < s->track->sample_count && sample[i].rank == sample[first].rank &&
           sample[i].at_ns <= s->view.to_ns &&
           (double)(sample[i].at_ns - s->view.from_ns) * per_ns < end;
         i++)
        most = pp_plot_total(&sample[i]) > pp_plot_total(&sample[most]) ? i : most;
    bool next = i < s->track->sample_count && sample[i].rank == sample[first].rank &&
                (double)(sample[i].at_ns - s->view.from_ns) * per_ns < end + 1;
    c->kept[c->count++] = &sample[most];
    if (most < i - 1 && !next)
        c->kept[c->count++] = &sample[i - 1];
    return i;
}

/* Finds the samples of a rank that are drawn between the start and the end of the picture. Returns
 * false if the rank has none at all. */
static bool keep_samples(const sheet *s, uint32_t rank, curve *c)
{
    const pp_memory_sample_row *sample = s->track->sample;
    const size_t count = s->track->sample_count;
    size_t i = 0;
    c->count = 0;
    while (i < count && sample[i].rank != rank)
        i++;
    if (i == count)
        return false;
    c->start = start_of(&sample[i]);
    for (; i < count && sample[i].rank == rank && sample[i].at_ns <= s->view.from_ns; i++)
        c->start = sample[i];
    while (i < count && sample[i].rank == rank && sample[i].at_ns <= s->view.to_ns)
        i = keep_column(s, i, c);
    return true;
}

static void add_point(const sheet *s, pp_ns at_ns, int64_t bytes, pp_text *data)
{
    pp_plot_number(data, at_ns, s->view.unit);
    pp_text_add(data, " ");
    pp_plot_number(data, bytes, s->unit);
    pp_text_add(data, "\n");
}

/* Appends the upper edge of a layer. Changes of less than CHANGE_PX are left out. data: NULL to
 * count only. Returns the number of its points. */
static size_t add_edge(const sheet *s, const curve *c, int layer, pp_text *data)
{
    const double least = CHANGE_PX * (double)s->most_bytes / s->panel_px;
    int64_t bytes = pp_plot_stacked(&s->layers, layer, &c->start);
    size_t points = 2;
    if (data)
        add_point(s, s->view.from_ns, bytes, data);
    for (size_t i = 0; i < c->count; i++) {
        int64_t next = pp_plot_stacked(&s->layers, layer, c->kept[i]);
        if (fabs((double)(next - bytes)) < least)
            continue;
        if (data) {
            add_point(s, c->kept[i]->at_ns, bytes, data);
            add_point(s, c->kept[i]->at_ns, next, data);
        }
        points += 2;
        bytes = next;
    }
    if (data)
        add_point(s, s->view.to_ns, bytes, data);
    return points;
}

/* Chooses the width of columns of which one sample is drawn: one pixel, or more if there would be
 * too many points. */
static void choose_columns(sheet *s, curve *c)
{
    size_t points;
    s->column_px = 1;
    do {
        points = 0;
        for (uint32_t rank = s->view.first_rank; rank <= s->view.last_rank; rank++) {
            bool any = keep_samples(s, rank, c);
            for (int k = 0; k < s->layers.count && any; k++)
                points += add_edge(s, c, k, NULL);
        }
        s->column_px *= points > POINTS_MOST ? 1.4 : 1;
    } while (points > POINTS_MOST && s->column_px < s->view.plot_px);
}

/* Finds the edges of a panel in pixels from the upper left corner of the picture. */
static void find_edges(const sheet *s, int place, double edges[4])
{
    int width = (s->view.size.width - LEFT - RIGHT) / s->columns;
    int left = LEFT + place % s->columns * width;
    int top = s->head.px + place / s->columns * s->panel_px;
    edges[0] = left + (s->compact ? PANEL_RIGHT : PANEL_LEFT);
    edges[1] = top + (s->compact ? COMPACT_TOP : PANEL_TOP);
    edges[2] = left + width - PANEL_RIGHT;
    edges[3] = top + s->panel_px;
}

/* Appends the title of a panel: the rank and its peak, and the time at which it exceeds the
 * limit. */
static void name_panel(const sheet *s, uint32_t rank, marks found, const double edges[4],
                       pp_text *script)
{
    char bytes[32] = "not known";
    char time[32];
    char op[2][32] = { "", "" };
    char over[96] = "";
    char words[256];
    if (found.peak) {
        pp_format_bytes(bytes, sizeof bytes, pp_plot_total(found.peak));
        pp_plot_op_at(s->track, found.peak, op[0], sizeof op[0]);
    }
    if (found.over) {
        pp_plot_op_at(s->track, found.over, op[1], sizeof op[1]);
        snprintf(over, sizeof over, "; over the limit from %s on%s%s",
                 pp_format_duration(time, sizeof time, found.over->at_ns), *op[1] ? ", in " : "",
                 op[1]);
    }
    if (s->compact && !s->peaks)
        snprintf(words, sizeof words, "%" PRIu32, rank);
    else if (s->compact)
        snprintf(words, sizeof words, "%" PRIu32 ": %.3g", rank,
                 found.peak ? (double)pp_plot_total(found.peak) / (double)s->unit.divisor : 0.0);
    else
        snprintf(words, sizeof words, "rank %" PRIu32 ": peak %s%s%s%s", rank, bytes,
                 *op[0] ? " in " : "", op[0], over);
    int font = pp_plot_fitting_font(words, s->compact && s->peaks ? COMPACT_FONT : TITLE_FONT,
                                    edges[2] - edges[0]);
    if (pp_plot_text_px(words, strlen(words), font) <= edges[2] - edges[0])
        pp_plot_text_at(s->view.size, edges[0], edges[1] - TITLE_FONT * 0.7, PP_PLOT_LEFT, font,
                        found.over ? "tc rgb '#b01010'" : "", words, script);
}

/* Appends the parts of the plot that point out the peak and what exceeds the limit. edge: the name
 * of the data set of the sum. */
static void add_marks(const sheet *s, uint32_t rank, marks found, const char *name,
                      const char *edge, pp_text *script, pp_text *data)
{
    const pp_memory_sample_row *peak = found.peak;
    if (found.over) {
        pp_plot_next(script, "rank ", edge);
        pp_text_add(script, "using 1:($2 > ");
        pp_plot_number(script, s->limit_bytes, s->unit);
        pp_text_add(script, " ? $2 : ");
        pp_plot_number(script, s->limit_bytes, s->unit);
        pp_text_add(script, ") with filledcurves y1=");
        pp_plot_number(script, s->limit_bytes, s->unit);
        pp_text_add(script, " " PP_PLOT_OVER_FILL " notitle");
    }
    if (peak && s->view.plot_px >= PEAK_LEAST && peak->at_ns >= s->view.from_ns &&
        peak->at_ns <= s->view.to_ns) {
        pp_plot_begin(data, "peak ", name);
        add_point(s, peak->at_ns, pp_plot_total(peak), data);
        pp_plot_next(script, "peak ", name);
        pp_text_add(script, "using 1:2 with points " PEAK_POINT " notitle");
    }
    if (s->dies && s->dies->rank == rank && s->dies->at_ns >= s->view.from_ns &&
        s->dies->at_ns <= s->view.to_ns) {
        pp_plot_begin(data, "dies ", name);
        add_point(s, s->dies->at_ns, s->limit_bytes, data);
        pp_plot_next(script, "dies ", name);
        pp_text_add(script, "using 1:(0):(0):2 with vectors nohead " DIES_LINE " notitle");
        pp_plot_next(script, "dies ", name);
        pp_text_add(script, "using 1:2 with points " DIES_POINT " notitle");
    }
    if (s->limit_bytes) {
        pp_text_add(script, ", \\\n    ");
        pp_plot_number(script, s->limit_bytes, s->unit);
        pp_text_add(script, " with lines " PP_PLOT_LIMIT_LINE " notitle");
    }
}

static void add_panel(const sheet *s, uint32_t rank, int place, curve *c, pp_text *script,
                      pp_text *data)
{
    char name[32];
    char edge[64] = "";
    char top[64] = "";
    double edges[4];
    marks found = find_marks(s, rank);
    bool lowest = (uint32_t)(place + s->columns) >= pp_plot_ranks(&s->view);
    snprintf(name, sizeof name, "%" PRIu32 ":", rank);
    find_edges(s, place, edges);
    pp_plot_margins(s->view.size, edges, script);
    name_panel(s, rank, found, edges, script);
    if (!s->compact && lowest)
        pp_plot_time_tics(&s->view, script);
    bool any = keep_samples(s, rank, c);
    pp_text_add(script, "plot ");
    for (int k = s->layers.count - 1; k >= 0 && any; k--) {
        snprintf(edge, sizeof edge, "%s %s", name, s->layers.layer[k].name);
        if (!*top)
            memcpy(top, edge, sizeof top);
        pp_plot_begin(data, "rank ", edge);
        add_edge(s, c, k, data);
        pp_plot_next(script, "rank ", edge);
        pp_text_add(script, "using 1:2 with filledcurves x1 %s notitle", s->layers.layer[k].fill);
    }
    if (!*top) /* nothing is known, and a panel is drawn all the same */
        pp_text_add(script, "-1 notitle");
    add_marks(s, rank, found, name, top, script, data);
    pp_text_add(script, "\nunset label\nunset object\nunset arrow\n");
}

static void add_axes(const sheet *s, pp_text *script)
{
    double most = (double)s->most_bytes / (double)s->unit.divisor;
    pp_text_add(script, "set xrange [");
    pp_plot_number(script, s->view.from_ns, s->view.unit);
    pp_text_add(script, ":");
    pp_plot_number(script, s->view.to_ns, s->view.unit);
    pp_text_add(script, "]\nset yrange [0:");
    pp_plot_number(script, s->most_bytes, s->unit);
    pp_text_add(script, "*1.06]\n");
    double tics = (double)(s->panel_px - PANEL_TOP) / TIC_PX;
    pp_text_add(script, "unset xtics\n"); /* the lowest panels have them */
    if (s->compact)
        pp_text_add(script, "unset ytics\n");
    else
        pp_text_add(script, "set ytics nomirror %g\n",
                    pp_plot_step(most, tics < TICS_MOST ? tics : TICS_MOST));
}

static pp_status draw(const pp_picture *picture, pp_text *script, pp_text *data, pp_err *err)
{
    char time[32];
    sheet s = { .track = NULL };
    curve c PP_CLEANUP(free_curve) = { .count = 0 };
    pp_status status = look(picture, &s, err);
    if (status)
        return status;
    c.kept = pp_alloc_array(s.track->sample_count, sizeof *c.kept);
    if (!c.kept)
        return pp_err_nomem(err);
    lay_out(picture, &s);
    choose_columns(&s, &c);
    const double edges[4] = { LEFT, s.head.px, s.view.size.width - RIGHT, 0 };
    snprintf(time, sizeof time, "time (%s)", s.view.unit.name);
    pp_plot_terminal(s.view.size, script);
    pp_plot_head_draw(&s.head, s.view.size, script);
    pp_plot_axis_names(s.view.size, edges, s.compact ? "" : time, "", script);
    pp_text_add(script, "unset key\nset border 3 lc rgb '#606060'\nset multiplot\n");
    add_axes(&s, script);
    for (uint32_t rank = s.view.first_rank; rank <= s.view.last_rank; rank++)
        add_panel(&s, rank, (int)(rank - s.view.first_rank), &c, script, data);
    pp_text_add(script, "unset multiplot\n");
    return PP_OK;
}

const pp_plot pp_plot_memory = {
    .name = "memory",
    .summary = "memory of every rank over time by component, with the limit and the peak",
    .needs = "one timeline with memory: a plan, memory costs, a chrome or memory trace",
    .fits = fits,
    .draw = draw,
};
