/* Reads the plan file. */
#ifndef PPSIM_SIM_PLAN_PLAN_READ_H
#define PPSIM_SIM_PLAN_PLAN_READ_H

#include "sim/base/json.h"
#include "sim/plan/plan.h"

/* Reads a plan. `file`: for messages. Of the prediction in the file only `uncertainty` and the
 * *_in_file_* members are read; pp_plan_simulate predicts again.
 * Fails: INPUT with the JSON pointer, NOMEM. */
PP_MUST_CHECK pp_status pp_plan_read(const pp_json *json, const char *file, pp_plan **plan_out,
                                     pp_err *err);

#endif
