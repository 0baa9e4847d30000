/* Recordings of PyTorch's profiler (Kineto): the Trace Event JSON of export_chrome_trace.
 * An op is a range that has a name: PyTorch 2.13's pipeline runtime calls its ranges "PP:3F7"
 * (torch/distributed/pipelining/schedules.py, _get_profiler_function_name), its schedules of one
 * stage per rank "Forward 7" and "Backward 7"; anybody may record "ppsim:3F7 tokens=4096".
 * Where kernels were recorded, an op takes the sum of the kernels that were launched within it,
 * those of NCCL left out; otherwise the range itself. */
#include "calib/import/common/json_scan.h"
#include "calib/import/common/skips.h"
#include "calib/import/common/trace_ops.h"
#include "calib/import/import.h"
#include "sim/base/alloc.h"
#include "sim/base/hash.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS_MAX = 1 << 26, NESTED_MAX = 64 };

typedef struct range {
    double begin_us, end_us;
    uint64_t process;
    bool needs_kernels; /* its own duration holds waits: not taken without kernels */
    bool holds_waits;   /* taken without kernels, with a note */
    pp_trace_op op;
    double kernels_us;
    size_t kernels;
} range;

typedef struct launch {
    double correlation, at_us;
    uint64_t process;
} launch;

typedef struct kernel {
    double correlation, us;
} kernel;

/* What is looked at of an event. */
typedef struct event {
    pp_span phase, category, name;
    double begin_us, us, correlation;
    uint64_t process;
} event;

typedef struct reader {
    const char *file;
    range *range;
    size_t ranges, range_capacity;
    launch *launch;
    size_t launches, launch_capacity;
    kernel *kernel;
    size_t kernels, kernel_capacity;
    char device[128];
    pp_skips notes;
    pp_status status; /* of what went wrong beside syntax */
    pp_err *err;
} reader;

static void free_reader(reader *r)
{
    free(r->range);
    free(r->launch);
    free(r->kernel);
    pp_skips_free(&r->notes);
}

static bool add(reader *r, void **array, size_t *capacity, size_t count, size_t size)
{
    if (!r->status && count >= EVENTS_MAX)
        r->status =
            pp_err_set(r->err, PP_INPUT, r->file, "has too many events; record fewer steps");
    if (!r->status)
        r->status = pp_reserve(array, capacity, count + 1, size, r->err);
    return r->status == PP_OK;
}

static void add_range(reader *r, const range *value)
{
    void *all = r->range;
    if (!add(r, &all, &r->range_capacity, r->ranges, sizeof *value))
        return;
    r->range = all;
    r->range[r->ranges++] = *value;
}

static void add_launch(reader *r, const launch *value)
{
    void *all = r->launch;
    if (!add(r, &all, &r->launch_capacity, r->launches, sizeof *value))
        return;
    r->launch = all;
    r->launch[r->launches++] = *value;
}

static void add_kernel(reader *r, const kernel *value)
{
    void *all = r->kernel;
    if (!add(r, &all, &r->kernel_capacity, r->kernels, sizeof *value))
        return;
    r->kernel = all;
    r->kernel[r->kernels++] = *value;
}

/* "tokens=4096 square_sum=1e6" into the variables; false when it is anything else. */
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

/* A schedule of one stage per rank does not say which stage it is. */
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
                    "a ppsim: range that is not as in 'ppsim:3F7 tokens=4096' (or has a variable "
                    "that is not known)");
    else {
        found->op.kind = (pp_op_kind)ops[0].kind;
        found->op.stage = ops[0].stage;
        found->holds_waits = torch;
        return true;
    }
    return false;
}

static void take_range(reader *r, const event *e)
{
    pp_sample blank = pp_sample_of(0);
    range found = { .begin_us = e->begin_us, .end_us = e->begin_us + e->us, .process = e->process };
    memcpy(found.op.at, blank.at, sizeof blank.at);
    if (!read_name(r, e->name, &found))
        return;
    if (!(e->us > 0) || !(e->us < 1e12) || !isfinite(found.end_us))
        pp_skip_add(&r->notes, 0, "an op whose duration is not above 0, or more than 10 days");
    else
        add_range(r, &found);
}

static void take_event(reader *r, const event *e)
{
    if (!pp_span_is(e->phase, "X"))
        return;
    if (pp_span_is(e->category, "user_annotation") || pp_span_is(e->category, "cpu_op")) {
        take_range(r, e);
    } else if (pp_span_is(e->category, "kernel") || pp_span_is(e->category, "Kernel")) {
        if (pp_span_begins(e->name, "nccl"))
            pp_skip_add(&r->notes, 0, "a kernel of NCCL: a transfer");
        else if (isnan(e->correlation) || !(e->us >= 0) || !(e->us < 1e12))
            pp_skip_add(&r->notes, 0, "a kernel without correlation or duration");
        else
            add_kernel(r, &(kernel){ e->correlation, e->us });
    } else if (pp_span_is(e->category, "cuda_runtime") || pp_span_is(e->category, "cuda_driver") ||
               pp_span_is(e->category, "Runtime")) {
        if (!isnan(e->correlation) && !isnan(e->begin_us))
            add_launch(r, &(launch){ e->correlation, e->begin_us, e->process });
    }
}

/* A process is a number or a text; as it stands in the file. */
static void scan_process(pp_scan *scan, uint64_t *process)
{
    pp_scan_kind kind = pp_scan_peek(scan);
    const char *from = scan->at;
    if (kind != PP_SCAN_NONE && pp_scan_skip(scan))
        *process = pp_hash_bytes(PP_HASH_START, from, (size_t)(scan->at - from));
}

static void scan_args(pp_scan *scan, event *e)
{
    pp_span key;
    bool first = true;
    if (pp_scan_peek(scan) != PP_SCAN_OBJECT || !pp_scan_enter(scan, '{')) {
        (void)pp_scan_skip(scan);
        return;
    }
    while (pp_scan_key(scan, &first, &key)) {
        if (pp_span_is(key, "correlation"))
            (void)pp_scan_if_number(scan, &e->correlation);
        else
            (void)pp_scan_skip(scan);
    }
}

static void scan_event(reader *r, pp_scan *scan)
{
    event e = { .begin_us = (double)NAN, .us = (double)NAN, .correlation = (double)NAN };
    pp_span key;
    bool first = true;
    e.phase = e.category = e.name = (pp_span){ "", 0 };
    if (pp_scan_peek(scan) != PP_SCAN_OBJECT || !pp_scan_enter(scan, '{')) {
        (void)pp_scan_skip(scan);
        return;
    }
    while (pp_scan_key(scan, &first, &key)) {
        if (pp_span_is(key, "ph"))
            (void)pp_scan_if_text(scan, &e.phase);
        else if (pp_span_is(key, "cat"))
            (void)pp_scan_if_text(scan, &e.category);
        else if (pp_span_is(key, "name"))
            (void)pp_scan_if_text(scan, &e.name);
        else if (pp_span_is(key, "ts"))
            (void)pp_scan_if_number(scan, &e.begin_us);
        else if (pp_span_is(key, "dur"))
            (void)pp_scan_if_number(scan, &e.us);
        else if (pp_span_is(key, "pid"))
            scan_process(scan, &e.process);
        else if (pp_span_is(key, "args"))
            scan_args(scan, &e);
        else
            (void)pp_scan_skip(scan);
    }
    if (!scan->fault)
        take_event(r, &e);
}

static void scan_events(reader *r, pp_scan *scan)
{
    bool first = true;
    if (!pp_scan_enter(scan, '['))
        return;
    while (!r->status && pp_scan_item(scan, &first))
        scan_event(r, scan);
}

/* [{"id": 0, "name": "NVIDIA H200", ...}, ...] */
static void scan_devices(reader *r, pp_scan *scan)
{
    bool first = true;
    pp_span key;
    pp_span name;
    if (pp_scan_peek(scan) != PP_SCAN_ARRAY || !pp_scan_enter(scan, '[')) {
        (void)pp_scan_skip(scan);
        return;
    }
    while (pp_scan_item(scan, &first)) {
        bool first_key = true;
        if (pp_scan_peek(scan) != PP_SCAN_OBJECT) {
            (void)pp_scan_skip(scan);
            continue;
        }
        (void)pp_scan_enter(scan, '{');
        while (pp_scan_key(scan, &first_key, &key)) {
            if (!pp_span_is(key, "name"))
                (void)pp_scan_skip(scan);
            else if (pp_scan_if_text(scan, &name) && !r->device[0])
                pp_span_copy(name, r->device, sizeof r->device);
        }
    }
}

static void scan_document(reader *r, pp_scan *scan)
{
    bool first = true;
    pp_span key;
    if (pp_scan_peek(scan) == PP_SCAN_ARRAY) {
        scan_events(r, scan);
    } else if (pp_scan_enter(scan, '{')) {
        while (!r->status && pp_scan_key(scan, &first, &key)) {
            if (pp_span_is(key, "traceEvents"))
                scan_events(r, scan);
            else if (pp_span_is(key, "deviceProperties"))
                scan_devices(r, scan);
            else
                (void)pp_scan_skip(scan);
        }
    }
    if (!r->status)
        (void)pp_scan_end(scan);
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

/* The last range of the process that begins before the launch and holds it. Backwards are launched
 * by threads of autograd, so that threads say nothing. */
static range *range_of(reader *r, const launch *l)
{
    size_t low = 0;
    size_t high = r->ranges;
    while (low < high) { /* the first that begins behind it */
        size_t middle = low + (high - low) / 2;
        const range *m = &r->range[middle];
        bool behind =
            m->process > l->process || (m->process == l->process && m->begin_us > l->at_us);
        *(behind ? &high : &low) = behind ? middle : middle + 1;
    }
    for (size_t back = 1; back <= low && back <= NESTED_MAX; back++) {
        range *m = &r->range[low - back];
        if (m->process != l->process)
            return NULL;
        if (l->at_us <= m->end_us)
            return m;
    }
    return NULL;
}

static void attribute(reader *r)
{
    if (r->launches)
        qsort(r->launch, r->launches, sizeof *r->launch, compare_launches);
    if (r->ranges)
        qsort(r->range, r->ranges, sizeof *r->range, compare_ranges);
    for (size_t i = 0; i < r->kernels; i++) {
        launch wanted = { .correlation = r->kernel[i].correlation };
        const launch *l =
            r->launches ? bsearch(&wanted, r->launch, r->launches, sizeof wanted, compare_launches)
                        : NULL;
        range *found = l ? range_of(r, l) : NULL;
        if (found) {
            found->kernels_us += r->kernel[i].us;
            found->kernels++;
        } else {
            pp_skip_add(&r->notes, 0, "a kernel that was launched outside of every op");
        }
    }
}

/* The ops that have a time, at the front of ops_out. */
static size_t collect(reader *r, pp_trace_op *ops)
{
    size_t count = 0;
    for (size_t i = 0; i < r->ranges; i++) {
        range *m = &r->range[i];
        if (r->kernels && !(m->kernels_us > 0)) {
            pp_skip_add(&r->notes, 0, "an op without kernels, though there are kernels");
            continue;
        }
        if (!r->kernels && m->needs_kernels) {
            pp_skip_add(
                &r->notes, 0,
                "a range 'Forward n' or 'Backward n' without kernels: its time holds waits");
            continue;
        }
        if (!r->kernels)
            pp_skip_add(&r->notes, 0, "no kernel was recorded: an op takes the processor's time");
        if (!r->kernels && m->holds_waits)
            pp_skip_add(&r->notes, 0,
                        "a PP: range taken without kernels: its time holds waits for transfers");
        if (isnan(m->op.at[PP_VARIABLE_TOKENS]))
            pp_skip_add(&r->notes, 0, "an op taken though its tokens are not said");
        m->op.seconds = (r->kernels ? m->kernels_us : m->end_us - m->begin_us) * 1e-6;
        if (m->op.seconds > 0)
            ops[count++] = m->op;
    }
    return count;
}

static pp_status gather(reader *r, const char *file, pp_samples *samples, pp_err *err)
{
    pp_trace_op *ops = pp_alloc_array(r->ranges, sizeof *ops);
    if (!ops)
        return pp_err_nomem(err);
    attribute(r);
    size_t count = collect(r, ops);
    pp_status status = pp_trace_ops_gather(ops, count, !r->kernels, file, samples, err);
    free(ops);
    if (status)
        return status;
    memcpy(samples->device, r->device, sizeof r->device);
    return pp_skips_finish(&r->notes, file,
                           "holds no range of an op: 'PP:3F7' (PyTorch's pipeline runtime), "
                           "'Forward 7', or record_function(\"ppsim:3F7 tokens=4096\")",
                           samples, err);
}

static bool recognise(const char *text, size_t bytes)
{
    /* Behind what may be a list of all process groups. */
    pp_span begin = { text, bytes < 1 << 22 ? bytes : 1 << 22 };
    return pp_span_find(begin, "\"traceEvents\"") || pp_span_find(begin, "\"schemaVersion\"");
}

static pp_status read(const char *text, size_t bytes, const char *file, pp_samples *samples,
                      pp_err *err)
{
    reader r PP_CLEANUP(free_reader) = { .file = file, .err = err };
    pp_scan scan = pp_scan_of(text, bytes);
    scan_document(&r, &scan);
    if (r.status)
        return r.status;
    pp_status status = pp_scan_check(&scan, file, err);
    return status ? status : gather(&r, file, samples, err);
}

const pp_import pp_import_kineto = {
    .name = "kineto",
    .summary = "recordings of PyTorch's profiler: F, B, I and W per stage",
    .recognise = recognise,
    .read = read,
};
