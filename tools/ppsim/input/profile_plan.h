/* The option --profile for a plan that is read from a file. */
#ifndef PPSIM_TOOLS_PPSIM_INPUT_PROFILE_PLAN_H
#define PPSIM_TOOLS_PPSIM_INPUT_PROFILE_PLAN_H

#include "sim/plan/plan.h"
#include "tools/ppsim/base/command.h"

/* Applies --profile to a plan from a file. With --recost the plan gets its costs from the profile;
 * otherwise the profile must be the one that the plan was made from, and nothing changes. Fails:
 * USAGE (it is another profile, and the message says what differs), IO, INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_profile_of_plan(const pp_args *args, pp_plan *plan, pp_err *err);

#endif
