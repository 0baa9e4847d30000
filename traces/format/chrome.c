/* Writes timelines in Chromium's "Trace Event Format", for ui.perfetto.dev and chrome://tracing.
 * Each rank is a process with the threads compute, idle, send and recv. Arrows go from producers to
 * consumers, and memory is a counter. Times are microseconds, printed exactly from nanoseconds.
 * Sorting the transfers takes O(n log n), the rest is linear in what is written. */
#include "traces/format/export/format.h"
#include "traces/format/export/memory_rows.h"
#include "traces/format/export/transfers.h"

#include "sim/base/alloc.h"
#include "sim/engine/engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Perfetto takes thread 0 of a process, and the thread that has the number of the process, for the
 * same thread: the numbers of the other threads are beyond those of ranks. */
#define THREAD_COMPUTE 0
#define THREAD_IDLE ((int)PP_RANKS_MAX + 1)
#define THREAD_SHARDING ((int)PP_RANKS_MAX) /* one that no transfer has */

/* Slices of one thread must not overlap, but transfers do: in each direction a rank has as many
 * threads, here called lanes, as it needs. */
static int thread_of(size_t lane, bool is_send)
{
    return THREAD_IDLE + (int)(2 * lane) + (is_send ? 1 : 2);
}

/* Appends `words` as a JSON text. Bytes that are not UTF-8 become U+FFFD. */
static void add_quoted(pp_text *text, const char *words)
{
    pp_text_add_bytes(text, "\"", 1);
    while (*words) {
        size_t length = pp_text_sequence(words);
        if (length == 0)
            pp_text_add_bytes(text, "\\ufffd", 6);
        else if (*words == '"' || *words == '\\')
            pp_text_add(text, "\\%c", *words);
        else if ((unsigned char)*words < 0x20)
            pp_text_add(text, "\\u%04x", (unsigned)*words);
        else
            pp_text_add_bytes(text, words, length);
        words += length ? length : 1;
    }
    pp_text_add_bytes(text, "\"", 1);
}

/* Appends a time in microseconds. Perfetto reads it as a double, multiplies it by 1000 and
 * truncates the product (json_trace_utils.cc). If that loses a nanosecond, a tenth of a nanosecond
 * is added, because slices that overlap by one nanosecond would be dropped. */
static void add_time(pp_text *text, const char *key, pp_ns ns)
{
    double us = (double)ns / 1000;
    pp_text_add(text, ",\"%s\":%" PRId64 ".%03d%s", key, ns / 1000, (int)(ns % 1000),
                (pp_ns)(us * 1000) < ns ? "1" : "");
}

/* Begins an event. The comma is right because add_head has written the first event. */
static void begin_event(pp_text *text, char phase, uint32_t rank, int thread)
{
    pp_text_add(text, ",\n{\"ph\":\"%c\",\"pid\":%" PRIu32 ",\"tid\":%d", phase, rank, thread);
}

static void add_name(pp_text *text, const char *key, const char *name)
{
    if (*name == '\0')
        return; /* it is not known */
    pp_text_add(text, ",\"%s\":", key);
    add_quoted(text, name);
}

static void add_head(const pp_export *data, pp_text *text)
{
    const pp_plan *plan = data->plan;
    char trains[200];
    pp_text_add(text, "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"producer\":\"ppsim\"");
    if (data->measured)
        add_name(text, "times", "measured");
    if (plan) {
        pp_plan_describe(plan, trains, sizeof trains);
        add_name(text, "model", plan->model);
        add_name(text, "trains", trains);
        add_name(text, "schedule", plan->schedule);
        add_name(text, "executor",
                 data->report      ? pp_report_framework_name(data->report)
                 : data->recorded  ? data->recorded_framework
                 : plan->framework ? plan->framework->name
                                   : "");
    }
    pp_text_add(text,
                "},\"traceEvents\":[\n{\"ph\":\"i\",\"s\":\"g\",\"pid\":0,\"tid\":0,\"ts\":0.000,"
                "\"name\":\"step\"}");
}

static void name_thread(uint32_t rank, int thread, size_t position, const char *words,
                        pp_text *text)
{
    begin_event(text, 'M', rank, thread);
    pp_text_add(text, ",\"name\":\"thread_name\",\"args\":{\"name\":\"%s\"}}", words);
    begin_event(text, 'M', rank, thread);
    pp_text_add(text, ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":%zu}}", position);
}

static void name_lane(uint32_t rank, size_t lane, bool is_send, pp_text *text)
{
    char words[32];
    int used = snprintf(words, sizeof words, "%s", is_send ? "send" : "recv");
    if (lane > 0)
        snprintf(words + used, sizeof words - (size_t)used, " %zu", lane + 1);
    name_thread(rank, thread_of(lane, is_send), 2 + lane + (is_send ? 0 : UINT16_MAX), words, text);
}

static void name_rank(uint32_t rank, pp_text *text)
{
    begin_event(text, 'M', rank, THREAD_COMPUTE);
    pp_text_add(text, ",\"name\":\"process_name\",\"args\":{\"name\":\"rank %" PRIu32 "\"}}", rank);
    begin_event(text, 'M', rank, THREAD_COMPUTE);
    pp_text_add(text, ",\"name\":\"process_sort_index\",\"args\":{\"sort_index\":%" PRIu32 "}}",
                rank);
    name_thread(rank, THREAD_COMPUTE, 0, "compute", text);
}

static uint32_t rank_of(const pp_program *program, size_t i)
{
    return pp_program_rank(program, program->op[i]);
}

/* Appends an op. Its colour is a name of the viewer's fixed palette. */
static void add_op(const pp_export *data, size_t i, pp_text *text)
{
    static const struct {
        const char *words, *colour;
    } kinds[] = {
        [PP_OP_F] = { "forward", "thread_state_running" },
        [PP_OP_I] = { "backward for input", "thread_state_iowait" },
        [PP_OP_W] = { "backward for weight", "olive" },
        [PP_OP_B] = { "backward", "thread_state_runnable" },
    };
    pp_op op = data->program->op[i];
    pp_ns start_ns = data->timeline->start_ns[i];
    char token[32];
    begin_event(text, 'X', rank_of(data->program, i), THREAD_COMPUTE);
    add_time(text, "ts", start_ns);
    add_time(text, "dur", data->timeline->end_ns[i] - start_ns);
    pp_text_add(text,
                ",\"name\":\"%s\",\"cat\":\"compute\",\"cname\":\"%s\",\"args\":{\"stage\":%u,"
                "\"microbatch\":%" PRIu32 ",\"kind\":\"%s\"}}",
                pp_op_print(op, token, sizeof token), kinds[op.kind].colour, op.stage,
                op.microbatch, kinds[op.kind].words);
}

/* Appends one end of an arrow, which goes from the last nanosecond of the producer to the start of
 * the consumer. */
static void add_arrow(const pp_export *data, char phase, size_t op, size_t consumer, pp_text *text)
{
    pp_ns start_ns = data->timeline->start_ns[op];
    pp_ns end_ns = data->timeline->end_ns[op];
    begin_event(text, phase, rank_of(data->program, op), THREAD_COMPUTE);
    add_time(text, "ts", phase == 's' && end_ns > start_ns ? end_ns - 1 : start_ns);
    pp_text_add(text, ",\"id\":%zu,\"name\":\"data\",\"cat\":\"flow\"%s}", consumer,
                phase == 'f' ? ",\"bp\":\"e\"" : "");
}

static void add_ops(const pp_export *data, pp_text *text)
{
    const pp_program *program = data->program;
    for (size_t i = 0; i < program->count; i++) {
        if (!pp_export_shows(data, rank_of(program, i)))
            continue;
        add_op(data, i, text);
        if (!pp_op_is_between_ranks(program, i) ||
            !pp_export_shows(data, rank_of(program, program->source[i])))
            continue;
        add_arrow(data, 's', program->source[i], i, text);
        add_arrow(data, 'f', i, i, text);
    }
}

/* Compares transfers by their own values, and not by their place in a list, so that a file that was
 * read is written with the same lanes. */
static int compare_transfers(const pp_recorded_transfer *a, const pp_recorded_transfer *b)
{
    const pp_ns left[] = { a->start_ns, a->end_ns, a->forward, a->microbatch,
                           a->stage,    a->from,   a->to };
    const pp_ns right[] = { b->start_ns, b->end_ns, b->forward, b->microbatch,
                            b->stage,    b->from,   b->to };
    for (size_t i = 0; i < sizeof left / sizeof left[0]; i++) {
        if (left[i] != right[i])
            return left[i] < right[i] ? -1 : 1;
    }
    return 0;
}

static int by_sender(const void *left, const void *right)
{
    const pp_recorded_transfer *a = left;
    const pp_recorded_transfer *b = right;
    return a->from != b->from ? (a->from < b->from ? -1 : 1) : compare_transfers(a, b);
}

static int by_receiver(const void *left, const void *right)
{
    const pp_recorded_transfer *a = left;
    const pp_recorded_transfer *b = right;
    return a->to != b->to ? (a->to < b->to ? -1 : 1) : compare_transfers(a, b);
}

/* Appends one end of a transfer, with the names of PyTorch: "3SEND_F7" at the producer, "4RECV_F7"
 * at the consumer. */
static void add_transfer(const pp_recorded_transfer *t, bool is_send, int thread, pp_text *text)
{
    int stage = is_send ? t->stage : t->forward ? t->stage + 1 : t->stage - 1;
    begin_event(text, 'X', is_send ? t->from : t->to, thread);
    add_time(text, "ts", t->start_ns);
    add_time(text, "dur", t->end_ns - t->start_ns);
    pp_text_add(text,
                ",\"name\":\"%d%s_%c%" PRIu32 "\",\"cat\":\"%s\",\"cname\":\"grey\",\"args\":{"
                "\"stage\":%d,\"microbatch\":%" PRIu32 ",\"peer\":%" PRIu32 "}}",
                stage, is_send ? "SEND" : "RECV", t->forward ? 'F' : 'B', t->microbatch,
                is_send ? "send" : "recv", stage, t->microbatch, is_send ? t->to : t->from);
}

/* Appends the transfers of one direction; each is put on the first free lane of its rank. */
static pp_status add_lanes(const pp_export *data, pp_transfers *list, bool is_send, pp_text *text,
                           pp_err *err)
{
    size_t used = 0;
    uint32_t last = UINT32_MAX;
    pp_ns *free_ns =
        pp_alloc_array(list->count, sizeof *free_ns); /* when each of the `used` lanes is free */
    if (!free_ns)
        return pp_err_nomem(err);
    if (list->count)
        qsort(list->item, list->count, sizeof *list->item, is_send ? by_sender : by_receiver);
    for (size_t i = 0; i < list->count; i++) {
        const pp_recorded_transfer *t = &list->item[i];
        uint32_t rank = is_send ? t->from : t->to;
        size_t lane = 0;
        if (!pp_export_shows(data, rank))
            continue;
        if (rank != last)
            used = 0;
        last = rank;
        while (lane < used && free_ns[lane] > t->start_ns)
            lane++;
        if (lane == used) {
            used++;
            name_lane(rank, lane, is_send, text);
        }
        free_ns[lane] = t->end_ns;
        add_transfer(t, is_send, thread_of(lane, is_send), text);
    }
    free(free_ns);
    return PP_OK;
}

static void add_waits(const pp_export *data, const pp_blocked_list *list, pp_text *text)
{
    for (uint32_t r = 0; r < data->program->ranks && list->count; r++) {
        if (pp_export_shows(data, r))
            name_thread(r, THREAD_IDLE, 1, "idle", text);
    }
    for (size_t i = 0; i < list->count; i++) {
        const pp_blocked *wait = &list->item[i];
        if (!pp_export_shows(data, wait->rank))
            continue;
        begin_event(text, 'X', wait->rank, THREAD_IDLE);
        add_time(text, "ts", wait->at_ns);
        add_time(text, "dur", wait->waits_ns);
        pp_text_add(text, ",\"name\":\"%s\",\"cat\":\"idle\",\"cname\":\"white\",\"args\":{",
                    pp_idle_key(wait->cause));
        pp_text_add(text, "\"op\":");
        add_quoted(text, wait->op);
        pp_text_add(text, ",\"waits_for\":");
        add_quoted(text, wait->by);
        pp_text_add(text, "}}");
    }
}

/* Appends a thread per rank with its idle time, by cause. */
static pp_status add_idle(const pp_export *data, pp_text *text, pp_err *err)
{
    pp_blocked_list list PP_CLEANUP(pp_blocked_free) = { 0 };
    pp_status status = PP_OK;
    if (!data->recorded)
        status = pp_blocked_find(data->program, data->timeline, SIZE_MAX, &list, err);
    if (!status)
        add_waits(data, data->recorded ? &data->recorded->waits : &list, text);
    return status;
}

/* Appends a thread per rank with its gathers of parameters and reductions of gradients. */
static void add_sharding(const pp_export *data, pp_text *text)
{
    const pp_comm_timeline *comm = data->recorded ? NULL : data->timeline->comm;
    const size_t count = comm ? comm->sharding_count : 0;
    for (uint32_t r = 0; r < data->program->ranks && count; r++) {
        if (pp_export_shows(data, r))
            name_thread(r, THREAD_SHARDING, 1, "sharding", text);
    }
    for (size_t i = 0; i < count; i++) {
        const pp_sharding_span *span = &comm->sharding[i];
        if (!pp_export_shows(data, span->rank))
            continue;
        begin_event(text, 'X', span->rank, THREAD_SHARDING);
        add_time(text, "ts", span->start_ns);
        add_time(text, "dur", span->end_ns - span->start_ns);
        pp_text_add(text,
                    ",\"name\":\"%u%s\",\"cat\":\"sharding\",\"cname\":\"grey\",\"args\":{"
                    "\"stage\":%u}}",
                    (unsigned)span->stage,
                    pp_mark_token(span->reduces ? PP_MARK_REDUCE_GRAD : PP_MARK_UNSHARD),
                    (unsigned)span->stage);
    }
}

typedef struct counter {
    pp_text *text;
    uint32_t rank;
    bool present[PP_MEMORY_COUNT]; /* components that are more than 0 at some time */
} counter;

static void find_present(void *context, pp_ns at_ns, const int64_t bytes[PP_MEMORY_COUNT])
{
    counter *c = context;
    (void)at_ns;
    for (int k = 0; k < PP_MEMORY_COUNT; k++)
        c->present[k] |= bytes[k] != 0;
}

static void add_sample(void *context, pp_ns at_ns, const int64_t bytes[PP_MEMORY_COUNT])
{
    counter *c = context;
    const char *comma = "";
    begin_event(c->text, 'C', c->rank, THREAD_COMPUTE);
    add_time(c->text, "ts", at_ns);
    pp_text_add(c->text, ",\"name\":\"memory (bytes)\",\"args\":{");
    for (int k = 0; k < PP_MEMORY_COUNT; k++) {
        if (!c->present[k])
            continue;
        pp_text_add(c->text, "%s\"%s\":%" PRId64, comma, pp_memory_key((pp_memory_component)k),
                    bytes[k]);
        comma = ",";
    }
    pp_text_add(c->text, "}}");
}

static pp_status add_memory(const pp_export *data, pp_text *text, pp_err *err)
{
    for (uint32_t r = 0; r < data->program->ranks; r++) {
        counter c = { .text = text, .rank = r };
        if (!pp_export_shows(data, r))
            continue;
        pp_status status = pp_export_memory(data, r, find_present, &c, err);
        if (status || (status = pp_export_memory(data, r, add_sample, &c, err)))
            return status;
    }
    return PP_OK;
}

static pp_status trace(const pp_export *data, pp_text *text, pp_err *err)
{
    pp_transfers list PP_CLEANUP(pp_transfers_free) = { 0 };
    pp_status status = PP_OK;
    add_head(data, text);
    for (uint32_t r = 0; r < data->program->ranks; r++) {
        if (pp_export_shows(data, r))
            name_rank(r, text);
    }
    add_ops(data, text);
    if ((status = pp_transfers_collect(data, &list, err)) ||
        (status = add_lanes(data, &list, true, text, err)) ||
        (status = add_lanes(data, &list, false, text, err)))
        return status;
    add_sharding(data, text);
    if ((status = add_idle(data, text, err)))
        return status;
    if (pp_export_has_memory(data) && (status = add_memory(data, text, err)))
        return status;
    pp_text_add(text, "\n]}\n");
    return pp_text_check(text, err);
}

const pp_format pp_format_chrome = {
    .name = "chrome",
    .summary = "Chrome trace JSON for ui.perfetto.dev, with lanes, transfers and memory",
    .holds = PP_HOLDS_ORDER | PP_HOLDS_TIMES | PP_HOLDS_TRANSFERS | PP_HOLDS_IDLE | PP_HOLDS_MEMORY,
    .trace = trace,
};
