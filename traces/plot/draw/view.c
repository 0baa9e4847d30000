/* Frames pictures of ranks by time: chooses the part that is shown, its size and its labels. */
#include "traces/plot/draw/view.h"

#include "sim/base/field.h"

#include <inttypes.h>
#include <limits.h>

#define WIDTH 1200   /* default width, in pixels */
#define TICS_MOST 30 /* labels of the time axis, however wide it is */
#define TIC_PX 15    /* smallest distance of two labels of an axis, in pixels */

static pp_ns end_of(const pp_track *track)
{
    pp_ns end_ns = 0;
    for (size_t i = 0; i < track->box_count; i++)
        end_ns = track->box[i].end_ns > end_ns ? track->box[i].end_ns : end_ns;
    for (size_t i = 0; i < track->sample_count; i++)
        end_ns = track->sample[i].at_ns > end_ns ? track->sample[i].at_ns : end_ns;
    return end_ns;
}

pp_status pp_plot_view_of(const pp_picture *picture, int left_px, int right_px,
                          pp_plot_view *view_out, pp_err *err)
{
    uint32_t ranks = 0;
    pp_ns end_ns = 1; /* an axis must not be empty */
    for (size_t i = 0; i < picture->tracks && i < PP_PICTURE_TRACKS; i++) {
        ranks = picture->track[i].ranks > ranks ? picture->track[i].ranks : ranks;
        pp_ns own_ns = end_of(&picture->track[i]);
        end_ns = own_ns > end_ns ? own_ns : end_ns;
    }
    if (picture->last_rank != UINT32_MAX && picture->last_rank >= ranks)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_SHOWN_RANKS),
                          "there are only ranks 0 to %" PRIu32, ranks - 1);
    if (picture->from_ns >= end_ns) {
        char end[32];
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_FROM),
                          "must be before the end, %s",
                          pp_format_duration(end, sizeof end, end_ns));
    }
    *view_out = (pp_plot_view){ .first_rank = picture->first_rank,
                                .last_rank = ranks - 1,
                                .from_ns = picture->from_ns,
                                .to_ns = picture->to_ns ? picture->to_ns : end_ns };
    if (picture->last_rank != UINT32_MAX)
        view_out->last_rank = picture->last_rank;
    view_out->tracks = picture->tracks < PP_PICTURE_TRACKS ? picture->tracks : PP_PICTURE_TRACKS;
    view_out->unit = pp_plot_time_unit(view_out->to_ns);
    view_out->size.width = picture->width ? picture->width : WIDTH;
    view_out->size.out = picture->out;
    view_out->edges[0] = left_px;
    view_out->edges[2] = view_out->size.width - right_px;
    view_out->plot_px = view_out->edges[2] - view_out->edges[0];
    return PP_OK;
}

uint32_t pp_plot_ranks(const pp_plot_view *view)
{
    return view->last_rank - view->first_rank + 1;
}

int pp_plot_head_room(int requested_px)
{
    return requested_px ? requested_px * 2 / 5 : INT_MAX;
}

void pp_plot_place(const pp_picture *picture, pp_plot_view *view, pp_plot_head *head, int row_px,
                   int bottom_px)
{
    uint32_t ranks = pp_plot_ranks(view);
    pp_plot_head_lay_out(head, view->size.width, pp_plot_head_room(picture->height));
    view->size.height =
        picture->height ? picture->height : head->px + row_px * (int)ranks + bottom_px;
    view->edges[1] = head->px;
    view->edges[3] = view->size.height - bottom_px;
    view->row_px = (view->edges[3] - view->edges[1]) / ranks;
}

void pp_plot_rank_frame(const pp_plot_view *view, const pp_plot_head *head, pp_text *script)
{
    uint32_t step = 1;
    while (step < pp_plot_ranks(view) && step * view->row_px < TIC_PX)
        step *= 2;
    pp_plot_terminal(view->size, script);
    pp_plot_head_draw(head, view->size, script);
    pp_plot_margins(view->size, view->edges, script);
    pp_text_add(script,
                "unset key\nset border 3 lc rgb '#606060'\n"
                "set ytics scale 0 %" PRIu32 ",%" PRIu32 ",%" PRIu32 "\n",
                view->first_rank, step, view->last_rank);
    pp_text_add(script, "set yrange [%.1f:%.1f]\n", view->last_rank + 0.5, view->first_rank - 0.5);
}

void pp_plot_frame(const pp_plot_view *view, const pp_plot_head *head, pp_text *script)
{
    pp_plot_rank_frame(view, head, script);
    pp_plot_time_tics(view, script);
    pp_text_add(script, "set xrange [");
    pp_plot_number(script, view->from_ns, view->unit);
    pp_text_add(script, ":");
    pp_plot_number(script, view->to_ns, view->unit);
    pp_text_add(script, "]\n");
}

void pp_plot_time_tics(const pp_plot_view *view, pp_text *script)
{
    double tics = view->plot_px / PP_PLOT_TIME_PX;
    double length = (double)(view->to_ns - view->from_ns) / (double)view->unit.divisor;
    pp_text_add(script, "set xtics nomirror %.10g\n",
                pp_plot_step(length, tics < TICS_MOST ? tics : TICS_MOST));
}

double pp_plot_stripe_px(double box_px)
{
    double stripe_px = box_px * 0.08;
    return stripe_px > 2.2 ? 2.2 : stripe_px < 0.8 ? 0.8 : stripe_px;
}

bool pp_plot_shows(const pp_plot_view *view, uint32_t rank, pp_ns start_ns, pp_ns end_ns)
{
    return rank >= view->first_rank && rank <= view->last_rank && end_ns >= view->from_ns &&
           start_ns <= view->to_ns;
}
