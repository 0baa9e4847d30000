/* Draws the memory of every rank over time, in a panel each: the components stacked on each other,
 * the limit, and the peak with the op that runs at it. */
#include "traces/plot/draw/gnuplot.h"
#include "traces/plot/draw/units.h"
#include "traces/plot/draw/view.h"
#include "traces/plot/plot.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    TOP = 43,
    KEY_WIDTH = 135,
    KEY_LINE = 16,
    BOTTOM = 50,
    LEFT = 30,
    RIGHT = 10
}; /* of the picture, in pixels */
enum {
    PANEL_LEFT = 45,
    PANEL_RIGHT = 10,
    PANEL_TOP = 22,
    COMPACT_TOP = 17,
    PANEL = 110
}; /* of a panel, in pixels */
enum { COLUMNS_MAX = 8, PANEL_LEAST = 70, TIC_PX = 22, TIC_WIDTH = 60 };

/* Fill styles of the components: neighbours in a stack differ in shade or hatching. */
static const char *const looks[PP_MEMORY_COUNT] = {
    [PP_MEMORY_PARAMETERS] = "fc rgb '#3f5f85' fs solid 1.0",
    [PP_MEMORY_GRADIENTS] = "fc rgb '#b5cbe3' fs solid 1.0",
    [PP_MEMORY_OPTIMIZER] = "fc rgb '#7596bd' fs solid 1.0",
    [PP_MEMORY_ACTIVATIONS] = "fc rgb '#f6d9a0' fs solid 1.0",
    [PP_MEMORY_WEIGHT_STASH] = "fc rgb '#a8781f' fs solid 1.0",
    [PP_MEMORY_RECOMPUTE] = "fc rgb '#404040' fs pattern 4",
    [PP_MEMORY_RECV_BUFFERS] = "fc rgb '#a5d3a5' fs solid 1.0",
    [PP_MEMORY_SEND_BUFFERS] = "fc rgb '#3d7a3d' fs solid 1.0",
    [PP_MEMORY_LOGITS] = "fc rgb '#404040' fs pattern 2",
    [PP_MEMORY_TEMPORARIES] = "fc rgb '#dddddd' fs solid 1.0",
    [PP_MEMORY_OUTPUTS] = "fc rgb '#404040' fs pattern 5",
    [PP_MEMORY_COMM_LIBRARY] = "fc rgb '#606060' fs solid 1.0",
};

/* The layout and the ranges, which all panels use. */
typedef struct sheet {
    const pp_track *track;
    pp_plot_view view;
    pp_plot_unit unit;             /* of bytes */
    int64_t most_bytes;            /* the largest of all peaks and the limit */
    int64_t limit_bytes;           /* 0: none */
    bool present[PP_MEMORY_COUNT]; /* components that are more than 0 at some time */
    int columns, rows, panel_px;   /* height of a panel */
    int key_rows, top;             /* lines of the key; height above the panels, in pixels */
    bool compact;                  /* there is no room for labels of axes */
} sheet;

static bool fits(const pp_picture *picture)
{
    return picture->tracks == 1 && picture->track[0].sample_count > 0;
}

static int64_t total_of(const pp_memory_sample_row *sample)
{
    int64_t total = 0;
    for (int c = 0; c < PP_MEMORY_COUNT; c++)
        total += sample->bytes[c];
    return total;
}

static pp_status look(const pp_picture *picture, sheet *s, pp_err *err)
{
    s->track = &picture->track[0];
    s->limit_bytes = picture->memory_limit_bytes;
    s->most_bytes = s->limit_bytes > 1 ? s->limit_bytes : 1; /* an axis needs a length */
    pp_status status = pp_plot_view_of(picture, &s->view, err);
    for (size_t i = 0; i < s->track->sample_count && !status; i++) {
        const pp_memory_sample_row *sample = &s->track->sample[i];
        if (sample->rank < s->view.first_rank || sample->rank > s->view.last_rank)
            continue;
        int64_t total = total_of(sample);
        s->most_bytes = total > s->most_bytes ? total : s->most_bytes;
        for (int c = 0; c < PP_MEMORY_COUNT; c++)
            s->present[c] |= sample->bytes[c] > 0;
    }
    s->unit = pp_plot_bytes_unit(s->most_bytes);
    return status;
}

/* Finds what has a line in the key: the components that occur, the peak and the limit. */
static void find_key(sheet *s)
{
    int entries = 1 + (s->limit_bytes > 0);
    int columns = s->view.width / KEY_WIDTH;
    for (int c = 0; c < PP_MEMORY_COUNT; c++)
        entries += s->present[c];
    s->key_rows = (entries + columns - 1) / columns;
    s->key_rows = s->key_rows < 2 ? 2 : s->key_rows;
    s->top = TOP + KEY_LINE * s->key_rows;
}

/* Arranges the panels in columns: more of them for more ranks, and as many as leave every panel
 * high enough if a height was requested. */
static void lay_out(const pp_picture *picture, sheet *s)
{
    int ranks = (int)(s->view.last_rank - s->view.first_rank + 1);
    s->columns = ranks <= 4 ? 1 : ranks <= 16 ? 2 : 4;
    s->rows = (ranks + s->columns - 1) / s->columns;
    s->view.width = picture->width ? picture->width : 1200;
    find_key(s);
    s->view.height = picture->height ? picture->height : s->top + BOTTOM + PANEL * s->rows;
    while (picture->height && s->columns < COLUMNS_MAX &&
           (s->view.height - s->top - BOTTOM) / s->rows < PANEL_LEAST) {
        s->columns *= 2;
        s->rows = (ranks + s->columns - 1) / s->columns;
    }
    s->panel_px = (s->view.height - s->top - BOTTOM) / s->rows;
    s->view.plot_px =
        (s->view.width - LEFT - RIGHT) / (double)s->columns - PANEL_LEFT - PANEL_RIGHT;
    s->compact = s->view.plot_px < 3 * TIC_WIDTH || s->panel_px < PANEL_TOP + 2 * TIC_PX;
}

static void add_row(const sheet *s, const pp_memory_sample_row *sample, pp_ns at_ns, pp_text *data)
{
    int64_t sum = 0;
    pp_plot_number(data, at_ns, s->view.unit);
    for (int c = 0; c < PP_MEMORY_COUNT; c++) {
        sum += sample->bytes[c];
        if (!s->present[c])
            continue;
        pp_text_add(data, " ");
        pp_plot_number(data, sum, s->unit);
    }
    pp_text_add(data, "\n");
}

/* Appends what a rank holds before its first op. */
static void add_start(const sheet *s, const pp_memory_sample_row *first, pp_text *data)
{
    static const pp_memory_component kept[] = { PP_MEMORY_PARAMETERS, PP_MEMORY_GRADIENTS,
                                                PP_MEMORY_OPTIMIZER, PP_MEMORY_COMM_LIBRARY };
    pp_memory_sample_row start = { .rank = first->rank };
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        start.bytes[kept[i]] = first->bytes[kept[i]];
    add_row(s, &start, s->view.from_ns, data);
}

/* Appends the samples of a rank between the start and the end of the picture; returns the peak. */
static const pp_memory_sample_row *add_samples(const sheet *s, uint32_t rank, pp_text *data)
{
    char name[32];
    const pp_memory_sample_row *peak = NULL;
    const pp_memory_sample_row *last = NULL;
    snprintf(name, sizeof name, "%" PRIu32 ":", rank);
    pp_plot_begin(data, "rank ", name);
    for (size_t i = 0; i < s->track->sample_count; i++) {
        const pp_memory_sample_row *sample = &s->track->sample[i];
        if (sample->rank != rank)
            continue;
        if (!peak || total_of(sample) > total_of(peak))
            peak = sample;
        if (sample->at_ns > s->view.to_ns)
            continue;
        if (sample->at_ns > s->view.from_ns) {
            if (last && last->at_ns <= s->view.from_ns)
                add_row(s, last, s->view.from_ns, data);
            else if (!last)
                add_start(s, sample, data);
            add_row(s, sample, sample->at_ns, data);
        }
        last = sample;
    }
    if (last && last->at_ns <= s->view.from_ns)
        add_row(s, last, s->view.from_ns, data);
    if (last)
        add_row(s, last, s->view.to_ns, data);
    return peak;
}

/* Prints the op that runs at the peak, or else the next one, or else the last one; "" if the ops
 * are not known. */
static void name_op(const pp_track *track, const pp_memory_sample_row *peak, char *name,
                    size_t size)
{
    const pp_box *found = NULL;
    *name = '\0';
    for (size_t i = 0; i < track->box_count; i++) {
        const pp_box *box = &track->box[i];
        if (box->rank != peak->rank || (found && found->end_ns > peak->at_ns))
            continue;
        found = box;
    }
    if (found)
        pp_op_print(found->op, name, size);
}

static void place_panel(const sheet *s, int place, pp_text *script)
{
    int width = (s->view.width - LEFT - RIGHT) / s->columns;
    int left = LEFT + place % s->columns * width;
    int top = s->top + place / s->columns * s->panel_px;
    pp_plot_margins((double)(left + (s->compact ? PANEL_RIGHT : PANEL_LEFT)) / s->view.width,
                    (double)(left + width - PANEL_RIGHT) / s->view.width,
                    1 - (double)(top + (s->compact ? COMPACT_TOP : PANEL_TOP)) / s->view.height,
                    1 - (double)(top + s->panel_px) / s->view.height, script);
}

static void name_panel(const sheet *s, uint32_t rank, const pp_memory_sample_row *peak, int place,
                       pp_text *script)
{
    char bytes[32];
    char op[32] = "";
    uint32_t ranks = s->view.last_rank - s->view.first_rank + 1;
    bool lowest = !s->compact && (uint32_t)(place + s->columns) >= ranks;
    if (peak)
        name_op(s->track, peak, op, sizeof op);
    if (s->compact)
        pp_text_add(script, "set title '%" PRIu32 ": %.3g'", rank,
                    peak ? (double)total_of(peak) / (double)s->unit.divisor : 0.0);
    else
        pp_text_add(script, "set title 'rank %" PRIu32 ": %s%s%s'", rank,
                    peak ? pp_format_bytes(bytes, sizeof bytes, total_of(peak)) : "nothing",
                    *op ? " at " : "", op);
    pp_text_add(script, " offset 0,-0.9 font ',%d'\n", pp_plot_font(s->view.png, 12));
    if (!s->compact)
        pp_text_add(script, "set xtics format '%s'\nset xlabel '%s%s%s'\n", lowest ? "%g" : "",
                    lowest ? "time (" : "", lowest ? s->view.unit.name : "", lowest ? ")" : "");
}

static void add_panel(const sheet *s, uint32_t rank, int place, pp_text *script, pp_text *data)
{
    char name[32];
    int column = 1;
    const pp_memory_sample_row *peak = add_samples(s, rank, data);
    snprintf(name, sizeof name, "%" PRIu32 ":", rank);
    place_panel(s, place, script);
    name_panel(s, rank, peak, place, script);
    pp_text_add(script, "plot ");
    for (int c = 0; c < PP_MEMORY_COUNT; c++)
        column += s->present[c];
    for (int c = PP_MEMORY_COUNT - 1; c >= 0; c--) {
        if (!s->present[c])
            continue;
        pp_plot_next(script, "rank ", name);
        pp_text_add(script, "using 1:%d with fillsteps %s noborder notitle", column--, looks[c]);
    }
    if (peak && peak->at_ns >= s->view.from_ns && peak->at_ns <= s->view.to_ns) {
        pp_plot_begin(data, "peak ", name);
        pp_plot_number(data, peak->at_ns, s->view.unit);
        pp_text_add(data, " ");
        pp_plot_number(data, total_of(peak), s->unit);
        pp_text_add(data, "\n");
        pp_plot_next(script, "peak ", name);
        pp_text_add(script, "using 1:2 with points pt 11 ps 1 lc rgb 'black' notitle");
    }
    if (s->limit_bytes) {
        pp_text_add(script, ", \\\n    ");
        pp_plot_number(script, s->limit_bytes, s->unit);
        pp_text_add(script, " with lines dt 2 lw 2 lc rgb 'black' notitle");
    }
    pp_text_add(script, "\n");
}

/* Appends the key as a plot of its own, since gnuplot limits a key to the height of its plot. */
static void add_key(const sheet *s, pp_text *script)
{
    pp_text_add(script,
                "set key at screen 0.5,%.5f center top vertical maxrows %d samplen 2\n"
                "set lmargin at screen 0\nset rmargin at screen 1\nset tmargin at screen 1\n"
                "set bmargin at screen 0\nunset border\nunset xtics\nunset ytics\n"
                "plot [0:1] [0:1] -1 notitle",
                1 - 26.0 / s->view.height, s->key_rows);
    for (int c = PP_MEMORY_COUNT - 1; c >= 0; c--) {
        if (s->present[c])
            pp_text_add(script, ", \\\n    keyentry with boxes %s noborder title '%s'", looks[c],
                        pp_memory_key((pp_memory_component)c));
    }
    pp_text_add(script, ", \\\n    keyentry with points pt 11 ps 1 lc rgb 'black' title 'peak'");
    if (s->limit_bytes)
        pp_text_add(script, ", \\\n    keyentry with lines dt 2 lw 2 lc rgb 'black' title 'limit'");
    pp_text_add(script, "\nunset key\nset border\n");
}

/* Appends the title, which says what the axes of compact panels do not. */
static void add_title(const sheet *s, pp_text *script)
{
    pp_text words PP_CLEANUP(pp_text_free) = { 0 };
    pp_text_add(&words, "%s%smemory per rank (%s)", s->track->name, *s->track->name ? ": " : "",
                s->unit.name);
    if (s->compact) {
        pp_text_add(&words, "; every panel 0 to %.4g %s by ",
                    (double)s->most_bytes / (double)s->unit.divisor, s->unit.name);
        pp_text_add(&words, "%.4g to %.4g %s; rank: its peak",
                    (double)s->view.from_ns / (double)s->view.unit.divisor,
                    (double)s->view.to_ns / (double)s->view.unit.divisor, s->view.unit.name);
    }
    pp_text_add(script, "set multiplot title ");
    pp_plot_quoted(script, words.data ? words.data : "");
    pp_plot_fit_font(s->view.png, s->view.width - RIGHT, words.bytes, script);
    pp_text_add(script, "\n");
    script->failed |= words.failed;
}

static void add_axes(const sheet *s, pp_text *script)
{
    double most = (double)s->most_bytes / (double)s->unit.divisor;
    double length = (double)(s->view.to_ns - s->view.from_ns) / (double)s->view.unit.divisor;
    pp_text_add(script, "set xrange [");
    pp_plot_number(script, s->view.from_ns, s->view.unit);
    pp_text_add(script, ":");
    pp_plot_number(script, s->view.to_ns, s->view.unit);
    pp_text_add(script, "]\nset yrange [0:");
    pp_plot_number(script, s->most_bytes, s->unit);
    pp_text_add(script, "*1.06]\n");
    if (s->compact)
        pp_text_add(script, "unset xtics\nunset ytics\n");
    else
        pp_text_add(script, "set ytics nomirror %g\nset xtics nomirror %g\n",
                    pp_plot_step(most, (double)(s->panel_px - PANEL_TOP) / TIC_PX),
                    pp_plot_step(length, s->view.plot_px / TIC_WIDTH));
}

static pp_status draw(const pp_picture *picture, pp_text *script, pp_text *data, pp_err *err)
{
    sheet s = { .track = NULL };
    pp_status status = look(picture, &s, err);
    if (status)
        return status;
    lay_out(picture, &s);
    s.view.png = picture->png;
    pp_plot_terminal(picture->png, s.view.width, s.view.height, script);
    add_title(&s, script);
    add_key(&s, script);
    add_axes(&s, script);
    for (uint32_t rank = s.view.first_rank; rank <= s.view.last_rank; rank++)
        add_panel(&s, rank, (int)(rank - s.view.first_rank), script, data);
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
