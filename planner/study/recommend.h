/* One search, up to the plan that is recommended. */
#ifndef PPSIM_PLANNER_STUDY_RECOMMEND_H
#define PPSIM_PLANNER_STUDY_RECOMMEND_H

#include "planner/search/search.h"

/* Searches named schedules, then free orders if the request allows them. Takes the fastest or, with
 * a tie in the request, the one that planner/search/choice.h prefers; if none that ties leaves the
 * headroom, it searches again for such plans alone. With `fastest` in the request, too, it searches
 * the same and takes the fastest of all. With jitter in the request, that decides.
 * search: close it with pp_search_close, also on failure. Fails: like pp_search_solve, and
 * INFEASIBLE if an order must be found and none is. */
PP_MUST_CHECK pp_status pp_recommend(pp_search *search, const pp_plan_request *request,
                                     pp_search_outcome *outcome_out, pp_err *err);

#endif
