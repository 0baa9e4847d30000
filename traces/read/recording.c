/* Makes an order and a timeline from the events of Trace Event files. Ops are recognised by the
 * names of events; they are divided into steps by how often a name has occurred (recorded_steps.h),
 * and the order of one step must pass the checks of a schedule file. O(n log n) in the ops, O(n) in
 * the other events, which are not kept. */
#include "traces/read/recording.h"

#include "sim/base/alloc.h"
#include "sim/base/json.h"
#include "sim/base/list.h"
#include "sim/base/text.h"
#include "sim/program/program_new.h"
#include "traces/read/events.h"
#include "traces/read/pytorch_rows.h"
#include "traces/read/recorded_steps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    const char *path;
    pp_recording *out;
    pp_op_slices ops;
    bool ops_only; /* transfers, waits and memory are not read */
    bool profiler; /* the ops are ranges of a profiler */
    size_t wait_capacity;
    size_t first;    /* the first slice of this file */
    int64_t base_ns; /* the zero of the file's clock, since 1970 */
    int64_t rank;    /* the rank that a profiler's file states; -1: it states none */
} reader;

static void free_reader(reader *r)
{
    free(r->ops.item);
}

/* Reads the op from a name such as "3F7", "PP:3F7" or "ppsim:3F7 tokens=4096". */
static bool read_name(const char *name, bool *by_profiler, pp_op *op_out)
{
    pp_op ops[2];
    size_t skip = strncmp(name, "PP:", 3) == 0 ? 3 : strncmp(name, "ppsim:", 6) == 0 ? 6 : 0;
    *by_profiler = skip > 0;
    name += skip;
    if (pp_cell_parse(name, strcspn(name, " "), ops) != 1)
        return false;
    *op_out = ops[0];
    return true;
}

static pp_status time_at(const pp_json_at *at, const char *key, pp_ns *out_ns, pp_err *err)
{
    double us = 0;
    pp_status status = pp_json_get_double(at, key, 0, PP_EVENT_US_MAX, &us, err);
    if (!status)
        *out_ns = pp_event_ns(us);
    return status;
}

static pp_status add_slice(reader *r, const pp_json_at *at, pp_op op, bool by_profiler, pp_err *err)
{
    pp_op_slice found = { .op = op };
    int64_t rank = 0;
    pp_ns dur_ns;
    pp_status status;
    if ((status = time_at(at, "ts", &found.begin_ns, err)) ||
        (status = time_at(at, "dur", &dur_ns, err)) ||
        (!by_profiler && (status = pp_json_get_int(at, "pid", 0, PP_RANKS_MAX - 1, &rank, err))))
        return status;
    if (dur_ns > PP_NS_MAX)
        return pp_json_fail(at, err, "has a \"dur\" of more than 104 days");
    found.rank = (uint32_t)rank;
    found.end_ns = found.begin_ns + dur_ns;
    r->profiler |= by_profiler;
    return pp_op_slices_add(&r->ops, &found, err);
}

/* Reads the rank, the time and the details of an event of ppsim's own that is not an op. */
static pp_status place_event(const pp_json_at *at, uint32_t *rank_out, pp_ns *at_out,
                             pp_json_at *args_out, pp_err *err)
{
    int64_t rank = 0;
    pp_status status = time_at(at, "ts", at_out, err);
    if (status || (status = pp_json_get_int(at, "pid", 0, PP_RANKS_MAX - 1, &rank, err)) ||
        (status = pp_json_get(at, "args", args_out, err)))
        return status;
    *rank_out = (uint32_t)rank;
    return PP_OK;
}

PP_LIST_ADD_STATIC(new_transfer, pp_recorded, transfer, pp_recorded_transfer)
PP_LIST_ADD_STATIC(new_sample, pp_recorded, sample, pp_memory_sample_row)

/* Adds a transfer, whose name is "4RECV_F7", at the receiver. Other names are passed over. */
static pp_status add_transfer(reader *r, const pp_json_at *at, const char *name, pp_err *err)
{
    unsigned stage = 0;
    unsigned microbatch = 0;
    char way = 0;
    pp_recorded_transfer found = { 0 };
    pp_json_at args;
    int64_t from = 0;
    pp_ns takes_ns;
    if (sscanf(name, "%5uRECV_%c%9u", &stage, &way, &microbatch) != 3 || stage > PP_STAGES_MAX ||
        (way == 'F' && stage == 0))
        return PP_OK;
    pp_status status = place_event(at, &found.to, &found.start_ns, &args, err);
    if (status || (status = time_at(at, "dur", &takes_ns, err)) ||
        (status = pp_json_get_int(&args, "peer", 0, PP_RANKS_MAX - 1, &from, err)))
        return status;
    found.end_ns = found.start_ns + takes_ns;
    found.from = (uint32_t)from;
    found.microbatch = microbatch;
    found.forward = way == 'F';
    found.stage = (uint16_t)(found.forward ? stage - 1 : stage + 1);
    pp_recorded_transfer *transfer = new_transfer(&r->out->recorded, err);
    if (!transfer)
        return PP_NOMEM;
    *transfer = found;
    r->out->transfers++;
    return PP_OK;
}

/* Adds a wait, whose name is its cause. Other names are passed over. */
static pp_status add_wait(reader *r, const pp_json_at *at, const char *name, pp_err *err)
{
    pp_blocked_list *waits = &r->out->recorded.waits;
    pp_blocked found = { 0 };
    pp_json_at args;
    const char *op = "";
    const char *by = "";
    int cause = 0;
    while (cause < PP_IDLE_COUNT && strcmp(name, pp_idle_key((pp_idle_cause)cause)) != 0)
        cause++;
    if (cause == PP_IDLE_COUNT)
        return PP_OK;
    found.cause = (pp_idle_cause)cause;
    pp_status status = place_event(at, &found.rank, &found.at_ns, &args, err);
    if (status || (status = time_at(at, "dur", &found.waits_ns, err)) ||
        (status = pp_json_get_text(&args, "op", &op, err)) ||
        (status = pp_json_get_text(&args, "waits_for", &by, err)))
        return status;
    snprintf(found.op, sizeof found.op, "%s", op);
    snprintf(found.by, sizeof found.by, "%s", by);
    void *all = waits->item;
    if ((status = pp_reserve(&all, &r->wait_capacity, waits->count + 1, sizeof found, err)))
        return status;
    waits->item = all;
    waits->item[waits->count++] = found;
    r->out->waits++;
    return PP_OK;
}

static pp_status add_sample(reader *r, const pp_json_at *at, pp_err *err)
{
    pp_memory_sample_row found = { 0 };
    pp_json_at args;
    pp_status status = place_event(at, &found.rank, &found.at_ns, &args, err);
    if (status)
        return status;
    for (int k = 0; k < PP_MEMORY_COUNT; k++) {
        const char *key = pp_memory_key((pp_memory_component)k);
        if (pp_json_has(&args, key) &&
            (status = pp_json_get_int(&args, key, 0, INT64_MAX, &found.bytes[k], err)))
            return status;
    }
    pp_memory_sample_row *sample = new_sample(&r->out->recorded, err);
    if (!sample)
        return PP_NOMEM;
    *sample = found;
    r->out->memory++;
    return PP_OK;
}

static pp_status take_event(void *context, const pp_event *event, pp_err *err)
{
    reader *r = context;
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    char place[256];
    char name[128];
    bool by_profiler = false;
    pp_op op = { 0 };
    const bool memory = pp_span_is(event->phase, "C") && pp_span_is(event->name, "memory (bytes)");
    const bool transfer = pp_span_is(event->category, "recv");
    const bool wait = pp_span_is(event->category, "idle");
    if (event->name.bytes >= sizeof name || (!memory && !pp_span_is(event->phase, "X")) ||
        (r->ops_only && (memory || transfer || wait)))
        return PP_OK;
    pp_span_copy(event->name, name, sizeof name);
    if (!memory && !transfer && !wait &&
        (!read_name(name, &by_profiler, &op) ||
         (!by_profiler && !pp_span_is(event->category, "compute"))))
        return PP_OK;
    pp_event_place(r->path, event, place, sizeof place);
    pp_status status = pp_json_parse(event->text.at, event->text.bytes, place, &json, err);
    if (status)
        return status;
    pp_json_at at = pp_json_root(json, place);
    return memory     ? add_sample(r, &at, err)
           : transfer ? add_transfer(r, &at, name, err)
           : wait     ? add_wait(r, &at, name, err)
                      : add_slice(r, &at, op, by_profiler, err);
}

static pp_status read_names(pp_recording *out, const pp_json_at *root, pp_err *err)
{
    pp_json_at at;
    const char *times = "";
    pp_status status = pp_json_get(root, "otherData", &at, err);
    if (!status && pp_json_has(&at, "model"))
        status = pp_json_get_name(&at, "model", out->model, sizeof out->model, err);
    if (!status && pp_json_has(&at, "schedule"))
        status = pp_json_get_name(&at, "schedule", out->schedule, sizeof out->schedule, err);
    if (!status && pp_json_has(&at, "executor"))
        status = pp_json_get_name(&at, "executor", out->framework, sizeof out->framework, err);
    if (!status && pp_json_has(&at, "times"))
        status = pp_json_get_text(&at, "times", &times, err);
    out->measured |= strcmp(times, "measured") == 0;
    return status;
}

/* Reads "otherData" of ppsim's own files, and of a profiler's files "baseTimeNanoseconds":
 * 1727740800000000000 and "distributedInfo": {"rank": 1, ...}. */
static pp_status take_member(void *context, const pp_event_member *member, pp_err *err)
{
    reader *r = context;
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    pp_json_at info;
    char place[256];
    const bool base = pp_span_is(member->key, "baseTimeNanoseconds");
    const bool names = pp_span_is(member->key, "otherData");
    if (!base && !names && !pp_span_is(member->key, "distributedInfo"))
        return PP_OK;
    snprintf(place, sizeof place, "%.200s:%zu", r->path, member->line);
    pp_text whole PP_CLEANUP(pp_text_free) = { 0 };
    pp_text_add(&whole, "{");
    pp_text_add_bytes(&whole, member->text.at, member->text.bytes);
    pp_text_add(&whole, "}");
    pp_status status = pp_text_check(&whole, err);
    if (status || (status = pp_json_parse(whole.data, whole.bytes, place, &json, err)))
        return status;
    pp_json_at root = pp_json_root(json, place);
    if (names)
        return read_names(r->out, &root, err);
    if (base)
        return pp_json_get_int(&root, "baseTimeNanoseconds", 0, INT64_MAX / 2, &r->base_ns, err);
    if ((status = pp_json_get(&root, "distributedInfo", &info, err)) || !pp_json_has(&info, "rank"))
        return status;
    return pp_json_get_int(&info, "rank", 0, PP_RANKS_MAX - 1, &r->rank, err);
}

/* Makes the order by printing the ops as rows of a schedule file and reading these, so that a
 * recording gets the same checks as a schedule file. */
static pp_status make_order(reader *r, pp_err *err)
{
    pp_text rows PP_CLEANUP(pp_text_free) = { 0 };
    char token[32];
    char file[256];
    uint32_t rank = 0;
    for (size_t i = 0; i < r->ops.count; i++) {
        bool first = i == 0;
        for (; rank < r->ops.item[i].rank; rank++, first = true)
            pp_text_add(&rows, "\n");
        pp_text_add(&rows, "%s%s", first ? "" : ",",
                    pp_op_print(r->ops.item[i].op, token, sizeof token));
    }
    pp_text_add(&rows, "\n");
    snprintf(file, sizeof file, "%.200s, rows of its ops", r->path);
    pp_status status = pp_text_check(&rows, err);
    return status ? status : pp_pytorch_rows_read(rows.data, rows.bytes, file, &r->out->order, err);
}

/* Moves transfers, waits and memory to the clock of the timeline. They are dropped when the files
 * hold several steps, since their events do not name the step to which they belong. */
static void keep_recorded(pp_recording *out, pp_ns start_ns)
{
    pp_recorded *recorded = &out->recorded;
    if (out->steps > 1)
        recorded->transfer_count = recorded->sample_count = recorded->waits.count = 0;
    for (size_t i = 0; i < recorded->sample_count; i++)
        recorded->sample[i].at_ns -= start_ns;
    for (size_t i = 0; i < recorded->waits.count; i++)
        recorded->waits.item[i].at_ns -= start_ns;
    for (size_t i = 0; i < recorded->transfer_count; i++) {
        recorded->transfer[i].start_ns -= start_ns;
        recorded->transfer[i].end_ns -= start_ns;
    }
}

/* Returns the time of the first op, or of a wait before it. */
static pp_ns find_start(const reader *r)
{
    const pp_blocked_list *waits = &r->out->recorded.waits;
    pp_ns start_ns = r->ops.item[0].begin_ns;
    for (size_t i = 1; i < r->ops.count; i++)
        start_ns = r->ops.item[i].begin_ns < start_ns ? r->ops.item[i].begin_ns : start_ns;
    for (size_t i = 0; i < waits->count && r->out->steps == 1; i++)
        start_ns = waits->item[i].at_ns < start_ns ? waits->item[i].at_ns : start_ns;
    return start_ns;
}

static pp_status make_timeline(reader *r, pp_err *err)
{
    pp_recording *out = r->out;
    pp_status status = pp_program_from_order(out->order, &out->program, err);
    if (status || (status = pp_timeline_new(out->program->count, &out->timeline, err)))
        return status;
    pp_ns start_ns = find_start(r);
    for (size_t i = 0; i < r->ops.count; i++) {
        out->timeline->start_ns[i] = r->ops.item[i].begin_ns - start_ns;
        out->timeline->end_ns[i] = r->ops.item[i].end_ns - start_ns;
        if (out->timeline->end_ns[i] > PP_NS_MAX)
            return pp_err_set(err, PP_INPUT, r->path,
                              "the recordings span more than 104 days, so their clocks count from "
                              "different times");
    }
    for (size_t i = 0; i < r->ops.count; i++) {
        uint32_t source = out->program->source[i];
        if (source == PP_NO_SOURCE)
            continue;
        pp_ns early_ns = out->timeline->end_ns[source] - out->timeline->start_ns[i];
        out->early_ns = early_ns > out->early_ns ? early_ns : out->early_ns;
    }
    keep_recorded(out, start_ns);
    return PP_OK;
}

/* Sets the rank and the clock of the ops of a profiler's file. The rank is the one that the file
 * states, or otherwise the position of the file among the files. */
static pp_status place_file(reader *r, size_t index, pp_err *err)
{
    if (!r->profiler)
        return PP_OK;
    r->out->measured = true;
    uint32_t rank = r->rank >= 0 ? (uint32_t)r->rank : (uint32_t)index;
    for (size_t i = 0; i < r->first; i++) {
        if (r->ops.item[i].rank == rank)
            return pp_err_set(err, PP_INPUT, r->path,
                              "is of rank %" PRIu32 ", like another file; give one file per rank",
                              rank);
    }
    for (size_t i = r->first; i < r->ops.count; i++) {
        r->ops.item[i].rank = rank;
        r->ops.item[i].begin_ns += r->base_ns;
        r->ops.item[i].end_ns += r->base_ns;
    }
    return PP_OK;
}

/* Adds the ops of a file. */
static pp_status read_file(reader *r, const char *path, pp_err *err)
{
    r->path = path;
    r->first = r->ops.count;
    r->base_ns = 0;
    r->rank = -1;
    const pp_events_visitor visitor = { take_event, take_member, r };
    pp_status status = pp_events_read(path, &visitor, err);
    if (!status && r->ops.count == r->first)
        return pp_err_set(err, PP_INPUT, path,
                          "contains no op: neither a slice of 'compute' that ppsim wrote, nor a "
                          "range 'PP:3F7' or 'ppsim:3F7' of a profiler");
    return status;
}

/* Adds the ops of steps low to high. If an op comes after a later one of the same name, the steps
 * were counted wrongly, and the file is read again with all earlier steps. */
static pp_status read_steps(reader *r, const char *path, size_t low, size_t high, pp_err *err)
{
    r->ops.some = true;
    r->ops.first_step = low;
    r->ops.last_step = high;
    pp_status status = read_file(r, path, err);
    if (!status)
        pp_op_slices_forget(&r->ops);
    if (status || !r->ops.disordered)
        return status;
    r->ops.count = r->ops.first_step = 0;
    r->ops.more = false;
    return read_file(r, path, err);
}

pp_status pp_recording_read(const char *const *paths, size_t count, size_t step,
                            pp_recording *recording_out, pp_err *err)
{
    pp_recording found PP_CLEANUP(pp_recording_free) = { 0 };
    reader r PP_CLEANUP(free_reader) = { .out = &found };
    pp_status status = PP_OK;
    for (size_t i = 0; i < count && !status; i++) {
        if ((status = read_file(&r, paths[i], err)))
            return status;
        if (count > 1 && !r.profiler)
            return pp_err_set(err, PP_INPUT, paths[i],
                              "contains all ranks; give several files only if each is of one rank");
        status = place_file(&r, i, err);
    }
    if (status)
        return status;
    if (step == SIZE_MAX) {
        pp_op_slices_number(&r.ops);
        step = r.ops.steps - 1;
    }
    if ((status = pp_op_slices_keep(&r.ops, step, step, err)))
        return status;
    found.steps = r.ops.steps;
    if ((status = make_order(&r, err)) || (status = make_timeline(&r, err)))
        return status;
    *recording_out = found;
    found = (pp_recording){ 0 };
    return PP_OK;
}

pp_status pp_recording_windows(const char *path, size_t low, size_t high, pp_window **windows_out,
                               size_t *count_out, bool *everywhere_out, pp_err *err)
{
    pp_recording found PP_CLEANUP(pp_recording_free) = { 0 };
    reader r PP_CLEANUP(free_reader) = { .out = &found, .ops_only = true };
    size_t count = 0;
    pp_status status = read_steps(&r, path, low, high, err);
    if (status || (status = pp_op_slices_keep(&r.ops, low, high, err)))
        return status;
    pp_window *windows = pp_alloc_array(r.ops.count, sizeof *windows);
    if (!windows)
        return pp_err_nomem(err);
    for (size_t i = 0; i < r.ops.count; i++) { /* they are sorted by rank, then time */
        const pp_op_slice *s = &r.ops.item[i];
        if (count == 0 || windows[count - 1].rank != s->rank)
            windows[count++] = (pp_window){ s->rank, s->begin_ns, s->end_ns };
        pp_window *last = &windows[count - 1];
        last->end_ns = s->end_ns > last->end_ns ? s->end_ns : last->end_ns;
    }
    *windows_out = windows;
    *count_out = count;
    *everywhere_out = r.profiler;
    return PP_OK;
}

void pp_recording_free(pp_recording *recording)
{
    pp_order_free(&recording->order);
    pp_program_free(&recording->program);
    pp_timeline_free(&recording->timeline);
    free(recording->recorded.transfer);
    free(recording->recorded.sample);
    pp_blocked_free(&recording->recorded.waits);
    recording->recorded = (pp_recorded){ 0 };
}
