/* Reads what is computed: partition, microbatches, and what of them is recomputed. */
#ifndef PPSIM_SIM_PLAN_PLAN_DATA_READ_H
#define PPSIM_SIM_PLAN_PLAN_DATA_READ_H

#include "sim/base/json.h"
#include "sim/plan/plan.h"

/* What is computed: partition; microbatches; what of them is recomputed, which needs both. */
PP_MUST_CHECK pp_status pp_plan_read_partition(const pp_json_at *root, pp_plan *plan, pp_err *err);
PP_MUST_CHECK pp_status pp_plan_read_microbatches(const pp_json_at *root, pp_plan *plan,
                                                  pp_err *err);
PP_MUST_CHECK pp_status pp_plan_read_recomputed(const pp_json_at *root, pp_plan *plan, pp_err *err);

#endif
