/* Writes the plan file. */
#ifndef PPSIM_SIM_PLAN_PLAN_WRITE_H
#define PPSIM_SIM_PLAN_PLAN_WRITE_H

#include "sim/base/json.h"
#include "sim/plan/plan.h"

/* Makes the root object of a plan file. NULL when the build failed. */
pp_json *pp_plan_write(const pp_plan *plan, pp_json_build *build);

#endif
