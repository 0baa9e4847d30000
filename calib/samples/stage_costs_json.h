/* Makes a costs file from the measured times of the stages of a pipeline. */
#ifndef PPSIM_CALIB_SAMPLES_STAGE_COSTS_JSON_H
#define PPSIM_CALIB_SAMPLES_STAGE_COSTS_JSON_H

#include "calib/samples/samples.h"
#include "sim/base/json.h"

/* Returns in json_out the object "ppsim.costs" (docs/reference/formats.md), which the caller frees
 * (NULL when the build failed): a time per stage, from the series "stage_f 0", "stage_b 0", and so
 * on. Stages count from 0 to the highest that was measured; the time of a stage is the mean of its
 * medians, weighted by their repeats. It has I and W if a stage has both; then B is measured or
 * their sum, and I and W of a stage that has B alone are half of it each. Transfers take no time.
 * Fails: INFEASIBLE (a stage lacks its forward or backward, or was measured at several sizes),
 * INPUT (a time is too long), NOMEM. */
PP_MUST_CHECK pp_status pp_stage_costs_write(const pp_samples *samples, pp_json_build *build,
                                             pp_json **json_out, pp_err *err);

#endif
