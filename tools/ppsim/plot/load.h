/* Loads the inputs of `ppsim plot` into a picture. */
#ifndef PPSIM_TOOLS_PPSIM_PLOT_LOAD_H
#define PPSIM_TOOLS_PPSIM_PLOT_LOAD_H

#include "tools/ppsim/base/command.h"
#include "traces/plot/plot.h"

/* Adds what `source` shows: a file, recognised by its content, or a named schedule with the options
 * of a study. Fails: USAGE, IO, INPUT, INFEASIBLE, NOMEM. */
PP_MUST_CHECK pp_status pp_plot_load(const pp_args *args, const char *source, pp_picture *picture,
                                     pp_err *err);

#endif
