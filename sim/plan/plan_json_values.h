/* Values that the readers of the plan file share. */
#ifndef PPSIM_SIM_PLAN_PLAN_JSON_VALUES_H
#define PPSIM_SIM_PLAN_PLAN_JSON_VALUES_H

#include "sim/base/json.h"

/* Reads a text; "" for null. Fails: INPUT with the place. */
PP_MUST_CHECK pp_status pp_plan_read_name(const pp_json_at *object, const char *key, char *buffer,
                                          size_t size, pp_err *err);

/* Reads a whole number from 1 to `high`; 0 for null. Fails: INPUT with the place. */
PP_MUST_CHECK pp_status pp_plan_read_known(const pp_json_at *object, const char *key, int64_t high,
                                           int64_t *value_out, pp_err *err);

#endif
