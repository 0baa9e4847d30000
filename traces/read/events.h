/* Trace Event files ("Trace Event Format": our chrome, PyTorch's profiler) event by event: a file
 * of any size, compressed or not, takes the memory of one event. */
#ifndef PPSIM_TRACES_READ_EVENTS_H
#define PPSIM_TRACES_READ_EVENTS_H

#include "sim/base/json.h"
#include "sim/base/units.h"

#include <stdbool.h>
#include <stddef.h>

#define PP_EVENT_BYTES_MAX ((size_t)1 << 20)
#define PP_EVENT_US_MAX 4e15 /* since 1970: the year 2096 */

/* text: an object of traceEvents, or a member of the file such as "traceName": "x"; no NUL behind
 * it. line: of its first byte. */
typedef pp_status pp_event_take(void *context, const char *text, size_t bytes, size_t line,
                                pp_err *err);

/* Does the file begin like one? Fails: IO, INPUT (damaged), NOMEM. */
PP_MUST_CHECK pp_status pp_events_recognise(const char *path, bool *is_out, pp_err *err);

/* member: of the file, beside traceEvents; those above PP_EVENT_BYTES_MAX are left out. NULL: none.
 * Fails: IO, INPUT (no such file, cut off, an event above PP_EVENT_BYTES_MAX), NOMEM; as `event`.
 */
PP_MUST_CHECK pp_status pp_events_read(const char *path, pp_event_take *event,
                                       pp_event_take *member, void *context, pp_err *err);

/* Microseconds from low_us to PP_EVENT_US_MAX, to the nearest ns; whole ones are exact, since 1970
 * too. Fails: INPUT. */
PP_MUST_CHECK pp_status pp_event_time(const pp_json_at *event, const char *key, double low_us,
                                      pp_ns *ns_out, pp_err *err);

#endif
