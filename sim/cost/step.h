/* Costs of a rank rather than of an op. */
#ifndef PPSIM_SIM_COST_STEP_H
#define PPSIM_SIM_COST_STEP_H

#include "sim/cost/cost_model.h"

/* Everything that belongs to a rank and not to an op. stages: [costs->stages]. Durations of `costs`
 * must be there. */
PP_MUST_CHECK pp_status pp_cost_step(const pp_cost_context *context, const pp_stage *stages,
                                     pp_costs *costs, pp_err *err);

#endif
