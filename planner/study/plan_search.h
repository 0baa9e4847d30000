/* The answer to a request. Loops run single searches over everything that the request leaves free:
 * the framework and how it communicates, the split of GPUs, and the packing of sequences. */
#ifndef PPSIM_PLANNER_STUDY_PLAN_SEARCH_H
#define PPSIM_PLANNER_STUDY_PLAN_SEARCH_H

#include "planner/search/result.h"

/* Fails: like pp_plan_one. */
PP_MUST_CHECK pp_status pp_plan_search(const pp_plan_request *request,
                                       pp_search_result **choice_out, pp_err *err);

#endif
