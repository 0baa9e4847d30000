/* The streaming reader of Trace Event files (Chromium's "Trace Event Format"): recordings of
 * PyTorch's profiler and ppsim's own format chrome. It hands over event by event, so that a file of
 * any size, compressed or not, takes the memory of one event.
 * The syntax of the whole file is checked as far as sim/base/json_stream.h does, which is not
 * within texts, nor whether keys occur twice. Keys are compared with their escapes. */
#ifndef PPSIM_TRACES_READ_EVENTS_H
#define PPSIM_TRACES_READ_EVENTS_H

#include "sim/base/span.h"
#include "sim/base/status.h"
#include "sim/base/units.h"

#define PP_EVENT_BYTES_MAX ((size_t)1 << 20) /* of an event of a file, from brace to brace */
#define PP_EVENT_US_MAX 4e15                 /* since 1970: the year 2096 */

/* One event, and its usual members. In phase, category and name, escapes of ASCII characters are
 * undone; a text with other escapes, or of 256 bytes or more, is as it is in the file. Spans are
 * empty, and numbers NaN, if the event lacks the member or has a value of another type. */
typedef struct pp_event {
    pp_span text;                  /* all of it, as it is in the file */
    size_t line;                   /* of the first byte, from 1 */
    size_t of_line;                /* how many events begin in that line up to this one */
    pp_span phase, category, name; /* "ph", "cat", "name" */
    pp_span process;               /* "pid": a number, or a text with its quotes */
    double begin_us, duration_us;  /* "ts", "dur" */
    double correlation;            /* of "args": what a kernel and its launch have in common */
} pp_event;

/* Writes "file:1", or "file:1, event 17" of the 17th event of a line, into `where`. Returns it. */
const char *pp_event_place(const char *file, const pp_event *event, char *where, size_t size);

/* One member of the file next to "traceEvents". */
typedef struct pp_event_member {
    pp_span text; /* from the key on: "traceName": "x" */
    size_t line;  /* of the first byte, from 1 */
    pp_span key;
    pp_span value;
} pp_event_member;

/* Receives the parts of a file in their order; spans are valid during the call. When one of the
 * functions fails, reading ends with its status. */
typedef struct pp_events_visitor {
    pp_status (*event)(void *context, const pp_event *event, pp_err *err);
    pp_status (*member)(void *context, const pp_event_member *member, pp_err *err);
    void *context;
} pp_events_visitor;

/* Returns in is_out whether the file begins like a Trace Event file.
 * Fails: IO, INPUT (damaged compressed file), NOMEM. */
PP_MUST_CHECK pp_status pp_events_recognise(const char *path, bool *is_out, pp_err *err);

/* Finds a member of the object that is the text: value_out is its value as it is there. Returns
 * false, and writes nothing, if the text is no object, or is damaged before the end of the value,
 * or has no such member. Linear in the text up to there, without memory. */
bool pp_events_find(const char *text, size_t bytes, const char *key, pp_span *value_out);

/* Reads a file, which may be compressed with gzip. Members above PP_EVENT_BYTES_MAX are left out. A
 * key, a text in a member, and a run of blank space have at most PP_JSON_PIECE_MAX bytes (32 MiB).
 * Fails: IO, INPUT (bad syntax, cut off, an event or text that is too long, no list of events),
 * NOMEM; as `visitor`. */
PP_MUST_CHECK pp_status pp_events_read(const char *path, const pp_events_visitor *visitor,
                                       pp_err *err);
/* Reads a text; `file` names it in errors. Fails: INPUT (bad syntax), NOMEM; as `visitor`. */
PP_MUST_CHECK pp_status pp_events_parse(const char *text, size_t bytes, const char *file,
                                        const pp_events_visitor *visitor, pp_err *err);

/* Converts microseconds, at most PP_EVENT_US_MAX either way, to the nearest nanosecond. Whole
 * microseconds are exact, also as a time since 1970. */
pp_ns pp_event_ns(double us);

#endif
