/* Copies a part of a Trace Event file: the events of some ranks and steps, each unchanged. */
#ifndef PPSIM_TRACES_READ_EVENTS_CUT_H
#define PPSIM_TRACES_READ_EVENTS_CUT_H

#include "sim/base/status.h"

#include <stddef.h>
#include <stdint.h>

/* Which events are copied; both ends of a range are included. */
typedef struct pp_events_part {
    int64_t rank_low, rank_high; /* "pid" of the events; rank_low < 0: all */
    int64_t step_low, step_high; /* steps from 0; step_low < 0: all */
} pp_events_part;

/* Prints a part of the text to stdout. */
typedef pp_status pp_events_print(const char *text, size_t bytes, pp_err *err);

/* Writes the part of the file at `path` to out_path: "-" is stdout, through `print`, and a name
 * that ends in .gz is compressed. kept_out: the number of events written. Memory: one event, and
 * with steps what pp_recording_windows takes.
 * Fails: as `print`; IO, INPUT (also when no event is in the part), USAGE (there are no such
 * steps), NOMEM. A file is then left as it was, but stdout may have received a beginning. */
PP_MUST_CHECK pp_status pp_events_cut(const char *path, const pp_events_part *part,
                                      const char *out_path, pp_events_print *print,
                                      size_t *kept_out, pp_err *err);

#endif
