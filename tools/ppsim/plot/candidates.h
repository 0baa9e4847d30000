/* The fastest candidates of a search, as a picture. */
#ifndef PPSIM_TOOLS_PPSIM_PLOT_CANDIDATES_H
#define PPSIM_TOOLS_PPSIM_PLOT_CANDIDATES_H

#include "traces/plot/plot.h"

/* The parts of a file with the fastest candidates of 'ppsim plan --candidates'. Fails: INPUT with
 * file:line:column, NOMEM. */
bool pp_candidates_recognise(const char *text, size_t bytes);
PP_MUST_CHECK pp_status pp_candidates_read(const char *text, const char *file, pp_picture *picture,
                                           pp_err *err);

#endif
