/* The runtime that is to execute a plan limits the request for it (docs/targets.md). */
#ifndef PPSIM_PLANNER_STUDY_TARGET_H
#define PPSIM_PLANNER_STUDY_TARGET_H

#include "planner/search/result.h"
#include "sim/framework/target_limits.h"

/* Leaves out what the runtime does not run, where the request is free. shapes_given:
 * exchange.shapes are asked for. */
void pp_target_limit(const pp_target_limits *target, bool shapes_given, pp_plan_request *request);

/* Fails: USAGE when recomputation is asked for that the runtime does not have. */
PP_MUST_CHECK pp_status pp_target_check_recompute(const pp_target_limits *target,
                                                  const pp_plan_request *request, pp_err *err);

/* The same, with the runtime's framework. Fails: USAGE when the request has another framework or
 * shapes, or recomputation that it does not have, INFEASIBLE when its schedule is not run there:
 * with the fastest that is, searched, and how much slower that is; NOMEM. */
PP_MUST_CHECK pp_status pp_target_apply(const pp_target_limits *target, bool shapes_given,
                                        pp_plan_request *request, pp_err *err);

/* What the target costs: `free_request`, the request as it was before, is searched with the
 * target's framework (its limits alone) and as it is. Fills choice->target. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_target_compare(const pp_target_limits *target,
                                          const pp_plan_request *free_request,
                                          pp_search_result *choice, pp_err *err);

#endif
