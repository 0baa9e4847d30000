/* Parses the values of one option: lists (a,b,c) and ranges (4..64*2, 1..7, 0..8+2), sorted by
 * number and then by name, so that the order on the command line does not matter. */
#include "tools/ppsim/sweep/axis.h"

#include "sim/base/alloc.h"
#include "sim/base/units.h"
#include "tools/ppsim/base/console.h"
#include "tools/ppsim/sweep/grid.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_number(const char *text)
{
    return *text && strspn(text, "0123456789") == strlen(text);
}

static int compare(const void *left, const void *right)
{
    const char *a = pp_console_name(*(char *const *)left);
    const char *b = pp_console_name(*(char *const *)right);
    bool a_number = is_number(a);
    if (a_number != is_number(b))
        return a_number ? -1 : 1;
    size_t a_bytes = strlen(a);
    size_t b_bytes = strlen(b);
    if (a_number && a_bytes != b_bytes)
        return a_bytes < b_bytes ? -1 : 1;
    return strcmp(a, b);
}

/* Returns whether commas separate values of this option. They do not if a single value may contain
 * commas, such as F=1ms,B=2ms or Et*3|t,t*3L. */
static bool is_list(const pp_option *option)
{
    return option->argument && !strchr(option->argument, ',') &&
           strcmp(option->name, "--partition") != 0;
}

static pp_status add_value(pp_axis *axis, const char *value, size_t bytes, pp_err *err)
{
    void *grown = axis->value;
    pp_status status = pp_grow(&grown, &axis->capacity, axis->count + 1, sizeof *axis->value, err);
    if (status)
        return status;
    axis->value = grown;
    char *copy = malloc(bytes + 1);
    if (!copy)
        return pp_err_nomem(err);
    memcpy(copy, value, bytes);
    copy[bytes] = '\0';
    axis->value[axis->count++] = copy;
    return PP_OK;
}

/* A range. `by` is the operation that gives the next value, + or *. */
typedef struct range {
    int64_t first, last, step;
    char by;
} range;

/* Splits a text of the form of a range into its numbers. Returns false for another text. */
static bool split_range(const char *text, char first[24], char last[24], char step[24], char *by)
{
    int used = 0;
    if (sscanf(text, "%20[0-9]..%20[0-9]%n", first, last, &used) < 2 || used == 0)
        return false;
    snprintf(step, 24, "1");
    *by = '+';
    if (!text[used])
        return true;
    *by = text[used];
    int more = 0;
    return (*by == '+' || *by == '*') && sscanf(text + used + 1, "%20[0-9]%n", step, &more) == 1 &&
           !text[used + 1 + more];
}

static pp_status read_range(const char *name, const char *text, range *out, bool *is_range,
                            pp_err *err)
{
    char first[24], last[24], step[24];
    pp_err inner = pp_err_like(err);
    *is_range = split_range(text, first, last, step, &out->by);
    if (!*is_range)
        return PP_OK;
    if (pp_parse_int(first, name, 0, INT32_MAX, &out->first, &inner) ||
        pp_parse_int(last, name, 0, INT32_MAX, &out->last, &inner) ||
        pp_parse_int(step, name, 0, INT32_MAX, &out->step, &inner))
        return pp_err_set(err, PP_USAGE, name, "'%.64s': %.200s", text, inner.text);
    bool goes_on = out->by == '*' ? out->step > 1 && out->first > 0 : out->step > 0;
    if (!goes_on || out->last < out->first)
        return pp_err_set(err, PP_USAGE, name,
                          "'%.64s' is not a range; write FIRST..LAST, FIRST..LAST+STEP or "
                          "FIRST..LAST*FACTOR, with the smallest value first",
                          text);
    return PP_OK;
}

static pp_status add_range(pp_axis *axis, const range *r, const char *text, pp_err *err)
{
    for (int64_t i = r->first; i <= r->last; i = r->by == '*' ? i * r->step : i + r->step) {
        char number[24];
        snprintf(number, sizeof number, "%" PRId64, i);
        if (axis->count >= PP_SWEEP_POINTS_MAX)
            return pp_err_set(err, PP_USAGE, axis->option->name,
                              "'%.64s' has more than %d values; give fewer", text,
                              PP_SWEEP_POINTS_MAX);
        pp_status status = add_value(axis, number, strlen(number), err);
        if (status)
            return status;
    }
    return PP_OK;
}

static pp_status add_item(pp_axis *axis, const char *item, size_t bytes, pp_err *err)
{
    char text[80];
    range r = { 0 };
    bool is_range = false;
    if (bytes == 0)
        return pp_err_set(err, PP_USAGE, axis->option->name,
                          "a value is empty; write values with one comma between them");
    if (bytes < sizeof text) {
        memcpy(text, item, bytes);
        text[bytes] = '\0';
        pp_status status = read_range(axis->option->name, text, &r, &is_range, err);
        if (status)
            return status;
    }
    return is_range ? add_range(axis, &r, text, err) : add_value(axis, item, bytes, err);
}

pp_status pp_axis_add(pp_axis *axis, const char *text, pp_err *err)
{
    if (!is_list(axis->option))
        return add_value(axis, text, strlen(text), err);
    for (const char *at = text;; at++) {
        size_t bytes = strcspn(at, ",");
        pp_status status = add_item(axis, at, bytes, err);
        at += bytes;
        if (status || !*at)
            return status;
    }
}

pp_status pp_axis_sort(pp_axis *axis, pp_err *err)
{
    qsort(axis->value, axis->count, sizeof *axis->value, compare);
    for (size_t i = 1; i < axis->count; i++) {
        if (strcmp(axis->value[i - 1], axis->value[i]) == 0)
            return pp_err_set(err, PP_USAGE, axis->option->name,
                              "'%.64s' is given twice; remove one", pp_axis_value(axis, i));
    }
    return PP_OK;
}

const char *pp_axis_value(const pp_axis *axis, size_t index)
{
    return pp_console_name(axis->value[index]);
}

const char *pp_axis_name(const pp_axis *axis)
{
    return axis->option->name + strspn(axis->option->name, "-");
}
