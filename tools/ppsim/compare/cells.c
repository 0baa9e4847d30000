/* Formats the values of a difference: with four digits, or with all when four do not show that they
 * differ. */
#include "tools/ppsim/compare/cells.h"

#include "sim/base/text.h"
#include "tools/ppsim/base/words.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYOUT = 24 }; /* a longer layout is summarised */

size_t pp_compare_fit(const char *text, size_t columns, char *buffer, size_t size)
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

void pp_compare_rate(double tokens_per_s, char *cell)
{
    char digits[PP_CELL];
    const double size = fabs(tokens_per_s);
    if (size < 1000 || size >= 1e15) {
        snprintf(cell, PP_CELL, "%.4g", tokens_per_s);
        return;
    }
    const int length = snprintf(digits, sizeof digits, "%.0f", size);
    size_t used = 0;
    if (tokens_per_s < 0)
        cell[used++] = '-';
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            cell[used++] = ',';
        cell[used++] = digits[i];
    }
    cell[used] = '\0';
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
    case PP_METRIC_RATE:
        if (!exact) {
            pp_compare_rate(value, cell);
            return;
        }
        /* fall through */
    default:
        if (fabs(value) < 1e15 && (value == nearbyint(value) || (!exact && fabs(value) >= 1e4)))
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
    if (unit == PP_METRIC_INDEX)
        return;
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

/* Writes "16 stages of 4 to 6 layers" for Megatron's notation of a layout. */
static void layout_cell(const char *layout, char *cell)
{
    int least = -1;
    int most = 0;
    int layers = 0;
    int stages = 0;
    char range[28];
    for (const char *c = layout;; c++) {
        if (*c == 't')
            layers += c[1] == '*' ? (int)strtol(c + 2, NULL, 10) : 1;
        if (*c && *c != '|')
            continue;
        stages++;
        least = least < 0 || layers < least ? layers : least;
        most = layers > most ? layers : most;
        layers = 0;
        if (!*c)
            break;
    }
    pp_range_print(range, sizeof range, least, most);
    snprintf(cell, PP_CELL, "%d stages of %s layer%s", stages, range, most == 1 ? "" : "s");
}

static void side_cell(const pp_metric *metric, const pp_quantity *side, char *cell)
{
    if (!side && metric->kind == PP_COMPARE_OTHER)
        cell[0] = '\0';
    else if (!side)
        snprintf(cell, PP_CELL, "-");
    else if (side->text && strlen(side->text) > LAYOUT && strcmp(metric->name, "layout") == 0)
        layout_cell(side->text, cell);
    else if (side->text)
        pp_compare_fit(side->text, 40, cell, PP_CELL);
    else if (side->whole)
        snprintf(cell, PP_CELL, "...");
    else
        number(side->metric->unit, side->value, false, cell);
}

void pp_compare_cells_of(const pp_difference *row, pp_compare_cells *cells)
{
    *cells = (pp_compare_cells){ 0 };
    cells->unit = row->metric->unit == PP_METRIC_RATE ? " tokens/s" : "";
    snprintf(cells->name, sizeof cells->name, "%.60s%s%.170s", row->metric->name,
             *row->place ? " " : "", row->place);
    if (row->before && row->after && row->metric->unit < PP_METRIC_TEXT) {
        number_cells(row, cells);
        return;
    }
    side_cell(row->metric, row->before, cells->before);
    side_cell(row->metric, row->after, cells->after);
}
