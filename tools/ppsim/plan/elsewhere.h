/* What a plan takes under the executors of other runtimes. */
#ifndef PPSIM_TOOLS_PPSIM_PLAN_ELSEWHERE_H
#define PPSIM_TOOLS_PPSIM_PLAN_ELSEWHERE_H

#include "sim/plan/plan.h"

/* Fills plan->elsewhere: the step of this very set-up under PyTorch and Megatron-LM, or why they
 * cannot run it. Leaves it empty without a pipeline, under an executor other than ppsim, and for a
 * step of so many ops that this would take longer than 0.3 s. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_plan_find_elsewhere(pp_plan *plan, pp_err *err);

#endif
