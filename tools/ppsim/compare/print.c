/* Prints differences for people: as text for a terminal, and as Markdown. */
#include "tools/ppsim/compare/print.h"

#include "sim/base/text.h"
#include "tools/ppsim/base/words.h"
#include "tools/ppsim/compare/answer.h"
#include "tools/ppsim/compare/cells.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void pad(const char *cell, size_t columns, bool right, pp_text *text)
{
    char buffer[300];
    size_t used = pp_compare_fit(cell, columns, buffer, sizeof buffer);
    int gap = (int)(columns - used);
    if (right)
        pp_text_add(text, "%*s%s", gap, "", buffer);
    else
        pp_text_add(text, "%s%*s", buffer, gap, "");
}

static void trim(pp_text *text)
{
    while (text->bytes && text->data[text->bytes - 1] == ' ')
        text->data[--text->bytes] = '\0';
}

enum { COLUMNS = PP_COLUMNS, VERDICT = 9, NAME = 27, VALUE = 11, PERCENT = 10, LABEL = 13 };

/* Writes a difference that is not a number, or is too long for a column: "schedule 1f1b -> zbv". */
static void text_sentence(const pp_difference *row, const pp_compare_cells *cells, pp_text *text)
{
    bool whole = row->metric->unit == PP_METRIC_WHOLE;
    char name[256];
    char sides[2][256];
    char delta[160] = "";
    size_t room = COLUMNS - VERDICT - 3; /* two blanks and a colon */
    room -= pp_compare_fit(cells->name, *cells->delta ? 30 : 40, name, sizeof name);
    pp_text_add(text, " %s%s ", name, *row->place || whole ? ":" : "");
    if (whole || !row->before || !row->after) {
        const char *only = whole && row->detail ? row->detail
                           : row->before        ? cells->before
                                                : cells->after;
        pad(only, room, false, text);
        return;
    }
    if (*cells->delta)
        snprintf(delta, sizeof delta, ", %s (%s)", cells->delta, cells->percent);
    room -= strlen(delta) + strlen(" -> ");
    if (strcmp(cells->before, cells->after) == 0 && !*delta) {
        pp_text_add(text, "%s, divided otherwise", cells->after);
        return;
    }
    size_t used = pp_compare_fit(cells->before, room / 2, sides[0], sizeof sides[0]);
    pp_compare_fit(cells->after, room - used, sides[1], sizeof sides[1]);
    pp_text_add(text, "%s -> %s%s", sides[0], sides[1], delta);
}

static void text_row(const pp_difference *row, pp_text *text)
{
    pp_compare_cells cells;
    pp_compare_cells_of(row, &cells);
    bool number = row->metric->unit < PP_METRIC_TEXT;
    bool fits = strlen(cells.before) < VALUE && strlen(cells.after) < VALUE;
    pad(pp_verdict_word(row->verdict), VERDICT, false, text);
    if (number && fits) {
        char name[sizeof cells.name + 16];
        snprintf(name, sizeof name, "%s%s%s", cells.name, *cells.unit ? "," : "", cells.unit);
        pp_text_add(text, " ");
        pad(name, NAME, false, text);
        pad(cells.before, VALUE, true, text);
        pad(cells.after, VALUE, true, text);
        pad(cells.delta, VALUE, true, text);
        pad(cells.percent, PERCENT, true, text);
    } else {
        text_sentence(row, &cells, text);
    }
    trim(text);
    pp_text_add(text, "\n");
    if (row->detail && row->metric->unit != PP_METRIC_WHOLE)
        pp_text_add(text, "%10s%s\n", "", row->detail);
}

static void free_rows(const pp_difference ***rows)
{
    free(*rows);
}

static bool is_shown(const pp_difference *row)
{
    return row->verdict != PP_VERDICT_SAME;
}

static size_t shown(const pp_differences *d)
{
    return d->count - d->verdicts[PP_VERDICT_SAME];
}

static bool is_of_ranks(const pp_difference *row)
{
    return strncmp(row->place, "rank ", 5) == 0 || strncmp(row->place, "stage ", 6) == 0;
}

/* Returns whether one of the `count` rows has the same metric of another rank or stage. */
static bool is_repeated(const pp_difference *const *rows, size_t count, const pp_difference *row)
{
    for (size_t i = 0; i < count && is_of_ranks(row) && !row->fails; i++) {
        if (rows[i]->metric == row->metric && strcmp(rows[i]->file, row->file) == 0)
            return true;
    }
    return false;
}

/* Writes which metrics are judged, if --tolerance names some and says nothing of the others. */
static void add_judged(const pp_compare_print *print, pp_text *text)
{
    const pp_tolerances *t = print->tolerances;
    bool first = true;
    if (!t->named || t->all || t->strict)
        return;
    for (size_t i = 0; i < pp_metric_count(); i++) {
        const char *name = pp_metric_at(i)->name;
        bool limited = (t->up[i].given && isfinite(t->up[i].value)) ||
                       (t->down[i].given && isfinite(t->down[i].value));
        for (size_t k = 0; k < i && limited; k++)
            limited = strcmp(pp_metric_at(k)->name, name) != 0;
        if (limited)
            pp_text_add(text, "%s%s", first ? "" : ", ", name);
        first = first && !limited;
    }
    pp_text_add(text, ", as --tolerance says; --tolerance all=0 judges the others, too");
}

static void text_head(const pp_compare_print *print, const pp_difference *const *rows,
                      pp_text *text)
{
    pp_text headline PP_CLEANUP(pp_text_free) = { 0 };
    pp_text gpus PP_CLEANUP(pp_text_free) = { 0 };
    pp_text counts PP_CLEANUP(pp_text_free) = { 0 };
    pp_text judged PP_CLEANUP(pp_text_free) = { 0 };
    pp_compare_add_headline(print, rows, &headline);
    pp_compare_add_gpus(print, &gpus);
    pp_compare_add_counts(print->differences, &counts);
    add_judged(print, &judged);
    if (headline.data)
        pp_print_words(text, headline.data, 0, LABEL);
    pp_text_add(text, "base         %s\nnew          %s\n", print->base, print->now);
    if (print->pairs->platform[0])
        pp_text_add(text, "platform     %s\n", print->pairs->platform);
    pp_print_labelled(text, "GPUs", &gpus);
    if (shown(print->differences))
        pp_print_labelled(text, "values", &counts);
    pp_print_labelled(text, "judged", &judged);
    text->failed |= headline.failed;
}

/* Moves the rows that a table shows to the front. Returns their number. */
static size_t choose_rows(const pp_compare_print *print, const pp_difference **order)
{
    const size_t most = print->all ? print->rows : PP_COMPARE_ROWS;
    size_t rows = 0;
    for (size_t i = 0; i < print->differences->count && rows < most; i++) {
        if (is_shown(order[i]) && (print->all || !is_repeated(order, rows, order[i])))
            order[rows++] = order[i];
    }
    return rows;
}

void pp_compare_text(const pp_compare_print *print, pp_text *text)
{
    const pp_differences *d = print->differences;
    const pp_difference **order PP_CLEANUP(free_rows) = pp_compare_reading_order(print);
    const char *file = NULL;
    if (!order) {
        text->failed = 1;
        return;
    }
    text_head(print, order, text);
    const size_t rows = choose_rows(print, order);
    for (size_t i = 0; i < rows; i++) {
        const pp_difference *row = order[i];
        if (i == 0)
            pp_text_add(text, "\n%-9s %-27s%11s%11s%11s\n", "verdict", "metric", "before", "after",
                        "delta");
        if (print->pairs->folders && (!file || strcmp(file, row->file) != 0))
            pp_text_add(text, "%s:\n", row->file);
        file = row->file;
        text_row(row, text);
    }
    if (rows < shown(d))
        pp_text_add(text, "... %zu more; --rows N or --json shows them\n", shown(d) - rows);
}

/* Escapes a cell, so that its text cannot act as a table, markup or HTML. */
static void add_cell(const char *cell, pp_text *text)
{
    pp_text_add(text, " ");
    for (; *cell; cell++) {
        if (*cell == '&' || *cell == '<' || *cell == '>')
            pp_text_add(text, "&%s;", *cell == '&' ? "amp" : *cell == '<' ? "lt" : "gt");
        else if (strchr("|\\`*_[]~#!@", *cell))
            pp_text_add(text, "&#%d;", (int)*cell);
        else
            pp_text_add_bytes(text, cell, 1);
    }
    pp_text_add(text, " |");
}

static void markdown_row(const pp_compare_print *print, const pp_difference *row, pp_text *text)
{
    pp_compare_cells cells;
    char delta[2 * PP_CELL + 24];
    pp_compare_cells_of(row, &cells);
    char sides[2][PP_CELL + 16];
    snprintf(sides[0], sizeof sides[0], "%s%s", cells.before, cells.unit);
    snprintf(sides[1], sizeof sides[1], "%s%s", cells.after, cells.unit);
    snprintf(delta, sizeof delta, "%s%s%s%s%s", cells.delta, cells.unit, *cells.percent ? " (" : "",
             cells.percent, *cells.percent ? ")" : "");
    pp_text_add(text, "|");
    add_cell(pp_verdict_word(row->verdict), text);
    if (print->pairs->folders)
        add_cell(row->file, text);
    add_cell(cells.name, text);
    add_cell(sides[0], text);
    add_cell(sides[1], text);
    add_cell(row->detail && *cells.delta ? "" : row->detail ? row->detail : delta, text);
    if (row->detail && *cells.delta) {
        text->bytes -= 3; /* " |" and the blank of the empty cell */
        char both[400];
        snprintf(both, sizeof both, "%s; %s", delta, row->detail);
        add_cell(both, text);
    }
    pp_text_add(text, "\n");
}

void pp_compare_markdown(const pp_compare_print *print, pp_text *text)
{
    const pp_differences *d = print->differences;
    const pp_difference **order PP_CLEANUP(free_rows) = pp_compare_reading_order(print);
    if (!order) {
        text->failed = 1;
        return;
    }
    pp_text_add(text, "### ppsim compare\n\n");
    pp_compare_add_headline(print, order, text);
    pp_text_add(text, "\n\nValues: ");
    pp_compare_add_counts(d, text);
    pp_text_add(text, "\n");
    const size_t rows = choose_rows(print, order);
    for (size_t i = 0; i < rows; i++) {
        if (i == 0)
            pp_text_add(text, print->pairs->folders
                                  ? "\n| verdict | file | metric | before | after | delta |\n"
                                    "|---|---|---|---:|---:|---:|\n"
                                  : "\n| verdict | metric | before | after | delta |\n"
                                    "|---|---|---:|---:|---:|\n");
        markdown_row(print, order[i], text);
    }
    if (rows < shown(d))
        pp_text_add(text, "\n%zu more: `--rows N` or `--json` shows them.\n", shown(d) - rows);
}
