/* A timeline as plain values, made from the data that writers of timelines get. */
#ifndef PPSIM_TRACES_FORMAT_EXPORT_TIMELINE_TRACK_H
#define PPSIM_TRACES_FORMAT_EXPORT_TIMELINE_TRACK_H

#include "traces/format/export/export.h"
#include "traces/read/track.h"

/* Adds ops, transfers and gathers of sharded parameters, all of the ranks that are shown, and
 * finishes the track, which has the critical path then. It has neither waits nor memory. track_out:
 * the caller frees it with pp_track_free, also on failure. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_export_track(const pp_export *data, pp_track *track_out, pp_err *err);

#endif
