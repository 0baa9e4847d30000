/* Reads a front of step time against memory for a picture. */
#ifndef PPSIM_TOOLS_PPSIM_PLOT_PARETO_H
#define PPSIM_TOOLS_PPSIM_PLOT_PARETO_H

#include "sim/base/json.h"
#include "traces/plot/plot.h"

/* Adds the points that `ppsim plan --pareto --json` printed. `file` is the name for messages.
 * Fails: INPUT with file and JSON pointer, NOMEM. */
PP_MUST_CHECK pp_status pp_plot_add_pareto(const pp_json_at *root, const char *file,
                                           pp_picture *picture, pp_err *err);

#endif
