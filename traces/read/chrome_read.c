/* Reads the traces that traces/format/chrome.c writes, event by event: ops, idle time, transfers
 * and samples of memory. Other events are passed over. Linear in the text. */
#include "traces/read/chrome_read.h"

#include "sim/base/field.h"
#include "sim/base/json.h"
#include "sim/base/text.h"
#include "traces/read/events.h"

#include <stdio.h>
#include <string.h>

#define SECONDS_MAX 1e6 /* the longest trace */
#define US_MAX (SECONDS_MAX * 1e6)

static bool has_text(const pp_json_at *object, const char *key, const char *wanted)
{
    pp_json_at at;
    const char *text;
    return pp_json_has(object, key) && !pp_json_get(object, key, &at, NULL) &&
           pp_json_kind_at(&at) == PP_JSON_TEXT && !pp_json_read_text(&at, &text, NULL) &&
           strcmp(text, wanted) == 0;
}

bool pp_chrome_recognise(const char *text, size_t bytes)
{
    pp_span events;
    return pp_events_find(text, bytes, "traceEvents", &events);
}

typedef struct reader {
    const char *file;
    pp_track track;
} reader;

static void free_reader(reader *r)
{
    pp_track_free(&r->track);
}

/* Reads a time in microseconds, whose three decimals are whole nanoseconds. */
static pp_status read_time(const pp_json_at *event, const char *key, pp_ns *ns_out, pp_err *err)
{
    double us = 0;
    pp_status status = pp_json_get_double(event, key, 0, US_MAX, &us, err);
    return status ? status : pp_ns_from_seconds(us * 1e-6, key, ns_out, err);
}

static pp_status read_slice(const pp_json_at *event, uint32_t *rank_out, pp_ns *start_out,
                            pp_ns *end_out, pp_err *err)
{
    int64_t rank = 0;
    pp_ns duration_ns = 0;
    pp_status status = pp_json_get_int(event, "pid", 0, PP_RANKS_MAX - 1, &rank, err);
    if (status || (status = read_time(event, "ts", start_out, err)) ||
        (status = read_time(event, "dur", &duration_ns, err)))
        return status;
    *rank_out = (uint32_t)rank;
    *end_out = *start_out + duration_ns;
    return PP_OK;
}

static pp_status read_op(const pp_json_at *event, pp_track *track, pp_err *err)
{
    const char *name = "";
    pp_json_at at;
    pp_box *box = pp_track_add_box(track, err);
    if (!box)
        return PP_NOMEM;
    pp_status status = read_slice(event, &box->rank, &box->start_ns, &box->end_ns, err);
    if (status || (status = pp_json_get_text(event, "name", &name, err)) ||
        (status = pp_json_get(event, "name", &at, err)))
        return status;
    if (!pp_op_parse(name, strlen(name), &box->op))
        return pp_json_fail(&at, err,
                            "'%.32s' is not an op such as 3F7; give a trace that %s wrote", name,
                            pp_err_name(err, PP_FIELD_TRACE_WRITERS));
    return PP_OK;
}

static pp_status read_gap(const pp_json_at *event, pp_track *track, pp_err *err)
{
    pp_json_at at;
    pp_gap *gap = pp_track_add_gap(track, err);
    if (!gap)
        return PP_NOMEM;
    pp_status status = read_slice(event, &gap->rank, &gap->start_ns, &gap->end_ns, err);
    if (status || (status = pp_json_get(event, "name", &at, err)))
        return status;
    for (int cause = 0; cause < PP_IDLE_COUNT; cause++) {
        gap->cause = (pp_idle_cause)cause;
        if (has_text(event, "name", pp_idle_key(gap->cause)))
            return PP_OK;
    }
    return pp_json_fail(&at, err, "is not a cause of idle time: data, buffer, link, host or sync");
}

/* Reads "3UNSHARD" or "3REDUCE_GRAD". */
static pp_status read_sharding(const pp_json_at *event, pp_track *track, pp_err *err)
{
    const char *name = "";
    pp_json_at details;
    int64_t stage = 0;
    pp_sharding_span *span = pp_track_add_sharding(track, err);
    if (!span)
        return PP_NOMEM;
    pp_status status = read_slice(event, &span->rank, &span->start_ns, &span->end_ns, err);
    if (status || (status = pp_json_get_text(event, "name", &name, err)) ||
        (status = pp_json_get(event, "args", &details, err)) ||
        (status = pp_json_get_int(&details, "stage", 0, PP_STAGES_MAX - 1, &stage, err)))
        return status;
    span->stage = (uint16_t)stage;
    span->reduces = strstr(name, "REDUCE") != NULL;
    return PP_OK;
}

/* Reads a transfer such as "3SEND_F7"; the letter says whether it carries an output or a gradient.
 */
static pp_status read_transfer(const pp_json_at *event, pp_track *track, pp_err *err)
{
    const char *name = "";
    pp_json_at details;
    int64_t stage = 0;
    int64_t microbatch = 0;
    int64_t peer = 0;
    pp_recorded_transfer *transfer = pp_track_add_transfer(track, err);
    if (!transfer)
        return PP_NOMEM;
    pp_status status =
        read_slice(event, &transfer->from, &transfer->start_ns, &transfer->end_ns, err);
    if (status || (status = pp_json_get_text(event, "name", &name, err)) ||
        (status = pp_json_get(event, "args", &details, err)) ||
        (status = pp_json_get_int(&details, "stage", 0, PP_STAGES_MAX - 1, &stage, err)) ||
        (status = pp_json_get_int(&details, "microbatch", 0, PP_MICROBATCHES_MAX - 1, &microbatch,
                                  err)) ||
        (status = pp_json_get_int(&details, "peer", 0, PP_RANKS_MAX - 1, &peer, err)))
        return status;
    transfer->stage = (uint16_t)stage;
    transfer->microbatch = (uint32_t)microbatch;
    transfer->to = (uint32_t)peer;
    transfer->forward = strstr(name, "SEND_F") != NULL;
    return PP_OK;
}

static pp_status read_sample(const pp_json_at *event, pp_track *track, pp_err *err)
{
    int64_t rank = 0;
    pp_json_at details;
    pp_memory_sample_row *sample = pp_track_add_sample(track, err);
    if (!sample)
        return PP_NOMEM;
    pp_status status = pp_json_get_int(event, "pid", 0, PP_RANKS_MAX - 1, &rank, err);
    if (status || (status = read_time(event, "ts", &sample->at_ns, err)) ||
        (status = pp_json_get(event, "args", &details, err)))
        return status;
    sample->rank = (uint32_t)rank;
    for (int c = 0; c < PP_MEMORY_COUNT && !status; c++) {
        const char *key = pp_memory_key((pp_memory_component)c);
        if (pp_json_has(&details, key))
            status = pp_json_get_int(&details, key, 0, PP_BYTES_MAX, &sample->bytes[c], err);
    }
    return status;
}

static pp_status read_event(const pp_event *event, const pp_json_at *at, pp_track *track,
                            pp_err *err)
{
    if (pp_span_is(event->phase, "C"))
        return read_sample(at, track, err);
    return pp_span_is(event->category, "compute")    ? read_op(at, track, err)
           : pp_span_is(event->category, "idle")     ? read_gap(at, track, err)
           : pp_span_is(event->category, "sharding") ? read_sharding(at, track, err)
                                                     : read_transfer(at, track, err);
}

static pp_status take_event(void *context, const pp_event *event, pp_err *err)
{
    reader *r = context;
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    char place[256];
    const bool sample = pp_span_is(event->phase, "C") && pp_span_is(event->name, "memory (bytes)");
    const bool slice =
        pp_span_is(event->phase, "X") &&
        (pp_span_is(event->category, "compute") || pp_span_is(event->category, "idle") ||
         pp_span_is(event->category, "sharding") || pp_span_is(event->category, "send"));
    if (!sample && !slice)
        return PP_OK;
    pp_event_place(r->file, event, place, sizeof place);
    pp_status status = pp_json_parse(event->text.at, event->text.bytes, place, &json, err);
    if (status)
        return status;
    const pp_json_at at = pp_json_root(json, place);
    return read_event(event, &at, &r->track, err);
}

/* Reads from the data of the trace its name, such as "zbv, executor ideal", and what is trained. */
static pp_status read_name(const pp_json_at *data, pp_track *track, pp_err *err)
{
    const char *schedule = "";
    const char *framework = "";
    const char *trains = "";
    pp_status status = PP_OK;
    if (pp_json_has(data, "schedule"))
        status = pp_json_get_text(data, "schedule", &schedule, err);
    if (!status && pp_json_has(data, "executor"))
        status = pp_json_get_text(data, "executor", &framework, err);
    if (!status && pp_json_has(data, "trains"))
        status = pp_json_get_text(data, "trains", &trains, err);
    snprintf(track->about, sizeof track->about, "%s", trains);
    if (!status)
        snprintf(track->name, sizeof track->name, "%.64s%s%.64s", schedule,
                 *framework ? ", executor " : "", framework);
    return status;
}

static pp_status take_member(void *context, const pp_event_member *member, pp_err *err)
{
    reader *r = context;
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    char place[256];
    if (!pp_span_is(member->key, "otherData"))
        return PP_OK;
    snprintf(place, sizeof place, "%.200s:%zu", r->file, member->line);
    pp_status status = pp_json_parse(member->value.at, member->value.bytes, place, &json, err);
    if (status)
        return status;
    const pp_json_at data = pp_json_root(json, place);
    return read_name(&data, &r->track, err);
}

pp_status pp_chrome_read(const char *text, size_t bytes, const char *file, pp_track *track_out,
                         pp_err *err)
{
    reader r PP_CLEANUP(free_reader) = { .file = file };
    const pp_events_visitor visitor = { take_event, take_member, &r };
    pp_status status = pp_events_parse(text, bytes, file, &visitor, err);
    if (!status && !r.track.box_count)
        status =
            pp_err_set(err, PP_INPUT, file, "contains no compute ops; give a trace that %s wrote",
                       pp_err_name(err, PP_FIELD_CHROME_WRITER));
    if (status || (status = pp_track_finish(&r.track, err)))
        return status;
    *track_out = r.track;
    r.track = (pp_track){ 0 }; /* the caller owns it now */
    return PP_OK;
}
