/* Collects a timeline as plain values, and finds its critical path. The path is followed from the
 * end of the last op back to what its start waited for: the op before it on its rank, or the tensor
 * that arrived later. Tensors are found by name in a sorted index. O(n log n) for n ops. */
#include "traces/read/track.h"

#include "sim/base/alloc.h"
#include "sim/base/list.h"

#include <stdlib.h>
#include <string.h>

void pp_track_free(pp_track *track)
{
    free(track->box);
    free(track->gap);
    free(track->sharding);
    free(track->transfer);
    free(track->sample);
    free(track->path);
    *track = (pp_track){ 0 };
}

PP_LIST_ADD(pp_track_add_box, pp_track, box, pp_box)
PP_LIST_ADD(pp_track_add_gap, pp_track, gap, pp_gap)
PP_LIST_ADD(pp_track_add_sharding, pp_track, sharding, pp_sharding_span)
PP_LIST_ADD(pp_track_add_transfer, pp_track, transfer, pp_recorded_transfer)
PP_LIST_ADD(pp_track_add_sample, pp_track, sample, pp_memory_sample_row)

static int by_place(uint32_t rank_a, uint32_t rank_b, pp_ns a_ns, pp_ns b_ns)
{
    if (rank_a != rank_b)
        return rank_a < rank_b ? -1 : 1;
    return (a_ns > b_ns) - (a_ns < b_ns);
}

static int compare_boxes(const void *left, const void *right)
{
    const pp_box *a = left;
    const pp_box *b = right;
    int place = by_place(a->rank, b->rank, a->start_ns, b->start_ns);
    if (!place)
        place = (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
    if (!place)
        place = (int)a->op.kind - (int)b->op.kind;
    if (!place)
        place = (int)a->op.stage - (int)b->op.stage;
    return place ? place
                 : (a->op.microbatch > b->op.microbatch) - (a->op.microbatch < b->op.microbatch);
}

static int compare_gaps(const void *left, const void *right)
{
    const pp_gap *a = left;
    const pp_gap *b = right;
    int place = by_place(a->rank, b->rank, a->start_ns, b->start_ns);
    return place ? place : (int)a->cause - (int)b->cause;
}

static int compare_transfers(const void *left, const void *right)
{
    const pp_recorded_transfer *a = left;
    const pp_recorded_transfer *b = right;
    int place = by_place(a->from, b->from, a->start_ns, b->start_ns);
    if (!place)
        place = by_place(a->stage, b->stage, a->end_ns, b->end_ns);
    if (!place)
        place = (a->microbatch > b->microbatch) - (a->microbatch < b->microbatch);
    return place ? place : (int)a->forward - (int)b->forward;
}

/* Maps the name of a tensor to the box that made it, or to its transfer. */
typedef struct entry {
    uint64_t key;
    size_t index;
} entry;

typedef struct lookup {
    entry *entry;
    size_t count;
} lookup;

static void lookup_free(lookup *l)
{
    free(l->entry);
}

static uint64_t tensor_key(bool forward, uint32_t stage, uint32_t microbatch)
{
    return (uint64_t)forward << 63 | (uint64_t)stage << 32 | microbatch;
}

static int compare_entries(const void *left, const void *right)
{
    const entry *a = left;
    const entry *b = right;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

static pp_status index_boxes(const pp_track *track, lookup *l, pp_err *err)
{
    l->entry = pp_alloc_array(track->box_count, sizeof *l->entry);
    if (!l->entry)
        return pp_err_nomem(err);
    for (size_t i = 0; i < track->box_count; i++) {
        pp_op op = track->box[i].op;
        if (op.kind != PP_OP_W)
            l->entry[l->count++] =
                (entry){ tensor_key(op.kind == PP_OP_F, op.stage, op.microbatch), i };
    }
    qsort(l->entry, l->count, sizeof *l->entry, compare_entries);
    return PP_OK;
}

static pp_status index_transfers(const pp_track *track, lookup *l, pp_err *err)
{
    l->entry = pp_alloc_array(track->transfer_count, sizeof *l->entry);
    if (!l->entry)
        return pp_err_nomem(err);
    for (size_t i = 0; i < track->transfer_count; i++) {
        const pp_recorded_transfer *h = &track->transfer[i];
        l->entry[l->count++] = (entry){ tensor_key(h->forward, h->stage, h->microbatch), i };
    }
    if (l->count)
        qsort(l->entry, l->count, sizeof *l->entry, compare_entries);
    return PP_OK;
}

/* Returns the smallest index under this key, or SIZE_MAX. */
static size_t look_up(const lookup *l, uint64_t key)
{
    size_t low = 0;
    size_t high = l->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (l->entry[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low < l->count && l->entry[low].key == key ? l->entry[low].index : SIZE_MAX;
}

/* Returns the box that made the input of box i, and when the input arrived; SIZE_MAX if box i has
 * no input. */
static size_t input_of(const pp_track *track, const lookup *boxes, const lookup *transfers,
                       size_t i, pp_ns *arrival_out)
{
    const pp_box *box = &track->box[i];
    bool forward = box->op.kind == PP_OP_F;
    if (box->op.kind == PP_OP_W || (forward && box->op.stage == 0))
        return SIZE_MAX;
    uint32_t stage = forward ? box->op.stage - 1u : box->op.stage + 1u;
    uint64_t key = tensor_key(forward, stage, box->op.microbatch);
    size_t source = look_up(boxes, key);
    if (source == SIZE_MAX || track->box[source].start_ns >= box->end_ns)
        return SIZE_MAX;
    size_t transfer = look_up(transfers, key);
    *arrival_out =
        transfer == SIZE_MAX ? track->box[source].end_ns : track->transfer[transfer].end_ns;
    return source;
}

bool pp_track_ends_pair(const pp_track *track, size_t i)
{
    const pp_box *box = &track->box[i];
    return i > 0 && i < track->box_count && box->start_ns == box->end_ns &&
           box[-1].rank == box->rank && box[-1].end_ns == box->start_ns &&
           box[-1].start_ns < box[-1].end_ns &&
           (box[-1].op.kind == PP_OP_F) != (box->op.kind == PP_OP_F);
}

/* Returns the box for which the start of box i waited: the one before it on its rank, unless an
 * input arrived later. SIZE_MAX if it waited for none. */
static size_t predecessor(const pp_track *track, const lookup *boxes, const lookup *transfers,
                          size_t i)
{
    size_t found = i > 0 && track->box[i - 1].rank == track->box[i].rank ? i - 1 : SIZE_MAX;
    pp_ns found_ns = found == SIZE_MAX ? -1 : track->box[found].end_ns;
    size_t halves = pp_track_ends_pair(track, i + 1) ? 2 : 1;
    for (size_t k = i; k < i + halves; k++) {
        pp_ns arrival_ns = 0;
        size_t source = input_of(track, boxes, transfers, k, &arrival_ns);
        if (source == SIZE_MAX || source == i || arrival_ns <= found_ns)
            continue;
        found = source;
        found_ns = arrival_ns;
    }
    return found;
}

static pp_status find_path(pp_track *track, pp_err *err)
{
    lookup boxes PP_CLEANUP(lookup_free) = { 0 };
    lookup transfers PP_CLEANUP(lookup_free) = { 0 };
    pp_status status = index_boxes(track, &boxes, err);
    if (status || (status = index_transfers(track, &transfers, err)))
        return status;
    track->path = pp_alloc_array(track->box_count, sizeof *track->path);
    if (!track->path)
        return pp_err_nomem(err);
    size_t at = track->box_count ? 0 : SIZE_MAX;
    for (size_t i = 1; i < track->box_count; i++)
        at = track->box[i].end_ns > track->box[at].end_ns ? i : at;
    /* Every step goes back in time, or stays there a limited number of times. */
    while (at != SIZE_MAX && track->path_count < track->box_count) {
        track->path[track->path_count++] = at;
        at = predecessor(track, &boxes, &transfers, at);
    }
    return PP_OK;
}

/* Numbers the stages of a rank, whose boxes begin at *at, and moves *at past them. stage: room for
 * as many stages as there are boxes. */
static void number_chunks(pp_track *track, size_t *at, uint16_t *stage)
{
    const size_t first = *at;
    size_t count = 0; /* of stages, which are sorted */
    for (; *at < track->box_count && track->box[*at].rank == track->box[first].rank; (*at)++) {
        uint16_t own = track->box[*at].op.stage;
        size_t place = count;
        while (place > 0 && stage[place - 1] >= own)
            place--;
        if (place < count && stage[place] == own)
            continue;
        memmove(&stage[place + 1], &stage[place], (count - place) * sizeof *stage);
        stage[place] = own;
        count++;
    }
    for (size_t i = first; i < *at; i++) {
        while (stage[track->box[i].chunk] != track->box[i].op.stage)
            track->box[i].chunk++;
    }
    track->chunks = count > track->chunks ? (uint32_t)count : track->chunks;
}

static pp_status find_chunks(pp_track *track, pp_err *err)
{
    uint16_t *stage = pp_alloc_array(track->box_count, sizeof *stage);
    if (!stage)
        return pp_err_nomem(err);
    for (size_t at = 0; at < track->box_count;)
        number_chunks(track, &at, stage);
    free(stage);
    return PP_OK;
}

pp_status pp_track_finish(pp_track *track, pp_err *err)
{
    for (size_t i = 0; i < track->box_count; i++)
        track->ranks = track->box[i].rank >= track->ranks ? track->box[i].rank + 1 : track->ranks;
    for (size_t i = 0; i < track->sample_count; i++)
        track->ranks =
            track->sample[i].rank >= track->ranks ? track->sample[i].rank + 1 : track->ranks;
    if (track->box_count)
        qsort(track->box, track->box_count, sizeof *track->box, compare_boxes);
    if (track->gap_count)
        qsort(track->gap, track->gap_count, sizeof *track->gap, compare_gaps);
    if (track->transfer_count)
        qsort(track->transfer, track->transfer_count, sizeof *track->transfer, compare_transfers);
    pp_status status = find_chunks(track, err);
    return status ? status : find_path(track, err);
}
