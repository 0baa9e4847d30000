/* The limits that a runtime sets for the plans that it is to execute (docs/reference/targets.md).
 */
#ifndef PPSIM_PLANNER_STUDY_TARGET_H
#define PPSIM_PLANNER_STUDY_TARGET_H

#include "planner/search/result.h"
#include "sim/framework/target_limits.h"

/* Leaves out what the runtime does not run, if the request is free, and sets the runtime's
 * framework. shapes_given: the request gives exchange.shapes. Fails: USAGE when the request has
 * another framework or shapes, or recomputation that the runtime does not support; INFEASIBLE when
 * the runtime does not run the request's schedule (a search finds the fastest one that it runs, and
 * how much slower that is); NOMEM. */
PP_MUST_CHECK pp_status pp_target_apply(const pp_target_limits *target, bool shapes_given,
                                        pp_plan_request *request, pp_err *err);

/* Finds what the limits of the target cost: searches the named schedules of `free_request`, the
 * request as it was before, on the plan's degrees and with its framework. Fills choice->target.
 * Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_target_compare(const pp_target_limits *target,
                                          const pp_plan_request *free_request,
                                          pp_search_result *choice, pp_err *err);

#endif
