/* The import of tables of bus bandwidths in GB/s, as papers and wikis show them, with a row per
 * message size and a column per number of ranks. Comments may describe the run: "sendrecv_perf",
 * "NCCL 2.29.7", "8 B200 per node", "16 p2p channels, 4 per peer" (in the first column; NCCL's rule
 * gives those of the others). */
#include "calib/import/common/columns.h"
#include "calib/import/import.h"
#include "calib/import/nccl/nccl_section.h"
#include "sim/cost/kernel.h"

#include <stdio.h>
#include <string.h>

enum { COLUMNS_MAX = 256, ROWS_MAX = 1 << 20 };

typedef struct table {
    const char *file;
    char class_name[32];
    char library[32];
    char source[128];
    int64_t per_node;                    /* ranks per node; 0: not known */
    int64_t channels_max, channels_peer; /* 0: not known */
    size_t columns;                      /* including that of the sizes; 0: no header was read */
    int64_t ranks[COLUMNS_MAX];
    size_t first; /* index of the first series of this table */
    size_t rows;
} table;

static bool recognise(const char *text, size_t bytes)
{
    pp_lines lines = pp_lines_of(text, bytes);
    while (pp_lines_next(&lines)) {
        if (!lines.line.bytes || lines.line.at[0] == '#')
            continue;
        return pp_span_begins(lines.line, "bytes,n") && lines.line.bytes > 7 &&
               lines.line.at[7] >= '0' && lines.line.at[7] <= '9';
    }
    return false;
}

/* Reads "16 p2p channels, 4 per peer", or "16 p2p channels per peer" as NCCL's logs have it. */
static void read_channels(table *t, pp_span word, const pp_span before[2], int64_t *last)
{
    int64_t number;
    if (pp_span_is(word, "channels") && pp_span_is(before[1], "p2p") &&
        pp_span_int(before[0], 1024, &number)) {
        *last = number;
        if (!t->channels_max)
            t->channels_max = number;
    } else if (pp_span_is(word, "peer") && pp_span_is(before[1], "per")) {
        t->channels_peer = pp_span_int(before[0], 1024, &number) ? number : *last;
    }
}

static void read_comment(table *t, pp_span line)
{
    pp_span word;
    pp_span before[2] = { { "", 0 }, { "", 0 } };
    int64_t number = 0, channels = 0;
    while (pp_span_word(&line, &word)) {
        char name[40];
        while (word.bytes && strchr(",;.:", word.at[word.bytes - 1]))
            word.bytes--;
        pp_span_copy(word, name, sizeof name);
        if (pp_nccl_class(name))
            snprintf(t->class_name, sizeof t->class_name, "%s", pp_nccl_class(name));
        else if (pp_span_is(before[1], "NCCL") && word.bytes && word.at[0] >= '0' &&
                 word.at[0] <= '9' && pp_span_find(word, "."))
            snprintf(t->library, sizeof t->library, "nccl %.20s", name);
        else if (pp_span_is(word, "per") && pp_span_int(before[0], 1024, &number) &&
                 pp_span_begins((pp_span){ word.at + word.bytes, line.bytes }, " node"))
            t->per_node = number;
        read_channels(t, word, before, &channels);
        before[0] = before[1];
        before[1] = word;
    }
}

/* Returns the factor from bandwidth to bus bandwidth (doc/PERFORMANCE.md of nccl-tests). */
static double bus_factor(const char *class_name, double ranks)
{
    if (strcmp(class_name, "send_recv") == 0)
        return 1;
    return (strcmp(class_name, "all_reduce") == 0 ? 2 : 1) * (ranks - 1) / ranks;
}

static pp_status read_header(table *t, const pp_cell_text *cells, size_t count, pp_samples *samples,
                             pp_err *err)
{
    pp_status status = PP_OK;
    if (count > COLUMNS_MAX)
        return pp_cell_fail(&cells[0], t->file, err, "more than %d columns", COLUMNS_MAX);
    t->first = samples->count;
    for (size_t i = 1; i < count && !status; i++) {
        pp_series *series = NULL;
        pp_span digits = cells[i].text;
        bool good = digits.bytes > 1 && digits.at[0] == 'n';
        digits = good ? (pp_span){ digits.at + 1, digits.bytes - 1 } : digits;
        if (!good || !pp_span_int(digits, 1 << 20, &t->ranks[i]) || t->ranks[i] < 2)
            return pp_cell_fail(
                &cells[i], t->file, err,
                "a column must be named after a number of ranks, at least 2, such as n16");
        if ((status = pp_samples_add_series(samples, t->class_name, &series, err)))
            return status;
        series->link = true;
        series->ranks = (int32_t)t->ranks[i];
        if (t->per_node)
            series->nodes = (int32_t)((t->ranks[i] + t->per_node - 1) / t->per_node);
        if (t->channels_max && t->channels_peer) {
            series->channels_max = (int32_t)t->channels_max;
            series->channels_peer =
                (int32_t)pp_nccl_channels_per_peer(t->channels_max, t->channels_peer, t->ranks[i]);
        }
        memcpy(series->library, t->library, sizeof series->library);
        snprintf(series->source, sizeof series->source, "%.120s",
                 t->source[0] ? t->source : pp_file_name(t->file));
    }
    t->columns = count;
    return status;
}

/* Returns half a unit of the last digit that was printed. */
static double rounding(pp_span text)
{
    const char *point = memchr(text.at, '.', text.bytes);
    double half = 0.5;
    for (const char *at = point;
         at && at + 1 < text.at + text.bytes && at[1] >= '0' && at[1] <= '9'; at++)
        half /= 10;
    return half;
}

static pp_status read_row(table *t, const pp_cell_text *cells, size_t count, pp_samples *samples,
                          pp_skips *notes, pp_err *err)
{
    double bytes = 0;
    pp_status status = PP_OK;
    if (count != t->columns)
        return pp_cell_fail(&cells[0], t->file, err, "%zu cells, but the header has %zu", count,
                            t->columns);
    if (t->rows++ == ROWS_MAX)
        return pp_cell_fail(&cells[0], t->file, err, "more than %d rows", ROWS_MAX);
    if ((status = pp_cell_real(&cells[0], t->file, 1, 1e15, &bytes, err)))
        return status;
    for (size_t i = 1; i < count && !status; i++) {
        double gb_per_s = 0;
        if (!cells[i].text.bytes) {
            pp_skip_add(notes, cells[i].line, "a cell without a number");
            continue;
        }
        if ((status = pp_cell_real(&cells[i], t->file, 0, 1e9, &gb_per_s, err)))
            return status;
        double half = rounding(cells[i].text);
        double work = bytes * 1e-9 * bus_factor(t->class_name, (double)t->ranks[i]);
        if (gb_per_s <= 2 * half) {
            pp_skip_add(notes, cells[i].line, "a bandwidth without significant digits");
            continue;
        }
        pp_sample sample = pp_sample_of(work / gb_per_s);
        sample.at[PP_VARIABLE_BYTES] = bytes;
        sample.p10_s = work / (gb_per_s + half);
        sample.p90_s = work / (gb_per_s - half);
        status = pp_series_add(&samples->series[t->first + i - 1], &sample, err);
    }
    return status;
}

static pp_status read_lines(table *t, const char *text, size_t bytes, pp_samples *samples,
                            pp_skips *notes, pp_err *err)
{
    pp_cell_text cells[COLUMNS_MAX];
    pp_lines lines = pp_lines_of(text, bytes);
    pp_status status = PP_OK;
    while (!status && pp_lines_next(&lines)) {
        if (lines.line.bytes && lines.line.at[0] == '#') {
            pp_comment_read(lines.line, "# device: ", samples->device, sizeof samples->device);
            pp_comment_read(lines.line, "# source: ", t->source, sizeof t->source);
            read_comment(t, lines.line);
            continue;
        }
        size_t count = pp_columns_split(&lines, cells, COLUMNS_MAX);
        if (count == 1 && !cells[0].text.bytes)
            continue;
        status = t->columns ? read_row(t, cells, count, samples, notes, err)
                            : read_header(t, cells, count, samples, err);
    }
    return status;
}

static pp_status read(const char *text, size_t bytes, const char *file, pp_samples *samples,
                      pp_err *err)
{
    table t = { .file = file, .class_name = "send_recv" };
    pp_skips notes PP_CLEANUP(pp_skips_free) = { 0 };
    pp_status status = read_lines(&t, text, bytes, samples, &notes, err);
    if (status)
        return status;
    return pp_skips_finish(&notes, file, "contains no usable bandwidth", samples, err);
}

const pp_import pp_import_busbw_csv = {
    .name = "busbw-csv",
    .summary = "tables of bus bandwidth by message size and number of ranks",
    .recognise = recognise,
    .read = read,
};
