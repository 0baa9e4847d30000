/* Reads the fastest candidates of a search for a picture. */
#ifndef PPSIM_TOOLS_PPSIM_PLOT_CANDIDATES_H
#define PPSIM_TOOLS_PPSIM_PLOT_CANDIDATES_H

#include "traces/plot/plot.h"

/* Returns whether a text is a file that `ppsim plan --candidates` wrote. */
bool pp_candidates_recognise(const char *text, size_t bytes);
/* Adds a bar for the fastest candidate of each schedule. `file` is the name for messages. Fails:
 * INPUT with file:line:column, NOMEM. */
PP_MUST_CHECK pp_status pp_candidates_read(const char *text, const char *file, pp_picture *picture,
                                           pp_err *err);

#endif
