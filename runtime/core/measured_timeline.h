/* Converts the record of a step to a timeline, the type that the engine predicts. */
#ifndef PPSIM_RUNTIME_CORE_MEASURED_TIMELINE_H
#define PPSIM_RUNTIME_CORE_MEASURED_TIMELINE_H

#include "runtime/core/record.h"

/* Makes a timeline of a record whose times are all of one clock. Time 0 is when the first rank
 * began. Idle time gets its cause: until the other end was posted it is `data` (a receive) or
 * `buffer` (a send), then `link`; the rest is `host`, or `data` after the last op. The owner frees
 * *timeline_out with pp_timeline_free. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_record_timeline(const pp_program *program, const pp_costs *costs,
                                           const pp_record *record, pp_timeline **timeline_out,
                                           pp_err *err);

#endif
