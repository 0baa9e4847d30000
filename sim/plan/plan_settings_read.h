/* Reads the settings of a plan: how its step is executed. */
#ifndef PPSIM_SIM_PLAN_PLAN_SETTINGS_READ_H
#define PPSIM_SIM_PLAN_PLAN_SETTINGS_READ_H

#include "sim/base/json.h"
#include "sim/plan/plan.h"

/* Reads names, framework, communication and limits. Fails: INPUT with the place, NOMEM. */
PP_MUST_CHECK pp_status pp_plan_read_settings(const pp_json_at *root, pp_plan *plan, pp_err *err);

#endif
