/* Draws the peak memory of every rank: a bar of its components stacked on each other, the limit,
 * what exceeds it in red, and the op that runs at the peak. */
#include "sim/base/alloc.h"
#include "traces/plot/draw/components.h"
#include "traces/plot/draw/gnuplot.h"
#include "traces/plot/draw/units.h"
#include "traces/plot/draw/view.h"
#include "traces/plot/plot.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEFT = 58, RIGHT = 20, BOTTOM = 48, WORDS_GAP = 8 }; /* pixels */
enum { FONT = 12, FONT_LEAST = 8, TIC_PX = 68, WORDS_MOST = 1000 };

#define HIGH 0.38        /* half the height of a bar, as a share of the distance of two ranks */
#define LAYER_LEAST 0.01 /* share of the axis, below which components share a layer */

/* What all parts of the picture use. */
typedef struct sheet {
    const pp_track *track;
    pp_plot_view view;
    pp_plot_layers layers;
    const pp_memory_sample_row **peak; /* by rank; NULL: not known */
    int64_t limit_bytes;               /* 0: none */
    int64_t most_bytes;                /* the largest of all peaks and the limit */
    uint32_t fullest;                  /* the rank with the largest peak */
    pp_plot_unit unit;
    int font;        /* of the words beside the bars; 0: there is no room for them */
    double words_px; /* width of the widest of them */
} sheet;

static bool fits(const pp_picture *picture)
{
    return picture->tracks == 1 && picture->track[0].sample_count > 0;
}

static int row_height(uint32_t ranks)
{
    return ranks <= 8 ? 34 : ranks <= 24 ? 24 : ranks <= 128 ? 15 : 8;
}

/* Finds the peak of every rank and the largest one. */
static void find_peaks(sheet *s)
{
    for (size_t i = 0; i < s->track->sample_count; i++) {
        const pp_memory_sample_row *sample = &s->track->sample[i];
        if (sample->rank < s->view.first_rank || sample->rank > s->view.last_rank)
            continue;
        const pp_memory_sample_row **peak = &s->peak[sample->rank];
        int64_t total = pp_plot_total(sample);
        if (!*peak || total > pp_plot_total(*peak))
            *peak = sample;
        if (total > s->most_bytes || !s->peak[s->fullest] ||
            total > pp_plot_total(s->peak[s->fullest]))
            s->fullest = sample->rank;
        s->most_bytes = total > s->most_bytes ? total : s->most_bytes;
    }
}

/* Prints "56.8 GiB in 4F23", and by how much that is over the limit. */
static void print_words(const sheet *s, uint32_t rank, char *words, size_t size)
{
    char bytes[2][32];
    char op[32];
    const pp_memory_sample_row *peak = s->peak[rank];
    if (!peak) {
        snprintf(words, size, "not known");
        return;
    }
    int64_t total = pp_plot_total(peak);
    pp_plot_op_at(s->track, peak, op, sizeof op);
    int used = snprintf(words, size, "%s%s%s", pp_format_bytes(bytes[0], sizeof bytes[0], total),
                        *op ? " in " : "", op);
    if (s->limit_bytes && total > s->limit_bytes)
        snprintf(words + used, size - (size_t)used, ", %s over",
                 pp_format_bytes(bytes[1], sizeof bytes[1], total - s->limit_bytes));
}

static void make_head(const sheet *s, pp_plot_head *head)
{
    char words[128];
    char more[200];
    uint32_t over = 0;
    for (uint32_t rank = s->view.first_rank; rank <= s->view.last_rank; rank++)
        over += s->limit_bytes && s->peak[rank] && pp_plot_total(s->peak[rank]) > s->limit_bytes;
    print_words(s, s->fullest, words, sizeof words);
    int used = snprintf(more, sizeof more, "Rank %" PRIu32 " needs most: %s.", s->fullest, words);
    if (over)
        snprintf(more + used, sizeof more - (size_t)used,
                 " %" PRIu32 " of %" PRIu32 " ranks need more than the limit.", over,
                 pp_plot_ranks(&s->view));
    pp_plot_head_name(head, s->track->about, s->track->name, "peak memory per rank", more);
    pp_plot_layers_key(&s->layers, s->limit_bytes, over > 0, head);
}

/* Finds the font of the words beside the bars, and the room that they need. */
static void fit_words(sheet *s)
{
    char words[128];
    const double most_px = s->view.size.width * 0.4;
    for (s->font = FONT; s->font >= FONT_LEAST; s->font--) {
        s->words_px = 0;
        for (uint32_t rank = s->view.first_rank; rank <= s->view.last_rank; rank++) {
            print_words(s, rank, words, sizeof words);
            double px = pp_plot_text_px(words, strlen(words), s->font);
            s->words_px = px > s->words_px ? px : s->words_px;
        }
        if (s->words_px <= most_px && s->font * 1.1 <= s->view.row_px)
            break;
    }
    if (s->font < FONT_LEAST || pp_plot_ranks(&s->view) > WORDS_MOST) {
        s->font = 0;
        s->words_px = 0;
    }
}

/* Appends the boxes of a layer, whose lower end is the upper end of the layer below it. */
static void add_layer(const sheet *s, int k, pp_text *script, pp_text *data)
{
    const char *name = s->layers.layer[k].name;
    pp_plot_begin(data, "layer ", name);
    for (uint32_t rank = s->view.first_rank; rank <= s->view.last_rank; rank++) {
        int64_t low = s->peak[rank] ? pp_plot_stacked(&s->layers, k - 1, s->peak[rank]) : 0;
        int64_t high = s->peak[rank] ? pp_plot_stacked(&s->layers, k, s->peak[rank]) : 0;
        pp_plot_number(data, low, s->unit);
        pp_text_add(data, " ");
        pp_plot_number(data, high, s->unit);
        pp_text_add(data, " %.2f %.2f\n", rank - HIGH, rank + HIGH);
    }
    pp_plot_next(script, "layer ", name);
    pp_text_add(script, "using 1:3:1:2:3:4 with boxxyerror %s notitle", s->layers.layer[k].fill);
}

/* Appends what exceeds the limit, and the limit. */
static void add_limit(const sheet *s, pp_text *script, pp_text *data)
{
    bool any = false;
    if (!s->limit_bytes)
        return;
    for (uint32_t rank = s->view.first_rank; rank <= s->view.last_rank; rank++) {
        int64_t total = s->peak[rank] ? pp_plot_total(s->peak[rank]) : 0;
        if (total <= s->limit_bytes)
            continue;
        if (!any)
            pp_plot_begin(data, "", "over");
        any = true;
        pp_plot_number(data, s->limit_bytes, s->unit);
        pp_text_add(data, " ");
        pp_plot_number(data, total, s->unit);
        pp_text_add(data, " %.2f %.2f\n", rank - HIGH, rank + HIGH);
    }
    if (any) {
        pp_plot_next(script, "", "over");
        pp_text_add(script, "using 1:3:1:2:3:4 with boxxyerror " PP_PLOT_OVER_FILL " notitle");
    }
    pp_plot_begin(data, "", "limit");
    pp_plot_number(data, s->limit_bytes, s->unit);
    pp_text_add(data, " %.1f\n", s->view.first_rank - 0.5);
    pp_plot_number(data, s->limit_bytes, s->unit);
    pp_text_add(data, " %.1f\n", s->view.last_rank + 0.5);
    pp_plot_next(script, "", "limit");
    pp_text_add(script, "using 1:2 with lines " PP_PLOT_LIMIT_LINE " notitle");
}

/* Appends the words right of the bars, all of which begin at one place. */
static void add_words(const sheet *s, pp_text *script)
{
    char words[128];
    for (uint32_t rank = s->view.first_rank; rank <= s->view.last_rank && s->font; rank++) {
        const bool over =
            s->limit_bytes && s->peak[rank] && pp_plot_total(s->peak[rank]) > s->limit_bytes;
        print_words(s, rank, words, sizeof words);
        pp_plot_text_at(s->view.size, s->view.edges[2] + WORDS_GAP,
                        s->view.edges[1] + (rank - s->view.first_rank + 0.5) * s->view.row_px,
                        PP_PLOT_LEFT, s->font, over ? "tc rgb '#b01010'" : "", words, script);
    }
}

static pp_status look(const pp_picture *picture, sheet *s, pp_err *err)
{
    s->track = &picture->track[0];
    s->limit_bytes = picture->memory_limit_bytes;
    s->most_bytes = s->limit_bytes > 1 ? s->limit_bytes : 1; /* an axis needs a length */
    pp_status status = pp_plot_view_of(picture, LEFT, RIGHT, &s->view, err);
    if (status)
        return status;
    s->peak = pp_alloc_array(s->track->ranks, sizeof *s->peak);
    if (!s->peak)
        return pp_err_nomem(err);
    s->fullest = s->view.first_rank;
    find_peaks(s);
    s->unit = pp_plot_bytes_unit(s->most_bytes);
    pp_plot_find_layers(s->track, &s->view, (int64_t)(LAYER_LEAST * (double)s->most_bytes),
                        &s->layers);
    return PP_OK;
}

static void free_sheet(sheet *s)
{
    free(s->peak);
}

static pp_status draw(const pp_picture *picture, pp_text *script, pp_text *data, pp_err *err)
{
    char axis[32];
    sheet s PP_CLEANUP(free_sheet) = { .peak = NULL };
    pp_plot_head head = { .entries = 0 };
    pp_status status = look(picture, &s, err);
    if (status)
        return status;
    make_head(&s, &head);
    pp_plot_place(picture, &s.view, &head, row_height(pp_plot_ranks(&s.view)), BOTTOM);
    fit_words(&s);
    s.view.edges[2] -= s.font ? s.words_px + WORDS_GAP : 0;
    s.view.plot_px = s.view.edges[2] - s.view.edges[0];
    pp_plot_rank_frame(&s.view, &head, script);
    snprintf(axis, sizeof axis, "memory (%s)", s.unit.name);
    pp_plot_axis_names(s.view.size, s.view.edges, axis, "rank", script);
    add_words(&s, script);
    pp_text_add(script, "set xtics nomirror %.10g\nset xrange [0:",
                pp_plot_step((double)s.most_bytes * 1.02 / (double)s.unit.divisor,
                             s.view.plot_px / TIC_PX));
    pp_plot_number(script, s.most_bytes, s.unit);
    pp_text_add(script, "*1.02]\nplot ");
    for (int k = 0; k < s.layers.count; k++)
        add_layer(&s, k, script, data);
    if (!s.layers.count) /* nothing is known, and the axes are drawn all the same */
        pp_text_add(script, "-1 notitle");
    add_limit(&s, script, data);
    pp_text_add(script, "\n");
    return PP_OK;
}

const pp_plot pp_plot_peaks = {
    .name = "peaks",
    .summary = "peak memory of every rank by component, with the limit and the op at the peak",
    .needs = "one timeline with memory: a plan, memory costs, a chrome or memory trace",
    .fits = fits,
    .draw = draw,
};
