/* For the readers of the plan file: how a step is executed stands beside what it does. */
#ifndef PPSIM_SIM_PLAN_PLAN_INT_H
#define PPSIM_SIM_PLAN_PLAN_INT_H

#include "sim/plan/plan.h"

/* A text or null; "" for null. */
PP_MUST_CHECK pp_status pp_plan_read_name(const pp_json_at *object, const char *key, char *buffer,
                                          size_t size, pp_err *err);

/* A whole number of at least 1, or null: 0. */
PP_MUST_CHECK pp_status pp_plan_read_known(const pp_json_at *object, const char *key, int64_t high,
                                           int64_t *value_out, pp_err *err);

/* Names, framework, communication, limits. */
PP_MUST_CHECK pp_status pp_plan_read_settings(const pp_json_at *root, pp_plan *plan, pp_err *err);

/* What is computed: partition; microbatches; what of them is recomputed, which needs both. */
PP_MUST_CHECK pp_status pp_plan_read_partition(const pp_json_at *root, pp_plan *plan, pp_err *err);
PP_MUST_CHECK pp_status pp_plan_read_microbatches(const pp_json_at *root, pp_plan *plan,
                                                  pp_err *err);
PP_MUST_CHECK pp_status pp_plan_read_recomputed(const pp_json_at *root, pp_plan *plan, pp_err *err);

#endif
