/* New costs for the partition and the data of a plan. */
#ifndef PPSIM_SIM_PLAN_RECOST_H
#define PPSIM_SIM_PLAN_RECOST_H

#include "sim/cost/cost_model.h"
#include "sim/plan/plan.h"

/* Replaces the plan's costs; order, partition and data remain. The plan needs a partition and the
 * lengths of its sequences.
 * Fails: USAGE (it lacks these, or the degrees of parallelism are impossible), INPUT, NOMEM; the
 * plan is then unchanged. */
PP_MUST_CHECK pp_status pp_plan_recost(const pp_cost_context *context, pp_plan *plan, pp_err *err);

#endif
