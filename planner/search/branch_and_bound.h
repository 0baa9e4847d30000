/* Simulates what can still win, the best bound first. */
#ifndef PPSIM_PLANNER_SEARCH_BRANCH_AND_BOUND_H
#define PPSIM_PLANNER_SEARCH_BRANCH_AND_BOUND_H

#include "planner/candidate/search_state.h"

/* Simulates candidates of the search until no bound is at or below the best step, and then a few
 * others, so that every schedule has a result if it can have one. Candidates stay where they are.
 * best_out: index of the fastest candidate that fits, or SIZE_MAX when none does.
 * Fails: NOMEM, and like pp_search_costs. */
PP_MUST_CHECK pp_status pp_branch_and_bound(pp_search *search, size_t *best_out, pp_err *err);
/* Simulates further candidates whose bounds are at most `score`, the best bound first; at most
 * `count`. Fails: NOMEM, and like pp_search_costs. */
PP_MUST_CHECK pp_status pp_simulate_within(pp_search *search, double score, size_t count,
                                           pp_err *err);

#endif
