/* Reads the tables of nccl-tests and rccl-tests. The header gives the place of each column, as
 * these differ between versions; a log without headers is read as the 13 columns that have been
 * printed since 2.13. A row is taken only when its time and its bandwidth agree, which detects rows
 * that several processes printed into each other. */
#include "calib/import/nccl/nccl_table.h"

#include <math.h>
#include <string.h>

bool pp_nccl_is_none(pp_span word)
{
    return pp_span_is(word, "N/A");
}

static size_t find(const pp_span *words, size_t count, const char *name, size_t from)
{
    while (from < count && !pp_span_is(words[from], name))
        from++;
    return from;
}

static bool layout_of(const pp_span *words, size_t count, pp_nccl_layout *layout_out)
{
    pp_nccl_layout l = { .count = count };
    size_t time = find(words, count, "time", 0);
    size_t cpu_time = find(words, count, "cputime", 0);
    l.cpu_time = cpu_time < time;
    l.time = l.cpu_time ? cpu_time : time;
    l.type = find(words, count, "type", 0);
    l.redop = find(words, count, "redop", 0);
    l.root = find(words, count, "root", 0);
    l.algbw = find(words, count, "algbw", l.time);
    l.busbw = find(words, count, "busbw", l.time);
    l.wrong = find(words, count, "#wrong", l.time);
    const char *errors = l.wrong < count ? "#wrong" : "error";
    l.errors = find(words, count, errors, l.time);
    l.second_errors = find(words, count, errors, l.errors + 1);
    size_t timestamp = find(words, count, "timestamp", 0);
    l.timestamp = timestamp < count ? timestamp : 0;
    if (!count || !pp_span_is(words[0], "size") || l.algbw >= count || l.busbw >= count)
        return false;
    *layout_out = l;
    return true;
}

bool pp_nccl_layout_read(pp_span words, pp_nccl_layout *layout_out)
{
    pp_span word[PP_NCCL_COLUMNS_MAX];
    size_t count = 0;
    while (count < PP_NCCL_COLUMNS_MAX && pp_span_word(&words, &word[count]))
        count++;
    return layout_of(word, count, layout_out);
}

bool pp_nccl_layout_guess(size_t columns, pp_nccl_layout *layout_out)
{
    static const char since_2_13[] =
        "size count type redop root time algbw busbw #wrong time algbw busbw #wrong";
    return columns == 13 &&
           pp_nccl_layout_read((pp_span){ since_2_13, sizeof since_2_13 - 1 }, layout_out);
}

/* Returns whether size / time is the bandwidth, within what three printed digits allow. */
static bool bandwidth_agrees(double bytes, double seconds, double gb_per_s)
{
    double expected = bytes / seconds * 1e-9;
    return fabs(expected - gb_per_s) <= 0.011 + 0.01 * expected;
}

const char *pp_nccl_row_read(const pp_nccl_layout *l, const pp_span *word, pp_nccl_row *row)
{
    double us = 0;
    double gb_per_s = 0;
    double bus = 0;
    double count = 0;
    int64_t bytes = 0;
    if (!pp_span_int(word[0], (int64_t)1 << 50, &bytes))
        return "a row whose size is above 2^50 bytes";
    if (bytes == 0)
        return "a row of 0 bytes";
    if (pp_nccl_is_none(word[l->time]))
        return "a row without a time out of place (N/A)";
    if (!pp_span_real(word[l->time], &us) || !pp_span_real(word[l->algbw], &gb_per_s) ||
        !pp_span_real(word[l->busbw], &bus))
        return "a row whose time or bandwidth is not a number";
    row->bytes = (double)bytes;
    row->seconds = us * 1e-6;
    if (l->cpu_time || memchr(word[l->time].at, 'e', word[l->time].bytes)) {
        /* From 10 s on, a time such as "1.2e+07" has fewer digits than the bandwidth. */
        if (gb_per_s < 0.1) /* it is rounded by up to 0.005, which is 5 % */
            return "a row whose time must be taken from its bandwidth, which has too few digits";
        row->seconds = row->bytes / (gb_per_s * 1e9);
    }
    if (!(us > 0) || us > 1e12)
        return "a row whose time is 0, negative or more than 10 days";
    if (!bandwidth_agrees(row->bytes, row->seconds, gb_per_s))
        return "a row whose time does not fit its bandwidth, as when outputs are mixed up";
    if (l->wrong < l->count && !pp_nccl_is_none(word[l->wrong]) &&
        (!pp_span_real(word[l->wrong], &count) || count > 0))
        return "a row with wrong results (#wrong)";
    row->factor = gb_per_s > 0 ? bus / gb_per_s : (double)NAN;
    row->rooted = l->root < l->count ? word[l->root].at[0] != '-' : -1;
    row->reduces = l->redop < l->count ? !pp_span_is(word[l->redop], "none") : -1;
    row->in_place_none = l->second_errors < l->count && !pp_nccl_is_none(word[l->errors])
                             ? pp_nccl_is_none(word[l->second_errors])
                             : -1;
    return NULL;
}
