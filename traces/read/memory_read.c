/* Reads what traces/format/memory_csv.c and memory_json.c write: both have the same columns, and
 * their rows are sorted by rank and time. */
#include "traces/read/memory_read.h"
#include "sim/base/field.h"
#include "sim/base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS (3 + PP_MEMORY_COUNT) /* rank, time_ns, the components, total */

static const char *column_name(int column)
{
    if (column < 2)
        return column ? "time_ns" : "rank";
    return column == COLUMNS - 1 ? "total" : pp_memory_key((pp_memory_component)(column - 2));
}

/* Adds a row as a sample. place: the place of the row, for errors; "" if *err names it already. */
static pp_status add_sample(const int64_t row[COLUMNS], const char *place, pp_track *track,
                            pp_err *err)
{
    int64_t total = 0;
    for (int c = 0; c < PP_MEMORY_COUNT; c++)
        total += row[2 + c];
    if (row[0] >= PP_RANKS_MAX || total != row[COLUMNS - 1])
        return pp_err_set(err, PP_INPUT, place, "the row is not one that ppsim writes: %s",
                          total != row[COLUMNS - 1] ? "its components do not add up to its total"
                                                    : "there is no such rank");
    const pp_memory_sample_row *last =
        track->sample_count ? &track->sample[track->sample_count - 1] : NULL;
    if (last && (row[0] < last->rank || (row[0] == last->rank && row[1] < last->at_ns)))
        return pp_err_set(err, PP_INPUT, place, "ranks and times must ascend");
    pp_memory_sample_row *sample = pp_track_add_sample(track, err);
    if (!sample)
        return PP_NOMEM;
    sample->rank = (uint32_t)row[0];
    sample->at_ns = row[1];
    memcpy(sample->bytes, &row[2], sizeof sample->bytes);
    return PP_OK;
}

static pp_status finish(pp_track *track, const char *file, pp_track *track_out, pp_err *err)
{
    if (!track->sample_count)
        return pp_err_set(err, PP_INPUT, file, "has no rows of memory");
    pp_status status = pp_track_finish(track, err);
    if (status)
        return status;
    *track_out = *track;
    *track = (pp_track){ 0 }; /* the caller owns it now */
    return PP_OK;
}

bool pp_memory_csv_recognise(const char *text, size_t bytes)
{
    static const char start[] = "rank,time_ns,";
    return bytes >= sizeof start - 1 && memcmp(text, start, sizeof start - 1) == 0;
}

static pp_status check_header(const char *line, size_t bytes, const char *file, pp_err *err)
{
    char where[256];
    pp_text header PP_CLEANUP(pp_text_free) = { 0 };
    for (int c = 0; c < COLUMNS; c++)
        pp_text_add(&header, "%s%s", c ? "," : "", column_name(c));
    pp_status status = pp_text_check(&header, err);
    if (status || (header.bytes == bytes && memcmp(header.data, line, bytes) == 0))
        return status;
    snprintf(where, sizeof where, "%.200s:1:1", file);
    return pp_err_set(err, PP_INPUT, where,
                      "has columns other than those that %s writes; write the file again",
                      pp_err_name(err, PP_FIELD_MEMORY_CSV_WRITER));
}

static pp_status read_line(const char *line, const char *end, const char *file, int number,
                           pp_track *track, pp_err *err)
{
    int64_t row[COLUMNS];
    char where[256];
    const char *at = line;
    for (int c = 0; c < COLUMNS; c++) {
        char *after;
        bool digit = at < end && *at >= '0' && *at <= '9';
        row[c] = digit ? strtoll(at, &after, 10) : -1;
        snprintf(where, sizeof where, "%.200s:%d:%d", file, number, (int)(at - line) + 1);
        if (row[c] < 0 || row[c] > PP_BYTES_MAX)
            return pp_err_set(err, PP_INPUT, where,
                              "is not a whole number of %s from 0 to %" PRId64, column_name(c),
                              PP_BYTES_MAX);
        bool last = c == COLUMNS - 1;
        if (last ? after != end : (after >= end || *after != ','))
            return pp_err_set(err, PP_INPUT, where,
                              "a row has %d whole numbers, separated by commas", COLUMNS);
        at = after + 1;
    }
    snprintf(where, sizeof where, "%.200s:%d:1", file, number);
    return add_sample(row, where, track, err);
}

pp_status pp_memory_csv_read(const char *text, const char *file, pp_track *track_out, pp_err *err)
{
    pp_track track PP_CLEANUP(pp_track_free) = { 0 };
    int number = 1;
    const char *end = strchr(text, '\n');
    size_t first = end ? (size_t)(end - text) : strlen(text);
    pp_status status = check_header(text, first, file, err);
    for (const char *line = text + first; *line == '\n' && line[1] && !status; line = end) {
        line++;
        end = strchr(line, '\n');
        end = end ? end : line + strlen(line);
        status = read_line(line, end, file, ++number, &track, err);
    }
    return status ? status : finish(&track, file, track_out, err);
}

static pp_status check_columns(const pp_json_at *root, pp_err *err)
{
    pp_json_at columns;
    size_t count = 0;
    pp_status status = pp_json_get(root, "columns", &columns, err);
    if (status || (status = pp_json_count(&columns, &count, err)))
        return status;
    bool same = count == COLUMNS;
    for (int c = 0; c < COLUMNS && same; c++) {
        pp_json_at column;
        const char *name;
        if ((status = pp_json_item(&columns, (size_t)c, &column, err)) ||
            (status = pp_json_read_text(&column, &name, err)))
            return status;
        same = strcmp(name, column_name(c)) == 0;
    }
    return same ? PP_OK
                : pp_json_fail(&columns, err,
                               "differ from those that %s writes; write the file again",
                               pp_err_name(err, PP_FIELD_MEMORY_JSON_WRITER));
}

static pp_status read_row(const pp_json_at *row, const char *file, pp_track *track, pp_err *err)
{
    int64_t number[COLUMNS];
    size_t count = 0;
    pp_status status = pp_json_count(row, &count, err);
    if (status)
        return status;
    if (count != COLUMNS)
        return pp_json_fail(row, err, "a row has %d numbers, but this one has %zu", COLUMNS, count);
    for (size_t c = 0; c < COLUMNS; c++) {
        pp_json_at cell;
        if ((status = pp_json_item(row, c, &cell, err)) ||
            (status = pp_json_read_int(&cell, 0, PP_BYTES_MAX, &number[c], err)))
            return status;
    }
    char where[256];
    snprintf(where, sizeof where, "%.200s#/rows/%zu", file, row->index);
    return add_sample(number, where, track, err);
}

pp_status pp_memory_json_read(const pp_json_at *root, pp_track *track_out, pp_err *err)
{
    static const char *const keys[] = { "columns", "format", "rows", "version", NULL };
    pp_track track PP_CLEANUP(pp_track_free) = { 0 };
    pp_json_at rows;
    size_t count = 0;
    pp_status status = pp_json_check_format(root, "ppsim.memory", 1, err);
    if (status || (status = pp_json_only(root, keys, err)) || (status = check_columns(root, err)) ||
        (status = pp_json_get(root, "rows", &rows, err)) ||
        (status = pp_json_count(&rows, &count, err)))
        return status;
    for (size_t i = 0; i < count && !status; i++) {
        pp_json_at row;
        status = pp_json_item(&rows, i, &row, err);
        if (!status)
            status = read_row(&row, root->file, &track, err);
    }
    return status ? status : finish(&track, root->file, track_out, err);
}
