/* Writes the events of some ranks and steps of a Trace Event file, byte for byte, and all other
 * members of the file. A first reading of the file finds the times that belong to each step; the
 * second one copies every event that overlaps these times, as it is read. */
#include "traces/read/events_cut.h"

#include "sim/base/alloc.h"
#include "sim/base/file.h"
#include "sim/base/text.h"
#include "traces/read/events.h"
#include "traces/read/gzip.h"
#include "traces/read/recording.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { PRINT_BYTES = 1 << 16 };

typedef struct cutter {
    const char *path, *out_path;
    const pp_events_part *part;
    pp_window *window; /* sorted by rank */
    size_t windows;
    bool everywhere;        /* one window for all processes */
    pp_events_print *print; /* to stdout; NULL: to `out` */
    pp_text pending;        /* of what is printed */
    gzFile out;
    bool in_events, any_member;
    size_t kept;
} cutter;

static void free_cutter(cutter *c)
{
    free(c->window);
    pp_text_free(&c->pending);
    if (c->out)
        gzclose(c->out);
}

static pp_status print_pending(cutter *c, pp_err *err)
{
    pp_status status = pp_text_check(&c->pending, err);
    if (!status)
        status = c->print(c->pending.data, c->pending.bytes, err);
    pp_text_free(&c->pending);
    return status;
}

static pp_status put(cutter *c, const char *text, size_t bytes, pp_err *err)
{
    if (c->print) {
        /* A carriage return, which lies between tokens only, would be shown as an escape there. */
        for (size_t i = 0, run; i < bytes; i += run + 1) {
            const char *end = memchr(text + i, '\r', bytes - i);
            run = end ? (size_t)(end - (text + i)) : bytes - i;
            pp_text_add_bytes(&c->pending, text + i, run);
        }
        return c->pending.bytes < PRINT_BYTES ? PP_OK : print_pending(c, err);
    }
    if (bytes == 0 || gzwrite(c->out, text, (unsigned)bytes) == (int)bytes)
        return PP_OK;
    return pp_err_set(err, PP_IO, c->out_path, "%s", errno ? strerror(errno) : "write failed");
}

/* Returns whether an event overlaps the time of the steps on its rank. A process without ops has
 * the time of all ranks. */
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

/* A time that the event lacks, or that no clock shows, counts as 0. */
static pp_ns ns_of(double us)
{
    return fabs(us) <= PP_EVENT_US_MAX ? pp_event_ns(us) : 0;
}

static bool is_wanted(const cutter *c, const pp_event *event)
{
    const pp_events_part *part = c->part;
    int64_t rank;
    if (!pp_span_int(event->process, INT64_MAX, &rank)) /* a process may be a text */
        rank = -1;
    if (part->rank_low >= 0 && (rank < part->rank_low || rank > part->rank_high))
        return false;
    if (part->step_low < 0 || !event->phase.bytes || pp_span_is(event->phase, "M"))
        return true;
    pp_ns begin_ns = ns_of(event->begin_us);
    return in_window(c, rank, begin_ns, begin_ns + ns_of(event->duration_us));
}

static pp_status take_event(void *context, const pp_event *event, pp_err *err)
{
    cutter *c = context;
    if (!is_wanted(c, event))
        return PP_OK;
    const char *before = c->in_events    ? ",\n"
                         : c->any_member ? ",\n\"traceEvents\":[\n"
                                         : "\"traceEvents\":[\n";
    c->in_events = true;
    c->kept++;
    pp_status status = put(c, before, strlen(before), err);
    return status ? status : put(c, event->text.at, event->text.bytes, err);
}

static pp_status take_member(void *context, const pp_event_member *member, pp_err *err)
{
    cutter *c = context;
    const char *before = c->in_events ? "\n],\n" : c->any_member ? ",\n" : "";
    c->in_events = false;
    c->any_member = true;
    pp_status status = put(c, before, strlen(before), err);
    return status ? status : put(c, member->text.at, member->text.bytes, err);
}

static pp_status copy(cutter *c, const char *to, pp_err *err)
{
    /* zlib's mode T writes without compressing. */
    const char *mode = pp_gzip_named(c->out_path) ? "wb" : "wbT";
    errno = 0;
    if (!c->print && !(c->out = gzopen(to, mode)))
        return errno ? pp_err_set(err, PP_IO, to, "%s", strerror(errno)) : pp_err_nomem(err);
    const pp_events_visitor visitor = { take_event, take_member, c };
    pp_status status = put(c, "{", 1, err);
    if (status || (status = pp_events_read(c->path, &visitor, err)))
        return status;
    if (c->kept == 0)
        return pp_err_set(err, PP_INPUT, c->path, "has no event in these ranks and steps");
    const char *end = c->in_events ? "\n]}\n" : "}\n";
    status = put(c, end, strlen(end), err);
    if (c->print)
        return status ? status : print_pending(c, err);
    errno = 0;
    int closed = gzclose(c->out);
    c->out = NULL; /* closed here, since writing the last bytes may fail */
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
                        pp_events_print *print, size_t *kept_out, pp_err *err)
{
    bool to_stdout = strcmp(out_path, "-") == 0;
    cutter c PP_CLEANUP(free_cutter) = {
        .path = path, .out_path = out_path, .part = part, .print = to_stdout ? print : NULL
    };
    pp_staged_file staged PP_CLEANUP(discard) = { 0 };
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
