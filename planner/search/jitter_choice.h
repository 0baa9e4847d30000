/* Which of the fastest candidates is best when durations vary. */
#ifndef PPSIM_PLANNER_SEARCH_JITTER_CHOICE_H
#define PPSIM_PLANNER_SEARCH_JITTER_CHOICE_H

#include "planner/candidate/pool.h"

/* Where the request has jitter: studies the fastest candidates and changes best to the one with the
 * least percentile; 1f1b where that is as good. Fails: USAGE (no such rank or link), INPUT, NOMEM.
 */
PP_MUST_CHECK pp_status pp_search_rank(pp_search *search, size_t *best, pp_err *err);

#endif
