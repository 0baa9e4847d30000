/* Chrome trace JSON, for ui.perfetto.dev and chrome://tracing ("Trace Event Format"). A process per
 * rank; threads compute, send, recv and idle; arrows from producer to consumer; memory as a
 * counter. Times are microseconds, written from whole nanoseconds. */
#include "traces/format.h"

#include "sim/alloc.h"
#include "sim/blocked.h"
#include "sim/engine.h"
#include "sim/transfer_costs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Slices of one thread may not overlap, transfers may: they share LANES threads per direction. */
#define LANES 8
#define THREAD_COMPUTE 0
#define THREAD_SEND 1
#define THREAD_RECV (THREAD_SEND + LANES)
#define THREAD_IDLE (THREAD_RECV + LANES)

/* A transfer between two ranks that takes time. */
typedef struct transfer {
    size_t index;              /* makes the order total */
    uint32_t sender, receiver; /* ranks */
    uint32_t rank;             /* whose lanes it is drawn on */
    uint32_t microbatch;
    uint16_t from_stage, to_stage;
    char way; /* 'F' or 'B' */
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

/* A JSON text; bytes that are no UTF-8 become U+FFFD. */
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

static void add_time(pp_text *text, const char *key, pp_ns ns)
{
    pp_text_add(text, ",\"%s\":%" PRId64 ".%03d", key, ns / 1000, (int)(ns % 1000));
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
    if (data->measured)
        add_name(text, "times", "measured");
    if (plan) {
        add_name(text, "model", plan->model);
        add_name(text, "schedule", plan->schedule);
        add_name(text, "executor", data->report ? data->report->executor : plan->executor);
    }
    pp_text_add(text,
                "},\"traceEvents\":[\n{\"ph\":\"i\",\"s\":\"g\",\"pid\":0,\"tid\":0,\"ts\":0.000,"
                "\"name\":\"step\"}");
}

static void name_thread(uint32_t rank, int thread, const char *words, int number, pp_text *text)
{
    begin_event(text, 'M', rank, thread);
    pp_text_add(text, ",\"name\":\"thread_name\",\"args\":{\"name\":\"%s", words);
    if (number > 1)
        pp_text_add(text, " %d", number);
    pp_text_add(text, "\"}}");
    begin_event(text, 'M', rank, thread);
    pp_text_add(text, ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":%d}}", thread);
}

static void name_rank(uint32_t rank, pp_text *text)
{
    begin_event(text, 'M', rank, THREAD_COMPUTE);
    pp_text_add(text, ",\"name\":\"process_name\",\"args\":{\"name\":\"rank %" PRIu32 "\"}}", rank);
    begin_event(text, 'M', rank, THREAD_COMPUTE);
    pp_text_add(text, ",\"name\":\"process_sort_index\",\"args\":{\"sort_index\":%" PRIu32 "}}",
                rank);
    name_thread(rank, THREAD_COMPUTE, "compute", 1, text);
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

/* From inside the producer's slice (its last nanosecond) to the start of the consumer. */
static void add_arrow(const pp_export *data, size_t consumer, pp_text *text)
{
    size_t source = data->program->source[consumer];
    pp_ns from_ns = data->timeline->end_ns[source];
    if (from_ns > data->timeline->start_ns[source])
        from_ns--;
    begin_event(text, 's', rank_of(data->program, source), THREAD_COMPUTE);
    add_time(text, "ts", from_ns);
    pp_text_add(text, ",\"id\":%zu,\"name\":\"data\",\"cat\":\"flow\"}", consumer);
    begin_event(text, 'f', rank_of(data->program, consumer), THREAD_COMPUTE);
    add_time(text, "ts", data->timeline->start_ns[consumer]);
    pp_text_add(text, ",\"id\":%zu,\"name\":\"data\",\"cat\":\"flow\",\"bp\":\"e\"}", consumer);
}

static void add_ops(const pp_export *data, pp_text *text)
{
    const pp_program *program = data->program;
    for (size_t i = 0; i < program->count; i++) {
        add_op(data, i, text);
        if (program->source[i] != PP_NO_SOURCE &&
            rank_of(program, program->source[i]) != rank_of(program, i))
            add_arrow(data, i, text);
    }
}

/* By rank, then time. */
static int compare_transfers(const void *left, const void *right)
{
    const transfer *a = left;
    const transfer *b = right;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->begin_ns != b->begin_ns)
        return a->begin_ns < b->begin_ns ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

/* Without communication: from the end of the producer for the latency of the edge. */
static void collect_edges(const pp_export *data, transfers *list)
{
    const pp_program *program = data->program;
    for (size_t i = 0; i < program->count; i++) {
        uint32_t source = program->source[i];
        if (source == PP_NO_SOURCE || rank_of(program, source) == rank_of(program, i))
            continue;
        pp_op producer = program->op[source];
        pp_ns latency_ns = pp_edge_latency(program, data->costs, i);
        if (latency_ns > 0)
            list->item[list->count++] = (transfer){ .index = i,
                                                    .sender = rank_of(program, source),
                                                    .receiver = rank_of(program, i),
                                                    .microbatch = producer.microbatch,
                                                    .from_stage = producer.stage,
                                                    .to_stage = program->op[i].stage,
                                                    .way = producer.kind == PP_OP_F ? 'F' : 'B',
                                                    .begin_ns = data->timeline->end_ns[source],
                                                    .duration_ns = latency_ns };
    }
}

/* With communication: as its timeline has them. */
static void collect_tensors(const pp_comm *comm, const pp_comm_timeline *timeline, transfers *list)
{
    for (uint32_t t = 0; t < comm->transfer_count; t++) {
        const pp_transfer *receive = &comm->transfer[t];
        bool tensor = receive->kind == PP_RECV_F || receive->kind == PP_RECV_B;
        pp_ns duration_ns = timeline->end_ns[t] - timeline->start_ns[t];
        if (!tensor || receive->match == PP_NO_SOURCE || duration_ns <= 0)
            continue;
        list->item[list->count++] = (transfer){ .index = t,
                                                .sender = receive->peer,
                                                .receiver = receive->rank,
                                                .microbatch = receive->microbatch,
                                                .from_stage = comm->transfer[receive->match].stage,
                                                .to_stage = receive->stage,
                                                .way = receive->kind == PP_RECV_F ? 'F' : 'B',
                                                .begin_ns = timeline->start_ns[t],
                                                .duration_ns = duration_ns };
    }
}

static pp_status collect_transfers(const pp_export *data, transfers *list, pp_err *err)
{
    const pp_comm_timeline *comm = data->timeline->comm;
    size_t most = comm ? data->program->comm->transfer_count : data->program->count;
    list->item = pp_alloc_array(most, sizeof *list->item);
    if (!list->item)
        return pp_err_nomem(err);
    if (comm)
        collect_tensors(data->program->comm, comm, list);
    else
        collect_edges(data, list);
    return PP_OK;
}

/* "3SEND_F7" at the producer, "4RECV_F7" at the consumer, as PyTorch writes them. */
static void add_transfer(const transfer *t, bool is_send, int thread, pp_text *text)
{
    unsigned stage = is_send ? t->from_stage : t->to_stage;
    begin_event(text, 'X', t->rank, thread);
    add_time(text, "ts", t->begin_ns);
    add_time(text, "dur", t->duration_ns);
    pp_text_add(text,
                ",\"name\":\"%u%s_%c%" PRIu32 "\",\"cat\":\"%s\",\"cname\":\"grey\",\"args\":{"
                "\"stage\":%u,\"microbatch\":%" PRIu32 ",\"peer\":%" PRIu32 "}}",
                stage, is_send ? "SEND" : "RECV", t->way, t->microbatch, is_send ? "send" : "recv",
                stage, t->microbatch, is_send ? t->receiver : t->sender);
}

/* One direction: every transfer goes to the first lane of its rank that is free, or the last. */
static void add_lanes(transfers *list, bool is_send, pp_text *text)
{
    pp_ns free_ns[LANES] = { 0 };
    int used = 0;
    for (size_t i = 0; i < list->count; i++)
        list->item[i].rank = is_send ? list->item[i].sender : list->item[i].receiver;
    qsort(list->item, list->count, sizeof *list->item, compare_transfers);
    for (size_t i = 0; i < list->count; i++) {
        const transfer *t = &list->item[i];
        int first = is_send ? THREAD_SEND : THREAD_RECV;
        int lane = 0;
        if (i == 0 || t->rank != list->item[i - 1].rank) {
            memset(free_ns, 0, sizeof free_ns);
            used = 0;
        }
        while (lane < used && lane < LANES - 1 && free_ns[lane] > t->begin_ns)
            lane++;
        if (lane == used) {
            used++;
            name_thread(t->rank, first + lane, is_send ? "send" : "recv", used, text);
        }
        free_ns[lane] = t->begin_ns + t->duration_ns;
        add_transfer(t, is_send, first + lane, text);
    }
}

/* A thread of its own per rank: what it waited for. */
static pp_status add_idle(const pp_export *data, pp_text *text, pp_err *err)
{
    pp_blocked_list list PP_CLEANUP(pp_blocked_free) = { 0 };
    pp_status status = pp_blocked_find(data->program, data->timeline, SIZE_MAX, &list, err);
    if (status)
        return status;
    for (uint32_t r = 0; r < data->program->ranks && list.count; r++)
        name_thread(r, THREAD_IDLE, "idle", 1, text);
    for (size_t i = 0; i < list.count; i++) {
        const pp_blocked *wait = &list.item[i];
        begin_event(text, 'X', wait->rank, THREAD_IDLE);
        add_time(text, "ts", wait->at_ns);
        add_time(text, "dur", wait->waits_ns);
        pp_text_add(text,
                    ",\"name\":\"%s\",\"cat\":\"idle\",\"cname\":\"white\",\"args\":{\"op\":\"%s\","
                    "\"waits_for\":\"%s\"}}",
                    pp_idle_key(wait->cause), wait->op, wait->by);
    }
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
        pp_memory_peak peak;
        pp_status status = pp_memory_walk(data->program, data->timeline, data->costs, r,
                                          find_present, &c, &peak, err);
        if (status || (status = pp_memory_walk(data->program, data->timeline, data->costs, r,
                                               add_sample, &c, &peak, err)))
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
    if (data->costs) {
        if ((status = collect_transfers(data, &list, err)))
            return status;
        add_lanes(&list, true, text);
        add_lanes(&list, false, text);
    }
    if ((status = add_idle(data, text, err)))
        return status;
    if (data->costs && data->costs->has_memory && (status = add_memory(data, text, err)))
        return status;
    pp_text_add(text, "\n]}\n");
    return pp_text_check(text, err);
}

const pp_format pp_format_chrome = {
    .name = "chrome",
    .summary = "Chrome trace JSON for ui.perfetto.dev: lanes, arrows, memory",
    .trace = trace,
};
