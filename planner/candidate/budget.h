/* The time of a request: what is left of it, and what it suffices for. */
#ifndef PPSIM_PLANNER_CANDIDATE_BUDGET_H
#define PPSIM_PLANNER_CANDIDATE_BUDGET_H

#include "planner/candidate/request.h"

/* True if the request has a limited time or number of simulations. */
bool pp_budget_is_limited(const pp_plan_request *request);
/* True if the time is limited and used up. */
bool pp_budget_time_is_up(const pp_plan_request *request);
/* True if the time is used up, but for that of a result with so many ops. */
bool pp_budget_is_over(const pp_plan_request *request, double ops);
/* True if the time that is left suffices to simulate a program of so many ops, and to make a result
 * of it. */
bool pp_budget_affords(const pp_plan_request *request, double ops);

#endif
