/* Chrome trace JSON, for ui.perfetto.dev and chrome://tracing ("Trace Event Format"). A process per
 * rank; threads compute, send and recv; arrows from producer to consumer; memory as a counter.
 * Times are microseconds, written from whole nanoseconds. */
#include "traces/memory_rows.h"

#include "sim/alloc.h"
#include "sim/engine.h"
#include "sim/transfer_costs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREAD_COMPUTE 0

/* Slices of one thread may not overlap, transfers may: each direction has as many threads, lanes,
 * as it needs. */
static int thread_of(size_t lane, bool is_send)
{
    return (int)(2 * lane) + (is_send ? 1 : 2);
}

/* A transfer between two ranks that takes time. */
typedef struct transfer {
    size_t source, consumer; /* instructions */
    uint32_t rank;           /* whose lanes it is drawn on */
    pp_ns begin_ns, duration_ns;
} transfer;

typedef struct transfers {
    transfer *item;
    size_t count;
} transfers;

static void free_transfers(transfers *list)
{
    free(list->item);
}

/* Length of the UTF-8 sequence at `c`, 0 when it is none. */
static size_t sequence_length(const char *c)
{
    unsigned char first = (unsigned char)c[0];
    size_t length = first < 0x80                    ? 1
                    : first >= 0xc2 && first < 0xe0 ? 2
                    : first >= 0xe0 && first < 0xf0 ? 3
                    : first >= 0xf0 && first < 0xf5 ? 4
                                                    : 0;
    for (size_t i = 1; i < length; i++) {
        if (((unsigned char)c[i] & 0xc0) != 0x80)
            return 0;
    }
    unsigned char second = length > 2 ? (unsigned char)c[1] : 0;
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
        (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f))
        return 0; /* too long a form, a surrogate, beyond Unicode */
    return length;
}

/* A JSON text; bytes that are no UTF-8 become U+FFFD. */
static void add_quoted(pp_text *text, const char *words)
{
    pp_text_add_bytes(text, "\"", 1);
    while (*words) {
        size_t length = sequence_length(words);
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

/* Perfetto multiplies by 1000 in doubles and cuts off (json_trace_utils.cc); a time that would lose
 * a nanosecond there gets a tenth of one more, as slices that overlap by one are dropped. */
static void add_time(pp_text *text, const char *key, pp_ns ns)
{
    double us = (double)ns / 1000;
    pp_text_add(text, ",\"%s\":%" PRId64 ".%03d%s", key, ns / 1000, (int)(ns % 1000),
                (pp_ns)(us * 1000) < ns ? "1" : "");
}

/* Events follow a first one that is always there, see add_head. */
static void begin_event(pp_text *text, char phase, uint32_t rank, int thread)
{
    pp_text_add(text, ",\n{\"ph\":\"%c\",\"pid\":%" PRIu32 ",\"tid\":%d", phase, rank, thread);
}

static void add_name(pp_text *text, const char *key, const char *name)
{
    if (*name == '\0')
        return; /* not known */
    pp_text_add(text, ",\"%s\":", key);
    add_quoted(text, name);
}

static void add_head(const pp_export *data, pp_text *text)
{
    const pp_plan *plan = data->plan;
    pp_text_add(text, "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"producer\":\"ppsim\"");
    if (plan) {
        add_name(text, "model", plan->model);
        add_name(text, "schedule", plan->schedule);
        add_name(text, "executor", plan->executor);
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
    name_thread(rank, thread_of(lane, is_send), 1 + lane + (is_send ? 0 : UINT16_MAX), words, text);
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

/* Colours by name, of the viewer's fixed palette. */
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

/* An end of an arrow: from the last nanosecond of the producer to the start of the consumer. */
static void add_arrow(const pp_export *data, char phase, size_t op, size_t consumer, pp_text *text)
{
    pp_ns start_ns = data->timeline->start_ns[op];
    pp_ns end_ns = data->timeline->end_ns[op];
    begin_event(text, phase, rank_of(data->program, op), THREAD_COMPUTE);
    add_time(text, "ts", phase == 's' && end_ns > start_ns ? end_ns - 1 : start_ns);
    pp_text_add(text, ",\"id\":%zu,\"name\":\"data\",\"cat\":\"flow\"%s}", consumer,
                phase == 'f' ? ",\"bp\":\"e\"" : "");
}

static bool is_between_ranks(const pp_program *program, size_t i)
{
    return program->source[i] != PP_NO_SOURCE &&
           rank_of(program, program->source[i]) != rank_of(program, i);
}

static void add_ops(const pp_export *data, pp_text *text)
{
    const pp_program *program = data->program;
    for (size_t i = 0; i < program->count; i++) {
        add_op(data, i, text);
        if (!is_between_ranks(program, i))
            continue;
        add_arrow(data, 's', program->source[i], i, text);
        add_arrow(data, 'f', i, i, text);
    }
}

/* By rank, then time; the consumer makes the order total. */
static int compare_transfers(const void *left, const void *right)
{
    const transfer *a = left;
    const transfer *b = right;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->begin_ns != b->begin_ns)
        return a->begin_ns < b->begin_ns ? -1 : 1;
    return a->consumer < b->consumer ? -1 : a->consumer > b->consumer;
}

static pp_status collect_transfers(const pp_export *data, transfers *list, pp_err *err)
{
    const pp_program *program = data->program;
    list->item = pp_alloc_array(program->count, sizeof *list->item);
    if (!list->item)
        return pp_err_nomem(err);
    for (size_t i = 0; i < program->count; i++) {
        uint32_t source = program->source[i];
        if (!is_between_ranks(program, i))
            continue;
        pp_ns latency_ns =
            data->costs ? pp_edge_latency(program, data->costs, i) : data->recorded->latency_ns[i];
        if (latency_ns > 0)
            list->item[list->count++] = (transfer){ .source = source,
                                                    .consumer = i,
                                                    .begin_ns = data->timeline->end_ns[source],
                                                    .duration_ns = latency_ns };
    }
    return PP_OK;
}

/* "3SEND_F7" at the producer, "4RECV_F7" at the consumer, as PyTorch writes them. */
static void add_transfer(const pp_export *data, const transfer *t, bool is_send, int thread,
                         pp_text *text)
{
    pp_op op = data->program->op[is_send ? t->source : t->consumer];
    char way = data->program->op[t->source].kind == PP_OP_F ? 'F' : 'B';
    begin_event(text, 'X', t->rank, thread);
    add_time(text, "ts", t->begin_ns);
    add_time(text, "dur", t->duration_ns);
    pp_text_add(text,
                ",\"name\":\"%u%s_%c%" PRIu32 "\",\"cat\":\"%s\",\"cname\":\"grey\",\"args\":{"
                "\"stage\":%u,\"microbatch\":%" PRIu32 ",\"peer\":%" PRIu32 "}}",
                op.stage, is_send ? "SEND" : "RECV", way, op.microbatch, is_send ? "send" : "recv",
                op.stage, op.microbatch, rank_of(data->program, is_send ? t->consumer : t->source));
}

/* One direction: every transfer goes to the first lane of its rank that is free. */
static pp_status add_lanes(const pp_export *data, transfers *list, bool is_send, pp_text *text,
                           pp_err *err)
{
    size_t used = 0;
    pp_ns *free_ns = pp_alloc_array(list->count, sizeof *free_ns); /* [used] */
    if (!free_ns)
        return pp_err_nomem(err);
    for (size_t i = 0; i < list->count; i++)
        list->item[i].rank =
            rank_of(data->program, is_send ? list->item[i].source : list->item[i].consumer);
    qsort(list->item, list->count, sizeof *list->item, compare_transfers);
    for (size_t i = 0; i < list->count; i++) {
        const transfer *t = &list->item[i];
        size_t lane = 0;
        if (i == 0 || t->rank != list->item[i - 1].rank)
            used = 0;
        while (lane < used && free_ns[lane] > t->begin_ns)
            lane++;
        if (lane == used) {
            used++;
            name_lane(t->rank, lane, is_send, text);
        }
        free_ns[lane] = t->begin_ns + t->duration_ns;
        add_transfer(data, t, is_send, thread_of(lane, is_send), text);
    }
    free(free_ns);
    return PP_OK;
}

typedef struct counter {
    pp_text *text;
    uint32_t rank;
    bool present[PP_MEMORY_COUNT]; /* components that are ever more than 0 */
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
        pp_status status = pp_export_memory(data, r, find_present, &c, err);
        if (status || (status = pp_export_memory(data, r, add_sample, &c, err)))
            return status;
    }
    return PP_OK;
}

static pp_status trace(const pp_export *data, pp_text *text, pp_err *err)
{
    transfers list PP_CLEANUP(free_transfers) = { 0 };
    pp_status status = PP_OK;
    add_head(data, text);
    for (uint32_t r = 0; r < data->program->ranks; r++)
        name_rank(r, text);
    add_ops(data, text);
    if (data->costs || data->recorded) {
        if ((status = collect_transfers(data, &list, err)) ||
            (status = add_lanes(data, &list, true, text, err)) ||
            (status = add_lanes(data, &list, false, text, err)))
            return status;
    }
    if (pp_export_has_memory(data) && (status = add_memory(data, text, err)))
        return status;
    pp_text_add(text, "\n]}\n");
    return pp_text_check(text, err);
}

const pp_format pp_format_chrome = {
    .name = "chrome",
    .summary = "Chrome trace JSON for ui.perfetto.dev: lanes, arrows, memory",
    .holds = PP_HOLDS_ORDER | PP_HOLDS_TIMES | PP_HOLDS_TRANSFERS | PP_HOLDS_MEMORY,
    .trace = trace,
};
