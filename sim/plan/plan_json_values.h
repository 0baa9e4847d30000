/* Values that the readers of the plan file share. */
#ifndef PPSIM_SIM_PLAN_PLAN_JSON_VALUES_H
#define PPSIM_SIM_PLAN_PLAN_JSON_VALUES_H

#include "sim/base/json.h"

/* A text or null; "" for null. */
PP_MUST_CHECK pp_status pp_plan_read_name(const pp_json_at *object, const char *key, char *buffer,
                                          size_t size, pp_err *err);

/* A whole number of at least 1, or null: 0. */
PP_MUST_CHECK pp_status pp_plan_read_known(const pp_json_at *object, const char *key, int64_t high,
                                           int64_t *value_out, pp_err *err);

#endif
