/* Reads the quantities of timelines. */
#ifndef PPSIM_TOOLS_PPSIM_COMPARE_TIMELINE_H
#define PPSIM_TOOLS_PPSIM_COMPARE_TIMELINE_H

#include "tools/ppsim/compare/quantities.h"

/* Adds the quantities of a timeline, whose text is read event by event. Fails: INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_compare_read_timeline(const char *text, size_t bytes,
                                                 pp_compare_file *file, pp_err *err);

#endif
