/* Reads timelines as quantities, event by event: Chrome traces of ppsim to the nanosecond,
 * recordings of profilers by their ops. */
#include "tools/ppsim/compare/timeline.h"

#include "calib/import/import_read.h"
#include "sim/base/alloc.h"
#include "traces/read/events.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MICROSECONDS_MAX 9.0e12 /* up to this many microseconds a double resolves a nanosecond */
#define RANKS_MAX 65536

typedef struct slice {
    const char *name, *category;
    int64_t rank;
    double begin_ns, ns;
} slice;

/* The sums over the ops of a step. */
typedef struct sums {
    double busy_ns[RANKS_MAX];
    size_t ranks;
    double first_ns, last_ns;
} sums;

static void free_sums(sums **s)
{
    free(*s);
}

/* Reads a complete event (phase X). `is_slice_out` receives false for an event of another phase. */
static pp_status read_slice(const pp_json_at *event, slice *s, bool *is_slice_out, pp_err *err)
{
    const char *phase = NULL;
    double begin_us = 0;
    double us = 0;
    pp_status status = pp_json_get_text(event, "ph", &phase, err);
    *is_slice_out = !status && strcmp(phase, "X") == 0;
    if (!*is_slice_out)
        return status;
    if ((status = pp_json_get_text(event, "name", &s->name, err)) ||
        (status = pp_json_get_text(event, "cat", &s->category, err)) ||
        (status = pp_json_get_int(event, "pid", 0, RANKS_MAX - 1, &s->rank, err)) ||
        (status = pp_json_get_double(event, "ts", 0, MICROSECONDS_MAX, &begin_us, err)) ||
        (status = pp_json_get_double(event, "dur", 0, MICROSECONDS_MAX, &us, err)))
        return status;
    s->begin_ns = nearbyint(begin_us * 1000);
    s->ns = nearbyint(us * 1000);
    return PP_OK;
}

static pp_status add_time(pp_compare_file *file, const char *name, const char *place, double ns,
                          pp_err *err)
{
    pp_quantity *item = NULL;
    const pp_metric *metric = pp_metric_find(PP_COMPARE_TIMELINE, name);
    pp_status status = pp_compare_add(file, metric, place, ns, &item, err);
    if (!status)
        item->measured = file->measured;
    return status;
}

static pp_status add_slice(const slice *s, pp_compare_file *file, sums *sum, pp_err *err)
{
    char place[160];
    bool op = strcmp(s->category, "compute") == 0;
    double end_ns = s->begin_ns + s->ns;
    if (strcmp(s->category, "idle") == 0) /* the rest of the time is idle */
        return PP_OK;
    snprintf(place, sizeof place, "%.100s of rank %" PRId64, s->name, s->rank);
    if (op) {
        sum->first_ns = !sum->ranks || s->begin_ns < sum->first_ns ? s->begin_ns : sum->first_ns;
        sum->last_ns = end_ns > sum->last_ns ? end_ns : sum->last_ns;
        sum->ranks = (size_t)s->rank >= sum->ranks ? (size_t)s->rank + 1 : sum->ranks;
        sum->busy_ns[s->rank] += s->ns;
    }
    return add_time(file, op ? "op" : "transfer", place, s->ns, err);
}

typedef struct reader {
    pp_compare_file *file;
    sums *sum;
} reader;

static pp_status take_event(void *context, const pp_event *event, pp_err *err)
{
    reader *r = context;
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    char place[256];
    slice s;
    bool is_slice = false;
    pp_event_place(r->file->name, event, place, sizeof place);
    pp_status status = pp_json_parse(event->text.at, event->text.bytes, place, &json, err);
    if (status)
        return status;
    const pp_json_at at = pp_json_root(json, place);
    status = read_slice(&at, &s, &is_slice, err);
    return status || !is_slice ? status : add_slice(&s, r->file, r->sum, err);
}

static pp_status take_member(void *context, const pp_event_member *member, pp_err *err)
{
    (void)context;
    (void)member;
    (void)err;
    return PP_OK;
}

static pp_status read_ours(const char *text, size_t bytes, pp_compare_file *file, pp_err *err)
{
    sums *sum PP_CLEANUP(free_sums) = pp_alloc_array(1, sizeof *sum);
    if (!sum)
        return pp_err_nomem(err);
    reader r = { file, sum };
    const pp_events_visitor visitor = { take_event, take_member, &r };
    pp_status status = pp_events_parse(text, bytes, file->name, &visitor, err);
    if (!status && !sum->ranks)
        return pp_err_set(err, PP_INPUT, file->name, "has no op");
    for (size_t k = 0; k < sum->ranks && !status; k++) {
        char place[32];
        snprintf(place, sizeof place, "rank %zu", k);
        status = add_time(file, "busy", place, sum->busy_ns[k], err);
    }
    return status ? status : add_time(file, "makespan", "", sum->last_ns - sum->first_ns, err);
}

static pp_status add_sample(const pp_series *series, const pp_sample *sample, pp_compare_file *file,
                            pp_err *err)
{
    char place[160];
    pp_quantity *item = NULL;
    pp_compare_sample_name(series->class_name, series, sample, place, sizeof place);
    pp_status status = pp_compare_add(file, pp_metric_find(PP_COMPARE_TIMELINE, "recorded-op"),
                                      place, sample->seconds * 1e9, &item, err);
    if (status)
        return status;
    item->measured = true;
    item->spread = sample->repeats >= PP_COMPARE_REPEATS;
    item->low = item->spread ? sample->p10_s * 1e9 : item->value;
    item->high = item->spread ? sample->p90_s * 1e9 : item->value;
    return PP_OK;
}

/* Reads a recording of a profiler: the medians over all steps, by stage and kind of op. */
static pp_status read_recording(const char *text, size_t bytes, pp_compare_file *file, pp_err *err)
{
    const pp_import *import = NULL;
    pp_samples samples PP_CLEANUP(pp_samples_free) = { 0 };
    pp_status status = pp_import_get("kineto", &import, err);
    file->measured = true;
    if (status || (status = pp_import_read(import, text, bytes, file->name, &samples, err)))
        return status;
    for (size_t i = 0; i < samples.count; i++) {
        for (size_t k = 0; k < samples.series[i].count && !status; k++)
            status = add_sample(&samples.series[i], &samples.series[i].sample[k], file, err);
    }
    return status;
}

/* Reads "otherData" of ppsim's own traces. */
static pp_status read_about(pp_span about, pp_compare_file *file, bool *ours_out, pp_err *err)
{
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    const char *producer = "";
    const char *times = "";
    char place[256];
    snprintf(place, sizeof place, "%.200s, otherData", file->name);
    pp_status status = pp_json_parse(about.at, about.bytes, place, &json, err);
    if (status)
        return status;
    const pp_json_at at = pp_json_root(json, place);
    if ((pp_json_has(&at, "producer") &&
         (status = pp_json_get_text(&at, "producer", &producer, err))) ||
        (pp_json_has(&at, "times") && (status = pp_json_get_text(&at, "times", &times, err))))
        return status;
    *ours_out = strcmp(producer, "ppsim") == 0;
    file->measured = strcmp(times, "measured") == 0;
    return PP_OK;
}

pp_status pp_compare_read_timeline(const char *text, size_t bytes, pp_compare_file *file,
                                   pp_err *err)
{
    pp_span about;
    bool ours = false;
    pp_status status = PP_OK;
    if (pp_events_find(text, bytes, "otherData", &about))
        status = read_about(about, file, &ours, err);
    if (status)
        return status;
    return ours ? read_ours(text, bytes, file, err) : read_recording(text, bytes, file, err);
}
