#include "traces/read/events_cut.h"

#include "sim/base/alloc.h"
#include "sim/base/file.h"
#include "sim/base/json.h"
#include "traces/read/events.h"
#include "traces/read/gzip.h"
#include "traces/read/recording.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

typedef struct cutter {
    const char *path, *out_path;
    const pp_events_part *part;
    pp_window *window; /* by rank */
    size_t windows;
    bool everywhere; /* one window for all processes */
    gzFile out;
    bool in_events, any_member;
    size_t kept;
} cutter;

static void free_cutter(cutter *c)
{
    free(c->window);
    if (c->out)
        gzclose(c->out);
}

static pp_status put(cutter *c, const char *text, size_t bytes, pp_err *err)
{
    if (bytes == 0 || gzwrite(c->out, text, (unsigned)bytes) == (int)bytes)
        return PP_OK;
    return pp_err_set(err, PP_IO, c->out_path, "%s", errno ? strerror(errno) : "write failed");
}

/* The window of a process that has no op is that of all. */
static bool in_window(const cutter *c, int64_t rank, pp_ns begin_ns, pp_ns end_ns)
{
    pp_window all = { 0, INT64_MAX, INT64_MIN };
    for (size_t i = 0; i < c->windows; i++) {
        const pp_window *w = &c->window[i];
        if (!c->everywhere && w->rank == rank)
            return begin_ns <= w->end_ns && end_ns >= w->begin_ns &&
                   (begin_ns < w->end_ns || begin_ns == end_ns) &&
                   (end_ns > w->begin_ns || begin_ns == end_ns);
        all.begin_ns = w->begin_ns < all.begin_ns ? w->begin_ns : all.begin_ns;
        all.end_ns = w->end_ns > all.end_ns ? w->end_ns : all.end_ns;
    }
    return begin_ns <= all.end_ns && end_ns >= all.begin_ns;
}

static pp_ns ns_at(const pp_json_at *at, const char *key)
{
    pp_ns ns = 0;
    pp_err none = { 0 };
    if (!pp_json_has(at, key) || pp_event_time(at, key, -PP_EVENT_US_MAX, &ns, &none))
        return 0;
    return ns;
}

static bool is_wanted(const cutter *c, const pp_json_at *at)
{
    const pp_events_part *part = c->part;
    char phase[8] = "";
    int64_t rank = -1; /* a process may be a text */
    pp_err none = { 0 };
    if (pp_json_has(at, "pid") && pp_json_get_int(at, "pid", 0, INT64_MAX, &rank, &none))
        rank = -1;
    if (part->rank_low >= 0 && (rank < part->rank_low || rank > part->rank_high))
        return false;
    if (part->step_low < 0 || pp_json_get_name(at, "ph", phase, sizeof phase, &none) ||
        strcmp(phase, "M") == 0)
        return true;
    pp_ns begin_ns = ns_at(at, "ts");
    return in_window(c, rank, begin_ns, begin_ns + ns_at(at, "dur"));
}

static const char *find(const char *text, const char *end, const char *words)
{
    size_t length = strlen(words);
    for (; (size_t)(end - text) >= length && (text = memchr(text, *words, (size_t)(end - text)));
         text++) {
        if ((size_t)(end - text) >= length && memcmp(text, words, length) == 0)
            return text;
    }
    return NULL;
}

/* A number that stands once in the text, without what is behind its dot; false: look closer. */
static bool find_number(const char *text, size_t bytes, const char *key, int64_t *value_out)
{
    const char *end = text + bytes;
    const char *at = find(text, end, key);
    int digits = 0;
    *value_out = 0;
    if (!at || find(at + 1, end, key))
        return false;
    for (at += strlen(key); at < end && (*at == ' ' || *at == ':'); at++)
        continue;
    for (; at < end && *at >= '0' && *at <= '9' && digits < 18; at++, digits++)
        *value_out = 10 * *value_out + (*at - '0');
    return digits && at < end && (*at == ',' || *at == '}' || *at == '.');
}

/* Is it plainly of a rank that is not wanted, or of a later time? Most are, and need not be parsed.
 */
static bool is_elsewhere(const cutter *c, const char *text, size_t bytes)
{
    const pp_events_part *part = c->part;
    int64_t value;
    if (part->rank_low >= 0 && find_number(text, bytes, "\"pid\"", &value) &&
        (value < part->rank_low || value > part->rank_high))
        return true;
    pp_ns end_ns = INT64_MIN;
    for (size_t i = 0; i < c->windows; i++)
        end_ns = c->window[i].end_ns > end_ns ? c->window[i].end_ns : end_ns;
    return c->windows && !find(text, text + bytes, "\"M\"") && /* names have no time */
           find_number(text, bytes, "\"ts\"", &value) && value > end_ns / 1000 + 1;
}

static pp_status take_event(void *context, const char *text, size_t bytes, size_t line, pp_err *err)
{
    cutter *c = context;
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    char place[256];
    if (is_elsewhere(c, text, bytes))
        return PP_OK;
    snprintf(place, sizeof place, "%.200s:%zu", c->path, line);
    pp_status status = pp_json_parse(text, bytes, place, &json, err);
    if (status)
        return status;
    pp_json_at at = pp_json_root(json, place);
    if (!is_wanted(c, &at))
        return PP_OK;
    const char *before = c->in_events    ? ",\n"
                         : c->any_member ? ",\n\"traceEvents\":[\n"
                                         : "\"traceEvents\":[\n";
    c->in_events = true;
    c->kept++;
    status = put(c, before, strlen(before), err);
    return status ? status : put(c, text, bytes, err);
}

static pp_status take_member(void *context, const char *text, size_t bytes, size_t line,
                             pp_err *err)
{
    cutter *c = context;
    (void)line;
    const char *before = c->in_events ? "\n],\n" : c->any_member ? ",\n" : "";
    c->in_events = false;
    c->any_member = true;
    pp_status status = put(c, before, strlen(before), err);
    return status ? status : put(c, text, bytes, err);
}

static pp_status copy(cutter *c, const char *to, pp_err *err)
{
    /* T: as it is, not compressed. */
    const char *mode = pp_gzip_named(c->out_path) ? "wb" : "wbT";
    errno = 0;
    int stdout_copy = strcmp(c->out_path, "-") == 0 ? dup(STDOUT_FILENO) : -1;
    c->out = stdout_copy >= 0 ? gzdopen(stdout_copy, mode) : gzopen(to, mode);
    if (!c->out)
        return errno ? pp_err_set(err, PP_IO, to, "%s", strerror(errno)) : pp_err_nomem(err);
    pp_status status = put(c, "{", 1, err);
    if (status || (status = pp_events_read(c->path, take_event, take_member, c, err)))
        return status;
    if (c->kept == 0)
        return pp_err_set(err, PP_INPUT, c->path, "has no event in these ranks and steps");
    const char *end = c->in_events ? "\n]}\n" : "}\n";
    status = put(c, end, strlen(end), err);
    errno = 0;
    int closed = gzclose(c->out);
    c->out = NULL; /* closed here, for its verdict on the last bytes */
    if (!status && closed != Z_OK)
        status =
            pp_err_set(err, PP_IO, c->out_path, "%s", errno ? strerror(errno) : "write failed");
    return status;
}

static void discard(pp_staged_file *staged)
{
    pp_file_discard(staged);
}

pp_status pp_events_cut(const char *path, const pp_events_part *part, const char *out_path,
                        size_t *kept_out, pp_err *err)
{
    cutter c PP_CLEANUP(free_cutter) = { .path = path, .out_path = out_path, .part = part };
    pp_staged_file staged PP_CLEANUP(discard) = { 0 };
    bool to_stdout = strcmp(out_path, "-") == 0;
    pp_status status = PP_OK;
    if (part->step_low >= 0)
        status = pp_recording_windows(path, (size_t)part->step_low, (size_t)part->step_high,
                                      &c.window, &c.windows, &c.everywhere, err);
    if (!status && !to_stdout)
        status = pp_file_stage(out_path, "", 0, &staged, err);
    if (status || (status = copy(&c, staged.temporary ? staged.temporary : out_path, err)))
        return status;
    *kept_out = c.kept;
    return to_stdout || !staged.temporary ? PP_OK : pp_file_commit(&staged, "", 0, err);
}
