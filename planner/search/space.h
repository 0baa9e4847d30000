/* The search space: every legal setup with its bound, and every schedule in each of them. */
#ifndef PPSIM_PLANNER_SEARCH_SPACE_H
#define PPSIM_PLANNER_SEARCH_SPACE_H

#include "planner/candidate/search_state.h"

/* Fills an opened search. When the time is up, what was not bounded is listed as unseen. Fails:
 * USAGE when no candidate is legal; INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_search_enumerate(pp_search *search, pp_err *err);

#endif
