/* Partitions chosen by the simulated step, for pipelines in which a link between two ranks
 * differs. */
#ifndef PPSIM_PLANNER_REFINE_LAYER_SHIFT_H
#define PPSIM_PLANNER_REFINE_LAYER_SHIFT_H

#include "planner/candidate/search_state.h"

/* Begins with the best candidates of several schedules; best is changed to one that is measurably
 * faster. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_search_shift(pp_search *search, size_t *best, pp_err *err);

#endif
