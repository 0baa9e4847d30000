/* All schedules of sim/schedules.def, by number and by name. */
#ifndef PPSIM_SIM_SCHEDULE_REGISTRY_H
#define PPSIM_SIM_SCHEDULE_REGISTRY_H

#include "sim/schedule/schedule.h"

size_t pp_schedule_count(void);
const pp_schedule *pp_schedule_at(size_t index);
/* NULL when unknown. */
const pp_schedule *pp_schedule_find(const char *name);
/* Fails: USAGE when unknown, with the nearest name. */
PP_MUST_CHECK pp_status pp_schedule_get(const char *name, const pp_schedule **schedule_out,
                                        pp_err *err);

/* Checks sizes, v and group size against the entry. Fails: USAGE. */
PP_MUST_CHECK pp_status pp_schedule_check(const pp_schedule *schedule,
                                          const pp_schedule_params *params, pp_err *err);

/* The same, then builds; costs, where given, are of these sizes. Fails: USAGE, NOMEM. */
PP_MUST_CHECK pp_status pp_schedule_build(const pp_schedule *schedule,
                                          const pp_schedule_params *params, pp_order **order_out,
                                          pp_err *err);

/* Does the named schedule make this order, or its forwards where the order has nothing else? v is
 * stages / ranks; group_size as in pp_schedule_params.
 * same_out is false where the schedule refuses the sizes. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_schedule_makes(const char *name, const pp_order *order,
                                          uint32_t group_size, bool *same_out, pp_err *err);

#endif
