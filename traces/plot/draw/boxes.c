/* Draws ops as boxes: shades and hatching that can be distinguished without colour, and labels
 * where they fit. A label is the longest of "3F7", "F7" and "7" for which its box has room. */
#include "traces/plot/draw/boxes.h"

#include "sim/base/minmax.h"
#include "traces/plot/draw/shares.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FONT_MAX 13   /* largest font of labels, in pixels */
#define FONT_MIN 8    /* labels that would need a smaller font are left out */
#define FONT_NARROW 9 /* smallest font that is chosen to fit labels into narrow boxes */
#define DIGIT 0.65    /* width of a digit, as a share of the font's height */
#define BORDER_PX 5   /* boxes up to this width have no border, which would hide them */
#define BORDER "border lc rgb '#303030' lw 0.6"
#define NARROW_W "fc rgb '#303030' fs solid 1.0" /* hatching needs more width */

/* Fill styles of the kinds of ops, from light to dark; W is hatched. */
static const struct {
    const char *fill, *text, *words;
} looks[PP_OP_KIND_COUNT] = {
    [PP_OP_F] = { "fc rgb '#e6effa' fs solid 1.0", "black", "F forward" },
    [PP_OP_I] = { "fc rgb '#93b7de' fs solid 1.0", "black", "I backward, input" },
    [PP_OP_W] = { "fc rgb '#707070' fs pattern 5", "black", "W backward, weight" },
    [PP_OP_B] = { "fc rgb '#4a78ad' fs solid 1.0", "white", "B backward" },
};

static bool shows(const pp_track *track, const pp_plot_view *view, size_t i)
{
    const pp_box *box = &track->box[i];
    return box->start_ns < box->end_ns &&
           pp_plot_shows(view, box->rank, box->start_ns, box->end_ns) &&
           box->start_ns < view->to_ns && box->end_ns > view->from_ns;
}

static void add_data(const pp_track *track, const pp_plot_view *view, pp_plot_row row,
                     pp_op_kind kind, pp_text *data)
{
    for (size_t i = 0; i < track->box_count; i++) {
        const pp_box *box = &track->box[i];
        if (box->op.kind != kind || !shows(track, view, i))
            continue;
        pp_plot_number(data, pp_max(box->start_ns, view->from_ns), view->unit);
        pp_text_add(data, " ");
        pp_plot_number(data, pp_min(box->end_ns, view->to_ns), view->unit);
        pp_text_add(data, " %.2f %.2f\n", box->rank + row.low, box->rank + row.high);
    }
}

/* The style of all labels of a picture. */
typedef struct label_style {
    int font;   /* in pixels */
    int digits; /* of the largest microbatch; either all numbers are shown or none */
    bool stages;
} label_style;

/* Finds the longest of "3F7", "F7" and "7" that fits; "" if none does. */
static void find_label(const pp_track *track, size_t i, double width_px, label_style style,
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
    if (style.stages && least + 3.4 <= room)
        snprintf(label, size, "%d%c%" PRIu32 "%s", op.stage, letter, op.microbatch, pair);
    else if (least + 1.4 <= room)
        snprintf(label, size, "%c%" PRIu32 "%s", letter, op.microbatch, pair);
    else if (style.digits <= room)
        snprintf(label, size, "%" PRIu32, op.microbatch);
}

static label_style style_of(const pp_track *track, const pp_plot_view *view, pp_plot_row row)
{
    uint32_t microbatch = 0;
    double sum_ns[PP_OP_KIND_COUNT] = { 0 };
    size_t count[PP_OP_KIND_COUNT] = { 0 };
    double typical_ns = 0; /* the average of the kind that is longest on average */
    double px_per_ns = view->plot_px / (double)(view->to_ns - view->from_ns);
    double room_px = view->row_px * (row.high - row.low) * 0.85;
    label_style style = { .font = room_px > FONT_MAX ? FONT_MAX : (int)room_px, .digits = 1 };
    for (size_t i = 0; i < track->box_count; i++) {
        const pp_op op = track->box[i].op;
        microbatch = op.microbatch > microbatch ? op.microbatch : microbatch;
        style.stages |= op.stage >= track->ranks;
        sum_ns[op.kind] += (double)(track->box[i].end_ns - track->box[i].start_ns);
        count[op.kind]++;
    }
    for (int kind = 0; kind < PP_OP_KIND_COUNT; kind++) {
        double mean_ns = count[kind] ? sum_ns[kind] / (double)count[kind] : 0;
        typical_ns = mean_ns > typical_ns ? mean_ns : typical_ns;
    }
    for (; microbatch >= 10; microbatch /= 10)
        style.digits++;
    double fitting_px = typical_ns * px_per_ns / (DIGIT * (style.digits + 0.7));
    if (style.font > fitting_px && fitting_px >= FONT_NARROW)
        style.font = (int)fitting_px;
    return style;
}

/* Appends a data set `name` of labels; returns whether there is any label. */
static bool add_labels(const pp_track *track, const pp_plot_view *view, pp_plot_row row,
                       pp_op_kind kind, label_style style, const char *name, pp_text *data)
{
    bool any = false;
    double px_per_ns = view->plot_px / (double)(view->to_ns - view->from_ns);
    for (size_t i = 0; i < track->box_count; i++) {
        const pp_box *box = &track->box[i];
        char label[40]; /* "65535F16777215&B16777215" */
        if (box->op.kind != kind || !shows(track, view, i))
            continue;
        pp_ns from_ns = pp_max(box->start_ns, view->from_ns);
        pp_ns to_ns = pp_min(box->end_ns, view->to_ns);
        find_label(track, i, (double)(to_ns - from_ns) * px_per_ns, style, label, sizeof label);
        if (!*label)
            continue;
        if (!any)
            pp_plot_begin(data, row.prefix, name);
        any = true;
        pp_plot_number(data, from_ns + (to_ns - from_ns) / 2, view->unit);
        pp_text_add(data, " %.3f %s\n", box->rank + (row.low + row.high) / 2, label);
    }
    return any;
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

pp_status pp_plot_boxes(const pp_track *track, const pp_plot_view *view, pp_plot_row row,
                        bool titled, pp_text *script, pp_text *data, pp_err *err)
{
    size_t count[PP_OP_KIND_COUNT] = { 0 };
    if (pp_plot_is_dense(track, view))
        return pp_plot_shares(track, view, row, titled, script, data, err);
    for (size_t i = 0; i < track->box_count; i++)
        count[track->box[i].op.kind] += shows(track, view, i);
    bool bordered = !row.bare && pp_plot_is_wide(track, view);
    for (int kind = 0; kind < PP_OP_KIND_COUNT; kind++) {
        char name[] = { 'o', 'p', ' ', pp_op_letter((pp_op_kind)kind), '\0' };
        if (!count[kind])
            continue;
        pp_plot_begin(data, row.prefix, name);
        add_data(track, view, row, (pp_op_kind)kind, data);
        pp_plot_next(script, row.prefix, name);
        const char *fill = kind == PP_OP_W && !bordered ? NARROW_W : looks[kind].fill;
        pp_text_add(script, "using 1:3:1:2:3:4 with boxxyerror %s %s notitle", fill,
                    bordered ? BORDER : "noborder");
        if (titled)
            pp_text_add(script, ", \\\n    keyentry with boxes %s " BORDER " title '%s'", fill,
                        looks[kind].words);
    }
    const label_style style = style_of(track, view, row);
    for (int kind = 0; kind < PP_OP_KIND_COUNT && style.font >= FONT_MIN; kind++) {
        char name[] = { 't', 'e', 'x', 't', ' ', pp_op_letter((pp_op_kind)kind), '\0' };
        if (!count[kind] || !add_labels(track, view, row, (pp_op_kind)kind, style, name, data))
            continue;
        pp_plot_next(script, row.prefix, name);
        pp_text_add(script, "using 1:2:3 with labels %sfont ',%d' tc rgb '%s' notitle",
                    kind == PP_OP_W ? "boxed " : "", pp_plot_font(view->png, style.font),
                    looks[kind].text);
    }
    return PP_OK;
}
