/* A part of a Trace Event file: whole events, as they stand there, of some ranks and steps. */
#ifndef PPSIM_TRACES_READ_EVENTS_CUT_H
#define PPSIM_TRACES_READ_EVENTS_CUT_H

#include "sim/base/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct pp_events_part {
    int64_t rank_low, rank_high; /* processes (pid); low < 0: all */
    int64_t step_low, step_high; /* low < 0: all */
} pp_events_part;

/* Takes the memory of one event, with steps also 80 B per op of the steps up to the last one
 * wanted. out_path: "-": stdout; ends in .gz: compressed. kept_out: events. Fails: IO, INPUT (also
 * where nothing is left), USAGE (no such steps), NOMEM; nothing is written then, but to stdout. */
PP_MUST_CHECK pp_status pp_events_cut(const char *path, const pp_events_part *part,
                                      const char *out_path, size_t *kept_out, pp_err *err);

#endif
