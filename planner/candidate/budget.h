/* The time and the iterations of a request: what is left, and what they suffice for. */
#ifndef PPSIM_PLANNER_CANDIDATE_BUDGET_H
#define PPSIM_PLANNER_CANDIDATE_BUDGET_H

#include "planner/candidate/request.h"

/* True if the request has a limited time or number of simulations. */
bool pp_budget_is_limited(const pp_plan_request *request);
/* True if the time is limited and used up. */
bool pp_budget_time_is_up(const pp_plan_request *request);
/* True if the time is used up, but for that of a result with so many ops. */
bool pp_budget_is_over(const pp_plan_request *request, double ops);
/* The part of the time that a simulation of so many ops and its result take; 0 if it is not
 * limited, or little. */
double pp_budget_part_of_result(const pp_plan_request *request, double ops);
/* The iterations of a budget that a simulation of so many ops uses: 1 for each begun million. */
uint64_t pp_budget_iterations(double ops);
/* The effort of the costs and the bound of so many classes of microbatches on so many stages: 1 for
 * a class on ten stages, some 3 us. */
double pp_budget_bound_effort(double classes, double stages);
/* The effort of a balanced partition of so many layers into so many stages. */
double pp_budget_partition_effort(double layers, double stages);
/* The iterations that count for such an effort, all of one search: 1 for each 100,000, but for the
 * first two. */
uint64_t pp_budget_bounding(double effort);
/* True if the part of the iterations that bounds may use suffices for such an effort. */
bool pp_budget_bounds(const pp_plan_request *request, double effort);
/* True if the time that is left suffices to simulate a program of so many ops, and to make a result
 * of it, and all iterations together suffice for the simulation. */
bool pp_budget_affords(const pp_plan_request *request, double ops);

#endif
