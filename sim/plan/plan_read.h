/* Reads the plan file. */
#ifndef PPSIM_SIM_PLAN_PLAN_READ_H
#define PPSIM_SIM_PLAN_PLAN_READ_H

#include "sim/base/json.h"
#include "sim/plan/plan.h"

/* Reads a plan. file: what messages call it. Of the prediction in the file, only `uncertainty` and
 * the values for the members *_in_file_* are read; pp_plan_simulate predicts again.
 * Fails: INPUT with the place, NOMEM. */
PP_MUST_CHECK pp_status pp_plan_read(const pp_json *json, const char *file, pp_plan **plan_out,
                                     pp_err *err);

#endif
