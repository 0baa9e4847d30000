/* The plan for one request whose degrees, framework and microbatches are settled. */
#ifndef PPSIM_PLANNER_STUDY_PLAN_ONE_H
#define PPSIM_PLANNER_STUDY_PLAN_ONE_H

#include "planner/search/result.h"

/* Runs one search, with the lengths as they are: packed first fit, or grouped. Fails: USAGE when
 * what is asked is not legal (with the rule and the nearest legal values), INPUT, INFEASIBLE when
 * nothing fits (with rank, component, shortfall, and the cheapest change that fits, itself
 * simulated) or the budget ended first, NOMEM. */
PP_MUST_CHECK pp_status pp_plan_one(const pp_plan_request *request, pp_search_result **result_out,
                                    pp_err *err);

#endif
