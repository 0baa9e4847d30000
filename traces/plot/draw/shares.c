/* Draws a timeline whose ops are too narrow or too many to be drawn one by one: what share of each
 * moment a rank spends in every kind of op, and in idle time of every cause, stacked on each other.
 *
 * The time of each rank is divided into columns of a few pixels. Columns that hold a few ops each
 * would make combs of teeth, as ops and columns beat; so each column has the mean of its
 * neighbours, over the length of some ops and some pixels at least, but not across idle time that
 * fills whole columns, whose ends stay sharp. In rows that are only a few pixels high the layers
 * become one mixed colour. Columns that look alike become one step; their mean keeps all areas. If
 * there are more steps than an SVG of a megabyte holds, columns are alike from a larger distance
 * on. O(ops + ranks * columns). */
#include "traces/plot/draw/shares.h"

#include "sim/base/alloc.h"
#include "traces/plot/draw/look.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    COLUMN_PX = 2,
    LEAST_PX = 3,
    PASSES = 2,
    LEAST_REACH = 3,
    LAYERS = PP_OP_KIND_COUNT + PP_IDLE_COUNT
};

#define OPS_PER_MEAN 8   /* a column has the mean of about as many ops */
#define BOXES_MOST 8400  /* more ops are not drawn one by one: an SVG has some 70 bytes for each */
#define STEPS_MOST 24000 /* of all layers: an SVG has some 30 bytes for each */
#define SAME_PX 0.75     /* columns are alike whose layers differ by less */
#define SAME_MIXED 0.02  /* the same for columns in mixed colours */
#define MIXED_PX 5       /* boxes lower than this have no room for layers */
#define OVERLAP_PX 0.4   /* of boxes in mixed colours, so that no seam shines through */
#define STEP_BYTES_MIXED 4 /* a box has as many bytes as so many steps of a layer */
#define LEAST_SHARE 5e-3   /* of a column, below which a layer is not there */
#define LEAST_CAUSE 5e-3   /* of all time, below which a cause of idle time is not told apart */

typedef struct shares {
    const pp_plot_view *view;
    size_t columns;      /* per rank */
    float (*of)[LAYERS]; /* [ranks * columns]: from 0 to 1 */
    bool *starts;        /* [ranks * columns]: a step begins here */
    bool present[LAYERS];
} shares;

static size_t count_shown(const pp_track *track, const pp_plot_view *view)
{
    size_t shown = 0;
    for (size_t i = 0; i < track->box_count; i++)
        shown +=
            pp_plot_shows(view, track->box[i].rank, track->box[i].start_ns, track->box[i].end_ns);
    return shown;
}

bool pp_plot_is_dense(const pp_track *track, const pp_plot_view *view)
{
    const size_t shown = count_shown(track, view);
    return (double)shown * LEAST_PX > view->plot_px * pp_plot_ranks(view) ||
           shown > BOXES_MOST / view->tracks;
}

bool pp_plot_shares_cause(const pp_track *track, const pp_plot_view *view, pp_idle_cause cause)
{
    double sum_ns = 0;
    for (size_t i = 0; i < track->gap_count; i++) {
        const pp_gap *gap = &track->gap[i];
        if (gap->cause == cause && pp_plot_shows(view, gap->rank, gap->start_ns, gap->end_ns))
            sum_ns += (double)(gap->end_ns - gap->start_ns);
    }
    return sum_ns > LEAST_CAUSE * (double)(view->to_ns - view->from_ns) * pp_plot_ranks(view);
}

bool pp_plot_is_mixed(const pp_plot_view *view, pp_plot_row row)
{
    return view->row_px * (row.high - row.low) < MIXED_PX;
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

/* Returns the share of a column in which ops run. */
static double busy(const float share[LAYERS])
{
    double sum = 0;
    for (int kind = 0; kind < PP_OP_KIND_COUNT; kind++)
        sum += (double)share[kind];
    return sum;
}

/* Replaces the columns from `first` to before `end` by the mean of `reach` columns to each side.
 * scratch: room for a row. */
static void smooth(float (*row)[LAYERS], size_t first, size_t end, size_t reach,
                   float (*scratch)[LAYERS])
{
    for (int layer = 0; layer < LAYERS; layer++) {
        double sum = 0;
        size_t low = first; /* the sum is of the columns from low to before high */
        size_t high = first;
        for (size_t c = first; c < end; c++) {
            for (; high < end && high <= c + reach; high++)
                sum += (double)row[high][layer];
            for (; low + reach < c; low++)
                sum -= (double)row[low][layer];
            scratch[c][layer] = (float)(sum > 0 ? sum / (double)(high - low) : 0);
        }
    }
    for (size_t c = first; c < end; c++)
        for (int layer = 0; layer < LAYERS; layer++)
            row[c][layer] = scratch[c][layer];
}

/* Smooths each stretch of columns in which ops run. ops: how many are drawn. */
static pp_status smooth_all(shares *s, size_t ops, pp_err *err)
{
    double busy_columns = 0;
    const size_t rows = pp_plot_ranks(s->view);
    float(*scratch)[LAYERS] = pp_alloc_array(s->columns, sizeof *scratch);
    if (!scratch)
        return pp_err_nomem(err);
    for (size_t i = 0; i < rows * s->columns; i++)
        busy_columns += busy(s->of[i]);
    const double ops_reach = OPS_PER_MEAN / 2.0 * busy_columns / (double)(ops ? ops : 1);
    const size_t reach = ops_reach > LEAST_REACH ? (size_t)ops_reach : LEAST_REACH;
    for (size_t r = 0; r < rows; r++) {
        float(*row)[LAYERS] = &s->of[r * s->columns];
        for (size_t first = 0, end; first < s->columns; first = end + 1) {
            for (end = first; end < s->columns && busy(row[end]) > LEAST_SHARE;)
                end++;
            for (int pass = 0; pass < PASSES; pass++)
                smooth(row, first, end, reach, scratch);
        }
    }
    free(scratch);
    return PP_OK;
}

/* Returns whether two columns look alike: every layer is in both or in none, at heights that differ
 * by at most `tolerance`, a share of the height of a row. */
static bool same(const float a[LAYERS], const float b[LAYERS], double tolerance)
{
    double difference = 0;
    for (int layer = 0; layer < LAYERS; layer++) {
        if (((double)a[layer] < LEAST_SHARE) != ((double)b[layer] < LEAST_SHARE))
            return false;
        difference += (double)a[layer] - (double)b[layer];
        if (fabs(difference) > tolerance)
            return false;
    }
    return true;
}

/* Finds where steps begin. Returns their number. */
static size_t find_steps(shares *s, double tolerance)
{
    size_t steps = 0;
    for (size_t r = 0; r < pp_plot_ranks(s->view); r++) {
        float(*row)[LAYERS] = &s->of[r * s->columns];
        for (size_t c = 0, first = 0; c < s->columns; c++) {
            bool starts = c == 0 || !same(row[first], row[c], tolerance);
            first = starts ? c : first;
            s->starts[r * s->columns + c] = starts;
            steps += starts;
        }
    }
    return steps;
}

/* Gives all columns of each step their mean. */
static void level_steps(shares *s)
{
    const size_t all = s->columns * pp_plot_ranks(s->view);
    for (size_t first = 0, end; first < all; first = end) {
        for (end = first + 1; end < all && !s->starts[end];)
            end++;
        for (int layer = 0; layer < LAYERS; layer++) {
            double sum = 0;
            for (size_t c = first; c < end; c++)
                sum += (double)s->of[c][layer];
            for (size_t c = first; c < end; c++)
                s->of[c][layer] = (float)(sum / (double)(end - first));
        }
    }
}

/* Returns the upper end of a layer, as a share of the height of the row. */
static double top_of(const float share[LAYERS], int layer)
{
    double sum = 0;
    for (int l = 0; l <= layer; l++)
        sum += (double)share[l];
    return sum < 1 ? sum : 1;
}

/* Appends a corner. edge: 1 at the upper edge of a layer, 0 at the bottom of the row. */
static void add_corner(const shares *s, size_t column, double y, int edge, pp_text *data)
{
    const pp_plot_view *view = s->view;
    double width_ns = (double)(view->to_ns - view->from_ns) / (double)s->columns;
    pp_plot_number(data, view->from_ns + (pp_ns)((double)column * width_ns), view->unit);
    pp_text_add(data, " %.3f %d\n", y, edge);
}

/* Appends a polygon per rank: from the bottom of its row to the upper end of a layer, in all
 * columns that have it. */
static void add_layer(const shares *s, int layer, pp_plot_row place, pp_text *data)
{
    const double height = place.high - place.low;
    bool any = false;
    for (uint32_t rank = s->view->first_rank; rank <= s->view->last_rank; rank++) {
        float(*row)[LAYERS] = &s->of[(rank - s->view->first_rank) * s->columns];
        double last = 0;
        const double bottom = rank + place.high;
        if (any)
            pp_text_add(data, "\n");
        add_corner(s, 0, bottom, 0, data);
        for (size_t c = 0; c < s->columns; c++) {
            bool there = (double)row[c][layer] >= LEAST_SHARE;
            double top = there ? top_of(row[c], layer) : 0;
            if (fabs(top - last) < 1e-4)
                continue;
            add_corner(s, c, bottom - last * height, last > 0, data);
            add_corner(s, c, bottom - top * height, top > 0, data);
            last = top;
        }
        add_corner(s, s->columns, bottom - last * height, last > 0, data);
        add_corner(s, s->columns, bottom, 0, data);
        any = true;
    }
}

/* Appends the polygons of a layer. Those of lower layers, which come later, lie on them. */
static void draw_layer(const shares *s, int layer, pp_plot_row row, pp_text *script, pp_text *data)
{
    const int cause = layer - PP_OP_KIND_COUNT;
    const char *stripe = cause < 0 ? pp_plot_op_stripe((pp_op_kind)layer, true) : NULL;
    const double stripe_px = pp_plot_stripe_px(s->view->row_px * (row.high - row.low));
    char fill[PP_PLOT_FILL_BYTES];
    char name[24];
    if (cause < 0)
        snprintf(name, sizeof name, "share %c", pp_op_letter((pp_op_kind)layer));
    else
        snprintf(name, sizeof name, "share %s", pp_idle_key((pp_idle_cause)cause));
    pp_plot_begin(data, row.prefix, name);
    add_layer(s, layer, row, data);
    if (stripe) {
        pp_plot_next(script, row.prefix, name);
        pp_text_add(script,
                    "using 1:2 with filledcurves closed fc rgb '%s' fs solid 1.0 noborder notitle",
                    stripe);
    }
    pp_plot_next(script, row.prefix, name);
    if (stripe)
        pp_text_add(script, "using 1:($2+$3*%.4f)", stripe_px / s->view->row_px);
    else
        pp_text_add(script, "using 1:2");
    if (cause < 0) {
        pp_plot_op_fill((pp_op_kind)layer, 0, fill);
        pp_text_add(script, " with filledcurves closed %s noborder notitle", fill);
    } else {
        pp_text_add(script, " with filledcurves closed %s notitle",
                    pp_plot_idle_fill((pp_idle_cause)cause));
    }
}

/* Returns the mean of the colours of what a column holds. */
static uint32_t mix(const float share[LAYERS])
{
    uint32_t mixed = 0;
    for (int shift = 0; shift < 24; shift += 8) {
        double idle = 1 - busy(share);
        double sum = (idle > 0 ? idle : 0) * (pp_plot_idle_rgb() >> shift & 0xff);
        for (int kind = 0; kind < PP_OP_KIND_COUNT; kind++)
            sum += (double)share[kind] * (pp_plot_op_rgb((pp_op_kind)kind) >> shift & 0xff);
        mixed |= (uint32_t)(sum < 255 ? sum + 0.5 : 255) << shift;
    }
    return mixed;
}

/* Appends a box per step in the mean of its colours. The rows touch: lines of white between rows
 * this low would be most of the picture. */
static void draw_mixed(const shares *s, pp_plot_row row, pp_text *script, pp_text *data)
{
    const pp_plot_view *view = s->view;
    const double width_ns = (double)(view->to_ns - view->from_ns) / (double)s->columns;
    const double middle = (row.low + row.high) / 2;
    const double half = (row.high - row.low) / 2 * 1.25 + OVERLAP_PX / view->row_px;
    pp_plot_begin(data, row.prefix, "mixed");
    for (uint32_t rank = view->first_rank; rank <= view->last_rank; rank++) {
        const size_t first = (rank - view->first_rank) * s->columns;
        for (size_t c = 0, end; c < s->columns; c = end) {
            for (end = c + 1; end < s->columns && !s->starts[first + end];)
                end++;
            double overlap = end < s->columns ? OVERLAP_PX / COLUMN_PX : 0;
            pp_plot_number(data, view->from_ns + (pp_ns)((double)c * width_ns), view->unit);
            pp_text_add(data, " ");
            pp_plot_number(data, view->from_ns + (pp_ns)(((double)end + overlap) * width_ns),
                           view->unit);
            pp_text_add(data, " %.3f %.3f %" PRIu32 "\n", rank + middle - half,
                        rank + middle + half, mix(s->of[first + c]));
        }
    }
    pp_plot_next(script, row.prefix, "mixed");
    pp_text_add(script, "using 1:3:1:2:3:4:5 with boxxyerror lc rgb variable fs solid 1.0 noborder "
                        "notitle");
}

/* Adds the time of all ops to the columns, and of gaps that do not look like the background. */
static void spread_all(const pp_track *track, shares *s)
{
    bool apart[PP_IDLE_COUNT];
    for (int cause = 0; cause < PP_IDLE_COUNT; cause++)
        apart[cause] = pp_plot_shares_cause(track, s->view, (pp_idle_cause)cause);
    for (size_t i = 0; i < track->box_count; i++) {
        const pp_box *box = &track->box[i];
        bool pair = pp_track_ends_pair(track, i + 1); /* the first op has the time of both */
        pp_ns middle_ns = pair ? box->start_ns + (box->end_ns - box->start_ns) / 2 : box->end_ns;
        spread(s, (int)box->op.kind, box->rank, box->start_ns, middle_ns);
        if (pair)
            spread(s, (int)box[1].op.kind, box->rank, middle_ns, box->end_ns);
    }
    for (size_t i = 0; i < track->gap_count; i++) {
        const pp_gap *gap = &track->gap[i];
        if (pp_plot_idle_fill(gap->cause) && apart[gap->cause])
            spread(s, PP_OP_KIND_COUNT + (int)gap->cause, gap->rank, gap->start_ns, gap->end_ns);
    }
}

static void free_shares(shares *s)
{
    free(s->of);
    free(s->starts);
}

pp_status pp_plot_shares(const pp_track *track, const pp_plot_view *view, pp_plot_row row,
                         pp_text *script, pp_text *data, pp_err *err)
{
    shares s PP_CLEANUP(free_shares) = { .view = view,
                                         .columns = (size_t)(view->plot_px / COLUMN_PX) + 1 };
    const size_t all = pp_plot_ranks(view) * s.columns;
    double tolerance = SAME_PX / (view->row_px * (row.high - row.low));
    int layers = 0;
    s.of = pp_alloc_array(all, sizeof *s.of);
    s.starts = pp_alloc_array(all, sizeof *s.starts);
    if (!s.of || !s.starts)
        return pp_err_nomem(err);
    spread_all(track, &s);
    pp_status status = smooth_all(&s, count_shown(track, view), err);
    if (status)
        return status;
    for (int layer = 0; layer < LAYERS; layer++)
        layers += s.present[layer];
    bool mixed = pp_plot_is_mixed(view, row);
    tolerance = mixed ? SAME_MIXED : tolerance;
    const size_t most = STEPS_MOST / (mixed ? STEP_BYTES_MIXED : (size_t)layers) / view->tracks;
    while (find_steps(&s, tolerance) > most && tolerance < 1)
        tolerance *= 1.5;
    level_steps(&s);
    if (mixed) {
        draw_mixed(&s, row, script, data);
        return PP_OK;
    }
    for (int layer = LAYERS; layer-- > 0;) {
        if (s.present[layer])
            draw_layer(&s, layer, row, script, data);
    }
    return PP_OK;
}
