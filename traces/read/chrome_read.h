/* Reads the traces that traces/format/chrome.c writes, as pictures need them. */
#ifndef PPSIM_TRACES_READ_CHROME_READ_H
#define PPSIM_TRACES_READ_CHROME_READ_H

#include "sim/base/json.h"
#include "traces/read/track.h"

/* Returns whether the text looks like a trace in the Trace Event Format. */
bool pp_chrome_recognise(const pp_json_at *root);
/* track_out receives a finished track (pp_track_finish), which the caller frees with pp_track_free.
 * Fails: INPUT with the place (a JSON pointer), NOMEM. */
PP_MUST_CHECK pp_status pp_chrome_read(const pp_json_at *root, pp_track *track_out, pp_err *err);

#endif
