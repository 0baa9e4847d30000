/* The packings. Each decides which sequences share a microbatch from their modelled weights, before
 * anything is simulated. Given: consecutive sequences. First fit: the first microbatch with room.
 * Equal: the heaviest sequence first, to the microbatch that is furthest below its share (the
 * longest-processing-time rule of Graham, 1969). Ramped: like Equal, with smaller shares at both
 * ends. About O(n log n) for n sequences. */
#include "planner/pack/pack_group.h"

#include "sim/base/alloc.h"
#include "sim/base/heap.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* This many looks at a sequence take as long as the simulation of an op. */
#define LOOKS_PER_OP 8

/* ---- given ---------------------------------------------------------------------------------- */

/* Among the groups of two or more sequences, cuts the one with the most tokens at the place where
 * its parts differ least. end: [*count], room for one more. */
static void cut_fullest(const int64_t *lengths, size_t *end, size_t *count)
{
    size_t fullest = 0;
    int64_t most = -1;
    for (size_t k = 0, begin = 0; k < *count; begin = end[k++]) {
        int64_t tokens = 0;
        for (size_t i = begin; i < end[k]; i++)
            tokens += lengths[i];
        if (end[k] - begin > 1 && tokens > most) {
            most = tokens;
            fullest = k;
        }
    }
    size_t at = fullest ? end[fullest - 1] : 0;
    int64_t left = lengths[at++];
    while (at + 1 < end[fullest] && llabs(most - 2 * (left + lengths[at])) < llabs(most - 2 * left))
        left += lengths[at++];
    memmove(end + fullest + 1, end + fullest, (*count - fullest) * sizeof *end);
    end[fullest] = at;
    ++*count;
}

/* Begins a new group whenever the next sequence no longer fits. */
static size_t cut_at_capacity(const pp_pack_case *c, size_t *end)
{
    size_t groups = 0;
    int64_t tokens = 0;
    for (size_t i = 0; i < c->task->count; i++) {
        if (tokens + c->task->lengths[i] > c->packer->capacity) {
            end[groups++] = i;
            tokens = 0;
        }
        tokens += c->task->lengths[i];
    }
    end[groups++] = c->task->count;
    return groups;
}

static pp_status too_few(const pp_pack_case *c, size_t needed, pp_err *err)
{
    return pp_err_set(
        err, PP_USAGE, "LENGTHS",
        "%zu sequence%s cannot make %zu microbatches; give more sequences or use fewer "
        "replicas",
        c->task->count, c->task->count == 1 ? "" : "s", needed);
}

/* Group k goes to replica k mod replicas. */
static pp_status deal_in_turn(const pp_pack_case *c, const size_t *end, size_t groups,
                              pp_grouping *out, pp_err *err)
{
    const uint32_t dp = c->packer->replicas;
    const uint32_t m = (uint32_t)(groups / dp);
    uint32_t *bin_of PP_CLEANUP(pp_free_array) = pp_alloc_array(c->task->count, sizeof *bin_of);
    if (!bin_of)
        return pp_err_nomem(err);
    for (size_t k = 0, i = 0; k < groups; k++) {
        for (; i < end[k]; i++)
            bin_of[i] = (uint32_t)(k % dp * m + k / dp);
    }
    return pp_grouping_from_bins(bin_of, c->task->count, dp, m, out, err);
}

pp_status pp_group_given(const pp_pack_case *c, uint32_t microbatches, pp_grouping *out,
                         pp_err *err)
{
    const pp_pack_task *task = c->task;
    const size_t dp = c->packer->replicas;
    size_t step = dp * c->packer->multiple_of;
    if (task->group_count && task->group_count % dp)
        return pp_err_set(err, PP_USAGE, "LENGTHS",
                          "the file's %zu microbatches cannot be divided evenly among %zu replicas",
                          task->group_count, dp);
    if (task->group_count)
        return deal_in_turn(c, task->group_end, task->group_count, out, err);
    size_t *end PP_CLEANUP(pp_free_array) = pp_alloc_array(task->count, sizeof *end);
    if (!end)
        return pp_err_nomem(err);
    size_t groups = cut_at_capacity(c, end);
    if ((groups + step - 1) / step * step > task->count)
        step = dp;
    size_t wanted = (groups + step - 1) / step * step;
    wanted = wanted < microbatches * dp ? microbatches * dp : wanted;
    if (wanted > task->count)
        return too_few(c, wanted, err);
    while (groups < wanted)
        cut_fullest(task->lengths, end, &groups);
    return deal_in_turn(c, end, groups, out, err);
}

/* ---- first fit ------------------------------------------------------------------------------ */

typedef struct sized {
    int64_t length;
    uint32_t index;
} sized;

static int compare_sized(const void *left, const void *right)
{
    const sized *a = left;
    const sized *b = right;
    if (a->length != b->length)
        return a->length < b->length ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

static size_t lower_bound(const sized *list, size_t count, int64_t length)
{
    size_t low = 0;
    while (low < count) {
        size_t middle = low + (count - low) / 2;
        if (list[middle].length < length)
            low = middle + 1;
        else
            count = middle;
    }
    return low;
}

/* The workload has the lengths but not the indices of sequences; sequences of equal length are
 * interchangeable. */
pp_status pp_group_first_fit(const pp_pack_case *c, pp_grouping *out, pp_err *err)
{
    const pp_pack_task *task = c->task;
    pp_workload work PP_CLEANUP(pp_workload_free) = { 0 };
    sized *list PP_CLEANUP(pp_free_array) = pp_alloc_array(task->count, sizeof *list);
    size_t *used PP_CLEANUP(pp_free_array) = pp_alloc_array(task->count, sizeof *used);
    if (!list || !used)
        return pp_err_nomem(err);
    const int64_t seq_length = c->packer->search.problem->seq_length;
    pp_status status =
        pp_workload_pack(task->lengths, task->count, seq_length, c->packer->capacity / seq_length,
                         c->packer->replicas, c->packer->multiple_of, &work, err);
    if (status ||
        (status = pp_grouping_new(work.replicas, work.microbatches, task->count, out, err)))
        return status;
    for (size_t i = 0; i < task->count; i++)
        list[i] = (sized){ task->lengths[i], (uint32_t)i };
    qsort(list, task->count, sizeof *list, compare_sized);
    for (size_t b = 0, next = 0; b < (size_t)work.replicas * work.microbatches; b++) {
        for (size_t i = 0; i < work.microbatch[b].count; i++, next++) {
            size_t at = lower_bound(list, task->count, work.lengths[next]);
            out->sequence[next] = list[at + used[at]].index;
            used[at]++;
        }
        out->end[b] = next;
    }
    return PP_OK;
}

/* ---- equal and ramped ----------------------------------------------------------------------- */

/* Bins, the one that is furthest below its target first. */
typedef struct dealing {
    double *missing; /* [bins]: by how much the bin is below its target */
    int64_t *tokens; /* [bins] */
    pp_heap heap;    /* of bins */
    pp_heap full;    /* of those that had no room for a sequence, the emptiest first */
    uint32_t bins;
    int64_t looks; /* at bins */
} dealing;

static void dealing_free(dealing *d)
{
    free(d->missing);
    free(d->tokens);
    free(d->heap.id);
    free(d->full.id);
}

static bool before(const void *context, uint32_t a, uint32_t b)
{
    const double *missing = context;
    return missing[a] != missing[b] ? missing[a] > missing[b] : a < b;
}

static bool emptier(const void *context, uint32_t a, uint32_t b)
{
    const int64_t *tokens = context;
    return tokens[a] < tokens[b];
}

/* Puts every sequence, heaviest first, into the bin that is furthest below its target and has
 * room. A bin without room stays aside until a sequence comes that is short enough for it. */
static pp_status deal(const pp_pack_case *c, dealing *d, uint32_t *bin_of, pp_err *err)
{
    for (uint32_t b = 0; b < d->bins; b++)
        pp_heap_push(&d->heap, before, b);
    for (size_t i = 0; i < c->task->count; i++) {
        const uint32_t sequence = c->by_size[i];
        const int64_t length = c->task->lengths[sequence];
        const int64_t most = c->packer->capacity - length; /* tokens in a bin with room */
        for (; d->full.count && d->tokens[d->full.id[0]] <= most; d->looks++)
            pp_heap_push(&d->heap, before, pp_heap_pop(&d->full, emptier));
        for (; d->heap.count && d->tokens[d->heap.id[0]] > most; d->looks++)
            pp_heap_push(&d->full, emptier, pp_heap_pop(&d->heap, before));
        d->looks++;
        if (!d->heap.count)
            return pp_err_set(err, PP_USAGE, NULL, "no microbatch has room for %" PRId64 " tokens",
                              length);
        const uint32_t bin = d->heap.id[0];
        bin_of[sequence] = bin;
        d->tokens[bin] += length;
        d->missing[bin] -= c->weight[sequence];
        pp_heap_sink(&d->heap, before, 0, bin);
    }
    return PP_OK;
}

/* Gives every empty bin the lightest sequence that is not alone in its bin. */
static void fill_empty(const pp_pack_case *c, uint32_t bins, uint32_t *members, uint32_t *bin_of)
{
    size_t next = c->task->count;
    memset(members, 0, bins * sizeof *members);
    for (size_t i = 0; i < c->task->count; i++)
        members[bin_of[i]]++;
    for (uint32_t b = 0; b < bins; b++) {
        while (members[b] == 0) {
            const uint32_t sequence = c->by_size[--next];
            if (members[bin_of[sequence]] < 2)
                continue;
            members[bin_of[sequence]]--;
            members[b]++;
            bin_of[sequence] = b;
        }
    }
}

/* target: [m], of microbatch j, in any unit. While sequences are dealt, the bins are numbered j *
 * replicas + r, so that ties favour early microbatches. */
static pp_status deal_to(const pp_pack_case *c, uint32_t m, const double *target, pp_grouping *out,
                         pp_err *err)
{
    const uint32_t dp = c->packer->replicas;
    const size_t bins = (size_t)m * dp;
    double sum = 0;
    double all = 0;
    if (bins > c->task->count)
        return too_few(c, bins, err);
    dealing d PP_CLEANUP(dealing_free) = {
        .missing = pp_alloc_array(bins, sizeof *d.missing),
        .tokens = pp_alloc_array(bins, sizeof *d.tokens),
        .heap = { .id = pp_alloc_array(bins, sizeof *d.heap.id) },
        .full = { .id = pp_alloc_array(bins, sizeof *d.full.id) },
        .bins = (uint32_t)bins,
    };
    uint32_t *bin_of PP_CLEANUP(pp_free_array) = pp_alloc_array(c->task->count, sizeof *bin_of);
    if (!d.missing || !d.tokens || !d.heap.id || !d.full.id || !bin_of)
        return pp_err_nomem(err);
    d.heap.context = d.missing;
    d.full.context = d.tokens;
    for (size_t i = 0; i < c->task->count; i++)
        all += c->weight[i];
    for (uint32_t j = 0; j < m; j++)
        sum += target[j];
    for (uint32_t b = 0; b < bins; b++)
        d.missing[b] = all * target[b / dp] / (sum * dp);
    pp_status status = deal(c, &d, bin_of, err);
    c->packer->ops += d.looks / LOOKS_PER_OP;
    if (status)
        return status;
    fill_empty(c, (uint32_t)bins, d.full.id, bin_of);
    for (size_t i = 0; i < c->task->count; i++)
        bin_of[i] = bin_of[i] % dp * m + bin_of[i] / dp;
    return pp_grouping_from_bins(bin_of, c->task->count, dp, m, out, err);
}

pp_status pp_group_equal(const pp_pack_case *c, uint32_t microbatches, pp_grouping *out,
                         pp_err *err)
{
    double *target PP_CLEANUP(pp_free_array) = pp_alloc_array(microbatches, sizeof *target);
    if (!target)
        return pp_err_nomem(err);
    for (uint32_t j = 0; j < microbatches; j++)
        target[j] = 1;
    return deal_to(c, microbatches, target, out, err);
}

/* The last rank does not starve while F_{k+1} <= F_1 + 2 / (p - 1) * (F_1 + ... + F_k): geometric
 * growth by 1 + 2 / (p - 1). */
pp_status pp_group_ramped(const pp_pack_case *c, uint32_t microbatches, double first,
                          pp_grouping *out, pp_err *err)
{
    const int64_t p = c->packer->candidate.parallel.pp;
    const double growth = 1 + 2.0 / (double)(p > 1 ? p - 1 : 1);
    double *target PP_CLEANUP(pp_free_array) = pp_alloc_array(microbatches, sizeof *target);
    if (!target)
        return pp_err_nomem(err);
    double share = first;
    for (uint32_t j = 0; j < (microbatches + 1) / 2; j++) {
        target[j] = target[microbatches - 1 - j] = share < 1 ? share : 1;
        share *= share < 1 ? growth : 1;
    }
    return deal_to(c, microbatches, target, out, err);
}

/* ---- orders --------------------------------------------------------------------------------- */

typedef struct weighed {
    double weight;
    uint32_t bin;
} weighed;

static int compare_weighed(const void *left, const void *right)
{
    const weighed *a = left;
    const weighed *b = right;
    if (a->weight != b->weight)
        return a->weight < b->weight ? -1 : 1;
    return (a->bin > b->bin) - (a->bin < b->bin);
}

/* The place of the k-th lightest of m. */
static uint32_t place_of(pp_sorting sorting, uint32_t k, uint32_t m)
{
    if (sorting == PP_SORTING_DESCENDING)
        return m - 1 - k;
    if (sorting == PP_SORTING_TENT)
        return k % 2 ? m - 1 - k / 2 : k / 2;
    return k;
}

pp_status pp_grouping_sort(const pp_pack_case *c, pp_sorting sorting, pp_grouping *grouping,
                           pp_err *err)
{
    const uint32_t m = grouping->microbatches;
    if (sorting == PP_SORTING_GIVEN)
        return PP_OK;
    weighed *list PP_CLEANUP(pp_free_array) = pp_alloc_array(m, sizeof *list);
    uint32_t *bin_of PP_CLEANUP(pp_free_array) = pp_alloc_array(grouping->count, sizeof *bin_of);
    pp_grouping sorted = { 0 };
    if (!list || !bin_of)
        return pp_err_nomem(err);
    for (uint32_t r = 0; r < grouping->replicas; r++) {
        for (uint32_t j = 0; j < m; j++) {
            pp_microbatch sums = pp_grouping_bin(grouping, c->task->lengths, (size_t)r * m + j);
            list[j] = (weighed){
                pp_pack_weight(c->packer->weights, (double)sums.tokens, (double)sums.square_sum), j
            };
        }
        qsort(list, m, sizeof *list, compare_weighed);
        for (uint32_t k = 0; k < m; k++) {
            const size_t bin = (size_t)r * m + list[k].bin;
            for (size_t i = bin ? grouping->end[bin - 1] : 0; i < grouping->end[bin]; i++)
                bin_of[grouping->sequence[i]] = r * m + place_of(sorting, k, m);
        }
    }
    pp_status status =
        pp_grouping_from_bins(bin_of, grouping->count, grouping->replicas, m, &sorted, err);
    if (status)
        return status;
    pp_grouping_free(grouping);
    *grouping = sorted;
    return PP_OK;
}
