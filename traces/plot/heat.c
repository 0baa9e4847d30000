/* Draws the result of a sweep over two of its axes as a heat map: the best value of every cell, the
 * reason of cells that have none, and the best cell of all. */
#include "sim/base/field.h"
#include "traces/plot/draw/gnuplot.h"
#include "traces/plot/plot.h"

#include <stdio.h>
#include <string.h>

enum { CELL_WIDTH = 84, CELL_HEIGHT = 40, LEAST_WIDTH = 560, MOST_WIDTH = 1600 }; /* pixels */
enum {
    TOP = 60,
    BOTTOM = 62,
    KEY_WIDTH = 215,
    RIGHT = 110,
    LETTER_PX = 8,
    LINE_PX = 16,
    VALUE_PX = 36
};
enum { CELLS_MAX = 40000 };

static const char *const words[PP_CELL_COUNT] = {
#define PP_CELL_WORDS(name, words) words,
    PP_CELL_MAP(PP_CELL_WORDS)
#undef PP_CELL_WORDS
};

/* Fill styles of the states; patterns make them differ without colour. */
static const char *const looks[PP_CELL_COUNT] = {
    [PP_CELL_MEMORY] = "fs pattern 4 border lc rgb '#a0a0a0' fc rgb '#606060'",
    [PP_CELL_HANG] = "fs pattern 2 border lc rgb '#a0a0a0' fc rgb '#202020'",
    [PP_CELL_INFEASIBLE] = "fs pattern 6 border lc rgb '#a0a0a0' fc rgb '#606060'",
    [PP_CELL_ILLEGAL] = "fs solid 1.0 border lc rgb '#a0a0a0' fc rgb '#d0d0d0'",
    [PP_CELL_MISSING] = "fs empty border lc rgb '#a0a0a0'",
};

/* The layout and the ranges, which all parts of the picture use. */
typedef struct sheet {
    const pp_picture *picture;
    uint32_t columns, rows;
    int width, height, left;
    int top, key_rows;
    double cell_px, row_px;
    double least, most;  /* the range of the values */
    const pp_cell *best; /* NULL: no cell has a value */
} sheet;

static bool fits(const pp_picture *picture)
{
    return picture->cell_count > 0;
}

static void find_range(sheet *s)
{
    const pp_picture *p = s->picture;
    for (size_t i = 0; i < p->cell_count; i++) {
        const pp_cell *cell = &p->cell[i];
        if (cell->state != PP_CELL_OK)
            continue;
        s->least = !s->best || cell->value < s->least ? cell->value : s->least;
        s->most = !s->best || cell->value > s->most ? cell->value : s->most;
        if (!s->best ||
            (p->heat.larger ? cell->value > s->best->value : cell->value < s->best->value))
            s->best = cell;
    }
}

/* Finds the states that occur, which get a line in the key, and the best cell. */
static void find_key(sheet *s)
{
    bool seen[PP_CELL_COUNT] = { false };
    int entries = s->best != NULL;
    int columns = s->width / KEY_WIDTH;
    for (size_t i = 0; i < s->picture->cell_count; i++)
        seen[s->picture->cell[i].state] = true;
    for (int state = PP_CELL_OK + 1; state < PP_CELL_COUNT; state++)
        entries += seen[state];
    columns = columns < 1 ? 1 : columns;
    s->key_rows = entries > columns ? (entries + columns - 1) / columns : 1;
    s->top = TOP + LINE_PX * s->key_rows;
}

static void lay_out(sheet *s)
{
    const pp_picture *p = s->picture;
    size_t letters = 0;
    for (size_t i = 0; i < p->tick_count; i++) {
        size_t length = strlen(p->tick[i].label);
        if (p->tick[i].y)
            s->rows++;
        else
            s->columns++;
        letters = p->tick[i].y && length > letters ? length : letters;
    }
    s->left = 45 + LETTER_PX * (int)letters;
    int request = s->left + RIGHT + CELL_WIDTH * (int)s->columns;
    request = request < LEAST_WIDTH ? LEAST_WIDTH : request > MOST_WIDTH ? MOST_WIDTH : request;
    s->width = p->width ? p->width : request;
    s->left = s->left > s->width / 3 ? s->width / 3 : s->left;
    find_key(s);
    s->height = p->height ? p->height : s->top + BOTTOM + CELL_HEIGHT * (int)s->rows;
    s->cell_px = (double)(s->width - s->left - RIGHT) / s->columns;
    s->row_px = (double)(s->height - s->top - BOTTOM) / s->rows;
}

/* Appends the labels of an axis: all of them, or every second, fourth and so on if they would
 * overlap. */
static void add_ticks(const sheet *s, bool y, pp_text *script)
{
    const pp_picture *p = s->picture;
    size_t letters = 1;
    uint32_t number = 0;
    uint32_t step = 1;
    for (size_t i = 0; i < p->tick_count; i++) {
        size_t length = strlen(p->tick[i].label);
        letters = p->tick[i].y == y && length > letters ? length : letters;
    }
    double room_px = y ? s->row_px : s->cell_px;
    double requested_px = y ? LINE_PX : (double)letters * LETTER_PX + 6;
    while (room_px * step < requested_px && step < (y ? s->rows : s->columns))
        step *= 2;
    pp_text_add(script, "set %ctics scale 0 (", y ? 'y' : 'x');
    for (size_t i = 0; i < p->tick_count; i++) {
        if (p->tick[i].y != y)
            continue;
        if (number % step == 0) {
            pp_text_add(script, "%s", number ? ", " : "");
            pp_plot_quoted(script, p->tick[i].label);
            pp_text_add(script, " %u", (unsigned)number);
        }
        number++;
    }
    pp_text_add(script, ")\n");
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
                                    : looks[state]);
    if (state == PP_CELL_OK)
        pp_text_add(script, "notitle");
    else
        pp_text_add(script, "title '%s'", words[state]);
}

/* Appends the labels of the light cells, in black, or those of the dark ones, in white. */
static void add_labels(const sheet *s, bool light, pp_text *script, pp_text *data)
{
    const pp_picture *p = s->picture;
    bool any = false;
    bool noted = false;
    bool notes = s->row_px >= 2 * LINE_PX;
    const char *name = light ? "white" : "black";
    for (size_t i = 0; i < p->cell_count; i++) {
        const pp_cell *cell = &p->cell[i];
        char value[32];
        double shade = s->most > s->least ? (cell->value - s->least) / (s->most - s->least) : 0;
        if (cell->state != PP_CELL_OK || ((p->heat.larger ? shade : 1 - shade) > 0.55) != light)
            continue;
        if (!any)
            pp_plot_begin(data, "text ", name);
        any = true;
        print_value(cell->value, value, sizeof value);
        bool own = notes && *cell->note && (double)strlen(cell->note) * LETTER_PX <= s->cell_px;
        noted |= own;
        pp_text_add(data, "%u %u \"%s%s", (unsigned)cell->x, (unsigned)cell->y, value,
                    own ? "\\n" : "");
        if (own)
            pp_plot_add_words(data, cell->note);
        pp_text_add(data, "\"\n");
    }
    if (!any)
        return;
    pp_plot_next(script, "text ", name);
    pp_text_add(script, "using 1:2:3 with labels offset 0,%s font ',%d' tc rgb '%s' notitle",
                noted ? "0.4" : "0", pp_plot_font(p->png, s->cell_px < 7 * LETTER_PX ? 9 : 12),
                name);
}

static void add_best(const sheet *s, pp_text *script, pp_text *data)
{
    if (!s->best)
        return;
    pp_plot_begin(data, "", "best");
    add_box(s->best, data);
    pp_text_add(data, "\n");
    pp_plot_next(script, "", "best");
    pp_text_add(script, "using 1:2:3:4:5:6 with boxxyerror lc rgb '#a00000' lw 4 fs "
                        "empty title 'best'");
}

static void add_head(const sheet *s, pp_text *script)
{
    const pp_heat *heat = &s->picture->heat;
    char about[sizeof heat->about];
    size_t room = (size_t)(s->width / 7);
    size_t length = strlen(heat->about);
    snprintf(about, sizeof about, "%.*s%s", (int)(length > room ? room - 3 : length), heat->about,
             length > room ? "..." : "");
    pp_text_add(script, "set label 1 ");
    pp_plot_quoted(script, heat->metric);
    pp_text_add(script, " at screen 0.5,%.5f center\nset label 2 ", 1 - 14.0 / s->height);
    pp_plot_quoted(script, about);
    pp_text_add(script, " at screen 0.5,%.5f center font ',%d'\n", 1 - 34.0 / s->height,
                pp_plot_font(s->picture->png, 12));
    pp_text_add(script, "set key at screen 0.5,%.5f center top vertical maxrows %d samplen 2\n",
                1 - 46.0 / s->height, s->key_rows);
}

static void add_frame(const sheet *s, pp_text *script)
{
    const pp_heat *heat = &s->picture->heat;
    pp_plot_terminal(s->picture->png, s->width, s->height, script);
    add_head(s, script);
    pp_plot_margins((double)s->left / s->width, 1 - (double)RIGHT / s->width,
                    1 - (double)s->top / s->height, (double)BOTTOM / s->height, script);
    pp_text_add(script, "set xrange [-0.5:%u.5]\nset yrange [-0.5:%u.5]\nset border 0\n",
                (unsigned)s->columns - 1, (unsigned)s->rows - 1);
    pp_text_add(script, "set palette defined (0 '%s', 1 '%s')\n",
                heat->larger ? "#eaf1f9" : "#1f4e8c", heat->larger ? "#1f4e8c" : "#eaf1f9");
    if (s->best && s->most > s->least)
        pp_text_add(script, "set cbrange [%.6g:%.6g]\n", s->least, s->most);
    else
        pp_text_add(script, "unset colorbox\n");
    add_ticks(s, false, script);
    add_ticks(s, true, script);
    pp_text_add(script, "set xlabel ");
    pp_plot_quoted(script, heat->x);
    pp_text_add(script, "\nset ylabel ");
    pp_plot_quoted(script, heat->y);
    pp_text_add(script, "\n");
}

static pp_status draw(const pp_picture *picture, pp_text *script, pp_text *data, pp_err *err)
{
    sheet s = { .picture = picture };
    if (picture->cell_count > CELLS_MAX)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_AXES),
                          "%zu cells are too many for a picture, %d at most; choose other axes",
                          picture->cell_count, CELLS_MAX);
    find_range(&s);
    lay_out(&s);
    add_frame(&s, script);
    pp_text_add(script, "plot ");
    for (int state = 0; state < PP_CELL_COUNT; state++)
        add_cells(&s, state, script, data);
    if (s.cell_px >= VALUE_PX && s.row_px >= LINE_PX) {
        add_labels(&s, false, script, data);
        add_labels(&s, true, script, data);
    }
    add_best(&s, script, data);
    pp_text_add(script, "\n");
    return PP_OK;
}

const pp_plot pp_plot_heat = {
    .name = "heat",
    .summary = "a sweep over two axes: the best of every cell, and why others have none",
    .needs = "the result file of a sweep",
    .fits = fits,
    .draw = draw,
};
