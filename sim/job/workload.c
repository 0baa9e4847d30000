/* Makes the data of a step. Packing is first fit in the given order; a segment tree over the room
 * in the bins finds each bin in O(log n). If the bins do not divide evenly among the replicas, a
 * heap gives the fullest one to split, again in O(log n). */
#include "sim/job/workload.h"

#include "sim/base/alloc.h"
#include "sim/base/field.h"
#include "sim/base/heap.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPLICAS_MAX (1 << 20)
#define MICRO_BATCH_MAX ((int64_t)1 << 24)
#define MULTIPLE_MAX (1 << 16)

static void free_lengths(int64_t **lengths)
{
    free(*lengths);
}

void pp_workload_free(pp_workload *workload)
{
    free(workload->microbatch);
    free(workload->lengths);
    *workload = (pp_workload){ 0 };
}

static pp_status check_bins(int64_t seq_length, int64_t micro_batch_size, pp_err *err)
{
    if (seq_length < 1 || seq_length > PP_LENGTH_MAX)
        return pp_err_set(err, PP_INPUT, pp_err_name(err, PP_FIELD_SEQ_LENGTH),
                          "must be from 1 to %" PRId64 " tokens, not %" PRId64, PP_LENGTH_MAX,
                          seq_length);
    if (micro_batch_size < 1 || micro_batch_size > MICRO_BATCH_MAX)
        return pp_err_set(err, PP_INPUT, pp_err_name(err, PP_FIELD_MICRO_BATCH_SIZE),
                          "must be from 1 to %" PRId64 ", not %" PRId64, MICRO_BATCH_MAX,
                          micro_batch_size);
    if (micro_batch_size > PP_MICROBATCH_TOKENS_MAX / seq_length)
        return pp_err_set(err, PP_INPUT, pp_err_name(err, PP_FIELD_MICRO_BATCH_SIZE),
                          "%" PRId64 " sequence%s of %" PRId64 " tokens make%s a microbatch larger "
                          "than the limit of %" PRId64 " tokens",
                          micro_batch_size, micro_batch_size == 1 ? "" : "s", seq_length,
                          micro_batch_size == 1 ? "s" : "", PP_MICROBATCH_TOKENS_MAX);
    return PP_OK;
}

static pp_status check_count(int64_t microbatches, pp_err *err)
{
    if (microbatches >= 1 && microbatches <= PP_MICROBATCHES_MAX)
        return PP_OK;
    return pp_err_set(err, PP_INPUT, NULL,
                      "a step must have 1 to %" PRId64 " microbatches, but would have %" PRId64,
                      PP_MICROBATCHES_MAX, microbatches);
}

static pp_status new_workload(uint32_t replicas, uint32_t microbatches, size_t length_count,
                              pp_workload *out, pp_err *err)
{
    pp_workload made = { .replicas = replicas,
                         .microbatches = microbatches,
                         .length_count = length_count };
    made.microbatch = pp_alloc_array((size_t)replicas * microbatches, sizeof *made.microbatch);
    made.lengths = pp_alloc_array(length_count, sizeof *made.lengths);
    if (!made.microbatch || !made.lengths) {
        pp_workload_free(&made);
        return pp_err_nomem(err);
    }
    *out = made;
    return PP_OK;
}

pp_status pp_workload_fixed(uint32_t microbatches, int64_t micro_batch_size, int64_t seq_length,
                            pp_workload *workload_out, pp_err *err)
{
    pp_status status = check_bins(seq_length, micro_batch_size, err);
    if (status || (status = check_count(microbatches, err)) ||
        (status = new_workload(1, microbatches, (size_t)micro_batch_size, workload_out, err)))
        return status;
    for (size_t i = 0; i < (size_t)micro_batch_size; i++)
        workload_out->lengths[i] = seq_length;
    for (uint32_t j = 0; j < microbatches; j++)
        workload_out->microbatch[j] =
            (pp_microbatch){ .tokens = micro_batch_size * seq_length,
                             .square_sum = micro_batch_size * seq_length * seq_length,
                             .first = 0,
                             .count = (size_t)micro_batch_size };
    return PP_OK;
}

/* ---- packing -------------------------------------------------------------------------------- */

typedef struct bin {
    size_t first, count; /* its sequences in packing.order */
    int64_t tokens;
} bin;

typedef struct packing {
    const int64_t *lengths;
    size_t count;
    size_t *order; /* [count]: sequences bin by bin, in the given order within a bin */
    bin *bins;     /* [count]: room for one bin per sequence */
    size_t bin_count;
} packing;

static void free_packing(packing *p)
{
    free(p->order);
    free(p->bins);
}

static void free_ids(uint32_t **ids)
{
    free(*ids);
}

static void free_sizes(size_t **sizes)
{
    free(*sizes);
}

/* First fit. Every node of a tree has the largest room in the bins below it, so that the first bin
 * with enough room is found in log(count) steps. Bins that are not open yet are at the right, with
 * all their room. */
static pp_status first_fit(packing *p, int64_t seq_length, size_t *bin_of, pp_err *err)
{
    size_t leaves = 1;
    while (leaves < p->count)
        leaves *= 2;
    int64_t *room PP_CLEANUP(free_lengths) = pp_alloc_array(2 * leaves, sizeof *room);
    if (!room)
        return pp_err_nomem(err);
    for (size_t i = 0; i < 2 * leaves; i++)
        room[i] = seq_length;
    for (size_t i = 0; i < p->count; i++) {
        size_t node = 1;
        while (node < leaves) {
            node *= 2;
            if (room[node] < p->lengths[i])
                node++;
        }
        room[node] -= p->lengths[i];
        bin_of[i] = node - leaves;
        bin *into = &p->bins[bin_of[i]];
        into->tokens += p->lengths[i];
        into->count++;
        if (bin_of[i] == p->bin_count)
            p->bin_count++;
        for (node /= 2; node >= 1; node /= 2)
            room[node] = room[2 * node] > room[2 * node + 1] ? room[2 * node] : room[2 * node + 1];
    }
    return PP_OK;
}

static pp_status fill_bins(packing *p, int64_t seq_length, pp_err *err)
{
    size_t *bin_of PP_CLEANUP(free_sizes) = pp_alloc_array(p->count, sizeof *bin_of);
    p->order = pp_alloc_array(p->count, sizeof *p->order);
    p->bins = pp_alloc_array(p->count, sizeof *p->bins);
    if (!bin_of || !p->order || !p->bins)
        return pp_err_nomem(err);
    pp_status status = first_fit(p, seq_length, bin_of, err);
    if (status)
        return status;
    size_t next = 0;
    for (size_t b = 0; b < p->bin_count; b++) {
        p->bins[b].first = next;
        next += p->bins[b].count;
        p->bins[b].count = 0;
    }
    for (size_t i = 0; i < p->count; i++) {
        bin *into = &p->bins[bin_of[i]];
        p->order[into->first + into->count++] = i;
    }
    return PP_OK;
}

/* Bins that can be split come first, then the fullest, then the one with the earliest sequence. */
static bool split_before(const void *context, uint32_t a, uint32_t b)
{
    const packing *p = context;
    const bin *x = &p->bins[a];
    const bin *y = &p->bins[b];
    if ((x->count > 1) != (y->count > 1))
        return x->count > 1;
    if (x->tokens != y->tokens)
        return x->tokens > y->tokens;
    return p->order[x->first] < p->order[y->first];
}

/* Cuts the bin where its two parts differ least; both keep at least one sequence. */
static bin cut(const packing *p, bin *whole)
{
    int64_t left = p->lengths[p->order[whole->first]];
    size_t kept = 1;
    while (kept + 1 < whole->count) {
        int64_t more = left + p->lengths[p->order[whole->first + kept]];
        if (llabs(whole->tokens - 2 * more) >= llabs(whole->tokens - 2 * left))
            break;
        left = more;
        kept++;
    }
    bin rest = { .first = whole->first + kept,
                 .count = whole->count - kept,
                 .tokens = whole->tokens - left };
    *whole = (bin){ .first = whole->first, .count = kept, .tokens = left };
    return rest;
}

/* Splits the fullest bin until there are `target` of them, at most p->count. Fails: NOMEM. */
static pp_status split_fullest(packing *p, size_t target, pp_err *err)
{
    uint32_t *ids PP_CLEANUP(free_ids) = pp_alloc_array(target, sizeof *ids);
    if (!ids)
        return pp_err_nomem(err);
    pp_heap heap = { .id = ids, .context = p };
    for (uint32_t b = 0; b < p->bin_count; b++)
        pp_heap_push(&heap, split_before, b);
    while (p->bin_count < target) {
        const uint32_t fullest = heap.id[0];
        p->bins[p->bin_count] = cut(p, &p->bins[fullest]);
        pp_heap_sink(&heap, split_before, 0, fullest);
        pp_heap_push(&heap, split_before, (uint32_t)p->bin_count++);
    }
    return PP_OK;
}

static int by_place(const void *a, const void *b)
{
    size_t first = ((const bin *)a)->first;
    size_t second = ((const bin *)b)->first;
    return (first > second) - (first < second);
}

/* Chooses the number of microbatches of all replicas together, such that every replica gets the
 * same number, and the number of bins that they need, which never exceeds the number of
 * sequences. */
static pp_status choose_counts(const packing *p, int64_t micro_batch_size, uint32_t replicas,
                               uint32_t multiple_of, size_t *total_out, size_t *bins_out,
                               pp_err *err)
{
    size_t size = (size_t)micro_batch_size;
    size_t step = (size_t)replicas * multiple_of;
    size_t total = (p->bin_count + size * step - 1) / (size * step) * step;
    if (total > p->count) {
        step = replicas;
        total = (p->bin_count + size * step - 1) / (size * step) * step;
    }
    if (total > p->count)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_LENGTHS),
                          "%zu sequence%s %zu bin%s; %u replicas would need at least %zu "
                          "sequences to get equally many microbatches each; give more sequences "
                          "or use fewer replicas",
                          p->count, p->count == 1 ? " fills" : "s fill", p->bin_count,
                          p->bin_count == 1 ? "" : "s", replicas, total);
    *total_out = total;
    *bins_out = total * size < p->count ? total * size : p->count;
    return check_count((int64_t)total, err);
}

static void write_out(const packing *p, size_t total, pp_workload *out)
{
    size_t next = 0;
    for (uint32_t r = 0; r < out->replicas; r++) {
        for (uint32_t j = 0; j < out->microbatches; j++) {
            size_t k = (size_t)j * out->replicas + r;
            pp_microbatch *into = &out->microbatch[(size_t)r * out->microbatches + j];
            into->first = next;
            for (size_t b = k * p->bin_count / total; b < (k + 1) * p->bin_count / total; b++) {
                for (size_t i = 0; i < p->bins[b].count; i++) {
                    int64_t length = p->lengths[p->order[p->bins[b].first + i]];
                    into->tokens += length;
                    into->square_sum += length * length;
                    out->lengths[next++] = length;
                }
            }
            into->count = next - into->first;
        }
    }
}

static pp_status refuse_long(const int64_t *lengths, size_t count, size_t first, int64_t seq_length,
                             pp_err *err)
{
    size_t longer = 0;
    char others[64] = "";
    for (size_t i = first; i < count; i++)
        longer += lengths[i] > seq_length;
    if (longer > 1)
        snprintf(others, sizeof others, ", and %zu other%s longer, too", longer - 1,
                 longer == 2 ? " is" : "s are");
    return pp_err_set(err, PP_INPUT, pp_err_name(err, PP_FIELD_LENGTHS),
                      "sequence %zu has %" PRId64 " tokens, more than %s %" PRId64
                      "%s; cut (%s) or split (%s) such sequences, or raise %s",
                      first + 1, lengths[first], pp_err_name(err, PP_FIELD_SEQ_LENGTH), seq_length,
                      others, pp_err_name(err, PP_FIELD_TRUNCATE),
                      pp_err_name(err, PP_FIELD_SPLIT_LONG), pp_err_name(err, PP_FIELD_SEQ_LENGTH));
}

static pp_status check_lengths(const int64_t *lengths, size_t count, int64_t seq_length,
                               pp_err *err)
{
    if (count < 1 || count > PP_LENGTHS_MAX)
        return pp_err_set(err, PP_INPUT, pp_err_name(err, PP_FIELD_LENGTHS),
                          "must have 1 to %zu sequences, not %zu", PP_LENGTHS_MAX, count);
    for (size_t i = 0; i < count; i++) {
        if (lengths[i] < 1)
            return pp_err_set(err, PP_INPUT, pp_err_name(err, PP_FIELD_LENGTHS),
                              "sequence %zu has %" PRId64 " tokens; it must have at least 1", i + 1,
                              lengths[i]);
        if (lengths[i] > seq_length)
            return refuse_long(lengths, count, i, seq_length, err);
    }
    return PP_OK;
}

pp_status pp_workload_pack(const int64_t *lengths, size_t count, int64_t seq_length,
                           int64_t micro_batch_size, uint32_t replicas, uint32_t multiple_of,
                           pp_workload *workload_out, pp_err *err)
{
    if (replicas < 1 || replicas > REPLICAS_MAX || multiple_of < 1 || multiple_of > MULTIPLE_MAX)
        return pp_err_set(err, PP_INPUT, NULL,
                          "replicas must be from 1 to %d and the microbatch multiple from 1 to %d, "
                          "are %u and %u",
                          REPLICAS_MAX, MULTIPLE_MAX, replicas, multiple_of);
    pp_status status = check_bins(seq_length, micro_batch_size, err);
    if (status || (status = check_lengths(lengths, count, seq_length, err)))
        return status;
    packing p PP_CLEANUP(free_packing) = { .lengths = lengths, .count = count };
    size_t total = 0;
    size_t bins = 0;
    if ((status = fill_bins(&p, seq_length, err)) ||
        (status = choose_counts(&p, micro_batch_size, replicas, multiple_of, &total, &bins, err)))
        return status;
    const size_t first_fit_bins = p.bin_count;
    if ((status = split_fullest(&p, bins, err)))
        return status;
    qsort(p.bins, p.bin_count, sizeof *p.bins, by_place);
    status = new_workload(replicas, (uint32_t)(total / replicas), count, workload_out, err);
    if (status)
        return status;
    workload_out->first_fit_bins = first_fit_bins;
    workload_out->bins = p.bin_count;
    write_out(&p, total, workload_out);
    return PP_OK;
}

pp_status pp_workload_group(const int64_t *lengths, const size_t *group_end, size_t group_count,
                            int64_t seq_length, uint32_t replicas, pp_workload *workload_out,
                            pp_err *err)
{
    const size_t count = group_count ? group_end[group_count - 1] : 0;
    pp_status status = check_bins(seq_length, 1, err);
    if (status || (status = check_lengths(lengths, count, seq_length, err)) ||
        (status = check_count((int64_t)group_count, err)))
        return status;
    if (replicas < 1 || group_count % replicas != 0)
        return pp_err_set(
            err, PP_USAGE, pp_err_name(err, PP_FIELD_LENGTHS),
            "%zu microbatches cannot be divided evenly among %u replicas; use a dp that divides "
            "them, or group them again with %s",
            group_count, replicas, pp_err_name(err, PP_FIELD_ASK_PACK));
    if ((status =
             new_workload(replicas, (uint32_t)(group_count / replicas), count, workload_out, err)))
        return status;
    workload_out->bins = group_count;
    size_t next = 0;
    for (size_t i = 0; i < group_count; i++) {
        const size_t k = i % workload_out->microbatches * replicas + i / workload_out->microbatches;
        pp_microbatch *into = &workload_out->microbatch[i];
        into->first = next;
        for (size_t at = k ? group_end[k - 1] : 0; at < group_end[k]; at++) {
            into->tokens += lengths[at];
            into->square_sum += lengths[at] * lengths[at];
            workload_out->lengths[next++] = lengths[at];
        }
        into->count = next - into->first;
        if (into->tokens > PP_MICROBATCH_TOKENS_MAX) {
            status = pp_err_set(err, PP_INPUT, pp_err_name(err, PP_FIELD_LENGTHS),
                                "microbatch %zu has %" PRId64 " tokens, but the limit is %" PRId64,
                                k + 1, into->tokens, PP_MICROBATCH_TOKENS_MAX);
            pp_workload_free(workload_out);
            return status;
        }
    }
    return PP_OK;
}
