/* Holds the quantities of one file in a table. Readers append to it; after it is sorted by metric
 * and place, a quantity is found by binary search. Repeated places are numbered. */
#include "tools/ppsim/compare/quantities.h"

#include "calib/profile/profile.h"
#include "sim/base/alloc.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *pp_compare_kind_name(const pp_compare_file *file)
{
    static const char *const names[] = { "a plan", "a report", "a timeline", "a profile",
                                         "a file of another kind" };
    if (file->measured && file->kind == PP_COMPARE_REPORT)
        return "a report of a run";
    return names[file->kind];
}

void pp_compare_file_free(pp_compare_file *file)
{
    for (size_t i = 0; i < file->count; i++) {
        free(file->item[i].place);
        free(file->item[i].text);
    }
    free(file->item);
    free(file->name);
    pp_json_free(&file->json);
    pp_profile_free(&file->profile);
    *file = (pp_compare_file){ 0 };
}

char *pp_compare_printable(const char *text)
{
    pp_text out = { 0 };
    pp_text_add(&out, "%s", "");
    while (*text) {
        size_t length = pp_text_sequence(text);
        unsigned char first = (unsigned char)*text;
        bool none = length == 3 && first == 0xef && (unsigned char)text[1] == 0xbf &&
                    (unsigned char)text[2] >= 0xbe; /* U+FFFE, U+FFFF */
        bool control = first < 0x20 || first == 0x7f ||
                       (length == 2 && first == 0xc2 && (unsigned char)text[1] < 0xa0);
        if (!length || none || control)
            pp_text_add(&out, "\xef\xbf\xbd");
        else
            pp_text_add_bytes(&out, text, length);
        text += length ? length : 1;
    }
    if (out.failed)
        pp_text_free(&out);
    return out.data;
}

pp_status pp_compare_add(pp_compare_file *file, const pp_metric *metric, const char *place,
                         double value, pp_quantity **quantity_out, pp_err *err)
{
    void *all = file->item;
    pp_status status = pp_grow(&all, &file->capacity, file->count + 1, sizeof *file->item, err);
    if (status)
        return status;
    file->item = all;
    pp_quantity *item = &file->item[file->count];
    *item = (pp_quantity){ .metric = metric,
                           .place = pp_compare_printable(place),
                           .value = value,
                           .low = value,
                           .high = value,
                           .order = file->count };
    if (!item->place)
        return pp_err_nomem(err);
    file->count++;
    *quantity_out = item;
    return PP_OK;
}

static int compare_items(const void *left, const void *right)
{
    const pp_quantity *a = left;
    const pp_quantity *b = right;
    if (a->metric != b->metric)
        return a->metric < b->metric ? -1 : 1;
    int order = strcmp(a->place, b->place);
    return order ? order : (a->order > b->order) - (a->order < b->order);
}

const pp_quantity *pp_compare_find(const pp_compare_file *file, const pp_metric *metric,
                                   const char *place)
{
    size_t low = 0;
    size_t high = file->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const pp_quantity *item = &file->item[middle];
        int order =
            item->metric != metric ? (item->metric < metric ? -1 : 1) : strcmp(item->place, place);
        if (order == 0)
            return item;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

void pp_compare_spread(double *values, size_t count, pp_quantity *quantity)
{
    double slowest = 0;
    for (size_t i = count / 2; i < count; i++)
        slowest = values[i] > slowest ? values[i] : slowest;
    for (; count > PP_COMPARE_REPEATS && *values > slowest; count--)
        values++;
    pp_sample sample = pp_sample_of_repeats(values, count);
    quantity->value = sample.seconds;
    quantity->spread = count >= PP_COMPARE_REPEATS;
    quantity->low = quantity->spread ? sample.p10_s : sample.seconds;
    quantity->high = quantity->spread ? sample.p90_s : sample.seconds;
}

pp_status pp_compare_sort(pp_compare_file *file, pp_err *err)
{
    size_t twins = 0;
    if (file->count)
        qsort(file->item, file->count, sizeof *file->item, compare_items);
    for (size_t first = 0, i = 1; i < file->count; i++) {
        pp_quantity *item = &file->item[i];
        char place[600];
        if (item->metric != file->item[first].metric ||
            strcmp(item->place, file->item[first].place) != 0) {
            first = i;
            continue;
        }
        snprintf(place, sizeof place, "%s (%zu)", item->place, i - first + 1);
        free(item->place);
        if (!(item->place = pp_copy_text(place)))
            return pp_err_nomem(err);
        twins++;
    }
    if (twins)
        qsort(file->item, file->count, sizeof *file->item, compare_items);
    return PP_OK;
}

void pp_compare_sample_name(const char *name, const pp_series *series, const pp_sample *sample,
                            char *place, size_t size)
{
    int used = snprintf(place, size, "%s", name);
    for (int v = 0; v < PP_VARIABLE_COUNT && used >= 0 && (size_t)used < size; v++) {
        if (!isnan(sample->at[v]))
            used += snprintf(place + used, size - (size_t)used, " %s=%.15g",
                             pp_variable_key((pp_variable)v), sample->at[v]);
    }
    if (series->ranks && used >= 0 && (size_t)used < size)
        snprintf(place + used, size - (size_t)used, " ranks=%d", (int)series->ranks);
}
