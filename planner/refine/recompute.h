/* Recomputation stage by stage, and microbatch by microbatch, if it is free and memory is short. */
#ifndef PPSIM_PLANNER_REFINE_RECOMPUTE_H
#define PPSIM_PLANNER_REFINE_RECOMPUTE_H

#include "planner/candidate/search_state.h"

/* Adds setups and candidates that recompute no more than they must. Replaces *best by one of them
 * if that is measurably faster. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_search_recompute(pp_search *search, size_t *best, pp_err *err);

#endif
