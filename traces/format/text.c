/* Prints an order as rows of tokens, and a timeline as a grid of ranks by time, for terminals.
 * Kinds of ops have different letters, so that nothing depends on colour. Where times are scaled,
 * an op that is narrower than a cell may have none; a cell that hides one of another kind is an
 * asterisk, so that no block of equal letters appears that does not exist. */
#include "traces/format/export/format.h"

#include "sim/base/alloc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANKS_SHOWN 64u
#define COLUMNS_DEFAULT 80
#define COLUMNS_MAX 32768

static pp_status emit(const pp_export *data, pp_text *text, pp_companion *companion, pp_err *err)
{
    const pp_order *order = data->order;
    char cell[80];
    (void)companion;
    for (uint32_t r = 0; r < order->ranks; r++) {
        pp_text_add(text, "r%" PRIu32 ":", r);
        for (size_t i = order->rank_begin[r]; i < order->rank_begin[r + 1];) {
            i += pp_cell_print(order, i, cell, sizeof cell);
            pp_text_add_bytes(text, " ", 1);
            pp_text_add_bytes(text, cell, strlen(cell));
        }
        pp_text_add_bytes(text, "\n", 1);
    }
    return pp_text_check(text, err);
}

/* How a timeline is laid out, and what was found while drawing it. */
typedef struct grid {
    const pp_program *program;
    const pp_timeline *timeline;
    uint32_t first_rank, ranks; /* the ranks that were requested */
    pp_ns makespan_ns;
    pp_ns tick_ns;   /* duration of a cell; all times are multiples of it. 0: times are scaled */
    int label;       /* columns before the first cell */
    int cell;        /* columns of a cell; 1 when times are scaled */
    bool spaced;     /* every token and a space fit into a cell */
    int columns;     /* of all cells */
    bool with_stage; /* tokens name the stage, since ranks have several */
    bool is_bare;    /* some ops are drawn without their numbers, for want of room */
    bool *mixed;     /* [columns]: cells of a rank in which an op lies that has no cell of its own,
                      * next to what has a cell and is of another kind */
    bool any_mixed;  /* in some rank */
} grid;

static pp_ns greatest_divisor(pp_ns a, pp_ns b)
{
    while (b) {
        pp_ns rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static int digits(uint64_t value)
{
    int n = 1;
    while (value >= 10) {
        value /= 10;
        n++;
    }
    return n;
}

/* Prints "F7", or "3F7" if ranks have several stages. Returns the length. */
static int print_token(const grid *g, pp_op op, char *buffer, size_t size)
{
    char stage[16] = "";
    if (g->with_stage)
        snprintf(stage, sizeof stage, "%u", op.stage);
    return snprintf(buffer, size, "%s%c%" PRIu32, stage, pp_op_letter((pp_op_kind)op.kind),
                    op.microbatch);
}

/* Prints the token of an op, or "F7&B3" for an overlapped pair that ran as one op: its second half
 * is empty and lies at the end of the first one. Returns the length. */
static int print_label(const grid *g, size_t i, char *buffer, size_t size)
{
    const pp_timeline *timeline = g->timeline;
    int length = print_token(g, g->program->op[i], buffer, size);
    if (!g->program->op[i].paired || timeline->start_ns[i + 1] < timeline->end_ns[i + 1] ||
        timeline->start_ns[i] == timeline->end_ns[i])
        return length;
    buffer[length++] = '&';
    return length + print_token(g, g->program->op[i + 1], buffer + length, size - (size_t)length);
}

static uint32_t ranks_shown(const grid *g)
{
    return g->ranks < RANKS_SHOWN ? g->ranks : RANKS_SHOWN;
}

/* Chooses the best layout for which there is room: cells that hold every token, cells of one tick
 * each, or scaled times. */
static void lay_out(grid *g, int columns)
{
    const pp_program *program = g->program;
    pp_ns tick_ns = 0;
    int token = 0;
    char buffer[32];
    g->makespan_ns = pp_timeline_makespan(g->timeline);
    g->with_stage = program->stages > program->ranks;
    g->label = digits(program->ranks - 1) + 2; /* "r", number, space */
    g->columns = columns - g->label < 16 ? 16 : columns - g->label;
    for (size_t i = 0; i < program->count; i++) {
        tick_ns = greatest_divisor(tick_ns, g->timeline->start_ns[i]);
        tick_ns = greatest_divisor(tick_ns, g->timeline->end_ns[i]);
        int length = print_token(g, program->op[i], buffer, sizeof buffer);
        token = length > token ? length : token;
    }
    pp_ns ticks = tick_ns ? g->makespan_ns / tick_ns : g->columns + 1;
    g->tick_ns = ticks <= g->columns ? tick_ns : 0;
    g->spaced = ticks <= g->columns / (token + 1);
    g->cell = g->spaced ? token + 1 : g->tick_ns && ticks > 0 ? (int)(g->columns / ticks) : 1;
}

/* Returns the first column whose middle is not before `at_ns`. Times are shortened to 40 bits,
 * which is far more than a picture shows, so that the product does not overflow. */
static int column_of(const grid *g, pp_ns at_ns)
{
    pp_ns whole_ns = g->makespan_ns;
    if (g->tick_ns)
        return (int)(at_ns / g->tick_ns) * g->cell;
    while (whole_ns >> 40) {
        whole_ns >>= 1;
        at_ns >>= 1;
    }
    return (int)((2 * at_ns * g->columns + whole_ns - 1) / (2 * whole_ns));
}

/* Returns whether the cells from *first to *last (before which they end) are of op `i`; they are
 * none if it is narrower than a cell and does not cover the middle of one. */
static bool has_cells(const grid *g, size_t i, int *first, int *last)
{
    *first = column_of(g, g->timeline->start_ns[i]);
    *last = column_of(g, g->timeline->end_ns[i]) - (g->spaced ? 1 : 0);
    return *first < *last;
}

/* Finds the mixed cells of a rank. line: scratch, as long as its cells. */
static void find_mixed(grid *g, uint32_t rank, int used, char *line)
{
    const pp_ns *start_ns = g->timeline->start_ns;
    const pp_ns *end_ns = g->timeline->end_ns;
    const size_t begin = g->program->rank_begin[rank];
    const size_t end = g->program->rank_begin[rank + 1];
    int first;
    int last;
    memset(line, '.', (size_t)used);
    memset(g->mixed, 0, (size_t)used * sizeof *g->mixed);
    for (size_t i = begin; i < end; i++) {
        if (has_cells(g, i, &first, &last))
            memset(line + first, pp_op_letter((pp_op_kind)g->program->op[i].kind),
                   (size_t)(last - first));
    }
    for (size_t i = begin; i < end && !g->tick_ns; i++) {
        if (start_ns[i] == end_ns[i] || has_cells(g, i, &first, &last))
            continue;
        double middle = ((double)start_ns[i] + (double)end_ns[i]) / 2 / (double)g->makespan_ns;
        int cell = (int)(middle * g->columns);
        cell = cell < used ? cell : used - 1;
        g->mixed[cell] |= line[cell] != pp_op_letter((pp_op_kind)g->program->op[i].kind);
        g->any_mixed |= g->mixed[cell];
    }
}

/* Writes op `i` into its columns, less mixed ones at its ends: its token, then dashes, and a space
 * if cells are spaced. If they are not, a token that begins with a stage must not touch the digits
 * of the token before it. */
static void draw_op(grid *g, size_t i, char *line)
{
    char token[64];
    int first;
    int last;
    if (!has_cells(g, i, &first, &last))
        return;
    while (first < last && g->mixed[first])
        first++;
    while (first < last && g->mixed[last - 1])
        last--;
    if (first == last)
        return;
    int width = last - first;
    int length = print_label(g, i, token, sizeof token);
    if (length > width)
        length = print_token(g, g->program->op[i], token, sizeof token);
    if (length > width || (length == width && g->with_stage && !g->spaced)) {
        token[0] = pp_op_letter((pp_op_kind)g->program->op[i].kind);
        length = 1;
        g->is_bare = true;
    }
    memset(line + first, '-', (size_t)width);
    memcpy(line + first, token, (size_t)length);
    if (g->spaced)
        line[first + width] = ' ';
}

static void draw_idle(const grid *g, int used, char *line)
{
    memset(line, g->spaced ? ' ' : '.', (size_t)used);
    for (int c = 0; g->spaced && c < used; c += g->cell)
        line[c] = '.';
}

static void draw_rank(grid *g, uint32_t rank, int used, char *line, pp_text *text)
{
    find_mixed(g, rank, used, line);
    draw_idle(g, used, line);
    for (size_t i = g->program->rank_begin[rank]; i < g->program->rank_begin[rank + 1]; i++)
        draw_op(g, i, line);
    for (int c = 0; c < used; c++)
        line[c] = g->mixed[c] ? '*' : line[c];
    while (used > 0 && line[used - 1] == ' ')
        used--;
    pp_text_add(text, "r%-*" PRIu32 " ", g->label - 2, rank);
    pp_text_add_bytes(text, line, (size_t)used);
    pp_text_add_bytes(text, "\n", 1);
}

static void draw_scale(const grid *g, int used, pp_text *text)
{
    char end[32];
    pp_format_duration(end, sizeof end, g->makespan_ns);
    int width = used - (g->spaced ? 2 : 1);
    pp_text_add(text, "%-*s0%*s\n", g->label, "", width > 1 ? width : 1, end);
}

static void draw_legend(const grid *g, pp_text *text)
{
    static const char *const words[] = {
#define PP_OP_WORDS(letter, words) words,
        PP_OP_MAP(PP_OP_WORDS)
#undef PP_OP_WORDS
    };
    bool seen[PP_OP_KIND_COUNT] = { false };
    char cell[32];
    for (size_t i = 0; i < g->program->count; i++)
        seen[g->program->op[i].kind] = true;
    for (int kind = 0; kind < PP_OP_KIND_COUNT; kind++) {
        if (seen[kind])
            pp_text_add(text, "%c %s; ", pp_op_letter((pp_op_kind)kind), words[kind]);
    }
    pp_text_add(text, "%s%s. idle\n", g->is_bare ? "- goes on; " : "",
                g->any_mixed ? "* several, too short to tell apart; " : "");
    if (g->is_bare)
        pp_text_add(text, "with room, ");
    pp_text_add(text, "%smicrobatch after the letter; ", g->with_stage ? "stage before, " : "");
    pp_format_duration(cell, sizeof cell, g->tick_ns ? g->tick_ns : g->makespan_ns / g->columns);
    pp_text_add(text, "one %s is %s%s\n", g->tick_ns ? "cell" : "column",
                g->tick_ns ? "" : "about ", cell);
    if (ranks_shown(g) < g->program->ranks)
        pp_text_add(text, "ranks %" PRIu32 " to %" PRIu32 " shown, %" PRIu32 " left out\n",
                    g->first_rank, g->first_rank + ranks_shown(g) - 1,
                    g->program->ranks - ranks_shown(g));
}

static void free_mixed(bool **mixed)
{
    free(*mixed);
}

static pp_status trace(const pp_export *data, pp_text *text, pp_err *err)
{
    grid g = { .program = data->program,
               .timeline = data->timeline,
               .first_rank = data->ranks ? data->first_rank : 0,
               .ranks = data->ranks ? data->ranks : data->program->ranks };
    int columns = data->columns > 0 ? data->columns : COLUMNS_DEFAULT;
    lay_out(&g, columns < COLUMNS_MAX ? columns : COLUMNS_MAX);
    if (g.makespan_ns <= 0) {
        pp_text_add(text, "nothing to show: every op takes no time\n");
        return pp_text_check(text, err);
    }
    int used = column_of(&g, g.makespan_ns);
    char *line PP_CLEANUP(pp_free_text) = pp_alloc_array((size_t)used + 1, 1);
    bool *mixed PP_CLEANUP(free_mixed) = pp_alloc_array((size_t)used + 1, sizeof *mixed);
    if (!line || !mixed)
        return pp_err_nomem(err);
    g.mixed = mixed;
    draw_scale(&g, used, text);
    for (uint32_t r = 0; r < ranks_shown(&g); r++)
        draw_rank(&g, g.first_rank + r, used, line, text);
    draw_legend(&g, text);
    return pp_text_check(text, err);
}

const pp_format pp_format_text = {
    .name = "text",
    .summary =
        "for terminals: the schedule as rows of op tokens, the timeline as a grid of ranks by time",
    .holds = PP_HOLDS_ORDER,
    .emit = emit,
    .trace = trace,
};
