/* Reads the data of a plan: partition, microbatches, and what is recomputed. */
#ifndef PPSIM_SIM_PLAN_PLAN_DATA_READ_H
#define PPSIM_SIM_PLAN_PLAN_DATA_READ_H

#include "sim/base/json.h"
#include "sim/plan/plan.h"

/* Each reads its keys of the root. What is recomputed must be read last, since it is checked
 * against partition and microbatches. Fail: INPUT with the place, NOMEM. */
PP_MUST_CHECK pp_status pp_plan_read_partition(const pp_json_at *root, pp_plan *plan, pp_err *err);
PP_MUST_CHECK pp_status pp_plan_read_microbatches(const pp_json_at *root, pp_plan *plan,
                                                  pp_err *err);
PP_MUST_CHECK pp_status pp_plan_read_recomputed(const pp_json_at *root, pp_plan *plan, pp_err *err);

#endif
