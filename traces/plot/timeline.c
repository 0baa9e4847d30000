/* Draws a timeline, ranks by time: ops, idle time by cause, transfers, and the critical path. */
#include "traces/plot/draw/boxes.h"
#include "traces/plot/draw/gnuplot.h"
#include "traces/plot/draw/look.h"
#include "traces/plot/draw/shares.h"
#include "traces/plot/draw/units.h"
#include "traces/plot/draw/view.h"
#include "traces/plot/plot.h"

#include <stdio.h>
#include <string.h>

#define TRANSFER_LINE "lw 0.8 lc rgb '#808080'"
#define HIGH 0.4          /* half the height of a box, as a share of the distance of two ranks */
#define BAND 0.12         /* the same of a band that names the cause of idle time */
#define BAND_PX 0.3       /* narrower bands are left out */
#define SHARDING_LOW 0.42 /* below the boxes: gathers and reductions */
#define SHARDING_HIGH 0.54
#define GATHER_FILL "fc rgb '#7d8b1f' fs solid 1.0 noborder"
#define REDUCE_FILL "fc rgb '#b5507a' fs solid 1.0 noborder"
#define TRANSFER_ROW_PX 12  /* in lower rows, lines of transfers would be dots */
#define TRANSFERS_MOST 3000 /* more of them are left out: an SVG has some 36 bytes for each */
#define TRANSFER_PX 4       /* width per transfer between two rows, below which lines merge */

enum { LEFT = 58, RIGHT = 30, BOTTOM = 48 }; /* pixels */

static const pp_plot_row whole = { .prefix = "", .low = -HIGH, .high = HIGH };

static bool fits(const pp_picture *picture)
{
    return picture->tracks == 1 && picture->track[0].box_count > 0;
}

/* Returns the height of a row in pixels; with few ranks there is room for letters, and
 * for the stage below them if ranks have several. */
static int row_height(uint32_t ranks, bool stages)
{
    return ranks <= 8 ? (stages ? 44 : 36) : ranks <= 24 ? 26 : ranks <= 128 ? 15 : 8;
}

/* Appends the background of a rank: all time without an op looks alike. */
static void add_idle(const pp_plot_view *view, pp_text *script, pp_text *data)
{
    pp_plot_begin(data, "", "idle");
    for (uint32_t rank = view->first_rank; rank <= view->last_rank; rank++) {
        pp_plot_number(data, view->from_ns, view->unit);
        pp_text_add(data, " ");
        pp_plot_number(data, view->to_ns, view->unit);
        pp_text_add(data, " %.2f %.2f\n", rank - HIGH, rank + HIGH);
    }
    pp_plot_next(script, "", "idle");
    pp_text_add(script, "using 1:3:1:2:3:4 with boxxyerror " PP_PLOT_IDLE_FILL " notitle");
}

static bool has_cause(const pp_track *track, const pp_plot_view *view, pp_idle_cause cause)
{
    const double least_ns = BAND_PX * (double)(view->to_ns - view->from_ns) / view->plot_px;
    for (size_t i = 0; i < track->gap_count; i++) {
        const pp_gap *gap = &track->gap[i];
        if (gap->cause == cause && (double)(gap->end_ns - gap->start_ns) >= least_ns &&
            pp_plot_shows(view, gap->rank, gap->start_ns, gap->end_ns))
            return true;
    }
    return false;
}

/* Appends a band for idle time of every cause except waiting for data, the most common one. */
static void add_causes(const pp_track *track, const pp_plot_view *view, pp_text *script,
                       pp_text *data)
{
    const double least_ns = BAND_PX * (double)(view->to_ns - view->from_ns) / view->plot_px;
    for (int cause = 0; cause < PP_IDLE_COUNT; cause++) {
        const char *key = pp_idle_key((pp_idle_cause)cause);
        const char *fill = pp_plot_idle_fill((pp_idle_cause)cause);
        if (!fill || !has_cause(track, view, (pp_idle_cause)cause))
            continue;
        pp_plot_begin(data, "because ", key);
        for (size_t i = 0; i < track->gap_count; i++) {
            const pp_gap *gap = &track->gap[i];
            if ((int)gap->cause != cause || (double)(gap->end_ns - gap->start_ns) < least_ns ||
                !pp_plot_shows(view, gap->rank, gap->start_ns, gap->end_ns))
                continue;
            pp_plot_number(data, gap->start_ns, view->unit);
            pp_text_add(data, " ");
            pp_plot_number(data, gap->end_ns, view->unit);
            pp_text_add(data, " %.2f %.2f\n", gap->rank - BAND, gap->rank + BAND);
        }
        pp_plot_next(script, "because ", key);
        pp_text_add(script, "using 1:3:1:2:3:4 with boxxyerror %s notitle", fill);
    }
}

static bool has_sharding(const pp_track *track, const pp_plot_view *view, bool reduces)
{
    for (size_t i = 0; i < track->sharding_count; i++) {
        const pp_sharding_span *span = &track->sharding[i];
        if (span->reduces == reduces &&
            pp_plot_shows(view, span->rank, span->start_ns, span->end_ns))
            return true;
    }
    return false;
}

/* Appends gathers or reductions as thin boxes below those of the ops. */
static void add_sharding(const pp_track *track, const pp_plot_view *view, bool reduces,
                         pp_text *script, pp_text *data)
{
    const char *name = reduces ? "reductions" : "gathers";
    if (!has_sharding(track, view, reduces))
        return;
    pp_plot_begin(data, "", name);
    for (size_t i = 0; i < track->sharding_count; i++) {
        const pp_sharding_span *span = &track->sharding[i];
        if (span->reduces != reduces ||
            !pp_plot_shows(view, span->rank, span->start_ns, span->end_ns))
            continue;
        pp_plot_number(data, span->start_ns, view->unit);
        pp_text_add(data, " ");
        pp_plot_number(data, span->end_ns, view->unit);
        pp_text_add(data, " %.2f %.2f\n", span->rank + SHARDING_LOW, span->rank + SHARDING_HIGH);
    }
    pp_plot_next(script, "", name);
    pp_text_add(script, "using 1:3:1:2:3:4 with boxxyerror %s notitle",
                reduces ? REDUCE_FILL : GATHER_FILL);
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
    return shown && shown <= TRANSFERS_MOST && view->row_px >= TRANSFER_ROW_PX &&
           (double)shown * TRANSFER_PX <= view->plot_px * (view->last_rank - view->first_rank + 1);
}

static void add_transfers(const pp_track *track, const pp_plot_view *view, pp_text *script,
                          pp_text *data)
{
    pp_plot_begin(data, "", "transfers");
    for (size_t i = 0; i < track->transfer_count; i++) {
        const pp_recorded_transfer *transfer = &track->transfer[i];
        if (shows_transfer(view, transfer))
            add_line(view, transfer->from, transfer->start_ns, transfer->to, transfer->end_ns,
                     data);
    }
    pp_plot_next(script, "", "transfers");
    pp_text_add(script, "using 1:2:($3-$1):($4-$2) with vectors nohead " TRANSFER_LINE " notitle");
}

/* Returns the end of the run of ops of the path, from the k-th on, that touch each other on one
 * rank. They share one outline, since separate outlines would hide narrow ops. The path begins with
 * the last op. */
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
    bool any = false;
    for (size_t k = 1; k < track->path_count; k++) {
        const pp_box *from = &track->box[track->path[k]];
        const pp_box *to = &track->box[track->path[k - 1]];
        if (from->rank != to->rank && pp_plot_shows(view, from->rank, from->end_ns, to->start_ns) &&
            pp_plot_shows(view, to->rank, from->end_ns, to->start_ns)) {
            if (!any)
                pp_plot_begin(data, "path ", "transfers");
            any = true;
            add_line(view, from->rank, from->end_ns, to->rank, to->start_ns, data);
        }
    }
    pp_plot_next(script, "path ", "ops");
    pp_text_add(script, "using 1:3:1:2:3:4 with boxxyerror " PP_PLOT_PATH_LINE " fs empty notitle");
    if (!any)
        return;
    pp_plot_next(script, "path ", "transfers");
    pp_text_add(script,
                "using 1:2:($3-$1):($4-$2) with vectors nohead " PP_PLOT_PATH_LINE " notitle");
}

/* Makes the title: what is trained if that is known, then the schedule and its framework, the
 * makespan, and the share of time without ops. */
static void name_picture(const pp_track *track, const pp_plot_view *view, pp_plot_head *head)
{
    char end[32];
    char shown[80];
    double busy_ns = 0;
    pp_ns end_ns = 0;
    for (size_t i = 0; i < track->box_count; i++) {
        busy_ns += (double)(track->box[i].end_ns - track->box[i].start_ns);
        end_ns = track->box[i].end_ns > end_ns ? track->box[i].end_ns : end_ns;
    }
    double area_ns = (double)end_ns * track->ranks;
    snprintf(shown, sizeof shown, "makespan %s, bubble %.1f %%",
             pp_format_duration(end, sizeof end, end_ns),
             area_ns > 0 ? 100 * (1 - busy_ns / area_ns) : 0.0);
    pp_plot_head_name(
        head, track->about, track->name, shown,
        pp_plot_is_dense(track, view) && pp_plot_is_mixed(view, whole)
            ? "Too narrow to draw one by one, ops give each moment of a rank the mean of their "
              "colours. Fewer ranks or a shorter part of the step show more."
        : pp_plot_is_dense(track, view)
            ? "Too narrow to draw one by one, ops are shares of the height of their rank: what "
              "part of a moment it spends in each kind. A shorter part of the step shows single "
              "ops."
        : track->chunks > 1 ? (pp_plot_has_stages_below(track, view, whole)
                                   ? "Later stages of a rank are lighter; the small number is the "
                                     "stage, the large one the microbatch."
                                   : "Later stages of a rank are lighter.")
                            : "");
}

static void add_key(const pp_track *track, const pp_plot_view *view, bool path, pp_plot_head *head)
{
    pp_plot_boxes_key(track, view, head);
    pp_plot_head_add(head, PP_PLOT_IDLE_FILL, NULL, NULL, pp_plot_idle_words(PP_IDLE_DATA));
    for (int cause = 0; cause < PP_IDLE_COUNT; cause++) {
        const char *fill = pp_plot_idle_fill((pp_idle_cause)cause);
        bool has = pp_plot_is_dense(track, view)
                       ? !pp_plot_is_mixed(view, whole) &&
                             pp_plot_shares_cause(track, view, (pp_idle_cause)cause)
                       : has_cause(track, view, (pp_idle_cause)cause);
        if (fill && has)
            pp_plot_head_add(head, fill, NULL, NULL, pp_plot_idle_words((pp_idle_cause)cause));
    }
    if (has_sharding(track, view, false))
        pp_plot_head_add(head, GATHER_FILL, NULL, NULL, "gather of parameters");
    if (has_sharding(track, view, true))
        pp_plot_head_add(head, REDUCE_FILL, NULL, NULL, "reduction of gradients");
    if (path)
        pp_plot_head_add(head, NULL, PP_PLOT_PATH_LINE, NULL, "critical path");
}

static pp_status draw(const pp_picture *picture, pp_text *script, pp_text *data, pp_err *err)
{
    const pp_track *track = &picture->track[0];
    char time[32];
    pp_plot_head head = { .entries = 0 };
    pp_plot_view view;
    pp_status status = pp_plot_view_of(picture, LEFT, RIGHT, &view, err);
    if (status)
        return status;
    bool dense = pp_plot_is_dense(track, &view);
    int row_px = row_height(pp_plot_ranks(&view), track->chunks > 1 && !dense);
    for (int i = 0; i < 2; i++) { /* note and key depend on the height of rows */
        head.entries = 0;
        add_key(track, &view, !picture->no_path, &head);
        name_picture(track, &view, &head);
        pp_plot_place(picture, &view, &head, row_px, BOTTOM);
    }
    bool transfers = has_room(track, &view);
    if (transfers) {
        pp_plot_head_add(&head, NULL, TRANSFER_LINE, NULL, "transfer");
        pp_plot_place(picture, &view, &head, row_px, BOTTOM);
    }
    pp_plot_frame(&view, &head, script);
    snprintf(time, sizeof time, "time (%s)", view.unit.name);
    pp_plot_axis_names(view.size, view.edges, time, "rank", script);
    pp_text_add(script, "plot ");
    add_idle(&view, script, data);
    if (!dense)
        add_causes(track, &view, script, data);
    add_sharding(track, &view, false, script, data);
    add_sharding(track, &view, true, script, data);
    if (transfers)
        add_transfers(track, &view, script, data);
    status = pp_plot_boxes(track, &view, whole, script, data, err);
    if (!status && !picture->no_path)
        add_path(track, &view, script, data);
    pp_text_add(script, "\n");
    return status;
}

const pp_plot pp_plot_timeline = {
    .name = "timeline",
    .summary = "ranks over time: ops, idle time by cause, transfers and the critical path",
    .needs = "one timeline: a plan, a schedule with its costs, or a chrome trace",
    .fits = fits,
    .draw = draw,
};
