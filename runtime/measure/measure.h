/* What was written down of a step, as a timeline: the type that the engine predicts. */
#ifndef PPSIM_RUNTIME_MEASURE_MEASURE_H
#define PPSIM_RUNTIME_MEASURE_MEASURE_H

#include "runtime/core/interpreter.h"

/* Rows for all ops, transfers and ranks. bytes: also what memory was counted. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_record_new(const pp_program *program, bool bytes, pp_record *record_out,
                                      pp_err *err);
void pp_record_free(pp_record *record);

/* What one rank wrote, as bytes that travel; equally many for every rank. */
size_t pp_record_bytes(const pp_program *program, const pp_record *record);
void pp_record_pack(const pp_program *program, const pp_record *record, uint32_t rank, void *out);
/* ahead_ns: of that rank's clock. */
void pp_record_unpack(const pp_program *program, pp_record *record, uint32_t rank, const void *in,
                      pp_ns ahead_ns);

/* Time 0 is when the first rank began. Idle time gets its cause: until the other end was posted
 * data (a receive) or buffer (a send), then link, all else host; behind the last op data.
 * Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_record_timeline(const pp_program *program, const pp_costs *costs,
                                           const pp_record *record, pp_timeline **timeline_out,
                                           pp_err *err);

#endif
