/* Uncertainty as part of a report. */
#ifndef PPSIM_SIM_ANALYSIS_UNCERTAINTY_JSON_H
#define PPSIM_SIM_ANALYSIS_UNCERTAINTY_JSON_H

#include "sim/analysis/uncertainty.h"
#include "sim/base/json.h"

/* Adds its keys to the object of a report, unless nothing is known. */
void pp_uncertainty_put(const pp_uncertainty *uncertainty, pp_json *report, pp_json_build *build);
/* Reads the keys that pp_uncertainty_put adds. If they are absent, the result says that nothing is
 * known.
 * Fails: INPUT with the place, NOMEM. */
PP_MUST_CHECK pp_status pp_uncertainty_read(const pp_json_at *report,
                                            pp_uncertainty *uncertainty_out, pp_err *err);

#endif
