/* Makes a series from what a test printed: finds out which collective it ran, and on how many ranks
 * and nodes. */
#include "calib/import/nccl/nccl_section.h"
#include "sim/base/alloc.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pp_nccl_section_free(pp_nccl_section *section)
{
    free(section->rank);
    free(section->row);
    *section = (pp_nccl_section){ 0 };
}

pp_status pp_nccl_add_rank(pp_nccl_section *section, const pp_nccl_rank *rank, pp_err *err)
{
    void *all = section->rank;
    pp_status status = pp_reserve(&all, &section->rank_capacity, section->rank_count + 1,
                                  sizeof *section->rank, err);
    if (status)
        return status;
    section->rank = all;
    section->rank[section->rank_count++] = *rank;
    return PP_OK;
}

pp_status pp_nccl_add_row(pp_nccl_section *section, const pp_nccl_row *row, pp_err *err)
{
    void *all = section->row;
    pp_status status =
        pp_reserve(&all, &section->row_capacity, section->row_count + 1, sizeof *section->row, err);
    if (status)
        return status;
    section->row = all;
    section->row[section->row_count++] = *row;
    return PP_OK;
}

static const struct {
    const char *program, *class_name;
} classes[] = {
    { "sendrecv_perf", "send_recv" },    { "all_reduce_perf", "all_reduce" },
    { "all_gather_perf", "all_gather" }, { "reduce_scatter_perf", "reduce_scatter" },
    { "alltoall_perf", "all_to_all" },
};

const char *pp_nccl_class(const char *program)
{
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        if (strcmp(classes[i].program, program) == 0)
            return classes[i].class_name;
    }
    return NULL;
}

/* Guesses the class when the log does not name the test, for example because its first lines are
 * missing. For most tests, the ratio of the two bandwidths (1, 2(n-1)/n or (n-1)/n:
 * doc/PERFORMANCE.md of nccl-tests), the root and the reduction are enough. */
static const char *guess_class(const pp_nccl_section *section)
{
    const pp_nccl_row *row = &section->row[0];
    for (size_t i = 1; i < section->row_count; i++) {
        if (section->row[i].bytes > row->bytes)
            row = &section->row[i]; /* the least rounded */
    }
    double f = row->factor;
    if (row->rooted == 1 || isnan(f))
        return NULL;
    bool one = fabs(f - 1) < 0.004;
    if (row->reduces == 1) {
        if (one)
            return row->in_place_none == 1 ? "send_recv" : NULL;
        return f > 1 ? "all_reduce" : "reduce_scatter";
    }
    if (one)
        return row->reduces == -1 || row->in_place_none == 1 ? "send_recv" : NULL;
    if (f > 1 || row->in_place_none == -1)
        return NULL;
    return row->in_place_none ? "all_to_all" : "all_gather";
}

static int compare_spans(const void *left, const void *right)
{
    const pp_span *a = left;
    const pp_span *b = right;
    size_t shorter = a->bytes < b->bytes ? a->bytes : b->bytes;
    int order = memcmp(a->at, b->at, shorter);
    return order ? order : (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

static int compare_ranks(const void *left, const void *right)
{
    const pp_nccl_rank *a = left;
    const pp_nccl_rank *b = right;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Returns what is wrong with the list of ranks, or NULL. Sorts the list. */
static const char *rank_fault(pp_nccl_section *section)
{
    pp_nccl_rank *rank = section->rank;
    size_t count = section->rank_count;
    size_t of_group = 0; /* number of ranks of the first group */
    size_t here = 0;
    qsort(rank, count, sizeof *rank, compare_ranks);
    for (size_t i = 0; i < count; i++) {
        bool first = i == 0 || rank[i].group != rank[i - 1].group;
        if (!first && rank[i].rank == rank[i - 1].rank)
            return "a rank occurs twice, as when nccl-tests was built without MPI=1 and started "
                   "several times; no row of this section is used";
        if (first && i > 0 && of_group && here != of_group)
            return "its groups have different numbers of ranks; no row of this section is used";
        if (first && i > 0)
            of_group = here;
        here = first ? 1 : here + 1;
    }
    if (of_group && here != of_group)
        return "its groups have different numbers of ranks; no row of this section is used";
    return NULL;
}

/* Counts the ranks and nodes of the first group. Both are left as they are, with a note, when ranks
 * are missing in the list. */
static pp_status count_ranks(const pp_nccl_section *section, int32_t *ranks, int32_t *nodes,
                             pp_skips *notes, pp_err *err)
{
    int64_t highest = 0;
    size_t count = 0;
    size_t different = 0;
    while (count < section->rank_count && section->rank[count].group == section->rank[0].group)
        count++;
    for (size_t i = 0; i < section->rank_count; i++) {
        if (section->rank[i].rank > highest)
            highest = section->rank[i].rank;
    }
    /* Ranks are numbered either over all groups or within each. */
    if (highest + 1 != (int64_t)section->rank_count &&
        section->rank[count - 1].rank + 1 != (int64_t)count) {
        pp_skip_add(notes, section->line,
                    "ranks are missing from the list of devices, so the number of ranks and nodes "
                    "is unknown");
        return PP_OK;
    }
    pp_span *hosts = pp_alloc_array(count, sizeof *hosts);
    if (!hosts)
        return pp_err_nomem(err);
    for (size_t i = 0; i < count; i++)
        hosts[i] = section->rank[i].host;
    qsort(hosts, count, sizeof *hosts, compare_spans);
    for (size_t i = 0; i < count; i++)
        different += i == 0 || compare_spans(&hosts[i], &hosts[i - 1]) != 0;
    free(hosts);
    *ranks = (int32_t)count;
    *nodes = (int32_t)different;
    return PP_OK;
}

static pp_status add_rows(const pp_nccl_section *section, pp_series *series, pp_err *err)
{
    pp_status status = PP_OK;
    uint32_t pass = 0;
    for (size_t i = 0; i < section->row_count && !status; i++) {
        const pp_nccl_row *row = &section->row[i];
        pp_sample sample = pp_sample_of(row->seconds);
        if (i > 0 && row->bytes <= section->row[i - 1].bytes)
            pass++; /* the sizes begin again: another cycle, type or operation */
        sample.at[PP_VARIABLE_BYTES] = row->bytes;
        sample.p10_s = row->p10_s;
        sample.p90_s = row->p90_s;
        sample.repeats = row->repeats;
        sample.pass = pass;
        status = pp_series_add(series, &sample, err);
    }
    return status;
}

static void note_device(const pp_nccl_section *section, pp_samples *samples, pp_skips *notes)
{
    for (size_t i = 0; i < section->rank_count; i++) {
        char name[sizeof samples->device];
        if (!section->rank[i].device.bytes)
            continue;
        pp_span_copy(section->rank[i].device, name, sizeof name);
        if (!samples->device[0])
            memcpy(samples->device, name, sizeof name);
        else if (strcmp(samples->device, name) != 0)
            pp_skip_add(notes, section->line,
                        "devices of different names are listed; the first one is used");
    }
}

pp_status pp_nccl_section_finish(pp_nccl_section *section, const char *file, pp_samples *samples,
                                 pp_skips *notes, pp_err *err)
{
    int32_t ranks = 0;
    int32_t nodes = 0;
    pp_series *series = NULL;
    const char *fault = section->rank_count ? rank_fault(section) : NULL;
    const char *said = section->program[0] ? pp_nccl_class(section->program) : NULL;
    const char *class_name = said;
    if (section->row_count == 0 && section->rank_count == 0)
        return PP_OK;
    const char *guessed = section->row_count ? guess_class(section) : NULL;
    bool guess = !section->program[0] || (section->only_mentioned && guessed);
    if (guess)
        class_name = guessed;
    else if (!class_name)
        fault = "a test that is not used (used are sendrecv, all_reduce, all_gather, "
                "reduce_scatter, alltoall)";
    if (!fault && section->row_count == 0)
        fault = "a test without a usable row";
    if (!fault && !class_name)
        fault = "the text does not name the test; put '# Collective test starting: sendrecv_perf', "
                "or the name of the test, in front of it";
    if (fault) {
        pp_skip_add(notes, section->line, "%s", fault);
        return PP_OK;
    }
    pp_status status = PP_OK;
    if (section->rank_count && (status = count_ranks(section, &ranks, &nodes, notes, err)))
        return status;
    if (ranks == 1) {
        pp_skip_add(notes, section->line, "a test of one rank: nothing crosses a link");
        return PP_OK;
    }
    if (guess && !(said && strcmp(said, class_name) == 0))
        pp_skip_add(notes, section->line, "the test has no name; its bandwidths are those of %s",
                    class_name);
    note_device(section, samples, notes);
    if ((status = pp_samples_add_series(samples, class_name, &series, err)))
        return status;
    series->link = true;
    series->ranks = ranks;
    series->nodes = nodes;
    series->channels_max = (int32_t)section->channels_max;
    series->channels_peer = (int32_t)section->channels_peer;
    memcpy(series->library, section->library, sizeof series->library);
    snprintf(series->source, sizeof series->source, "%.120s", pp_file_name(file));
    return add_rows(section, series, err);
}
