/* The settings of sharded parameters that a request leaves free, chosen for the plan that a search
 * takes. */
#ifndef PPSIM_PLANNER_SEARCH_SHARDING_CHOICE_H
#define PPSIM_PLANNER_SEARCH_SHARDING_CHOICE_H

#include "planner/search/result.h"

/* Simulates candidate `index` with other values of each setting that the request leaves free. Sets
 * those of its setup and of itself that are measurably faster and need no memory beyond the limit,
 * or beyond the headroom if it leaves that free. choice: [PP_SETTING_COUNT]; receives the values of
 * each setting that was looked at, the taken one first. Not with jitter, which has ranked the
 * candidates as they are. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_search_choose_sharding(pp_search *search, size_t index,
                                                  pp_setting_choice *choice, pp_err *err);

#endif
