/* Draws ops as boxes: a colour and stripes for each kind, a shade for each stage of a rank, and a
 * label if it fits. A label is the longest of "3F7", "F7" and "7" for which its box has room; where
 * it has no stage but the box is high enough, the stage stands below it in smaller digits. A box is
 * a line as thick as the row is high: of an SVG it takes a third of the bytes of a polygon. */
#include "traces/plot/draw/boxes.h"

#include "sim/base/minmax.h"
#include "traces/plot/draw/look.h"
#include "traces/plot/draw/shares.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FONT_MAX 13       /* largest font of labels, in pixels */
#define FONT_MIN 8        /* labels that would need a smaller font are left out */
#define FONT_NARROW 9     /* smallest font that is chosen to fit labels into narrow boxes */
#define DIGIT 0.65        /* width of a digit, as a share of the font's height */
#define BORDER_PX 5       /* boxes up to this width have no border, which would hide them */
#define TOUCH_PX 0.5      /* a smaller gap is not seen */
#define BYTES_MOST 900000 /* of boxes and labels in an SVG; labels beyond are left out */
#define BOX_BYTES 72
#define LABEL_BYTES 190
#define SPACE_PX 0.8 /* white space between two boxes, which is taken from the first one */
#define STAGE_FONT 8 /* font of the stage below a label */
#define STAGE_ROW 26 /* boxes of at least this height have room for both, in pixels */
#define STAGE_DOWN 8 /* the stage stands so far below the middle of its box, in pixels */
#define LABEL_UP 4   /* the label above it, so far above the middle */

static bool shows(const pp_track *track, const pp_plot_view *view, size_t i)
{
    const pp_box *box = &track->box[i];
    return box->start_ns < box->end_ns &&
           pp_plot_shows(view, box->rank, box->start_ns, box->end_ns) &&
           box->start_ns < view->to_ns && box->end_ns > view->from_ns;
}

/* Returns whether box i is visible, of this kind, and of this shade. */
static bool is_of(const pp_track *track, const pp_plot_view *view, size_t i, pp_op_kind kind,
                  int shade)
{
    const pp_box *box = &track->box[i];
    return box->op.kind == kind && pp_plot_shade(box->chunk, track->chunks) == shade &&
           shows(track, view, i);
}

/* Appends a line of data: from the start of a box, or what is shown of it, to `end_ns`. */
static void add_line(const pp_plot_view *view, pp_plot_row row, const pp_box *box, pp_ns end_ns,
                     pp_text *data)
{
    pp_plot_number(data, pp_max(box->start_ns, view->from_ns), view->unit);
    pp_text_add(data, " ");
    pp_plot_number(data, pp_min(end_ns, view->to_ns), view->unit);
    pp_text_add(data, " %.2f %.2f\n", box->rank + row.low, box->rank + row.high);
}

/* Appends the stretches of a rank in which ops touch each other, in white: the space between their
 * boxes, which is not idle time. */
static void add_stretches(const pp_track *track, const pp_plot_view *view, pp_plot_row row,
                          pp_text *script, pp_text *data)
{
    const double least_ns = TOUCH_PX * (double)(view->to_ns - view->from_ns) / view->plot_px;
    pp_plot_begin(data, row.prefix, "busy");
    for (size_t i = 0; i < track->box_count; i++) {
        const pp_box *first = &track->box[i];
        pp_ns end_ns = first->end_ns;
        if (!shows(track, view, i))
            continue;
        for (; i + 1 < track->box_count && track->box[i + 1].rank == first->rank &&
               (double)(track->box[i + 1].start_ns - end_ns) < least_ns;
             i++)
            end_ns = pp_max(end_ns, track->box[i + 1].end_ns);
        add_line(view, row, first, end_ns, data);
    }
    pp_plot_next(script, row.prefix, "busy");
    pp_text_add(script, PP_PLOT_THICK " with vectors nohead lw %.2f lc rgb 'white' notitle", 0.0,
                view->row_px * (row.high - row.low));
}

/* Appends the boxes of a kind and shade. Without borders, boxes of a rank that touch become one. */
static void add_data(const pp_track *track, const pp_plot_view *view, pp_plot_row row,
                     pp_op_kind kind, int shade, bool bordered, pp_text *data)
{
    const double least_ns = TOUCH_PX * (double)(view->to_ns - view->from_ns) / view->plot_px;
    for (size_t i = 0; i < track->box_count; i++) {
        const pp_box *box = &track->box[i];
        if (!is_of(track, view, i, kind, shade))
            continue;
        pp_ns end_ns = box->end_ns;
        for (; !bordered && i + 1 < track->box_count && box[0].rank == track->box[i + 1].rank &&
               is_of(track, view, i + 1, kind, shade) &&
               (double)(track->box[i + 1].start_ns - end_ns) < least_ns;
             i++)
            end_ns = pp_max(end_ns, track->box[i + 1].end_ns);
        add_line(view, row, box, end_ns, data);
    }
}

/* Appends the stripes of a kind of op over the boxes that were just appended as `name`. */
static void add_stripes(const pp_plot_view *view, pp_plot_row row, pp_op_kind kind,
                        const char *name, double space, pp_text *script)
{
    for (int upper = 0; upper < 2; upper++) {
        const char *colour = pp_plot_op_stripe(kind, upper);
        double in = pp_plot_stripe_px(view->row_px * (row.high - row.low)) * 1.1 / view->row_px;
        if (!colour)
            continue;
        pp_plot_next(script, row.prefix, name);
        pp_text_add(script,
                    "using 1:($%d%c%.4f):($2-$1-%.6g):(0) with vectors nohead lw %.2f lc rgb '%s' "
                    "notitle",
                    upper ? 3 : 4, upper ? '+' : '-', in, space,
                    pp_plot_stripe_px(view->row_px * (row.high - row.low)), colour);
    }
}

/* The style of all labels of a picture. */
typedef struct label_style {
    int font;   /* in pixels */
    int digits; /* of the largest microbatch; either all numbers are shown or none */
    bool stages;
    bool below; /* there is room for the stage below the label */
} label_style;

/* Finds the longest of "3F7", "F7" and "7" that fits; "" if none does. Returns whether the stage
 * stands below it. */
static bool find_label(const pp_track *track, size_t i, double width_px, label_style style,
                       char *label, size_t size)
{
    const pp_op op = track->box[i].op;
    char pair[16] = "";
    double room =
        width_px / (DIGIT * style.font) - 0.7; /* in digits, less what a letter is wider */
    if (pp_track_ends_pair(track, i + 1))
        snprintf(pair, sizeof pair, "&%c%" PRIu32, pp_op_letter(track->box[i + 1].op.kind),
                 track->box[i + 1].op.microbatch);
    char letter = pp_op_letter(op.kind);
    double least = style.digits + (*pair ? style.digits + 3 : 0);
    *label = '\0';
    bool whole = style.stages && least + 3.4 <= room;
    if (whole)
        snprintf(label, size, "%d%c%" PRIu32 "%s", op.stage, letter, op.microbatch, pair);
    else if (least + 1.4 <= room)
        snprintf(label, size, "%c%" PRIu32 "%s", letter, op.microbatch, pair);
    else if (style.digits <= room)
        snprintf(label, size, "%" PRIu32, op.microbatch);
    return *label && !whole && style.below && op.stage < 1000;
}

bool pp_plot_has_stages_below(const pp_track *track, const pp_plot_view *view, pp_plot_row row)
{
    return track->chunks > 1 && view->row_px * (row.high - row.low) >= STAGE_ROW;
}

static label_style style_of(const pp_track *track, const pp_plot_view *view, pp_plot_row row)
{
    uint32_t microbatch = 0;
    double sum_ns[PP_OP_KIND_COUNT] = { 0 };
    size_t count[PP_OP_KIND_COUNT] = { 0 };
    double px_per_ns = view->plot_px / (double)(view->to_ns - view->from_ns);
    double box_px = view->row_px * (row.high - row.low);
    double room_px = box_px * 0.85;
    label_style style = { .font = room_px > FONT_MAX ? FONT_MAX : (int)room_px, .digits = 1 };
    for (size_t i = 0; i < track->box_count; i++) {
        const pp_op op = track->box[i].op;
        microbatch = op.microbatch > microbatch ? op.microbatch : microbatch;
        style.stages |= op.stage >= track->ranks;
        sum_ns[op.kind] += (double)(track->box[i].end_ns - track->box[i].start_ns);
        count[op.kind]++;
    }
    for (; microbatch >= 10; microbatch /= 10)
        style.digits++;
    for (int kind = 0; kind < PP_OP_KIND_COUNT; kind++) {
        double mean_ns = count[kind] ? sum_ns[kind] / (double)count[kind] : 0;
        double fitting_px = mean_ns * px_per_ns / (DIGIT * (style.digits + 0.7));
        if (style.font > fitting_px && fitting_px >= FONT_NARROW)
            style.font = (int)fitting_px;
    }
    style.below = pp_plot_has_stages_below(track, view, row);
    return style;
}

/* Returns whether an SVG with all labels stays below a megabyte. */
static bool labels_fit(const pp_track *track, const pp_plot_view *view, label_style style)
{
    const double px_per_ns = view->plot_px / (double)(view->to_ns - view->from_ns);
    size_t bytes = 0;
    for (size_t i = 0; i < track->box_count; i++) {
        const pp_box *box = &track->box[i];
        char label[40];
        if (!shows(track, view, i))
            continue;
        bool two = find_label(track, i, (double)(box->end_ns - box->start_ns) * px_per_ns, style,
                              label, sizeof label);
        bytes += BOX_BYTES + (size_t)(*label ? 1 + two : 0) * LABEL_BYTES;
    }
    return bytes * view->tracks <= BYTES_MOST;
}

/* Appends the labels that are white, or those that are black; or the stages below them. */
static void add_labels(const pp_track *track, const pp_plot_view *view, pp_plot_row row, bool white,
                       bool below, label_style style, pp_text *script, pp_text *data)
{
    static const char *const names[2][2] = { { "black", "stage black" },
                                             { "white", "stage white" } };
    bool any = false;
    const char *name = names[white][below];
    double px_per_ns = view->plot_px / (double)(view->to_ns - view->from_ns);
    for (size_t i = 0; i < track->box_count; i++) {
        const pp_box *box = &track->box[i];
        char colour[PP_PLOT_COLOUR_BYTES];
        char label[40]; /* "65535F16777215&B16777215" */
        int shade = pp_plot_shade(box->chunk, track->chunks);
        if (!shows(track, view, i) || pp_plot_op_colour(box->op.kind, shade, colour) != white)
            continue;
        pp_ns from_ns = pp_max(box->start_ns, view->from_ns);
        pp_ns to_ns = pp_min(box->end_ns, view->to_ns);
        bool two =
            find_label(track, i, (double)(to_ns - from_ns) * px_per_ns, style, label, sizeof label);
        if (!*label || (below && !two))
            continue;
        if (!any)
            pp_plot_begin(data, row.prefix, name);
        any = true;
        double middle = box->rank + (row.low + row.high) / 2;
        double down_px = below ? STAGE_DOWN : two ? -LABEL_UP : 0;
        pp_plot_number(data, from_ns + (to_ns - from_ns) / 2, view->unit);
        pp_text_add(data, " %.3f ", middle + down_px / view->row_px);
        if (below)
            pp_text_add(data, "%d\n", box->op.stage);
        else
            pp_text_add(data, "%s\n", label);
    }
    if (!any)
        return;
    pp_plot_next(script, row.prefix, name);
    pp_text_add(script, "using 1:2:3 with labels font ',%g' tc rgb '%s' notitle",
                pp_plot_font(view->size.out, below ? STAGE_FONT : style.font),
                white ? "white" : "black");
}

bool pp_plot_is_wide(const pp_track *track, const pp_plot_view *view)
{
    size_t narrow = 0;
    size_t shown = 0;
    double px_per_ns = view->plot_px / (double)(view->to_ns - view->from_ns);
    for (size_t i = 0; i < track->box_count; i++) {
        pp_ns length_ns = track->box[i].end_ns - track->box[i].start_ns;
        narrow += shows(track, view, i) && (double)length_ns * px_per_ns <= BORDER_PX;
        shown += shows(track, view, i);
    }
    return narrow * 2 < shown;
}

void pp_plot_boxes_key(const pp_track *track, const pp_plot_view *view, pp_plot_head *head)
{
    bool present[PP_OP_KIND_COUNT] = { false };
    for (size_t i = 0; i < track->box_count; i++)
        present[track->box[i].op.kind] |= shows(track, view, i);
    for (int kind = 0; kind < PP_OP_KIND_COUNT; kind++) {
        char fill[2][PP_PLOT_FILL_BYTES];
        const char *words = pp_plot_op_words((pp_op_kind)kind);
        if (!present[kind])
            continue;
        pp_plot_op_fill((pp_op_kind)kind, 0, fill[0]);
        pp_plot_op_fill((pp_op_kind)kind, PP_PLOT_SHADES - 1, fill[1]);
        pp_plot_entry *entry = pp_plot_head_add(head, NULL, NULL, NULL, words);
        if (!entry)
            return;
        snprintf(entry->fill, sizeof entry->fill, "%s noborder", fill[0]);
        if (track->chunks > 1 && !pp_plot_is_dense(track, view))
            snprintf(entry->right, sizeof entry->right, "%s noborder", fill[1]);
        for (int upper = 0; upper < 2; upper++) {
            const char *colour = pp_plot_op_stripe((pp_op_kind)kind, upper);
            if (colour)
                snprintf(upper ? entry->upper : entry->lower, sizeof entry->upper,
                         "lw 1.5 lc rgb '%s'", colour);
        }
    }
}

/* Appends the boxes of all kinds and shades. */
static void add_boxes(const pp_track *track, const pp_plot_view *view, pp_plot_row row,
                      pp_text *script, pp_text *data)
{
    const double px_ns = (double)(view->to_ns - view->from_ns) / view->plot_px;
    size_t count[PP_OP_KIND_COUNT][PP_PLOT_SHADES] = { { 0 } };
    for (size_t i = 0; i < track->box_count; i++)
        count[track->box[i].op.kind][pp_plot_shade(track->box[i].chunk, track->chunks)] +=
            shows(track, view, i);
    bool bordered = !row.bare && pp_plot_is_wide(track, view);
    double space = bordered ? SPACE_PX * px_ns / (double)view->unit.divisor : 0;
    if (bordered)
        add_stretches(track, view, row, script, data);
    for (int k = 0; k < PP_OP_KIND_COUNT * PP_PLOT_SHADES; k++) {
        pp_op_kind kind = (pp_op_kind)(k / PP_PLOT_SHADES);
        int shade = k % PP_PLOT_SHADES;
        char colour[PP_PLOT_COLOUR_BYTES];
        char name[] = { 'o', 'p', ' ', pp_op_letter(kind), (char)('0' + shade), '\0' };
        if (!count[kind][shade])
            continue;
        pp_plot_op_colour(kind, shade, colour);
        pp_plot_begin(data, row.prefix, name);
        add_data(track, view, row, kind, shade, bordered, data);
        pp_plot_next(script, row.prefix, name);
        pp_text_add(script, PP_PLOT_THICK " with vectors nohead lw %.2f lc rgb '%s' notitle", space,
                    view->row_px * (row.high - row.low), colour);
        add_stripes(view, row, kind, name, space, script);
    }
}

pp_status pp_plot_boxes(const pp_track *track, const pp_plot_view *view, pp_plot_row row,
                        pp_text *script, pp_text *data, pp_err *err)
{
    if (pp_plot_is_dense(track, view))
        return pp_plot_shares(track, view, row, script, data, err);
    add_boxes(track, view, row, script, data);
    label_style style = style_of(track, view, row);
    if (style.below && !labels_fit(track, view, style))
        style.below = false;
    if (style.font < FONT_MIN || !labels_fit(track, view, style))
        return PP_OK;
    for (int white = 0; white < 2; white++) {
        add_labels(track, view, row, white, false, style, script, data);
        if (style.below)
            add_labels(track, view, row, white, true, style, script, data);
    }
    return PP_OK;
}
