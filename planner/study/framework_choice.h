/* The search for a request that leaves the framework or its settings free. */
#ifndef PPSIM_PLANNER_STUDY_FRAMEWORK_CHOICE_H
#define PPSIM_PLANNER_STUDY_FRAMEWORK_CHOICE_H

#include "planner/search/result.h"

/* Fails: like pp_plan_one. */
PP_MUST_CHECK pp_status pp_plan_frameworks(const pp_plan_request *request,
                                           pp_search_result **choice_out, pp_err *err);

#endif
