/* Writes timelines as few bytes, for the page of `ppsim report`, which draws them. All numbers are
 * LEB128, and differences to what is expected: an op begins where the op before it ended and has
 * its stage and the next microbatch, a wait lasts from the op before to the op after it. In a
 * steady state nearly all bytes repeat, and gzip takes them to a byte or two per op. The layout is
 * in docs/reference/formats.md; tools/page/page.js reads it. O(n log n) for n ops, because they are
 * sorted by time. */
#include "traces/format/export/format.h"
#include "traces/format/export/timeline_track.h"

#include "sim/analysis/waits.h"
#include "sim/base/alloc.h"

#include <stdlib.h>
#include <string.h>

#define MAGIC "ppsimtl1"
#define LITERAL 100 /* code of a token that is written as it is */

enum { MEASURED = 1, SECOND_OF_PAIR = 4, CRITICAL = 8 };

static void add_u(pp_text *text, uint64_t value)
{
    char byte[10];
    size_t count = 0;
    do {
        byte[count++] = (char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value);
    pp_text_add_bytes(text, byte, count);
}

static void add_z(pp_text *text, int64_t value)
{
    add_u(text, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

/* The words of a token after its stage, in the order of their codes. */
static const char *const words[] = {
    "F",      "I",      "W",       "B",       "SEND_F",  "RECV_F",
    "SEND_B", "RECV_B", "SEND_FS", "RECV_FS", "SEND_BS", "RECV_BS"
};

enum { WORDS = sizeof words / sizeof words[0] };

/* What a token such as "3SEND_F7" says. */
typedef struct token {
    uint64_t code;
    int64_t stage, microbatch;
} token;

static int64_t read_number(const char **at)
{
    int64_t value = -1;
    for (; **at >= '0' && **at <= '9' && value < UINT32_MAX; (*at)++)
        value = (value < 0 ? 0 : 10 * value) + (**at - '0');
    return value;
}

/* Returns whether `text` is a stage, one of the words and a microbatch. */
static bool read_token(const char *text, token *out)
{
    const char *at = text;
    out->stage = read_number(&at);
    size_t length = strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");
    const char *word = at;
    at += length;
    out->microbatch = read_number(&at);
    if (out->stage < 0 || out->microbatch < 0 || *at)
        return false;
    for (size_t k = 0; k < WORDS; k++) {
        if (strlen(words[k]) == length && memcmp(words[k], word, length) == 0) {
            out->code = k + 1;
            return true;
        }
    }
    return false;
}

/* Appends a token, with stage and microbatch relative to *reference, which becomes this one. */
static void add_token(pp_text *text, const char *written, token *reference)
{
    token t;
    if (!*written) {
        add_u(text, 0);
        return;
    }
    if (!read_token(written, &t)) {
        add_u(text, LITERAL);
        add_u(text, strlen(written));
        pp_text_add_bytes(text, written, strlen(written));
        return;
    }
    add_u(text, t.code);
    add_z(text, t.stage - reference->stage);
    add_z(text, t.microbatch - reference->microbatch);
    *reference = t;
}

/* The timeline of one rank, and what the whole has. */
typedef struct packer {
    const pp_track *track;
    const pp_blocked_list *waits; /* by rank, then start */
    const bool *critical;         /* [boxes] */
    pp_text *text;
    uint32_t rank;
    size_t box, boxes; /* those of the rank */
    size_t wait, transfer;
} packer;

static void add_ops(packer *p)
{
    int64_t stage = 0;
    int64_t microbatch[4] = { 0 }; /* of the last op of each kind */
    pp_ns end_ns = 0;
    add_u(p->text, p->boxes);
    for (size_t i = p->box; i < p->box + p->boxes; i++) {
        const pp_box *box = &p->track->box[i];
        add_u(p->text, (uint64_t)box->op.kind |
                           (pp_track_ends_pair(p->track, i) ? SECOND_OF_PAIR : 0) |
                           (p->critical[i] ? CRITICAL : 0));
        add_z(p->text, box->op.stage - stage);
        add_z(p->text, box->op.microbatch - microbatch[box->op.kind]);
        add_z(p->text, box->start_ns - end_ns);
        add_u(p->text, (uint64_t)(box->end_ns - box->start_ns));
        stage = box->op.stage;
        microbatch[box->op.kind] = box->op.microbatch;
        end_ns = box->end_ns;
    }
}

static void add_waits(packer *p)
{
    const pp_blocked *wait = &p->waits->item[p->wait];
    size_t count = 0;
    size_t next = 0; /* the op that follows the wait */
    size_t last = 0;
    while (p->wait + count < p->waits->count && wait[count].rank == p->rank)
        count++;
    add_u(p->text, count);
    for (size_t k = 0; k < count; k++) {
        const pp_box *box = &p->track->box[p->box];
        const pp_ns end_ns = wait[k].at_ns + wait[k].waits_ns;
        token reference = { 0 };
        while (next < p->boxes && box[next].start_ns < end_ns)
            next++;
        add_u(p->text, next - last);
        add_u(p->text, (uint64_t)wait[k].cause);
        add_z(p->text, wait[k].at_ns - (next ? box[next - 1].end_ns : 0));
        add_z(p->text, (next < p->boxes ? box[next].start_ns : 0) - end_ns);
        if (next < p->boxes)
            reference =
                (token){ .stage = box[next].op.stage, .microbatch = box[next].op.microbatch };
        add_token(p->text, wait[k].op, &reference);
        add_token(p->text, wait[k].by, &reference);
        add_z(p->text, (int64_t)wait[k].by_rank - p->rank);
        last = next;
    }
    p->wait += count;
}

static void add_transfers(packer *p)
{
    const pp_recorded_transfer *t = &p->track->transfer[p->transfer];
    int64_t stage = 0;
    int64_t microbatch[2] = { 0 };
    pp_ns start_ns = 0;
    size_t count = 0;
    while (p->transfer + count < p->track->transfer_count && t[count].from == p->rank)
        count++;
    add_u(p->text, count);
    for (size_t k = 0; k < count; k++) {
        add_u(p->text, t[k].forward);
        add_z(p->text, t[k].stage - stage);
        add_z(p->text, t[k].microbatch - microbatch[t[k].forward]);
        add_z(p->text, t[k].start_ns - start_ns);
        add_u(p->text, (uint64_t)(t[k].end_ns - t[k].start_ns));
        add_z(p->text, (int64_t)t[k].to - p->rank);
        stage = t[k].stage;
        microbatch[t[k].forward] = t[k].microbatch;
        start_ns = t[k].start_ns;
    }
    p->transfer += count;
}

static void add_sharding(packer *p)
{
    pp_ns start_ns = 0;
    size_t count = 0;
    for (size_t i = 0; i < p->track->sharding_count; i++)
        count += p->track->sharding[i].rank == p->rank;
    add_u(p->text, count);
    for (size_t i = 0; i < p->track->sharding_count && count; i++) {
        const pp_sharding_span *span = &p->track->sharding[i];
        if (span->rank != p->rank)
            continue;
        add_u(p->text, 2 * (uint64_t)span->stage + span->reduces);
        add_z(p->text, span->start_ns - start_ns);
        add_u(p->text, (uint64_t)(span->end_ns - span->start_ns));
        start_ns = span->start_ns;
    }
}

static int by_rank_and_time(const void *left, const void *right)
{
    const pp_blocked *a = left;
    const pp_blocked *b = right;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return (a->at_ns > b->at_ns) - (a->at_ns < b->at_ns);
}

/* Lists the waits by rank and time. Those of a recording are copied. */
static pp_status find_waits(const pp_export *data, pp_blocked_list *list, pp_err *err)
{
    const pp_blocked_list *read = data->recorded ? &data->recorded->waits : NULL;
    pp_status status = PP_OK;
    if (!read)
        status = pp_blocked_find(data->program, data->timeline, SIZE_MAX, list, err);
    else if (!(list->item = pp_alloc_array(read->count, sizeof *list->item)))
        return pp_err_nomem(err);
    else if ((list->count = read->count))
        memcpy(list->item, read->item, read->count * sizeof *list->item);
    if (!status && list->count)
        qsort(list->item, list->count, sizeof *list->item, by_rank_and_time);
    return status;
}

static void free_array(bool **array)
{
    free(*array);
}

static pp_status trace(const pp_export *data, pp_text *text, pp_err *err)
{
    pp_track track PP_CLEANUP(pp_track_free) = { 0 };
    pp_blocked_list waits PP_CLEANUP(pp_blocked_free) = { 0 };
    bool *critical PP_CLEANUP(free_array) = NULL;
    pp_status status = pp_export_track(data, &track, err);
    if (status || (status = find_waits(data, &waits, err)))
        return status;
    critical = pp_alloc_array(track.box_count, sizeof *critical);
    if (!critical)
        return pp_err_nomem(err);
    for (size_t i = 0; i < track.path_count; i++)
        critical[track.path[i]] = true;
    pp_text_add_bytes(text, MAGIC, strlen(MAGIC));
    add_u(text, data->program->ranks);
    add_u(text, data->program->stages);
    add_u(text, data->measured ? MEASURED : 0);
    packer p = { .track = &track, .waits = &waits, .critical = critical, .text = text };
    for (; p.rank < data->program->ranks; p.rank++) {
        p.box += p.boxes;
        p.boxes = 0;
        while (p.box + p.boxes < track.box_count && track.box[p.box + p.boxes].rank == p.rank)
            p.boxes++;
        add_ops(&p);
        add_waits(&p);
        add_transfers(&p);
        add_sharding(&p);
    }
    return pp_text_check(text, err);
}

const pp_format pp_format_packed = {
    .name = "packed",
    .summary = "timeline in few bytes, which web pages of ppsim draw",
    .holds = PP_HOLDS_ORDER | PP_HOLDS_TIMES | PP_HOLDS_TRANSFERS | PP_HOLDS_IDLE,
    .trace = trace,
};
