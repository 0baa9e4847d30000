/* Reads memory over time, as traces/format/memory_csv.c and memory_json.c write it. */
#ifndef PPSIM_TRACES_READ_MEMORY_READ_H
#define PPSIM_TRACES_READ_MEMORY_READ_H

#include "sim/base/json.h"
#include "traces/read/track.h"

bool pp_memory_csv_recognise(const char *text, size_t bytes);
/* text: ends with a NUL. track_out receives a finished track (pp_track_finish) of samples alone,
 * which the caller frees with pp_track_free.
 * Fails: INPUT with the place (file:line, or a JSON pointer), NOMEM. */
PP_MUST_CHECK pp_status pp_memory_csv_read(const char *text, const char *file, pp_track *track_out,
                                           pp_err *err);
PP_MUST_CHECK pp_status pp_memory_json_read(const pp_json_at *root, pp_track *track_out,
                                            pp_err *err);

#endif
