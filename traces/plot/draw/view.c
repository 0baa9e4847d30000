/* Frames pictures of ranks by time: chooses the part that is shown, its size and its labels. */
#include "traces/plot/draw/view.h"

#include "sim/base/field.h"

#include <inttypes.h>

#define WIDTH 1200 /* in pixels, unless a width was requested */
#define TIC_PX 15  /* smallest distance of two labels of an axis, in pixels */

static pp_ns end_of(const pp_track *track)
{
    pp_ns end_ns = 0;
    for (size_t i = 0; i < track->box_count; i++)
        end_ns = track->box[i].end_ns > end_ns ? track->box[i].end_ns : end_ns;
    for (size_t i = 0; i < track->sample_count; i++)
        end_ns = track->sample[i].at_ns > end_ns ? track->sample[i].at_ns : end_ns;
    return end_ns;
}

pp_status pp_plot_view_of(const pp_picture *picture, pp_plot_view *view_out, pp_err *err)
{
    uint32_t ranks = 0;
    pp_ns end_ns = 1; /* an axis needs a length */
    for (size_t i = 0; i < picture->tracks && i < PP_PICTURE_TRACKS; i++) {
        ranks = picture->track[i].ranks > ranks ? picture->track[i].ranks : ranks;
        pp_ns own_ns = end_of(&picture->track[i]);
        end_ns = own_ns > end_ns ? own_ns : end_ns;
    }
    if (picture->last_rank != UINT32_MAX && picture->last_rank >= ranks)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_SHOWN_RANKS),
                          "there are ranks 0 to %" PRIu32, ranks - 1);
    if (picture->from_ns >= end_ns) {
        char end[32];
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_FROM),
                          "is not before the end, %s", pp_format_duration(end, sizeof end, end_ns));
    }
    *view_out = (pp_plot_view){ .first_rank = picture->first_rank,
                                .last_rank = ranks - 1,
                                .from_ns = picture->from_ns,
                                .to_ns = picture->to_ns ? picture->to_ns : end_ns };
    if (picture->last_rank != UINT32_MAX)
        view_out->last_rank = picture->last_rank;
    view_out->unit = pp_plot_time_unit(view_out->to_ns);
    return PP_OK;
}

void pp_plot_frame(const pp_picture *picture, pp_plot_view *view, int row_px, pp_plot_sides sides,
                   pp_text *script)
{
    uint32_t ranks = view->last_rank - view->first_rank + 1;
    uint32_t step = 1;
    int around = sides.top + sides.bottom;
    view->width = picture->width ? picture->width : WIDTH;
    view->height = picture->height ? picture->height : around + row_px * (int)ranks;
    view->png = picture->png;
    view->plot_px = view->width - sides.left - sides.right;
    view->row_px = (double)(view->height - around) / ranks;
    while (step < ranks && step * view->row_px < TIC_PX)
        step *= 2;
    pp_plot_terminal(picture->png, view->width, view->height, script);
    pp_plot_margins((double)sides.left / view->width, 1 - (double)sides.right / view->width,
                    1 - (double)sides.top / view->height, (double)sides.bottom / view->height,
                    script);
    pp_text_add(script,
                "set key tmargin center horizontal samplen 2 height 0.5\n"
                "set ytics scale 0 %" PRIu32 ",%" PRIu32 ",%" PRIu32 "\nset xtics nomirror\n"
                "set style textbox opaque noborder margins 0.2,0.2 fc rgb 'white'\n",
                view->first_rank, step, view->last_rank);
}

void pp_plot_axes(const pp_plot_view *view, pp_text *script)
{
    pp_text_add(script, "set xrange [");
    pp_plot_number(script, view->from_ns, view->unit);
    pp_text_add(script, ":");
    pp_plot_number(script, view->to_ns, view->unit);
    pp_text_add(script, "]\nset yrange [%.1f:%.1f]\n", view->last_rank + 0.5,
                view->first_rank - 0.5);
}

bool pp_plot_shows(const pp_plot_view *view, uint32_t rank, pp_ns start_ns, pp_ns end_ns)
{
    return rank >= view->first_rank && rank <= view->last_rank && end_ns >= view->from_ns &&
           start_ns <= view->to_ns;
}
