/* A plan and another profile than its own. */
#ifndef PPSIM_TOOLS_PPSIM_INPUT_PROFILE_PLAN_H
#define PPSIM_TOOLS_PPSIM_INPUT_PROFILE_PLAN_H

#include "sim/plan/plan.h"
#include "tools/ppsim/base/command.h"

/* --profile on a plan that was made before: nothing, where it is the plan's own; with --recost the
 * plan gets its costs from it. Fails: USAGE (another profile, with what differs), IO, INPUT, NOMEM.
 */
PP_MUST_CHECK pp_status pp_profile_of_plan(const pp_args *args, pp_plan *plan, pp_err *err);

#endif
