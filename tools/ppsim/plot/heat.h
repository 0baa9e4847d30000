/* Reads two axes of a sweep for a picture. */
#ifndef PPSIM_TOOLS_PPSIM_PLOT_HEAT_H
#define PPSIM_TOOLS_PPSIM_PLOT_HEAT_H

#include "tools/ppsim/base/command.h"
#include "traces/plot/plot.h"

/* Returns whether a text is the result file of a sweep. */
bool pp_heat_recognise(const char *text);
/* Adds a heat map of the axes and the metric that --x, --y, --metric and --where choose. `file` is
 * the name for messages. Fails: USAGE, INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_heat_read(const pp_args *args, const char *text, size_t bytes,
                                     const char *file, pp_picture *picture, pp_err *err);

#endif
