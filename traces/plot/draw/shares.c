/* Divides the time of each rank into columns of a few pixels, and stacks in every column the shares
 * that each kind of op and each cause of idle time has in it. Neighbouring columns that look alike
 * become one box. O(ops + ranks * columns). */
#include "traces/plot/draw/shares.h"

#include "sim/base/alloc.h"
#include "traces/plot/draw/look.h"

#include <stdio.h>
#include <stdlib.h>

enum { COLUMN_PX = 2, LEAST_PX = 2, LAYERS = PP_OP_KIND_COUNT + PP_IDLE_COUNT };

#define LEAST 5e-3   /* share of a column, below which a layer is not drawn */
#define SAME_PX 0.75 /* neighbouring columns whose layers differ by less become one box */

typedef struct shares {
    const pp_plot_view *view;
    size_t columns;      /* per rank */
    float (*of)[LAYERS]; /* [ranks * columns]: from 0 to 1 */
    double same;         /* SAME_PX as a share of a column's height */
    bool present[LAYERS];
} shares;

bool pp_plot_is_dense(const pp_track *track, const pp_plot_view *view)
{
    size_t shown = 0;
    for (size_t i = 0; i < track->box_count; i++)
        shown +=
            pp_plot_shows(view, track->box[i].rank, track->box[i].start_ns, track->box[i].end_ns);
    double room_px = view->plot_px * (view->last_rank - view->first_rank + 1);
    return (double)shown * LEAST_PX > room_px;
}

/* Adds the interval between two times to the columns that it overlaps. */
static void spread(shares *s, int layer, uint32_t rank, pp_ns start_ns, pp_ns end_ns)
{
    const pp_plot_view *view = s->view;
    if (!pp_plot_shows(view, rank, start_ns, end_ns) || end_ns <= start_ns)
        return;
    double scale = (double)s->columns / (double)(view->to_ns - view->from_ns);
    double from = (double)(start_ns - view->from_ns) * scale;
    double to = (double)(end_ns - view->from_ns) * scale;
    from = from > 0 ? from : 0;
    to = to < (double)s->columns ? to : (double)s->columns;
    float(*row)[LAYERS] = &s->of[(rank - view->first_rank) * s->columns];
    for (size_t c = (size_t)from; c < s->columns && (double)c < to; c++) {
        double low = from > (double)c ? from : (double)c;
        double high = to < (double)c + 1 ? to : (double)c + 1;
        row[c][layer] += (float)(high - low);
        s->present[layer] = true;
    }
}

/* Computes where a layer lies in a column, as shares of the height of a row from its bottom. */
static void place(const float share[LAYERS], int layer, double *low, double *high)
{
    *low = 0;
    for (int l = 0; l < layer; l++)
        *low += (double)share[l];
    *high = *low + (double)share[layer];
}

/* Returns whether two columns look alike: every layer is in both or in none, at almost the same
 * height. */
static bool same(const shares *s, const float a[LAYERS], const float b[LAYERS])
{
    double low[2] = { 0, 0 };
    for (int layer = 0; layer < LAYERS; layer++) {
        if (((double)a[layer] < LEAST) != ((double)b[layer] < LEAST))
            return false;
        low[0] += (double)a[layer];
        low[1] += (double)b[layer];
        if (low[0] - low[1] > s->same || low[1] - low[0] > s->same)
            return false;
    }
    return true;
}

/* Appends a layer; neighbouring columns that look alike are one box. */
static void add_layer(const shares *s, int layer, pp_plot_row place_of, pp_text *data)
{
    const pp_plot_view *view = s->view;
    double width_ns = (double)(view->to_ns - view->from_ns) / (double)s->columns;
    for (uint32_t rank = view->first_rank; rank <= view->last_rank; rank++) {
        float(*row)[LAYERS] = &s->of[(rank - view->first_rank) * s->columns];
        for (size_t c = 0, first; c < s->columns;) {
            double low;
            double high;
            for (first = c++; c < s->columns && same(s, row[first], row[c]);)
                c++;
            place(row[first], layer, &low, &high);
            if (high - low < LEAST)
                continue;
            double height = place_of.high - place_of.low;
            pp_plot_number(data, view->from_ns + (pp_ns)((double)first * width_ns), view->unit);
            pp_text_add(data, " ");
            pp_plot_number(data, view->from_ns + (pp_ns)((double)c * width_ns), view->unit);
            pp_text_add(data, " %.3f %.3f\n", rank + place_of.high - high * height,
                        rank + place_of.high - low * height);
        }
    }
}

static void free_shares(shares *s)
{
    free(s->of);
}

pp_status pp_plot_shares(const pp_track *track, const pp_plot_view *view, pp_plot_row row,
                         pp_text *script, pp_text *data, pp_err *err)
{
    shares s PP_CLEANUP(free_shares) = { .view = view,
                                         .columns = (size_t)(view->plot_px / COLUMN_PX) + 1,
                                         .same = SAME_PX / (view->row_px * (row.high - row.low)) };
    s.of = pp_alloc_array((view->last_rank - view->first_rank + 1) * s.columns, sizeof *s.of);
    if (!s.of)
        return pp_err_nomem(err);
    for (size_t i = 0; i < track->box_count; i++) {
        const pp_box *box = &track->box[i];
        bool pair = pp_track_ends_pair(track, i + 1); /* the first op has the time of both */
        pp_ns middle_ns = pair ? box->start_ns + (box->end_ns - box->start_ns) / 2 : box->end_ns;
        spread(&s, (int)box->op.kind, box->rank, box->start_ns, middle_ns);
        if (pair)
            spread(&s, (int)box[1].op.kind, box->rank, middle_ns, box->end_ns);
    }
    for (size_t i = 0; i < track->gap_count; i++) {
        const pp_gap *gap = &track->gap[i];
        spread(&s, PP_OP_KIND_COUNT + (int)gap->cause, gap->rank, gap->start_ns, gap->end_ns);
    }
    for (int layer = 0; layer < LAYERS; layer++) {
        char fill[PP_PLOT_FILL_BYTES + 16];
        char name[24];
        int cause = layer - PP_OP_KIND_COUNT;
        if (!s.present[layer] || cause == PP_IDLE_DATA) /* it looks like the background */
            continue;
        if (cause < 0) {
            pp_plot_op_fill((pp_op_kind)layer, 0, fill);
            snprintf(name, sizeof name, "share %c", pp_op_letter((pp_op_kind)layer));
        } else {
            snprintf(name, sizeof name, "share %s", pp_idle_key((pp_idle_cause)cause));
        }
        pp_plot_begin(data, row.prefix, name);
        add_layer(&s, layer, row, data);
        pp_plot_next(script, row.prefix, name);
        pp_text_add(script, "using 1:3:1:2:3:4 with boxxyerror %s%s notitle",
                    cause < 0 ? fill : pp_plot_idle_fill((pp_idle_cause)cause),
                    cause < 0 ? " noborder" : "");
    }
    return PP_OK;
}
