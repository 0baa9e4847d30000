/* Draws a predicted and an executed timeline over each other: every rank has two rows on one axis
 * of time, and a second plot below shows how much later than predicted each op ended. Ops are
 * matched by sorting both timelines by op: O(n log n). */
#include "sim/base/alloc.h"
#include "sim/base/field.h"
#include "traces/plot/draw/boxes.h"
#include "traces/plot/draw/look.h"
#include "traces/plot/draw/quiet.h"
#include "traces/plot/draw/units.h"
#include "traces/plot/draw/view.h"
#include "traces/plot/plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEFT = 60, RIGHT = 76, BOTTOM = 48, LOWER_MAX = 150, GAP = 34 }; /* pixels */

#define TIC_PX 20    /* distance of two labels of the delays */
#define ROW_FONT 10  /* of the words at the rows, in pixels */
#define ROWS_NAMED 8 /* of more ranks only the first has words at its rows */
#define END_LINE "dt 2 lw 1.2 lc rgb '" PP_PLOT_LETTERS "'"
#define MARKS_MAX 2000 /* of more ops the delays are drawn by columns */
#define COLUMN_PX 3

static const pp_plot_row rows[PP_PICTURE_TRACKS] = {
    { .prefix = "predicted ", .low = -0.45, .high = -0.02 },
    { .prefix = "executed ", .low = 0.02, .high = 0.45 }
};

static bool fits(const pp_picture *picture)
{
    return picture->tracks == 2 && picture->track[0].box_count && picture->track[1].box_count;
}

static int compare_ops(const void *left, const void *right)
{
    const pp_box *const *a = left;
    const pp_box *const *b = right;
    if ((*a)->rank != (*b)->rank)
        return (*a)->rank < (*b)->rank ? -1 : 1;
    if ((*a)->op.stage != (*b)->op.stage)
        return (*a)->op.stage < (*b)->op.stage ? -1 : 1;
    if ((*a)->op.microbatch != (*b)->op.microbatch)
        return (*a)->op.microbatch < (*b)->op.microbatch ? -1 : 1;
    return (int)(*a)->op.kind - (int)(*b)->op.kind;
}

/* Returns the boxes of a timeline sorted by op, which the caller frees. NULL: no memory. */
static const pp_box **sorted(const pp_track *track)
{
    const pp_box **list = malloc(track->box_count * sizeof *list);
    for (size_t i = 0; list && i < track->box_count; i++)
        list[i] = &track->box[i];
    if (list)
        qsort(list, track->box_count, sizeof *list, compare_ops);
    return list;
}

static void free_list(const pp_box ***list)
{
    free(*list);
}

/* How much later than predicted an op ended. */
typedef struct delay {
    pp_op_kind kind;
    pp_ns end_ns, later_ns; /* end_ns: predicted */
} delay;

/* The delays of the visible ops, sorted by their predicted ends. */
typedef struct delays {
    delay *list;
    size_t count;
    pp_ns least_ns, most_ns; /* 0 is between them */
    pp_plot_unit unit;
} delays;

static void free_delays(delays *d)
{
    free(d->list);
}

static int compare_delays(const void *left, const void *right)
{
    const delay *a = left;
    const delay *b = right;
    if (a->end_ns != b->end_ns)
        return a->end_ns < b->end_ns ? -1 : 1;
    if (a->later_ns != b->later_ns)
        return a->later_ns < b->later_ns ? -1 : 1;
    return (int)a->kind - (int)b->kind;
}

/* Fails if both timelines do not have the same ops on the same ranks: they then belong to different
 * plans. */
static pp_status find_delays(const pp_picture *picture, const pp_plot_view *view, delays *d,
                             pp_err *err)
{
    const pp_track *track = picture->track;
    size_t count = track[0].box_count;
    const pp_box **predicted PP_CLEANUP(free_list) = sorted(&track[0]);
    const pp_box **executed PP_CLEANUP(free_list) = sorted(&track[1]);
    d->list = pp_alloc_array(count, sizeof *d->list);
    if (!predicted || !executed || !d->list)
        return pp_err_nomem(err);
    bool same = count == track[1].box_count;
    for (size_t i = 0; i < count && same; i++)
        same = compare_ops(&predicted[i], &executed[i]) == 0;
    if (!same)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_KIND),
                          "the two timelines have different ops; give two of one plan");
    for (size_t i = 0; i < count; i++) {
        const pp_box *box = predicted[i];
        if (!pp_plot_shows(view, box->rank, box->start_ns, box->end_ns))
            continue;
        pp_ns later_ns = executed[i]->end_ns - box->end_ns;
        d->list[d->count++] =
            (delay){ .kind = box->op.kind, .end_ns = box->end_ns, .later_ns = later_ns };
        d->least_ns = later_ns < d->least_ns ? later_ns : d->least_ns;
        d->most_ns = later_ns > d->most_ns ? later_ns : d->most_ns;
    }
    qsort(d->list, d->count, sizeof *d->list, compare_delays);
    d->unit = pp_plot_time_unit(d->most_ns > -d->least_ns ? d->most_ns : -d->least_ns);
    return PP_OK;
}

/* The marks of the lower plot. Each kind of op has its own mark, so that kinds differ without
 * colour. */
static const char *const marks[PP_OP_KIND_COUNT] = {
    [PP_OP_F] = "pt 6 lc rgb '#2f62bd'",
    [PP_OP_I] = "pt 8 lc rgb '#35a79c'",
    [PP_OP_W] = "pt 2 lc rgb '#7d9f1f'",
    [PP_OP_B] = "pt 4 lc rgb '#1c8448'",
};

static void add_marks(const delays *d, const pp_plot_view *view, pp_text *script, pp_text *data)
{
    for (int kind = 0; kind < PP_OP_KIND_COUNT; kind++) {
        char name[] = { pp_op_letter((pp_op_kind)kind), '\0' };
        bool any = false;
        for (size_t i = 0; i < d->count; i++) {
            if ((int)d->list[i].kind != kind)
                continue;
            if (!any)
                pp_plot_begin(data, "later ", name);
            any = true;
            pp_plot_number(data, d->list[i].end_ns, view->unit);
            pp_text_add(data, " ");
            pp_plot_number(data, d->list[i].later_ns, d->unit);
            pp_text_add(data, "\n");
        }
        if (!any)
            continue;
        pp_plot_next(script, "later ", name);
        pp_text_add(script, "using 1:2 with points %s ps 0.6 notitle", marks[kind]);
    }
}

static int compare_later(const void *left, const void *right)
{
    const delay *a = left;
    const delay *b = right;
    return (a->later_ns > b->later_ns) - (a->later_ns < b->later_ns);
}

/* Appends the least, the median and the largest delay of each column of the picture: single marks
 * would hide each other. */
static void add_columns(delays *d, const pp_plot_view *view, pp_text *script, pp_text *data)
{
    const double wide_ns = (double)(view->to_ns - view->from_ns) * COLUMN_PX / view->plot_px;
    pp_plot_begin(data, "later ", "columns");
    for (size_t first = 0, end; first < d->count; first = end) {
        double column = floor((double)d->list[first].end_ns / wide_ns);
        for (end = first + 1; end < d->count; end++) {
            if (floor((double)d->list[end].end_ns / wide_ns) != column)
                break;
        }
        pp_ns at_ns = d->list[first].end_ns;
        qsort(&d->list[first], end - first, sizeof *d->list, compare_later);
        const pp_ns values[] = { at_ns, d->list[first].later_ns,
                                 d->list[first + (end - first) / 2].later_ns,
                                 d->list[end - 1].later_ns };
        for (int i = 0; i < 4; i++) {
            pp_plot_number(data, values[i], i ? d->unit : view->unit);
            pp_text_add(data, i < 3 ? " " : "\n");
        }
    }
    pp_plot_next(script, "later ", "columns");
    pp_text_add(script, "using 1:2:4 with filledcurves fc rgb '" PP_PLOT_PALE
                        "' fs solid 1.0 noborder notitle");
    pp_plot_next(script, "later ", "columns");
    pp_text_add(script, "using 1:3 with lines lw 1.5 lc rgb '" PP_PLOT_ACCENT "' notitle");
}

/* Appends the lower plot. edges: of the plot, in pixels from the upper left corner. */
static void add_lower(delays *d, const pp_plot_view *view, const double edges[4], pp_text *script,
                      pp_text *data)
{
    const double low = (double)d->least_ns / (double)d->unit.divisor;
    const double high = (double)d->most_ns / (double)d->unit.divisor;
    const double room = high > low ? 0.06 * (high - low) : 1; /* an axis must not be empty */
    pp_plot_margins(view->size, edges, script);
    pp_text_add(script,
                "set yrange [%.6g:%.6g]\nset ytics nomirror scale 0 %g\nset xtics format '%%g'\n"
                "set tics tc rgb '" PP_PLOT_LETTERS "'\n"
                "set grid ytics lt 1 lw 0.6 lc rgb '" PP_PLOT_GRID "'\nplot ",
                low - room, high + room,
                pp_plot_step(high - low + 2 * room, (edges[3] - edges[1]) / TIC_PX));
    if (d->count > MARKS_MAX)
        add_columns(d, view, script, data);
    else
        add_marks(d, view, script, data);
    pp_text_add(script, ", \\\n    0 with lines lw 0.6 lc rgb '#606060' notitle\n");
}

static pp_ns end_of(const pp_track *track)
{
    pp_ns end_ns = 0;
    for (size_t i = 0; i < track->box_count; i++)
        end_ns = track->box[i].end_ns > end_ns ? track->box[i].end_ns : end_ns;
    return end_ns;
}

static void name_picture(const pp_track *track, pp_plot_head *head)
{
    char predicted[32];
    char executed[32];
    char shown[120];
    pp_ns first_ns = end_of(&track[0]);
    pp_ns second_ns = end_of(&track[1]);
    snprintf(shown, sizeof shown, "predicted %s, executed %s (%+.2f %%)",
             pp_format_duration(predicted, sizeof predicted, first_ns),
             pp_format_duration(executed, sizeof executed, second_ns),
             first_ns ? 100 * ((double)second_ns / (double)first_ns - 1) : 0.0);
    pp_plot_head_name(head, track[0].about, track[1].name, shown,
                      "Each rank has two rows: predicted above, executed below.");
}

/* Appends the backgrounds of the rows of a timeline, up to its end: time without an op is idle. */
static void add_idle(const pp_plot_view *view, pp_plot_row row, pp_ns end_ns, pp_text *script,
                     pp_text *data)
{
    if (end_ns <= view->from_ns)
        return;
    pp_plot_begin(data, row.prefix, "idle");
    for (uint32_t rank = view->first_rank; rank <= view->last_rank; rank++) {
        pp_plot_number(data, view->from_ns, view->unit);
        pp_text_add(data, " ");
        pp_plot_number(data, end_ns < view->to_ns ? end_ns : view->to_ns, view->unit);
        pp_text_add(data, " %.2f %.2f\n", rank + row.low, rank + row.high);
    }
    pp_plot_next(script, row.prefix, "idle");
    pp_text_add(script, "using 1:3:1:2:3:4 with boxxyerror " PP_PLOT_IDLE_FILL " notitle");
}

/* Appends words at the right of the rows, which say which one is which, if rows are high enough. */
static void add_row_names(const pp_plot_view *view, pp_text *script)
{
    static const char *const names[PP_PICTURE_TRACKS] = { "predicted", "executed" };
    uint32_t ranks = pp_plot_ranks(view);
    uint32_t named = ranks <= ROWS_NAMED ? ranks : 1;
    for (uint32_t rank = 0; rank < named && view->row_px / 2 >= ROW_FONT + 1; rank++) {
        for (int i = 0; i < PP_PICTURE_TRACKS; i++) {
            double middle = (rows[i].low + rows[i].high) / 2;
            pp_plot_text_at(view->size, view->edges[2] + 6,
                            view->edges[1] + (rank + 0.5 + middle) * view->row_px, PP_PLOT_LEFT,
                            ROW_FONT, "tc rgb '" PP_PLOT_LETTERS "'", names[i], script);
        }
    }
}

/* Appends a line at the end of the predicted step, through both plots: what is right of it is
 * late. */
static void add_end(const pp_plot_view *view, const double lower[4], pp_ns end_ns, pp_text *script)
{
    double x = view->edges[0] + (double)(end_ns - view->from_ns) /
                                    (double)(view->to_ns - view->from_ns) * view->plot_px;
    const double *const edges[] = { view->edges, lower };
    for (int i = 0; i < 2 && end_ns > view->from_ns && end_ns < view->to_ns; i++)
        pp_text_add(script,
                    "set arrow from screen %.5f,%.5f to screen %.5f,%.5f nohead front " END_LINE
                    "\n",
                    x / view->size.width, 1 - edges[i][3] / view->size.height, x / view->size.width,
                    1 - edges[i][1] / view->size.height);
}

static pp_status draw(const pp_picture *picture, pp_text *script, pp_text *data, pp_err *err)
{
    char words[64];
    delays late PP_CLEANUP(free_delays) = { 0 };
    pp_plot_head head = { .entries = 0 };
    pp_plot_view view;
    pp_status status = pp_plot_view_of(picture, LEFT, RIGHT, &view, err);
    if (status || (status = find_delays(picture, &view, &late, err)))
        return status;
    uint32_t ranks = pp_plot_ranks(&view);
    bool low = picture->height && picture->height < 4 * LOWER_MAX;
    int lower_px = low ? picture->height / 5 : LOWER_MAX;
    name_picture(picture->track, &head);
    pp_plot_boxes_key(&picture->track[0], &view, &head);
    pp_plot_head_add(&head, PP_PLOT_IDLE_FILL, NULL, NULL, "idle");
    pp_plot_head_add(&head, NULL, END_LINE, NULL, "end of the predicted step");
    pp_plot_place(picture, &view, &head,
                  ranks <= 8    ? 56
                  : ranks <= 24 ? 36
                                : 22,
                  BOTTOM + lower_px + GAP);
    pp_plot_frame(&view, &head, script);
    const double lower[4] = { view.edges[0], view.edges[3] + GAP, view.edges[2],
                              view.size.height - BOTTOM };
    snprintf(words, sizeof words, "time (%s)", view.unit.name);
    pp_plot_axis_names(view.size, view.edges, "", "rank", script);
    pp_plot_captions(view.size, view.edges, words, "", script);
    snprintf(words, sizeof words, "ended later than predicted by (%s)%s", late.unit.name,
             late.count > MARKS_MAX ? ": median and range" : "");
    pp_plot_captions(view.size, lower, "", words, script);
    add_row_names(&view, script);
    add_end(&view, lower, end_of(&picture->track[0]), script);
    pp_text_add(script, "set multiplot\nset border 0\nset xtics scale 0 format ''\nplot ");
    bool wide =
        pp_plot_is_wide(&picture->track[0], &view) && pp_plot_is_wide(&picture->track[1], &view);
    for (int i = 0; i < PP_PICTURE_TRACKS && !status; i++) {
        pp_plot_row row = rows[i];
        row.bare = !wide; /* so that both timelines look alike */
        add_idle(&view, row, end_of(&picture->track[i]), script, data);
        status = pp_plot_boxes(&picture->track[i], &view, row, script, data, err);
    }
    pp_text_add(script, "\nunset label\nunset object\nunset arrow\n");
    if (status)
        return status;
    add_lower(&late, &view, lower, script, data);
    pp_text_add(script, "unset multiplot\n");
    return PP_OK;
}

const pp_plot pp_plot_executed = {
    .name = "executed",
    .summary = "predicted timeline above the executed one, and how much later each op ended",
    .needs = "two timelines of one plan, the predicted one first",
    .fits = fits,
    .draw = draw,
};
