/* The search for a request whose sequences may be packed in several ways. */
#ifndef PPSIM_PLANNER_STUDY_PACKING_CHOICE_H
#define PPSIM_PLANNER_STUDY_PACKING_CHOICE_H

#include "planner/search/result.h"

/* Finds the best of the request's packings; without any, takes the lengths as they are. Fails: like
 * pp_plan_one. */
PP_MUST_CHECK pp_status pp_plan_packings(const pp_plan_request *request,
                                         pp_search_result **choice_out, pp_err *err);
/* Searches with the lengths packed first fit; the result records that the budget was too small for
 * packings. */
PP_MUST_CHECK pp_status pp_plan_first_fit(const pp_plan_request *request,
                                          pp_search_result **choice_out, pp_err *err);

#endif
