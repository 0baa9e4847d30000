/* The import of recordings of PyTorch's profiler (Kineto), the Trace Event JSON that
 * export_chrome_trace writes. An op is a range with a certain name: the pipeline runtime of PyTorch
 * 2.13 calls its ranges "PP:3F7" (torch/distributed/pipelining/schedules.py,
 * _get_profiler_function_name), its schedules of one stage per rank call theirs "Forward 7" and
 * "Backward 7", and with record_function() a program can record "ppsim:3F7 tokens=4096".
 * If kernels were recorded, the time of an op is the sum of the kernels that were launched within
 * its range, without those of NCCL; otherwise it is the time of the range less its waits for
 * receives. gloo ends the annotation "gloo:recv" when the thread that waits for the tensor goes on
 * (ProcessGroupGloo.cpp, RecvWork::wait), so a range waits from its start, or from the post of the
 * receive if that is later, to every such end in it. A kernel is matched with its launch by their
 * correlation, and a launch or a wait with the range around it by process and time: O(n log n) in
 * the events that matter. */
#include "calib/import/common/skips.h"
#include "calib/import/common/trace_ops.h"
#include "calib/import/import.h"
#include "sim/base/alloc.h"
#include "sim/base/hash.h"
#include "sim/base/json_stream.h"
#include "sim/base/list.h"
#include "traces/read/events.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS_MAX = 3 << 26, NESTED_MAX = 64 };

typedef struct range {
    double begin_us, end_us;
    uint64_t process;
    bool needs_kernels; /* its duration includes waits; without kernels it is used only if receives
                           were recorded */
    bool holds_waits;   /* the same, but if nothing was recorded, it is used with a note */
    pp_trace_op op;
    double kernels_us;
    size_t kernels;
    double waited_us, waited_until_us;
} range;

typedef struct launch {
    double correlation, at_us;
    uint64_t process;
} launch;

typedef struct kernel {
    double correlation, us;
} kernel;

/* A receive, from its post to the end of the wait for it. */
typedef struct receive {
    double begin_us, end_us;
    uint64_t process;
} receive;

typedef struct reader {
    const char *file;
    receive *receive;
    size_t receive_count, receive_capacity;
    range *range;
    size_t range_count, range_capacity;
    launch *launch;
    size_t launch_count, launch_capacity;
    kernel *kernel;
    size_t kernel_count, kernel_capacity;
    char device[128];
    pp_skips notes;
} reader;

static void free_reader(reader *r)
{
    free(r->receive);
    free(r->range);
    free(r->launch);
    free(r->kernel);
    pp_skips_free(&r->notes);
}

PP_LIST_ADD_STATIC(add_receive, reader, receive, receive)
PP_LIST_ADD_STATIC(add_range, reader, range, range)
PP_LIST_ADD_STATIC(add_launch, reader, launch, launch)
PP_LIST_ADD_STATIC(add_kernel, reader, kernel, kernel)

/* Reads variables such as "tokens=4096 square_sum=1e6". Returns false if there is anything else. */
static bool read_variables(pp_span rest, double *at)
{
    pp_span word;
    while (pp_span_word(&rest, &word)) {
        const char *sign = memchr(word.at, '=', word.bytes);
        if (!sign)
            return false;
        pp_span key = { word.at, (size_t)(sign - word.at) };
        pp_span value = { sign + 1, word.bytes - key.bytes - 1 };
        size_t v = 0;
        while (v < PP_VARIABLE_COUNT && !pp_span_is(key, pp_variable_key((pp_variable)v)))
            v++;
        if (v == PP_VARIABLE_COUNT || !pp_span_real(value, &at[v]))
            return false;
    }
    return true;
}

/* Reads "Forward 7" or "Backward 7", which do not name the stage. */
static bool read_plain_name(pp_span name, range *found)
{
    int64_t microbatch = 0;
    bool forward = pp_span_begins(name, "Forward ");
    size_t skip = forward ? 8 : 9;
    if (!forward && !pp_span_begins(name, "Backward "))
        return false;
    if (!pp_span_int((pp_span){ name.at + skip, name.bytes - skip }, INT32_MAX, &microbatch))
        return false;
    found->op.kind = forward ? PP_OP_F : PP_OP_B;
    found->op.stage = -1;
    found->needs_kernels = true;
    return true;
}

static bool read_name(reader *r, pp_span name, range *found)
{
    pp_op ops[2];
    bool torch = pp_span_begins(name, "PP:");
    size_t skip = torch ? 3 : 6;
    if (!torch && !pp_span_begins(name, "ppsim:"))
        return read_plain_name(name, found);
    pp_span rest = { name.at + skip, name.bytes - skip };
    pp_span cell;
    size_t count = pp_span_word(&rest, &cell) ? pp_cell_parse(cell.at, cell.bytes, ops) : 0;
    if (count == 2)
        pp_skip_add(&r->notes, 0, "a range of an overlapped pair, which has one time for two ops");
    else if (count == 0 && torch)
        pp_skip_add(&r->notes, 0,
                    "a PP: range of a transfer, or of another action that computes "
                    "nothing");
    else if (count == 0 || !read_variables(rest, found->op.at))
        pp_skip_add(&r->notes, 0,
                    "a ppsim: range that does not look like 'ppsim:3F7 tokens=4096', or has an "
                    "unknown variable");
    else {
        found->op.kind = (pp_op_kind)ops[0].kind;
        found->op.stage = ops[0].stage;
        found->holds_waits = torch;
        return true;
    }
    return false;
}

static pp_status take_receive(reader *r, const pp_event *e, pp_err *err)
{
    const double end_us = e->begin_us + e->duration_us;
    if (!(e->duration_us >= 0) || !isfinite(end_us))
        return PP_OK;
    receive *new = add_receive(r, err);
    if (new)
        *new = (receive){ e->begin_us, end_us,
                          pp_hash_bytes(PP_HASH_START, e->process.at, e->process.bytes) };
    return new ? PP_OK : PP_NOMEM;
}

static pp_status take_range(reader *r, const pp_event *e, pp_err *err)
{
    const double us = e->duration_us;
    if (pp_span_begins(e->name, "gloo:recv"))
        return take_receive(r, e, err);
    pp_sample blank = pp_sample_of(0);
    range found = { .begin_us = e->begin_us,
                    .end_us = e->begin_us + us,
                    .process = pp_hash_bytes(PP_HASH_START, e->process.at, e->process.bytes) };
    memcpy(found.op.at, blank.at, sizeof blank.at);
    if (!read_name(r, e->name, &found))
        return PP_OK;
    if (!(us > 0) || !(us < 1e12) || !isfinite(found.end_us)) {
        pp_skip_add(&r->notes, 0, "an op whose duration is 0, negative or more than 10 days");
        return PP_OK;
    }
    range *new = add_range(r, err);
    if (new)
        *new = found;
    return new ? PP_OK : PP_NOMEM;
}

static pp_status take_kernel(reader *r, const pp_event *e, pp_err *err)
{
    if (pp_span_begins(e->name, "nccl")) {
        pp_skip_add(&r->notes, 0, "a kernel of NCCL: a transfer");
        return PP_OK;
    }
    if (isnan(e->correlation) || !(e->duration_us >= 0) || !(e->duration_us < 1e12)) {
        pp_skip_add(&r->notes, 0, "a kernel without correlation or duration");
        return PP_OK;
    }
    kernel *new = add_kernel(r, err);
    if (new)
        *new = (kernel){ e->correlation, e->duration_us };
    return new ? PP_OK : PP_NOMEM;
}

static pp_status take_launch(reader *r, const pp_event *e, pp_err *err)
{
    if (isnan(e->correlation) || isnan(e->begin_us))
        return PP_OK;
    launch *new = add_launch(r, err);
    if (new)
        *new = (launch){ e->correlation, e->begin_us,
                         pp_hash_bytes(PP_HASH_START, e->process.at, e->process.bytes) };
    return new ? PP_OK : PP_NOMEM;
}

static pp_status take_event(void *context, const pp_event *e, pp_err *err)
{
    static const struct {
        const char *category;
        pp_status (*take)(reader *r, const pp_event *e, pp_err *err);
    } takers[] = {
        { "user_annotation", take_range }, { "cpu_op", take_range },
        { "kernel", take_kernel },         { "Kernel", take_kernel },
        { "cuda_runtime", take_launch },   { "cuda_driver", take_launch },
        { "Runtime", take_launch },
    };
    reader *r = context;
    if (r->range_count + r->receive_count + r->launch_count + r->kernel_count >= EVENTS_MAX)
        return pp_err_set(err, PP_INPUT, r->file, "has too many events; record fewer steps");
    for (size_t i = 0; i < sizeof takers / sizeof takers[0] && pp_span_is(e->phase, "X"); i++) {
        if (pp_span_is(e->category, takers[i].category))
            return takers[i].take(r, e, err);
    }
    return PP_OK;
}

/* Takes the name of the first device from "deviceProperties": [{"id": 0, "name": "NVIDIA H200",
 * ...},
 * ...]. */
static pp_status take_member(void *context, const pp_event_member *member, pp_err *err)
{
    reader *r = context;
    pp_span key;
    pp_span name;
    (void)err;
    if (!pp_span_is(member->key, "deviceProperties") || *member->value.at != '[')
        return PP_OK;
    pp_json_stream s = pp_json_stream_of(member->value.at, member->value.bytes);
    (void)pp_json_stream_enter(&s, '[');
    while (pp_json_stream_item(&s)) {
        if (pp_json_stream_peek(&s) != PP_TOKEN_OBJECT) {
            (void)pp_json_stream_skip(&s);
            continue;
        }
        (void)pp_json_stream_enter(&s, '{');
        while (pp_json_stream_key(&s, &key)) {
            if (!pp_span_is(key, "name"))
                (void)pp_json_stream_skip(&s);
            else if (pp_json_stream_if_text(&s, &name) && !r->device[0])
                pp_span_copy(name, r->device, sizeof r->device);
        }
    }
    return PP_OK;
}

static int compare_launches(const void *left, const void *right)
{
    const launch *a = left;
    const launch *b = right;
    return (a->correlation > b->correlation) - (a->correlation < b->correlation);
}

static int compare_ranges(const void *left, const void *right)
{
    const range *a = left;
    const range *b = right;
    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return (a->begin_us > b->begin_us) - (a->begin_us < b->begin_us);
}

static int compare_receives(const void *left, const void *right)
{
    const receive *a = left;
    const receive *b = right;
    return (a->end_us > b->end_us) - (a->end_us < b->end_us);
}

/* Returns the last range of the process that begins before the time and contains it. Threads are
 * not compared, since autograd launches backwards from its own threads. */
static range *range_of(reader *r, uint64_t process, double at_us)
{
    size_t low = 0;
    size_t high = r->range_count;
    while (low < high) { /* finds the first range that begins after the time */
        size_t middle = low + (high - low) / 2;
        const range *m = &r->range[middle];
        bool behind = m->process > process || (m->process == process && m->begin_us > at_us);
        *(behind ? &high : &low) = behind ? middle : middle + 1;
    }
    for (size_t back = 1; back <= low && back <= NESTED_MAX; back++) {
        range *m = &r->range[low - back];
        if (m->process != process)
            return NULL;
        if (at_us <= m->end_us)
            return m;
    }
    return NULL;
}

static void attribute(reader *r)
{
    if (r->launch_count)
        qsort(r->launch, r->launch_count, sizeof *r->launch, compare_launches);
    if (r->range_count)
        qsort(r->range, r->range_count, sizeof *r->range, compare_ranges);
    for (size_t i = 0; i < r->kernel_count; i++) {
        launch wanted = { .correlation = r->kernel[i].correlation };
        const launch *l = r->launch_count ? bsearch(&wanted, r->launch, r->launch_count,
                                                    sizeof wanted, compare_launches)
                                          : NULL;
        range *found = l ? range_of(r, l->process, l->at_us) : NULL;
        if (found) {
            found->kernels_us += r->kernel[i].us;
            found->kernels++;
        } else {
            pp_skip_add(&r->notes, 0, "a kernel that was launched outside of every op");
        }
    }
}

/* Adds up the waits of every range. Receives that are waited for at the same time count once. */
static void attribute_waits(reader *r)
{
    if (r->receive_count)
        qsort(r->receive, r->receive_count, sizeof *r->receive, compare_receives);
    for (size_t i = 0; i < r->receive_count; i++) {
        const receive *e = &r->receive[i];
        range *m = range_of(r, e->process, e->end_us);
        if (!m)
            continue;
        double from_us = fmax(fmax(m->begin_us, m->waited_until_us), e->begin_us);
        m->waited_us += e->end_us - from_us;
        m->waited_until_us = e->end_us;
    }
}

/* Writes the ops that have a time to `ops`, and returns their number. */
static size_t collect(reader *r, pp_trace_op *ops)
{
    size_t count = 0;
    for (size_t i = 0; i < r->range_count; i++) {
        range *m = &r->range[i];
        if (r->kernel_count && !(m->kernels_us > 0)) {
            pp_skip_add(&r->notes, 0, "an op without kernels, though there are kernels");
            continue;
        }
        if (!r->kernel_count && !r->receive_count && m->needs_kernels) {
            pp_skip_add(
                &r->notes, 0,
                "a range 'Forward n' or 'Backward n' without kernels or 'gloo:recv': its time "
                "includes waits");
            continue;
        }
        if (!r->kernel_count)
            pp_skip_add(&r->notes, 0,
                        "no kernel was recorded, so ops get their time on the processor");
        if (!r->kernel_count && !r->receive_count && m->holds_waits)
            pp_skip_add(&r->notes, 0,
                        "a PP: range without kernels or 'gloo:recv' was used: its time includes "
                        "waits for transfers");
        if (isnan(m->op.at[PP_VARIABLE_TOKENS]))
            pp_skip_add(&r->notes, 0, "an op without a number of tokens was used");
        m->op.seconds =
            (r->kernel_count ? m->kernels_us : m->end_us - m->begin_us - m->waited_us) * 1e-6;
        if (m->op.seconds > 0)
            ops[count++] = m->op;
    }
    return count;
}

static pp_status gather(reader *r, const char *file, pp_samples *samples, pp_err *err)
{
    pp_trace_op *ops = pp_alloc_array(r->range_count, sizeof *ops);
    if (!ops)
        return pp_err_nomem(err);
    attribute(r);
    attribute_waits(r);
    size_t count = collect(r, ops);
    pp_status status = pp_trace_ops_gather(ops, count, !r->kernel_count, file, samples, err);
    free(ops);
    if (status)
        return status;
    memcpy(samples->device, r->device, sizeof r->device);
    return pp_skips_finish(&r->notes, file,
                           "contains no range of an op: 'PP:3F7' (PyTorch's pipeline runtime), "
                           "'Forward 7', or record_function(\"ppsim:3F7 tokens=4096\")",
                           samples, err);
}

static bool recognise(const char *text, size_t bytes)
{
    /* A list of all process groups may precede the events. */
    pp_span begin = { text, bytes < 1 << 22 ? bytes : 1 << 22 };
    return pp_span_find(begin, "\"traceEvents\"") || pp_span_find(begin, "\"schemaVersion\"");
}

static pp_status read(const char *text, size_t bytes, const char *file, pp_samples *samples,
                      pp_err *err)
{
    reader r PP_CLEANUP(free_reader) = { .file = file };
    const pp_events_visitor visitor = { take_event, take_member, &r };
    pp_status status = pp_events_parse(text, bytes, file, &visitor, err);
    return status ? status : gather(&r, file, samples, err);
}

const pp_import pp_import_kineto = {
    .name = "kineto",
    .summary = "recordings of PyTorch's profiler: times of F, B, I and W per stage",
    .recognise = recognise,
    .read = read,
};
