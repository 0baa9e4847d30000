/* Reads timelines as quantities: Chrome traces of ppsim to the nanosecond, recordings of
 * profilers by their ops. */
#include "tools/ppsim/compare/timeline.h"

#include "calib/import/import_read.h"
#include "sim/base/alloc.h"

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

static pp_status read_ours(const pp_json_at *root, pp_compare_file *file, pp_err *err)
{
    sums *sum PP_CLEANUP(free_sums) = pp_alloc_array(1, sizeof *sum);
    pp_json_at list;
    size_t count = 0;
    if (!sum)
        return pp_err_nomem(err);
    pp_status status = pp_json_get(root, "traceEvents", &list, err);
    if (status || (status = pp_json_count(&list, &count, err)))
        return status;
    for (size_t i = 0; i < count; i++) {
        pp_json_at event;
        slice s;
        bool is_slice = false;
        if ((status = pp_json_item(&list, i, &event, err)) ||
            (status = read_slice(&event, &s, &is_slice, err)) ||
            (is_slice && (status = add_slice(&s, file, sum, err))))
            return status;
    }
    if (!sum->ranks)
        return pp_json_fail(&list, err, "has no op");
    for (size_t r = 0; r < sum->ranks && !status; r++) {
        char place[32];
        snprintf(place, sizeof place, "rank %zu", r);
        status = add_time(file, "busy", place, sum->busy_ns[r], err);
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

pp_status pp_compare_read_timeline(const pp_json_at *root, const char *text, size_t bytes,
                                   pp_compare_file *file, pp_err *err)
{
    pp_json_at about;
    const char *producer = "";
    const char *times = "";
    pp_status status = PP_OK;
    if (pp_json_has(root, "otherData")) {
        if ((status = pp_json_get(root, "otherData", &about, err)))
            return status;
        if (pp_json_has(&about, "producer") &&
            (status = pp_json_get_text(&about, "producer", &producer, err)))
            return status;
        if (pp_json_has(&about, "times") &&
            (status = pp_json_get_text(&about, "times", &times, err)))
            return status;
    }
    if (strcmp(producer, "ppsim") != 0)
        return read_recording(text, bytes, file, err);
    file->measured = strcmp(times, "measured") == 0;
    return read_ours(root, file, err);
}
