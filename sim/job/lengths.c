/* Reads sequence lengths from text, one number per line, or from JSON, and cuts those that are too
 * long. */
#include "sim/job/lengths.h"

#include "sim/base/alloc.h"
#include "sim/base/field.h"
#include "sim/base/json.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct lengths_list {
    int64_t *items;
    size_t *ends; /* [groups] */
    size_t count, capacity, groups, group_capacity;
} lengths_list;

static void free_list(lengths_list *list)
{
    free(list->items);
    free(list->ends);
}

void pp_lengths_free(pp_lengths *lengths)
{
    free(lengths->length);
    free(lengths->group_end);
    *lengths = (pp_lengths){ 0 };
}

static pp_status add_length(lengths_list *list, int64_t length, const char *where, pp_err *err)
{
    if (list->count == PP_LENGTHS_MAX)
        return pp_err_set(err, PP_INPUT, where, "there are more than %zu lengths", PP_LENGTHS_MAX);
    void *items = list->items;
    pp_status status = pp_grow(&items, &list->capacity, list->count + 1, sizeof *list->items, err);
    if (status)
        return status;
    list->items = items;
    list->items[list->count++] = length;
    return PP_OK;
}

static void free_json(pp_json **json)
{
    pp_json_free(json);
}

static pp_status add_each(const pp_json_at *array, const char *name, lengths_list *list,
                          pp_err *err)
{
    size_t count;
    pp_status status = pp_json_count(array, &count, err);
    for (size_t i = 0; i < count && !status; i++) {
        pp_json_at item;
        int64_t length;
        if (!(status = pp_json_item(array, i, &item, err)) &&
            !(status = pp_json_read_int(&item, 1, PP_LENGTH_MAX, &length, err)))
            status = add_length(list, length, name, err);
    }
    return status;
}

/* Adds one array of an array of arrays, which is a microbatch. */
static pp_status add_group(const pp_json_at *group, const char *name, lengths_list *list,
                           pp_err *err)
{
    pp_json_at first;
    size_t count;
    if (pp_json_kind_at(group) != PP_JSON_ARRAY)
        return pp_json_fail(group, err,
                            "the file begins with a microbatch (an array of lengths), so this must "
                            "be an array of lengths, too");
    pp_status status = pp_json_count(group, &count, err);
    if (status)
        return status;
    if (count == 0)
        return pp_json_fail(group, err, "a microbatch must have at least one sequence");
    if ((status = pp_json_item(group, 0, &first, err)))
        return status;
    if (pp_json_kind_at(&first) == PP_JSON_ARRAY)
        return pp_json_fail(
            &first, err,
            "the file holds several global batches; give only one of them, an array of "
            "arrays of lengths");
    void *ends = list->ends;
    if ((status = add_each(group, name, list, err)) ||
        (status = pp_grow(&ends, &list->group_capacity, list->groups + 1, sizeof *list->ends, err)))
        return status;
    list->ends = ends;
    list->ends[list->groups++] = list->count;
    return PP_OK;
}

static pp_status parse_json(const char *text, size_t bytes, const char *name, lengths_list *list,
                            pp_err *err)
{
    pp_json *json PP_CLEANUP(free_json) = NULL;
    size_t count;
    pp_status status = pp_json_parse(text, bytes, name, &json, err);
    if (status)
        return status;
    pp_json_at root = pp_json_root(json, name);
    pp_json_at item;
    if ((status = pp_json_count(&root, &count, err)))
        return status;
    if (count && (status = pp_json_item(&root, 0, &item, err)))
        return status;
    if (!count || pp_json_kind_at(&item) != PP_JSON_ARRAY)
        return add_each(&root, name, list, err);
    for (size_t i = 0; i < count && !status; i++) {
        if (!(status = pp_json_item(&root, i, &item, err)))
            status = add_group(&item, name, list, err);
    }
    return status;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Reads one line, without its newline. */
static pp_status parse_line(const char *text, size_t bytes, const char *name, size_t line,
                            lengths_list *list, pp_err *err)
{
    char where[256];
    int64_t length = 0;
    size_t at = 0;
    while (at < bytes && is_blank(text[at]))
        at++;
    size_t start = at;
    for (; at < bytes && isdigit((unsigned char)text[at]); at++) {
        if (length <= PP_LENGTH_MAX)
            length = length * 10 + (text[at] - '0');
    }
    size_t end = at;
    while (at < bytes && is_blank(text[at]))
        at++;
    if (at < bytes && text[at] != '#') {
        snprintf(where, sizeof where, "%.200s:%zu:%zu", name, line, at + 1);
        return pp_err_set(err, PP_INPUT, where,
                          "expected one whole number per line, or a JSON array of whole numbers");
    }
    if (end == start)
        return PP_OK;
    snprintf(where, sizeof where, "%.200s:%zu:%zu", name, line, start + 1);
    if (length < 1 || length > PP_LENGTH_MAX)
        return pp_err_set(err, PP_INPUT, where, "a length must be from 1 to %" PRId64 " tokens",
                          PP_LENGTH_MAX);
    return add_length(list, length, where, err);
}

static pp_status parse_lines(const char *text, size_t bytes, const char *name, lengths_list *list,
                             pp_err *err)
{
    size_t line = 1;
    for (size_t at = 0; at < bytes; line++) {
        const char *newline = memchr(text + at, '\n', bytes - at);
        size_t end = newline ? (size_t)(newline - text) : bytes;
        pp_status status = parse_line(text + at, end - at, name, line, list, err);
        if (status)
            return status;
        at = end + 1;
    }
    return PP_OK;
}

pp_status pp_lengths_parse(const char *text, size_t bytes, const char *name,
                           pp_lengths *lengths_out, pp_err *err)
{
    lengths_list list PP_CLEANUP(free_list) = { 0 };
    size_t at = 0;
    while (at < bytes && (is_blank(text[at]) || text[at] == '\n'))
        at++;
    bool json = at < bytes && (text[at] == '[' || text[at] == '{');
    pp_status status = json ? parse_json(text, bytes, name, &list, err)
                            : parse_lines(text, bytes, name, &list, err);
    if (status)
        return status;
    if (list.count == 0)
        return pp_err_set(err, PP_INPUT, name, "contains no lengths; write one per line");
    *lengths_out = (pp_lengths){ .length = list.items,
                                 .count = list.count,
                                 .group_end = list.ends,
                                 .group_count = list.groups };
    list = (lengths_list){ 0 }; /* now owned by the caller */
    return PP_OK;
}

/* The number of sequences that one of `length` tokens becomes. */
static size_t pieces_of(int64_t length, int64_t most, pp_lengths_cut how)
{
    return how == PP_LENGTHS_SPLIT && length > most ? (size_t)((length + most - 1) / most) : 1;
}

pp_status pp_lengths_fit(const pp_lengths *from, int64_t most, pp_lengths_cut how,
                         pp_lengths *lengths_out, pp_lengths_cut_sum *sum_out, pp_err *err)
{
    pp_lengths_cut_sum sum = { 0 };
    size_t count = 0;
    assert(most > 0);
    for (size_t i = 0; i < from->count; i++) {
        count += pieces_of(from->length[i], most, how);
        if (count > PP_LENGTHS_MAX)
            return pp_err_set(err, PP_INPUT, pp_err_name(err, PP_FIELD_LENGTHS),
                              "pieces of at most %" PRId64 " tokens would be more than %zu "
                              "sequences",
                              most, PP_LENGTHS_MAX);
    }
    pp_lengths made PP_CLEANUP(pp_lengths_free) = { .group_count = from->group_count };
    made.length = pp_alloc_array(count, sizeof *made.length);
    if (from->group_end)
        made.group_end = pp_alloc_array(from->group_count, sizeof *made.group_end);
    if (!made.length || (from->group_end && !made.group_end))
        return pp_err_nomem(err);
    for (size_t i = 0, group = 0; i < from->count; i++) {
        const int64_t length = from->length[i];
        const bool cut = length > most;
        const size_t pieces = pieces_of(length, most, how);
        for (size_t k = 0; k < pieces; k++) {
            const int64_t rest = length - (int64_t)k * most;
            made.length[made.count++] = rest < most ? rest : most;
        }
        sum.tokens += length;
        sum.cut += cut;
        sum.pieces += cut ? pieces : 0;
        sum.lost += cut && pieces == 1 ? length - most : 0;
        while (group < from->group_count && from->group_end[group] == i + 1)
            made.group_end[group++] = made.count;
    }
    *lengths_out = made;
    *sum_out = sum;
    made = (pp_lengths){ 0 }; /* now owned by the caller */
    return PP_OK;
}
