/* Draws the result of a sweep over two of its axes as a heat map: the best value of every cell, the
 * reason of cells that have none, and the best cell of all. Values are written in black or white,
 * whichever has the higher contrast to the colour of the cell by WCAG 2.1. */
#include "sim/base/field.h"
#include "traces/plot/draw/quiet.h"
#include "traces/plot/draw/units.h"
#include "traces/plot/draw/view.h"
#include "traces/plot/plot.h"

#include <stdio.h>
#include <string.h>

enum { CELL_WIDTH = 96, CELL_HEIGHT = 44, LEAST_WIDTH = 560, MOST_WIDTH = 1600 }; /* pixels */
enum { BOTTOM = 46, LEFT = 30, RIGHT = 20, KEY_WIDTH = 90, LINE_PX = 16 };
enum {
    FONT = 12,
    NOTE_FONT = 10,
    FONT_LEAST = 8,
    BAR_LEAST = 450,
    BAR_PX = 14
}; /* of the colour bar */
enum { CELLS_MAX = 40000 };

static const char *const words[PP_CELL_COUNT] = {
#define PP_CELL_WORDS(name, words) words,
    PP_CELL_MAP(PP_CELL_WORDS)
#undef PP_CELL_WORDS
};

/* What stands in a cell without a value, and its fill: their greys differ without colour. */
static const struct {
    const char *word, *fill;
} looks[PP_CELL_COUNT] = {
    [PP_CELL_MEMORY] = { "memory", "fs solid 1.0 border lc rgb 'white' fc rgb '#f4d7da'" },
    [PP_CELL_HANG] = { "hangs", "fs solid 1.0 border lc rgb 'white' fc rgb '#a8a8a8'" },
    [PP_CELL_INFEASIBLE] = { "infeasible", "fs solid 1.0 border lc rgb 'white' fc rgb '#cfcfcf'" },
    [PP_CELL_ILLEGAL] = { "illegal", "fs solid 1.0 border lc rgb 'white' fc rgb '#ebebeb'" },
    [PP_CELL_MISSING] = { "?", "fs solid 1.0 border lc rgb '#cfcfcf' fc rgb 'white'" },
};

#define BEST_LINE "lc rgb '#202020' lw 3"
#define WHITE_FROM \
    0.75 /* share of the dark end of the palette from which white has more contrast */

/* The layout and the ranges, which all parts of the picture use. */
typedef struct sheet {
    const pp_picture *picture;
    uint32_t columns, rows;
    pp_plot_size size;
    double edges[4]; /* of the plot, in pixels from the upper left corner */
    double cell_px, row_px;
    pp_plot_head head;
    double least, most;  /* the range of the values */
    const pp_cell *best; /* NULL: no cell has a value */
    bool same_notes;     /* of all cells with a value, which stands in the head then */
    int font;            /* of the values; 0: they do not fit into the cells */
    bool bar;            /* there is a colour bar, since the values do not stand in the cells */
} sheet;

static bool fits(const pp_picture *picture)
{
    return picture->cell_count > 0;
}

static void find_range(sheet *s)
{
    const pp_picture *p = s->picture;
    s->same_notes = true;
    for (size_t i = 0; i < p->cell_count; i++) {
        const pp_cell *cell = &p->cell[i];
        if (cell->state != PP_CELL_OK)
            continue;
        s->same_notes &= !s->best || strcmp(cell->note, s->best->note) == 0;
        s->least = !s->best || cell->value < s->least ? cell->value : s->least;
        s->most = !s->best || cell->value > s->most ? cell->value : s->most;
        if (!s->best ||
            (p->heat.larger ? cell->value > s->best->value : cell->value < s->best->value))
            s->best = cell;
    }
}

/* Makes the title and the key: the states that occur, and the best cell. */
static void make_head(sheet *s)
{
    const pp_heat *heat = &s->picture->heat;
    bool seen[PP_CELL_COUNT] = { false };
    char more[sizeof heat->about + 64];
    bool same = s->best && s->same_notes && *s->best->note;
    snprintf(more, sizeof more, "%s%s%s%s", heat->about, same && *heat->about ? "; " : "",
             same ? "all cells: " : "", same ? s->best->note : "");
    pp_plot_head_name(&s->head, "", heat->model, heat->metric, more);
    for (size_t i = 0; i < s->picture->cell_count; i++)
        seen[s->picture->cell[i].state] = true;
    for (int state = PP_CELL_OK + 1; state < PP_CELL_COUNT; state++) {
        if (seen[state])
            pp_plot_head_add(&s->head, looks[state].fill, NULL, NULL, words[state]);
    }
    if (s->best)
        pp_plot_head_add(&s->head, "fs empty border " BEST_LINE, NULL, NULL, "best");
}

/* Prints a value with four significant digits. */
static void print_value(double value, char *text, size_t size)
{
    double size_of = value < 0 ? -value : value;
    snprintf(text, size, "%.*f",
             size_of >= 1000  ? 0
             : size_of >= 100 ? 1
             : size_of >= 10  ? 2
                              : 3,
             value);
}

/* Prints what stands in a cell: its value, or the word for why it has none. */
static void print_cell(const pp_cell *cell, char *text, size_t size)
{
    if (cell->state == PP_CELL_OK)
        print_value(cell->value, text, size);
    else
        snprintf(text, size, "%s", looks[cell->state].word);
}

static bool has_room(const sheet *s, const char *text, int font)
{
    return pp_plot_text_px(text, strlen(text), font) <= s->cell_px - 8 && font + 2 <= s->row_px;
}

/* Returns the largest font with which all values fit into their cells, or, if values is false, all
 * words; 0: there is none. */
static int fitting_font(const sheet *s, bool values)
{
    const pp_picture *p = s->picture;
    int font = FONT;
    for (size_t i = 0; i < p->cell_count; i++) {
        char text[32];
        if ((p->cell[i].state == PP_CELL_OK) != values)
            continue;
        print_cell(&p->cell[i], text, sizeof text);
        while (font >= FONT_LEAST && !has_room(s, text, font))
            font--;
    }
    return font >= FONT_LEAST ? font : 0;
}

static void lay_out(sheet *s)
{
    const pp_picture *p = s->picture;
    double letters_px = 0;
    for (size_t i = 0; i < p->tick_count; i++) {
        double own_px = pp_plot_text_px(p->tick[i].label, strlen(p->tick[i].label), FONT);
        if (p->tick[i].y)
            s->rows++;
        else
            s->columns++;
        letters_px = p->tick[i].y && own_px > letters_px ? own_px : letters_px;
    }
    int left = LEFT + (int)letters_px;
    int request = left + RIGHT + CELL_WIDTH * (int)s->columns;
    request = request < LEAST_WIDTH ? LEAST_WIDTH : request > MOST_WIDTH ? MOST_WIDTH : request;
    s->size = (pp_plot_size){ .width = p->width ? p->width : request, .out = p->out };
    left = left > s->size.width / 3 ? s->size.width / 3 : left;
    make_head(s);
    pp_plot_head_lay_out(&s->head, s->size.width, pp_plot_head_room(p->height));
    s->edges[0] = left;
    s->edges[1] = s->head.px + (*p->heat.y ? PP_PLOT_CAPTION_PX : 0);
    s->size.height = p->height ? p->height : (int)s->edges[1] + BOTTOM + CELL_HEIGHT * (int)s->rows;
    s->edges[2] = s->size.width - RIGHT;
    s->edges[3] = s->size.height - BOTTOM;
    s->cell_px = (s->edges[2] - s->edges[0]) / s->columns;
    s->row_px = (s->edges[3] - s->edges[1]) / s->rows;
    s->font = fitting_font(s, true);
    s->bar = !s->font && s->best && s->most > s->least && s->size.width >= BAR_LEAST;
    if (!s->bar)
        return;
    s->edges[2] = s->size.width - KEY_WIDTH;
    s->cell_px = (s->edges[2] - s->edges[0]) / s->columns;
}

/* Appends the labels of an axis: all of them, or every second, fourth and so on if they would
 * overlap. */
static void add_ticks(const sheet *s, bool y, pp_text *script)
{
    const pp_picture *p = s->picture;
    const double room_px = y ? s->row_px : s->cell_px;
    double widest_px = LINE_PX;
    uint32_t number = 0;
    uint32_t step = 1;
    for (size_t i = 0; i < p->tick_count && !y; i++) {
        double own_px = pp_plot_text_px(p->tick[i].label, strlen(p->tick[i].label), FONT) + 8;
        widest_px = !p->tick[i].y && own_px > widest_px ? own_px : widest_px;
    }
    while (room_px * step < widest_px && step < (y ? s->rows : s->columns))
        step *= 2;
    for (size_t i = 0; i < p->tick_count; i++) {
        char label[sizeof p->tick[i].label];
        if (p->tick[i].y != y || number++ % step)
            continue;
        double most_px = y ? s->edges[0] - LEFT + 4 : room_px * step - 4;
        double at = (number - 0.5) * room_px;
        pp_plot_shorten(p->tick[i].label, FONT, most_px, label, sizeof label);
        pp_plot_text_at(s->size, y ? s->edges[0] - 6 : s->edges[0] + at,
                        y ? s->edges[3] - at : s->edges[3] + 11, y ? PP_PLOT_RIGHT : PP_PLOT_CENTRE,
                        FONT, "", label, script);
    }
}

static void add_box(const pp_cell *cell, pp_text *data)
{
    pp_text_add(data, "%u %u %.1f %.1f %.1f %.1f", (unsigned)cell->x, (unsigned)cell->y,
                cell->x - 0.5, cell->x + 0.5, cell->y - 0.5, cell->y + 0.5);
}

static void add_cells(const sheet *s, int state, pp_text *script, pp_text *data)
{
    bool any = false;
    for (size_t i = 0; i < s->picture->cell_count; i++) {
        const pp_cell *cell = &s->picture->cell[i];
        if ((int)cell->state != state)
            continue;
        if (!any)
            pp_plot_begin(data, "cells ", words[state]);
        any = true;
        add_box(cell, data);
        if (state == PP_CELL_OK)
            pp_text_add(data, " %.6g", cell->value);
        pp_text_add(data, "\n");
    }
    if (!any)
        return;
    pp_plot_next(script, "cells ", words[state]);
    pp_text_add(script, "using 1:2:3:4:5:6%s with boxxyerror %s ", state == PP_CELL_OK ? ":7" : "",
                state == PP_CELL_OK ? "fs solid 1.0 border lc rgb 'white' fc palette"
                                    : looks[state].fill);
    pp_text_add(script, "notitle");
}

/* The letters of a cell: on light cells, on dark ones, or for the words of those without value. */
enum { BLACK, WHITE, WORD, LETTERS };

static int letters_of(const sheet *s, const pp_cell *cell)
{
    double shade = s->most > s->least ? (cell->value - s->least) / (s->most - s->least) : 0;
    if (cell->state != PP_CELL_OK)
        return WORD;
    return (s->picture->heat.larger ? shade : 1 - shade) > WHITE_FROM ? WHITE : BLACK;
}

/* Appends the texts of all cells with this kind of letters, and below them their notes if these
 * fit. */
static void add_labels(const sheet *s, int letters, int font, pp_text *script, pp_text *data)
{
    static const char *const names[LETTERS] = { "black", "white", "why" };
    static const char *const colours[LETTERS] = { "#202020", "#ffffff", "#404040" };
    const pp_picture *p = s->picture;
    bool any = false;
    bool high = s->row_px >= 2.2 * LINE_PX;
    for (size_t i = 0; i < p->cell_count && font; i++) {
        const pp_cell *cell = &p->cell[i];
        char text[32];
        if (letters_of(s, cell) != letters)
            continue;
        if (!any)
            pp_plot_begin(data, "text ", names[letters]);
        any = true;
        print_cell(cell, text, sizeof text);
        bool note = high && *cell->note && !(letters != WORD && s->same_notes) &&
                    has_room(s, cell->note, NOTE_FONT);
        double up = note ? 0.45 * LINE_PX / s->row_px : 0;
        pp_text_add(data, "%u %.3f \"%s\" \"", (unsigned)cell->x, cell->y + up, text);
        if (note)
            pp_plot_add_words(data, cell->note);
        pp_text_add(data, "\" %.3f\n", cell->y - up);
    }
    for (int note = 0; note < (high ? 2 : 1) && any; note++) {
        pp_plot_next(script, "text ", names[letters]);
        pp_text_add(script, "using 1:%s with labels font ',%g' tc rgb '%s' notitle",
                    note ? "5:4" : "2:3", pp_plot_font(p->out, note ? NOTE_FONT : font),
                    colours[letters]);
    }
}

static void add_best(const sheet *s, pp_text *script, pp_text *data)
{
    if (!s->best)
        return;
    pp_plot_begin(data, "", "best");
    add_box(s->best, data);
    pp_text_add(data, "\n");
    pp_plot_next(script, "", "best");
    pp_text_add(script, "using 1:2:3:4:5:6 with boxxyerror " BEST_LINE " fs empty "
                        "notitle");
}

static void add_frame(const sheet *s, pp_text *script)
{
    const pp_heat *heat = &s->picture->heat;
    pp_plot_terminal(s->size, script);
    pp_plot_head_draw(&s->head, s->size, script);
    pp_plot_margins(s->size, s->edges, script);
    pp_text_add(script,
                "set xrange [-0.5:%u.5]\nset yrange [-0.5:%u.5]\nset border 0\nunset key\n"
                "unset xtics\nunset ytics\n",
                (unsigned)s->columns - 1, (unsigned)s->rows - 1);
    pp_text_add(script, "set palette defined (0 '%s', 1 '%s')\n",
                heat->larger ? "#eaf1f9" : "#1f4e8c", heat->larger ? "#1f4e8c" : "#eaf1f9");
    if (s->best && s->most > s->least)
        pp_text_add(script, "set cbrange [%.6g:%.6g]\n", s->least, s->most);
    if (s->bar)
        pp_text_add(script,
                    "set cbtics %g\nset colorbox user origin screen %.5f,%.5f size screen "
                    "%.5f,%.5f\n",
                    pp_plot_step(s->most - s->least, (s->edges[3] - s->edges[1]) / LINE_PX / 2),
                    (s->edges[2] + BAR_PX) / s->size.width, 1 - s->edges[3] / s->size.height,
                    (double)BAR_PX / s->size.width, (s->edges[3] - s->edges[1]) / s->size.height);
    else
        pp_text_add(script, "unset colorbox\n");
    add_ticks(s, false, script);
    add_ticks(s, true, script);
    pp_plot_captions(s->size, s->edges, heat->x, heat->y, script);
}

static pp_status draw(const pp_picture *picture, pp_text *script, pp_text *data, pp_err *err)
{
    sheet s = { .picture = picture };
    if (picture->cell_count > CELLS_MAX)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_AXES),
                          "a picture shows at most %d cells, but these axes have %zu; choose axes "
                          "with fewer values",
                          CELLS_MAX, picture->cell_count);
    find_range(&s);
    lay_out(&s);
    add_frame(&s, script);
    pp_text_add(script, "plot ");
    for (int state = 0; state < PP_CELL_COUNT; state++)
        add_cells(&s, state, script, data);
    for (int letters = 0; letters < LETTERS; letters++)
        add_labels(&s, letters, letters == WORD ? fitting_font(&s, false) : s.font, script, data);
    add_best(&s, script, data);
    pp_text_add(script, "\n");
    return PP_OK;
}

const pp_plot pp_plot_heat = {
    .name = "heat",
    .summary =
        "two axes of a sweep as a heat map: the best point of every cell, or why it has none",
    .needs = "the result file of a sweep",
    .fits = fits,
    .draw = draw,
};
