/* Prints differences for people: as text for a terminal, and as Markdown. */
#include "tools/ppsim/compare/print.h"

#include "sim/base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Copies as many whole characters of `text` as fit into `columns`, ending in "..." if it is cut.
 * Returns the number of columns used. */
static size_t fit(const char *text, size_t columns, char *buffer, size_t size)
{
    size_t total = 0;
    size_t used = 0;
    size_t bytes = 0;
    for (const char *c = text; *c; c++)
        total += ((unsigned char)*c & 0xc0) != 0x80;
    size_t room = total > columns ? columns - 3 : columns;
    while (text[bytes] && used < room) {
        size_t length = pp_text_sequence(text + bytes);
        if (bytes + length + 4 > size)
            break;
        memcpy(buffer + bytes, text + bytes, length);
        bytes += length;
        used++;
    }
    bool cut = text[bytes] != '\0';
    memcpy(buffer + bytes, cut ? "..." : "", cut ? 4 : 1);
    return used + (cut ? 3 : 0);
}

static void number(pp_metric_unit unit, double value, bool exact, char *cell)
{
    char text[PP_CELL];
    switch (unit) {
    case PP_METRIC_NS:
        if (exact || fabs(value) > (double)PP_NS_MAX)
            snprintf(cell, PP_CELL, "%.0f ns", value);
        else
            snprintf(cell, PP_CELL, "%s%s", value < 0 ? "-" : "",
                     pp_format_duration(text, sizeof text, (pp_ns)nearbyint(fabs(value))));
        return;
    case PP_METRIC_BYTES:
        if (exact || fabs(value) > (double)PP_BYTES_MAX)
            snprintf(cell, PP_CELL, "%.0f B", value);
        else
            snprintf(cell, PP_CELL, "%s%s", value < 0 ? "-" : "",
                     pp_format_bytes(text, sizeof text, (int64_t)fabs(value)));
        return;
    case PP_METRIC_PART:
        snprintf(cell, PP_CELL, exact ? "%.12g %%" : "%.4g %%", 100 * value);
        return;
    default:
        if (value == nearbyint(value) && fabs(value) < 1e9)
            snprintf(cell, PP_CELL, "%.0f", value);
        else
            snprintf(cell, PP_CELL, exact ? "%.17g" : "%.4g", value);
        return;
    }
}

static void number_cells(const pp_difference *row, pp_compare_cells *cells)
{
    pp_metric_unit unit = row->metric->unit;
    double before = row->before->value;
    double after = row->after->value;
    double delta = after - before;
    number(unit, before, false, cells->before);
    number(unit, after, false, cells->after);
    if (delta != 0 && strcmp(cells->before, cells->after) == 0) {
        number(unit, before, true, cells->before);
        number(unit, after, true, cells->after);
    }
    char size[PP_CELL];
    number(unit, fabs(delta), false, size);
    if (unit == PP_METRIC_PART) /* percentage points, not a percentage of the value before */
        snprintf(size, sizeof size, "%.3g pt", 100 * fabs(delta));
    snprintf(cells->delta, PP_CELL, "%c%.60s", delta < 0 ? '-' : '+', size);
    double percent = 100 * delta / fabs(before);
    if (before == 0 || !isfinite(percent))
        cells->percent[0] = '\0';
    else if (fabs(percent) < 0.005)
        snprintf(cells->percent, PP_CELL, "%c0.00 %%", delta < 0 ? '-' : '+');
    else if (fabs(percent) < 1000)
        snprintf(cells->percent, PP_CELL, "%+.2f %%", percent);
    else
        snprintf(cells->percent, PP_CELL, "x%.3g", after / before);
}

static void side_cell(const pp_metric *metric, const pp_quantity *side, char *cell)
{
    if (!side && metric->kind == PP_COMPARE_OTHER)
        cell[0] = '\0';
    else if (!side)
        snprintf(cell, PP_CELL, "-");
    else if (side->text)
        fit(side->text, 40, cell, PP_CELL);
    else if (side->whole)
        snprintf(cell, PP_CELL, "...");
    else
        number(side->metric->unit, side->value, false, cell);
}

void pp_compare_cells_of(const pp_difference *row, pp_compare_cells *cells)
{
    *cells = (pp_compare_cells){ 0 };
    snprintf(cells->name, sizeof cells->name, "%.60s%s%.180s", row->metric->name,
             *row->place ? " " : "", row->place);
    if (row->before && row->after && row->metric->unit < PP_METRIC_TEXT) {
        number_cells(row, cells);
        return;
    }
    side_cell(row->metric, row->before, cells->before);
    side_cell(row->metric, row->after, cells->after);
}

/* Writes "worse: 2 of 140 values fail (1 better, 3 changed, 134 the same)". */
static void add_sentence(const pp_compare_print *print, pp_text *text)
{
    const pp_differences *d = print->differences;
    pp_text_add(text, "%s%zu of %zu values fail",
                d->fails ? "worse: " : "no regression: ", d->fails, d->count);
    const char *before = " (";
    for (int v = 0; v < PP_VERDICT_COUNT; v++) {
        if (!d->verdicts[v])
            continue;
        pp_text_add(text, "%s%zu %s", before, d->verdicts[v],
                    pp_verdict_word((pp_compare_verdict)v));
        before = ", ";
    }
    pp_text_add(text, "%s", before[0] == ' ' ? "" : ")");
}

static void pad(const char *cell, size_t columns, bool right, pp_text *text)
{
    char buffer[300];
    size_t used = fit(cell, columns, buffer, sizeof buffer);
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

enum { COLUMNS = 80, VERDICT = 9, NAME = 27, VALUE = 11, PERCENT = 10 };

/* Writes a difference that is not a number, or is too long for a column: "schedule 1f1b -> zbv". */
static void text_sentence(const pp_difference *row, const pp_compare_cells *cells, pp_text *text)
{
    bool whole = row->metric->unit == PP_METRIC_WHOLE;
    char name[256];
    char sides[2][256];
    char delta[160] = "";
    size_t room = COLUMNS - VERDICT - 3; /* two blanks and a colon */
    room -= fit(cells->name, *cells->delta ? 30 : 40, name, sizeof name);
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
    size_t used = fit(cells->before, room / 2, sides[0], sizeof sides[0]);
    fit(cells->after, room - used, sides[1], sizeof sides[1]);
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
        pp_text_add(text, " ");
        pad(cells.name, NAME, false, text);
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

static bool is_shown(const pp_difference *row)
{
    return row->verdict != PP_VERDICT_SAME;
}

static size_t shown(const pp_differences *d)
{
    return d->count - d->verdicts[PP_VERDICT_SAME];
}

/* Writes the names of both sides, on two lines if one would be too long. */
static void text_head(const pp_compare_print *print, pp_text *text)
{
    pp_text sentence PP_CLEANUP(pp_text_free) = { 0 };
    add_sentence(print, &sentence);
    char *counts = sentence.data ? strstr(sentence.data, " (") : NULL;
    if (counts && sentence.bytes > COLUMNS)
        *counts = '\n';
    pp_text_add(text, "%s\n", sentence.data ? sentence.data : "");
    text->failed |= sentence.failed;
}

void pp_compare_text(const pp_compare_print *print, pp_text *text)
{
    const pp_differences *d = print->differences;
    const char *file = NULL;
    size_t rows = 0;
    pp_text_add(text, "base         %s\nnew          %s\n", print->base, print->now);
    if (print->pairs->platform[0])
        pp_text_add(text, "platform     %s\n", print->pairs->platform);
    text_head(print, text);
    for (size_t i = 0; i < d->count && rows < print->rows; i++) {
        const pp_difference *row = &d->row[i];
        if (!is_shown(row))
            continue;
        if (rows++ == 0)
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
    char delta[2 * PP_CELL + 8];
    pp_compare_cells_of(row, &cells);
    snprintf(delta, sizeof delta, "%s%s%s%s", cells.delta, *cells.percent ? " (" : "",
             cells.percent, *cells.percent ? ")" : "");
    pp_text_add(text, "|");
    add_cell(pp_verdict_word(row->verdict), text);
    if (print->pairs->folders)
        add_cell(row->file, text);
    add_cell(cells.name, text);
    add_cell(cells.before, text);
    add_cell(cells.after, text);
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
    enum { HEAD = 6, FOOT = 2 };
    size_t rows = 0;
    size_t most = PP_MARKDOWN_LINES - HEAD - FOOT;
    pp_text sentence PP_CLEANUP(pp_text_free) = { 0 };
    add_sentence(print, &sentence);
    text->failed |= sentence.failed;
    pp_text_add(text, "### ppsim compare\n\n%s\n", sentence.data ? sentence.data : "");
    for (size_t i = 0; i < d->count && rows < most; i++) {
        if (!is_shown(&d->row[i]))
            continue;
        if (rows++ == 0)
            pp_text_add(text, print->pairs->folders
                                  ? "\n| verdict | file | metric | before | after | delta |\n"
                                    "|---|---|---|---:|---:|---:|\n"
                                  : "\n| verdict | metric | before | after | delta |\n"
                                    "|---|---|---:|---:|---:|\n");
        markdown_row(print, &d->row[i], text);
    }
    if (rows < shown(d))
        pp_text_add(text, "\n%zu more differences are in the JSON (`--json`).\n", shown(d) - rows);
}
