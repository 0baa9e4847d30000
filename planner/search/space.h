/* The search space: every legal setup with its bound, and every schedule in each of them. */
#ifndef PPSIM_PLANNER_SEARCH_SPACE_H
#define PPSIM_PLANNER_SEARCH_SPACE_H

#include "planner/candidate/search_state.h"

/* Fills an opened search. It bounds at least `min_bounded` setups that may fit, whatever the time.
 * Fails: USAGE when no candidate is legal; INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_search_enumerate(pp_search *search, size_t min_bounded, pp_err *err);

#endif
