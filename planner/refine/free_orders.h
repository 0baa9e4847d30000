/* Orders beyond the named schedules, for the setups in which these did best. */
#ifndef PPSIM_PLANNER_REFINE_FREE_ORDERS_H
#define PPSIM_PLANNER_REFINE_FREE_ORDERS_H

#include "planner/candidate/pool.h"

/* Searches free orders for the most promising setups; each that fits becomes a candidate "planned".
 * best: SIZE_MAX or the best candidate, and changed where the request lets one of these win.
 * Fails: INFEASIBLE where one must win and none was found, NOMEM. */
PP_MUST_CHECK pp_status pp_search_plan_orders(pp_search *search, size_t *best, pp_err *err);

#endif
