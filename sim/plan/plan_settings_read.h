/* Reads how a step is executed: names, framework, communication, limits. */
#ifndef PPSIM_SIM_PLAN_PLAN_SETTINGS_READ_H
#define PPSIM_SIM_PLAN_PLAN_SETTINGS_READ_H

#include "sim/base/json.h"
#include "sim/plan/plan.h"

/* Names, framework, communication, limits. */
PP_MUST_CHECK pp_status pp_plan_read_settings(const pp_json_at *root, pp_plan *plan, pp_err *err);

#endif
