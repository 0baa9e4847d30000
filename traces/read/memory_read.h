/* Reads what --trace memory-csv=FILE and memory-json=FILE wrote. */
#ifndef PPSIM_TRACES_READ_MEMORY_READ_H
#define PPSIM_TRACES_READ_MEMORY_READ_H

#include "sim/base/json.h"
#include "traces/read/track.h"

bool pp_memory_csv_recognise(const char *text, size_t bytes);
/* text: ends with a NUL. track_out: finished. Fails: INPUT with the place, NOMEM. */
PP_MUST_CHECK pp_status pp_memory_csv_read(const char *text, const char *file, pp_track *track_out,
                                           pp_err *err);
PP_MUST_CHECK pp_status pp_memory_json_read(const pp_json_at *root, pp_track *track_out,
                                            pp_err *err);

#endif
