/* The runtime that is to execute a plan limits the wish for it (docs/targets.md). */
#ifndef PPSIM_PLANNER_STUDY_TARGET_H
#define PPSIM_PLANNER_STUDY_TARGET_H

#include "planner/search/branch_and_bound.h"
#include "sim/job/target_limits.h"

/* Leaves out what the runtime does not run, where the wish is free. shapes_given: exchange.shapes
 * are asked for. */
void pp_target_limit(const pp_target_limits *target, bool shapes_given, pp_wish *wish);

/* Fails: USAGE when recomputation is asked for that the runtime does not have. */
PP_MUST_CHECK pp_status pp_target_check_recompute(const pp_target_limits *target,
                                                  const pp_wish *wish, pp_err *err);

/* The same, with the runtime's executor. Fails: USAGE when the wish has another executor or shapes,
 * or recomputation that it does not have, INFEASIBLE when its schedule is not run there: with the
 * fastest that is, searched, and how much slower that is; NOMEM. */
PP_MUST_CHECK pp_status pp_target_apply(const pp_target_limits *target, bool shapes_given,
                                        pp_wish *wish, pp_err *err);

/* What the target costs: `free_wish`, the wish as it was before, is searched with the target's
 * executor (its limits alone) and as it is. Puts that into the choice and its plan's assumptions.
 * Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_target_compare(const pp_target_limits *target, const pp_wish *free_wish,
                                          pp_choice *choice, pp_err *err);

#endif
