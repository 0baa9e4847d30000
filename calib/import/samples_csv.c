/* The import of ppsim's own format samples-csv (docs/reference/formats.md), which any program can
 * print. */
#include "calib/import/common/columns.h"
#include "calib/import/common/skips.h"
#include "calib/import/import.h"
#include "sim/base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COLUMNS_MAX = 64, SERIES_MAX = 4096, SAMPLES_MAX = 1 << 24 };

static const char magic[] = "# ppsim.samples 1";

/* The columns after those of the variables of samples.h. */
enum {
    COLUMN_CLASS = PP_VARIABLE_COUNT,
    COLUMN_SECONDS,
    COLUMN_P10,
    COLUMN_P90,
    COLUMN_REPEATS,
    COLUMN_PASS,
    COLUMN_COLD,
    COLUMN_LINK,
    COLUMN_RANKS,
    COLUMN_NODES,
    COLUMN_CHANNELS_MAX,
    COLUMN_CHANNELS_PEER,
    COLUMN_LIBRARY,
    COLUMN_COUNT,
};

static const char *const names[COLUMN_COUNT + 1] = {
#define PP_VARIABLE_NAME(id, key, unit) #key,
    PP_VARIABLE_MAP(PP_VARIABLE_NAME)
#undef PP_VARIABLE_NAME
        "class",
    "seconds",
    "p10_s",
    "p90_s",
    "repeats",
    "pass",
    "cold",
    "link",
    "ranks",
    "nodes",
    "channels_max",
    "channels_peer",
    "library",
};

typedef struct table {
    const char *file;
    pp_samples *samples;
    int kind[COLUMNS_MAX];
    size_t columns; /* 0: no header was read */
    size_t rows;
    bool says_link; /* there is a column for it; otherwise the class decides */
    char source[128];
} table;

static bool recognise(const char *text, size_t bytes)
{
    pp_lines lines = pp_lines_of(text, bytes);
    return pp_lines_next(&lines) && pp_span_is(lines.line, magic);
}

static pp_status read_header(table *t, const pp_cell_text *cells, size_t count, pp_err *err)
{
    bool seen[COLUMN_COUNT] = { false };
    if (count > COLUMNS_MAX)
        return pp_cell_fail(&cells[0], t->file, err, "more than %d columns", COLUMNS_MAX);
    for (size_t i = 0; i < count; i++) {
        char name[40];
        int kind = 0;
        pp_span_copy(cells[i].text, name, sizeof name);
        while (kind < COLUMN_COUNT && !pp_span_is(cells[i].text, names[kind]))
            kind++;
        if (kind == COLUMN_COUNT) {
            char hint[PP_TEXT_HINT_BYTES];
            return pp_cell_fail(&cells[i], t->file, err, "there is no column '%s'%s", name,
                                pp_text_nearest_hint(NULL, name, names, hint));
        }
        if (seen[kind])
            return pp_cell_fail(&cells[i], t->file, err, "the column '%s' occurs twice", name);
        seen[kind] = true;
        t->kind[i] = kind;
    }
    if (!seen[COLUMN_CLASS] || !seen[COLUMN_SECONDS])
        return pp_cell_fail(&cells[0], t->file, err, "needs the columns 'class' and 'seconds'");
    t->columns = count;
    t->says_link = seen[COLUMN_LINK];
    return PP_OK;
}

static pp_status read_flag(const pp_cell_text *cell, const char *file, bool *flag, pp_err *err)
{
    int64_t value = 0;
    pp_status status = pp_cell_int(cell, file, 1, &value, err);
    *flag = value != 0;
    return status;
}

static pp_status read_size(const pp_cell_text *cell, const char *file, int32_t *size, pp_err *err)
{
    int64_t value = 0;
    pp_status status = pp_cell_int(cell, file, INT32_MAX, &value, err);
    *size = (int32_t)value;
    return status;
}

static pp_status read_name(const pp_cell_text *cell, const char *file, char *name, size_t size,
                           pp_err *err)
{
    if (cell->text.bytes >= size)
        return pp_cell_fail(cell, file, err, "is longer than %zu bytes", size - 1);
    pp_span_copy(cell->text, name, size);
    if (memcmp(name, cell->text.at, cell->text.bytes) != 0 || memchr(name, '"', cell->text.bytes))
        return pp_cell_fail(cell, file, err, "must be printable ASCII without quotes");
    return PP_OK;
}

static pp_status read_cell(const table *t, int kind, const pp_cell_text *cell, pp_series *series,
                           pp_sample *sample, pp_err *err)
{
    const char *file = t->file;
    int32_t count = 0;
    pp_status status = PP_OK;
    switch (kind) {
    case COLUMN_CLASS:
        return read_name(cell, file, series->class_name, sizeof series->class_name, err);
    case COLUMN_LIBRARY:
        return read_name(cell, file, series->library, sizeof series->library, err);
    case COLUMN_SECONDS:
        return pp_cell_real(cell, file, 1e-12, 1e9, &sample->seconds, err);
    case COLUMN_P10:
        return pp_cell_real(cell, file, 1e-12, 1e9, &sample->p10_s, err);
    case COLUMN_P90:
        return pp_cell_real(cell, file, 1e-12, 1e9, &sample->p90_s, err);
    case COLUMN_REPEATS:
        status = read_size(cell, file, &count, err);
        sample->repeats = (uint32_t)count;
        return status;
    case COLUMN_PASS:
        status = read_size(cell, file, &count, err);
        sample->pass = (uint32_t)count;
        return status;
    case COLUMN_COLD:
        return read_flag(cell, file, &sample->cold, err);
    case COLUMN_LINK:
        return read_flag(cell, file, &series->link, err);
    case COLUMN_RANKS:
        return read_size(cell, file, &series->ranks, err);
    case COLUMN_NODES:
        return read_size(cell, file, &series->nodes, err);
    case COLUMN_CHANNELS_MAX:
        return read_size(cell, file, &series->channels_max, err);
    case COLUMN_CHANNELS_PEER:
        return read_size(cell, file, &series->channels_peer, err);
    default:
        return pp_cell_real(cell, file, 0, 1e18, &sample->at[kind], err);
    }
}

static bool is_link(const char *class_name)
{
    static const char *const links[] = { "send_recv", "all_reduce", "all_gather", "reduce_scatter",
                                         "all_to_all" };
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) {
        if (strcmp(class_name, links[i]) == 0)
            return true;
    }
    return false;
}

static bool same_series(const pp_series *a, const pp_series *b)
{
    return strcmp(a->class_name, b->class_name) == 0 && a->link == b->link &&
           a->ranks == b->ranks && a->nodes == b->nodes && a->channels_max == b->channels_max &&
           a->channels_peer == b->channels_peer && strcmp(a->library, b->library) == 0;
}

static pp_status find_series(const table *t, const pp_series *wanted, const pp_cell_text *cell,
                             pp_series **series_out, pp_err *err)
{
    pp_samples *samples = t->samples;
    for (size_t i = samples->count; i > 0; i--) { /* rows of a series mostly follow each other */
        if (same_series(&samples->series[i - 1], wanted)) {
            *series_out = &samples->series[i - 1];
            return PP_OK;
        }
    }
    if (samples->count == SERIES_MAX)
        return pp_cell_fail(cell, t->file, err, "more than %d different series", SERIES_MAX);
    pp_status status = pp_samples_add_series(samples, wanted->class_name, series_out, err);
    if (status)
        return status;
    **series_out = *wanted;
    snprintf((*series_out)->source, sizeof(*series_out)->source, "%.120s",
             t->source[0] ? t->source : pp_file_name(t->file));
    return PP_OK;
}

static pp_status read_row(table *t, const pp_cell_text *cells, size_t count, pp_err *err)
{
    pp_series wanted = { 0 };
    pp_series *series = NULL;
    pp_sample sample = pp_sample_of(0);
    pp_status status = PP_OK;
    if (count != t->columns)
        return pp_cell_fail(&cells[0], t->file, err, "%zu cells, but the header has %zu", count,
                            t->columns);
    if (t->rows++ == SAMPLES_MAX)
        return pp_cell_fail(&cells[0], t->file, err, "more than %d rows", SAMPLES_MAX);
    for (size_t i = 0; i < count && !status; i++) {
        bool needed = t->kind[i] == COLUMN_CLASS || t->kind[i] == COLUMN_SECONDS;
        if (cells[i].text.bytes)
            status = read_cell(t, t->kind[i], &cells[i], &wanted, &sample, err);
        else if (needed)
            status =
                pp_cell_fail(&cells[i], t->file, err, "'%s' may not be empty", names[t->kind[i]]);
    }
    if (status)
        return status;
    if (sample.p10_s > sample.p90_s)
        return pp_cell_fail(&cells[0], t->file, err, "p10_s is above p90_s");
    if (!t->says_link)
        wanted.link = is_link(wanted.class_name);
    if ((status = find_series(t, &wanted, &cells[0], &series, err)))
        return status;
    return pp_series_add(series, &sample, err);
}

static pp_status read(const char *text, size_t bytes, const char *file, pp_samples *samples,
                      pp_err *err)
{
    table t = { .file = file, .samples = samples };
    pp_cell_text cells[COLUMNS_MAX];
    pp_skips notes PP_CLEANUP(pp_skips_free) = { 0 };
    pp_lines lines = pp_lines_of(text, bytes);
    pp_status status = PP_OK;
    if (!pp_lines_next(&lines) || !pp_span_is(lines.line, magic)) {
        char where[256];
        snprintf(where, sizeof where, "%.200s:1:1", file);
        return pp_err_set(err, PP_INPUT, where, "the first line must be '%s'", magic);
    }
    while (!status && pp_lines_next(&lines)) {
        if (lines.line.bytes && lines.line.at[0] == '#') {
            pp_comment_read(lines.line, "# device: ", samples->device, sizeof samples->device);
            pp_comment_read(lines.line, "# source: ", t.source, sizeof t.source);
            continue;
        }
        size_t count = pp_columns_split(&lines, cells, COLUMNS_MAX);
        if (count == 1 && !cells[0].text.bytes)
            continue;
        status = t.columns ? read_row(&t, cells, count, err) : read_header(&t, cells, count, err);
    }
    return status ? status : pp_skips_finish(&notes, file, "holds no sample", samples, err);
}

const pp_import pp_import_samples_csv = {
    .name = "samples-csv",
    .summary = "ppsim's own samples, one per line, which any script can write",
    .recognise = recognise,
    .read = read,
};
