/* Continues a search at another memory limit. */
#ifndef PPSIM_PLANNER_SEARCH_LIMIT_H
#define PPSIM_PLANNER_SEARCH_LIMIT_H

#include "planner/candidate/search_state.h"

/* Finds the bound of a setup again, within the limit of this problem. Fails: like
 * pp_setup_find_bound. */
PP_MUST_CHECK pp_status pp_search_bound_again(const pp_plan_problem *problem, const pp_pool *pool,
                                              pp_setup *setup, pp_err *err);
/* After pp_search_continue with a smaller limit: candidates that exceed it become infeasible, and
 * bounds that matter are found again. best_out: the fastest that fits, or SIZE_MAX. Fails: like
 * pp_setup_find_bound. */
PP_MUST_CHECK pp_status pp_search_lower_limit(pp_search *search, size_t *best_out, pp_err *err);

#endif
