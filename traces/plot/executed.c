/* Draws a predicted and an executed timeline over each other: every rank has two rows on one axis
 * of time, and a second plot below shows how much later than predicted each op ended. Ops are
 * matched by sorting both timelines by op: O(n log n). */
#include "sim/base/field.h"
#include "traces/plot/draw/boxes.h"
#include "traces/plot/draw/gnuplot.h"
#include "traces/plot/draw/units.h"
#include "traces/plot/draw/view.h"
#include "traces/plot/plot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEFT = 75, RIGHT = 25, TOP = 80, BOTTOM = 55, LOWER_MAX = 150, GAP = 30 }; /* pixels */

#define MARKS_MAX 2000 /* more marks than this are drawn small, lest they hide each other */

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

/* Appends the delay of each op. Fails if both timelines do not have the same ops on the same ranks:
 * they are then not of one plan. */
static pp_status add_delays(const pp_picture *picture, const pp_plot_view *view, pp_text *data,
                            pp_err *err)
{
    const pp_track *track = picture->track;
    size_t count = track[0].box_count;
    const pp_box **predicted PP_CLEANUP(free_list) = sorted(&track[0]);
    const pp_box **executed PP_CLEANUP(free_list) = sorted(&track[1]);
    if (!predicted || !executed)
        return pp_err_nomem(err);
    bool same = count == track[1].box_count;
    for (size_t i = 0; i < count && same; i++)
        same = compare_ops(&predicted[i], &executed[i]) == 0;
    if (!same)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_KIND),
                          "the two timelines have different ops; give two of one plan");
    for (int kind = 0; kind < PP_OP_KIND_COUNT; kind++) {
        char name[] = { pp_op_letter((pp_op_kind)kind), '\0' };
        bool any = false;
        for (size_t i = 0; i < count; i++) {
            const pp_box *box = predicted[i];
            if ((int)box->op.kind != kind ||
                !pp_plot_shows(view, box->rank, box->start_ns, box->end_ns))
                continue;
            if (!any)
                pp_plot_begin(data, "later ", name);
            any = true;
            pp_plot_number(data, box->end_ns, view->unit);
            pp_text_add(data, " ");
            pp_plot_number(data, executed[i]->end_ns - box->end_ns, view->unit);
            pp_text_add(data, "\n");
        }
    }
    return PP_OK;
}

/* Appends the lower plot. Each kind of op has a mark of its own, so that they
 * differ without colour. */
static void add_lower(const pp_track *track, const pp_plot_view *view, int lower_px,
                      pp_text *script)
{
    static const int marks[PP_OP_KIND_COUNT] = {
        [PP_OP_F] = 6, [PP_OP_I] = 8, [PP_OP_W] = 2, [PP_OP_B] = 5
    };
    static const char *const shades[PP_OP_KIND_COUNT] = {
        [PP_OP_F] = "#93b7de", [PP_OP_I] = "#2c5a94", [PP_OP_W] = "#808080", [PP_OP_B] = "#303030"
    };
    bool present[PP_OP_KIND_COUNT] = { false };
    size_t shown = 0;
    for (size_t i = 0; i < track->box_count; i++) {
        const pp_box *box = &track->box[i];
        bool shows = pp_plot_shows(view, box->rank, box->start_ns, box->end_ns);
        present[box->op.kind] |= shows;
        shown += shows;
    }
    pp_text_add(script,
                "unset title\nset tmargin at screen %.5f\nset bmargin at screen %.5f\n"
                "set yrange [*:*]\nset ytics scale 1 autofreq\nset xlabel 'time (%s)'\n"
                "set ylabel 'later by (%s)'\nset xtics format '%%g'\nset key inside top left "
                "horizontal\nplot ",
                (double)(BOTTOM + lower_px) / view->height, (double)BOTTOM / view->height,
                view->unit.name, view->unit.name);
    for (int kind = 0; kind < PP_OP_KIND_COUNT; kind++) {
        char name[] = { pp_op_letter((pp_op_kind)kind), '\0' };
        if (!present[kind])
            continue;
        pp_plot_next(script, "later ", name);
        pp_text_add(script, "using 1:2 with points pt %d ps %s lc rgb '%s' title '%s'", marks[kind],
                    shown > MARKS_MAX ? "0.2" : "0.6", shades[kind], name);
    }
    pp_text_add(script, ", \\\n    0 with lines lw 0.6 lc rgb '#606060' notitle\n");
}

static pp_ns end_of(const pp_track *track)
{
    pp_ns end_ns = 0;
    for (size_t i = 0; i < track->box_count; i++)
        end_ns = track->box[i].end_ns > end_ns ? track->box[i].end_ns : end_ns;
    return end_ns;
}

static void add_title(const pp_track *track, const pp_plot_view *view, pp_text *script)
{
    char predicted[32];
    char executed[32];
    char words[640];
    pp_ns first_ns = end_of(&track[0]);
    pp_ns second_ns = end_of(&track[1]);
    pp_format_duration(predicted, sizeof predicted, first_ns);
    pp_format_duration(executed, sizeof executed, second_ns);
    snprintf(words, sizeof words, "%s%spredicted %s (above), executed %s (below): %+.2f %%",
             track[1].name, *track[1].name ? ": " : "", predicted, executed,
             first_ns ? 100 * ((double)second_ns / (double)first_ns - 1) : 0.0);
    pp_text_add(script, "set title ");
    pp_plot_quoted(script, words);
    pp_plot_fit_font(view->png, view->width - LEFT, strlen(words), script);
    pp_text_add(script, "\n");
}

static pp_status draw(const pp_picture *picture, pp_text *script, pp_text *data, pp_err *err)
{
    pp_plot_view view;
    pp_status status = pp_plot_view_of(picture, &view, err);
    if (status)
        return status;
    uint32_t ranks = view.last_rank - view.first_rank + 1;
    bool low = picture->height && picture->height < 4 * LOWER_MAX;
    int lower_px = low ? picture->height / 4 : LOWER_MAX;
    const pp_plot_sides sides = { LEFT, RIGHT, TOP, BOTTOM + lower_px + GAP };
    pp_plot_frame(picture, &view, ranks <= 8 ? 56 : ranks <= 24 ? 36 : 22, sides, script);
    pp_text_add(script, "set multiplot\n");
    add_title(picture->track, &view, script);
    pp_text_add(script, "set ylabel 'rank'\nset xtics format ''\n");
    pp_plot_axes(&view, script);
    pp_text_add(script, "plot ");
    bool wide =
        pp_plot_is_wide(&picture->track[0], &view) && pp_plot_is_wide(&picture->track[1], &view);
    for (int i = 0; i < PP_PICTURE_TRACKS && !status; i++) {
        pp_plot_row row = rows[i];
        row.bare = !wide; /* so that both timelines look alike */
        status = pp_plot_boxes(&picture->track[i], &view, row, i == 0, script, data, err);
    }
    pp_text_add(script, "\n");
    if (status || (status = add_delays(picture, &view, data, err)))
        return status;
    add_lower(&picture->track[0], &view, lower_px, script);
    pp_text_add(script, "unset multiplot\n");
    return PP_OK;
}

const pp_plot pp_plot_executed = {
    .name = "executed",
    .summary = "predicted over executed, and how much later each op ended",
    .needs = "two timelines of one plan, the predicted one first",
    .fits = fits,
    .draw = draw,
};
