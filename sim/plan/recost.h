/* New costs for the partition and the data of a plan. */
#ifndef PPSIM_SIM_PLAN_RECOST_H
#define PPSIM_SIM_PLAN_RECOST_H

#include "sim/cost/cost_model.h"
#include "sim/plan/plan.h"

/* Replaces the costs; order, partition and data stay. The plan needs a partition and sequences.
 * Fails: USAGE (the plan has none of these, or an impossible split), INPUT, NOMEM; the plan is as
 * it was then. */
PP_MUST_CHECK pp_status pp_plan_recost(const pp_cost_context *context, pp_plan *plan, pp_err *err);

#endif
