/* Two axes of a sweep, as a picture. */
#ifndef PPSIM_TOOLS_PPSIM_PLOT_HEAT_H
#define PPSIM_TOOLS_PPSIM_PLOT_HEAT_H

#include "tools/ppsim/base/command.h"
#include "traces/plot/plot.h"

/* Two axes of the result file of a sweep, by --x, --y, --metric and --where. Fails: USAGE, INPUT,
 * NOMEM. */
bool pp_heat_recognise(const char *text);
PP_MUST_CHECK pp_status pp_heat_read(const pp_args *args, const char *text, size_t bytes,
                                     const char *file, pp_picture *picture, pp_err *err);

#endif
