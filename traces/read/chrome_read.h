/* Reads the traces that traces/format/chrome.c writes, as pictures need them. */
#ifndef PPSIM_TRACES_READ_CHROME_READ_H
#define PPSIM_TRACES_READ_CHROME_READ_H

#include "traces/read/track.h"

/* Returns whether the text looks like a trace in the Trace Event Format. */
bool pp_chrome_recognise(const char *text, size_t bytes);
/* Reads a trace event by event, so that it takes no more memory than the track. `file` names the
 * text in errors. track_out receives a finished track (pp_track_finish), which the caller frees
 * with pp_track_free. Fails: INPUT with line and JSON pointer, NOMEM. */
PP_MUST_CHECK pp_status pp_chrome_read(const char *text, size_t bytes, const char *file,
                                       pp_track *track_out, pp_err *err);

#endif
