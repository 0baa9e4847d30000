/* Costs of ranks rather than of ops: parameters, gradients, optimizer, communication library, and
 * what follows the last op. */
#ifndef PPSIM_SIM_COST_STEP_H
#define PPSIM_SIM_COST_STEP_H

#include "sim/cost/cost_model.h"

/* Fills in all members of `costs` that belong to a rank. stages: [costs->stages]. The durations of
 * ops must have been filled in.
 * Fails: INPUT (a duration or a size overflows). */
PP_MUST_CHECK pp_status pp_cost_step(const pp_cost_context *context, const pp_stage *stages,
                                     pp_costs *costs, pp_err *err);

#endif
