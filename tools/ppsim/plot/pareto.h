/* Step time against memory, as a picture. */
#ifndef PPSIM_TOOLS_PPSIM_PLOT_PARETO_H
#define PPSIM_TOOLS_PPSIM_PLOT_PARETO_H

#include "sim/base/json.h"
#include "traces/plot/plot.h"

/* The points of 'ppsim plan --pareto --json'. Fails: INPUT with file and JSON pointer, NOMEM. */
PP_MUST_CHECK pp_status pp_plot_add_pareto(const pp_json_at *root, const char *file,
                                           pp_picture *picture, pp_err *err);

#endif
