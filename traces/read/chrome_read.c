/* Reads the traces that traces/format/chrome.c writes, from a JSON tree: ops, idle time, transfers
 * and samples of memory. Other events are left out. */
#include "traces/read/chrome_read.h"
#include "sim/base/field.h"

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

bool pp_chrome_recognise(const pp_json_at *root)
{
    return pp_json_kind_at(root) == PP_JSON_OBJECT && pp_json_has(root, "traceEvents");
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

static pp_status read_event(const pp_json_at *event, pp_track *track, pp_err *err)
{
    if (has_text(event, "ph", "C") && has_text(event, "name", "memory (bytes)"))
        return read_sample(event, track, err);
    if (!has_text(event, "ph", "X"))
        return PP_OK;
    if (has_text(event, "cat", "compute"))
        return read_op(event, track, err);
    if (has_text(event, "cat", "idle"))
        return read_gap(event, track, err);
    return has_text(event, "cat", "send") ? read_transfer(event, track, err) : PP_OK;
}

/* Reads the name, such as "zbv, executor ideal", from the data of the trace. */
static pp_status read_name(const pp_json_at *root, pp_track *track, pp_err *err)
{
    pp_json_at data;
    const char *schedule = "";
    const char *framework = "";
    if (!pp_json_has(root, "otherData"))
        return PP_OK;
    pp_status status = pp_json_get(root, "otherData", &data, err);
    if (!status && pp_json_has(&data, "schedule"))
        status = pp_json_get_text(&data, "schedule", &schedule, err);
    if (!status && pp_json_has(&data, "executor"))
        status = pp_json_get_text(&data, "executor", &framework, err);
    if (!status)
        snprintf(track->name, sizeof track->name, "%.64s%s%.64s", schedule,
                 *framework ? ", executor " : "", framework);
    return status;
}

pp_status pp_chrome_read(const pp_json_at *root, pp_track *track_out, pp_err *err)
{
    pp_track track PP_CLEANUP(pp_track_free) = { 0 };
    pp_json_at events;
    size_t count = 0;
    pp_status status = read_name(root, &track, err);
    if (status || (status = pp_json_get(root, "traceEvents", &events, err)) ||
        (status = pp_json_count(&events, &count, err)))
        return status;
    for (size_t i = 0; i < count && !status; i++) {
        pp_json_at event;
        status = pp_json_item(&events, i, &event, err);
        if (!status)
            status = read_event(&event, &track, err);
    }
    if (!status && !track.box_count)
        status = pp_json_fail(&events, err, "contains no compute ops; give a trace that %s wrote",
                              pp_err_name(err, PP_FIELD_CHROME_WRITER));
    if (status || (status = pp_track_finish(&track, err)))
        return status;
    *track_out = track;
    track = (pp_track){ 0 }; /* the caller owns it now */
    return PP_OK;
}
