/* Draws a timeline, ranks by time: ops, idle time by cause, transfers, and the critical path. */
#include "traces/plot/draw/boxes.h"
#include "traces/plot/draw/gnuplot.h"
#include "traces/plot/draw/shares.h"
#include "traces/plot/draw/units.h"
#include "traces/plot/draw/view.h"
#include "traces/plot/plot.h"

#include <stdio.h>
#include <string.h>

#define HIGH 0.4           /* half the height of a box, as a share of the distance of two ranks */
#define TRANSFER_ROW_PX 12 /* in lower rows, lines of transfers would be dots */
#define TRANSFER_PX 4      /* width per transfer between two rows, below which lines merge */

enum { LEFT = 60, RIGHT = 25, TOP = 80, BOTTOM = 50 }; /* pixels */

static bool fits(const pp_picture *picture)
{
    return picture->tracks == 1 && picture->track[0].box_count > 0;
}

/* Returns the height of a row in pixels; with few ranks there is room for letters. */
static int row_height(uint32_t ranks)
{
    return ranks <= 8 ? 36 : ranks <= 24 ? 26 : ranks <= 128 ? 15 : 8;
}

/* Fill styles of the causes: patterns of gnuplot that both terminals draw alike. */
static const char *const idle_looks[PP_IDLE_COUNT] = {
    [PP_IDLE_DATA] = "solid 1.0 noborder fc rgb '#cccccc'",
    [PP_IDLE_BUFFER] = "pattern 1 border lc rgb '#707070' fc rgb '#707070'",
    [PP_IDLE_LINK] = "pattern 4 border lc rgb '#707070' fc rgb '#000000'",
    [PP_IDLE_HOST] = "pattern 2 border lc rgb '#707070' fc rgb '#707070'",
    [PP_IDLE_SYNC] = "solid 1.0 noborder fc rgb '#000000'",
};

static void add_idle(const pp_track *track, const pp_plot_view *view, pp_text *script,
                     pp_text *data)
{
    for (int cause = 0; cause < PP_IDLE_COUNT; cause++) {
        const char *key = pp_idle_key((pp_idle_cause)cause);
        bool any = false;
        for (size_t i = 0; i < track->gap_count; i++) {
            const pp_gap *gap = &track->gap[i];
            if ((int)gap->cause != cause ||
                !pp_plot_shows(view, gap->rank, gap->start_ns, gap->end_ns))
                continue;
            if (!any)
                pp_plot_begin(data, "idle ", key);
            any = true;
            pp_plot_number(data, gap->start_ns, view->unit);
            pp_text_add(data, " ");
            pp_plot_number(data, gap->end_ns, view->unit);
            pp_text_add(data, " %.2f %.2f\n", gap->rank - 0.1, gap->rank + 0.1);
        }
        if (!any)
            continue;
        pp_plot_next(script, "idle ", key);
        pp_text_add(script, "using 1:3:1:2:3:4 with boxxyerror fs %s lw 0.3 title 'idle: %s'",
                    idle_looks[cause], key);
    }
}

/* Appends a line from the edge of one row to the edge of another. */
static void add_line(const pp_plot_view *view, uint32_t from, pp_ns from_ns, uint32_t to,
                     pp_ns to_ns, pp_text *data)
{
    double side = from < to ? HIGH : -HIGH;
    pp_plot_number(data, from_ns, view->unit);
    pp_text_add(data, " %.2f ", from + side);
    pp_plot_number(data, to_ns, view->unit);
    pp_text_add(data, " %.2f\n", to - side);
}

static bool shows_transfer(const pp_plot_view *view, const pp_recorded_transfer *transfer)
{
    return pp_plot_shows(view, transfer->from, transfer->start_ns, transfer->end_ns) &&
           pp_plot_shows(view, transfer->to, transfer->start_ns, transfer->end_ns);
}

/* Returns whether lines of transfers are far enough from each other to be seen one by one. */
static bool has_room(const pp_track *track, const pp_plot_view *view)
{
    size_t shown = 0;
    for (size_t i = 0; i < track->transfer_count; i++)
        shown += shows_transfer(view, &track->transfer[i]);
    return view->row_px >= TRANSFER_ROW_PX &&
           (double)shown * TRANSFER_PX <= view->plot_px * (view->last_rank - view->first_rank + 1);
}

static void add_transfers(const pp_track *track, const pp_plot_view *view, pp_text *script,
                          pp_text *data)
{
    bool any = false;
    for (size_t i = 0; i < track->transfer_count; i++) {
        const pp_recorded_transfer *transfer = &track->transfer[i];
        if (!shows_transfer(view, transfer))
            continue;
        if (!any)
            pp_plot_begin(data, "", "transfers");
        any = true;
        add_line(view, transfer->from, transfer->start_ns, transfer->to, transfer->end_ns, data);
    }
    if (!any)
        return;
    pp_plot_next(script, "", "transfers");
    pp_text_add(script, "using 1:2:($3-$1):($4-$2) with vectors nohead lw 1 lc rgb '#606060' title "
                        "'transfer'");
}

/* Returns the end of the run of ops of the path, from the k-th on, that touch each other on one
 * rank. They have one outline, as single ones would hide narrow ops. The path begins with the last
 * op. */
static size_t end_of_run(const pp_track *track, const pp_plot_view *view, size_t k)
{
    double px_per_ns = view->plot_px / (double)(view->to_ns - view->from_ns);
    while (k + 1 < track->path_count) {
        const pp_box *box = &track->box[track->path[k]];
        const pp_box *before = &track->box[track->path[k + 1]];
        if (before->rank != box->rank || (double)(box->start_ns - before->end_ns) * px_per_ns > 1)
            break;
        k++;
    }
    return k;
}

static void add_path(const pp_track *track, const pp_plot_view *view, pp_text *script,
                     pp_text *data)
{
    pp_plot_begin(data, "path ", "ops");
    for (size_t k = 0; k < track->path_count; k++) {
        pp_ns end_ns = track->box[track->path[k]].end_ns;
        k = end_of_run(track, view, k);
        const pp_box *first = &track->box[track->path[k]];
        if (!pp_plot_shows(view, first->rank, first->start_ns, end_ns))
            continue;
        pp_plot_number(data, first->start_ns, view->unit);
        pp_text_add(data, " ");
        pp_plot_number(data, end_ns, view->unit);
        pp_text_add(data, " %.2f %.2f\n", first->rank - HIGH, first->rank + HIGH);
    }
    pp_plot_begin(data, "path ", "transfers");
    for (size_t k = 1; k < track->path_count; k++) {
        const pp_box *from = &track->box[track->path[k]];
        const pp_box *to = &track->box[track->path[k - 1]];
        if (from->rank != to->rank && pp_plot_shows(view, from->rank, from->end_ns, to->start_ns) &&
            pp_plot_shows(view, to->rank, from->end_ns, to->start_ns))
            add_line(view, from->rank, from->end_ns, to->rank, to->start_ns, data);
    }
    pp_plot_next(script, "path ", "ops");
    pp_text_add(script, "using 1:3:1:2:3:4 with boxxyerror lc rgb '#a00000' lw 2.5 fs empty "
                        "title 'critical path'");
    pp_plot_next(script, "path ", "transfers");
    pp_text_add(script, "using 1:2:($3-$1):($4-$2) with vectors nohead lw 2.5 lc rgb '#a00000' "
                        "notitle");
}

/* Appends the title: schedule and framework, if they are known, the makespan, and the share of time
 * without ops. */
static void add_title(const pp_track *track, const pp_plot_view *view, pp_text *script)
{
    char end[32];
    char words[640];
    double busy_ns = 0;
    pp_ns end_ns = 0;
    for (size_t i = 0; i < track->box_count; i++) {
        busy_ns += (double)(track->box[i].end_ns - track->box[i].start_ns);
        end_ns = track->box[i].end_ns > end_ns ? track->box[i].end_ns : end_ns;
    }
    double area_ns = (double)end_ns * track->ranks;
    snprintf(words, sizeof words, "%s%smakespan %s, bubble %.1f %%", track->name,
             *track->name ? ": " : "", pp_format_duration(end, sizeof end, end_ns),
             area_ns > 0 ? 100 * (1 - busy_ns / area_ns) : 0.0);
    pp_text_add(script, "set title ");
    pp_plot_quoted(script, words);
    pp_plot_fit_font(view->png, view->width - LEFT, strlen(words), script);
}

static pp_status draw(const pp_picture *picture, pp_text *script, pp_text *data, pp_err *err)
{
    static const pp_plot_row whole = { .prefix = "", .low = -HIGH, .high = HIGH };
    const pp_track *track = &picture->track[0];
    pp_plot_view view;
    pp_status status = pp_plot_view_of(picture, &view, err);
    if (status)
        return status;
    pp_plot_frame(picture, &view, row_height(view.last_rank - view.first_rank + 1),
                  (pp_plot_sides){ LEFT, RIGHT, TOP, BOTTOM }, script);
    bool dense = pp_plot_is_dense(track, &view);
    add_title(track, &view, script);
    pp_text_add(script, "\nset xlabel 'time (%s)%s'\nset ylabel 'rank'\n", view.unit.name,
                dense ? "; ops are too narrow to draw: their shares of the time" : "");
    pp_plot_axes(&view, script);
    pp_text_add(script, "plot ");
    if (!dense)
        add_idle(track, &view, script, data);
    if (has_room(track, &view))
        add_transfers(track, &view, script, data);
    status = pp_plot_boxes(track, &view, whole, true, script, data, err);
    if (!status)
        add_path(track, &view, script, data);
    pp_text_add(script, "\n");
    return status;
}

const pp_plot pp_plot_timeline = {
    .name = "timeline",
    .summary = "ranks by time: ops, idle time by cause, transfers, the critical path",
    .needs = "one timeline: a plan, a schedule with its costs, or a chrome trace",
    .fits = fits,
    .draw = draw,
};
