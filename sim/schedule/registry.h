/* All schedules of sim/schedules.def, by number and by name. */
#ifndef PPSIM_SIM_SCHEDULE_REGISTRY_H
#define PPSIM_SIM_SCHEDULE_REGISTRY_H

#include "sim/schedule/schedule.h"

/* &pp_schedule_one_f_one_b and the others of sim/schedules.def. */
#define PP_SCHEDULE(id) extern const pp_schedule pp_schedule_##id;
#include "sim/schedules.def"
#undef PP_SCHEDULE

size_t pp_schedule_count(void);
const pp_schedule *pp_schedule_at(size_t index);
/* The schedule of this name, or NULL. */
const pp_schedule *pp_schedule_find(const char *name);
/* Like pp_schedule_find. Fails: USAGE when there is none of this name, with the nearest name. */
PP_MUST_CHECK pp_status pp_schedule_get(const char *name, const pp_schedule **schedule_out,
                                        pp_err *err);

/* The only legal v on so many ranks, or 0: any from 2 on. Without a pipeline, forwards overlap with
 * backwards of an only stage. */
uint32_t pp_schedule_chunks(const pp_schedule *schedule, uint32_t ranks);

/* Checks sizes, v and group size against what the schedule supports. Fails: USAGE. */
PP_MUST_CHECK pp_status pp_schedule_check(const pp_schedule *schedule,
                                          const pp_schedule_params *params, pp_err *err);

/* Checks the parameters and builds the order. params->costs, if given, must have the same stages,
 * and microbatches of one or several runs of the order, of which the first ones count.
 * Fails: USAGE, NOMEM. */
PP_MUST_CHECK pp_status pp_schedule_build(const pp_schedule *schedule,
                                          const pp_schedule_params *params, pp_order **order_out,
                                          pp_err *err);

/* Finds out whether the named schedule generates this order, or, for an order of forwards only,
 * its forwards. v is stages / ranks; group_size: as in pp_schedule_params. *same_out is false if
 * the schedule does not support the sizes.
 * Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_schedule_makes(const char *name, const pp_order *order,
                                          uint32_t group_size, bool *same_out, pp_err *err);

#endif
