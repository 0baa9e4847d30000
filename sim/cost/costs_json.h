/* Reads and writes costs as JSON: in plans and in costs files. */
#ifndef PPSIM_SIM_COST_COSTS_JSON_H
#define PPSIM_SIM_COST_COSTS_JSON_H

#include "sim/base/json.h"
#include "sim/cost/costs.h"

/* Reads "format":"ppsim.costs" (docs/reference/formats.md). Tables must have the given sizes;
 * scalars hold for any. at: the object, which is the root of a costs file or "costs" of a plan.
 * Fails: INPUT with the place, NOMEM. */
PP_MUST_CHECK pp_status pp_costs_read(const pp_json_at *at, uint32_t ranks, uint32_t stages,
                                      uint32_t microbatches, pp_costs **costs_out, pp_err *err);
/* The object that pp_costs_read reads; NULL when the build failed. */
pp_json *pp_costs_write(const pp_costs *costs, pp_json_build *build);

#endif
