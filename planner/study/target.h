/* The limits that a runtime sets for the plans that it is to execute (docs/reference/targets.md).
 */
#ifndef PPSIM_PLANNER_STUDY_TARGET_H
#define PPSIM_PLANNER_STUDY_TARGET_H

#include "planner/search/result.h"
#include "sim/framework/target_limits.h"

/* Leaves out what the runtime does not run, if the request is free. shapes_given: the request gives
 * exchange.shapes. */
void pp_target_limit(const pp_target_limits *target, bool shapes_given, pp_plan_request *request);

/* Fails: USAGE when the request has recomputation that the runtime does not support. */
PP_MUST_CHECK pp_status pp_target_check_recompute(const pp_target_limits *target,
                                                  const pp_plan_request *request, pp_err *err);

/* Like pp_target_limit, and sets the runtime's framework. Fails: USAGE when the request has another
 * framework or shapes, or recomputation that the runtime does not support; INFEASIBLE when the
 * runtime does not run the request's schedule (a search finds the fastest one that it runs, and how
 * much slower that is); NOMEM. */
PP_MUST_CHECK pp_status pp_target_apply(const pp_target_limits *target, bool shapes_given,
                                        pp_plan_request *request, pp_err *err);

/* Finds what the target costs: searches `free_request`, the request as it was before, with the
 * target's framework (the cost of its limits alone) and as it is. Fills choice->target. Fails:
 * NOMEM. */
PP_MUST_CHECK pp_status pp_target_compare(const pp_target_limits *target,
                                          const pp_plan_request *free_request,
                                          pp_search_result *choice, pp_err *err);

#endif
