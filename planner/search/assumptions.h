/* The assumptions of a plan: what the request left open and how the search filled it in, as the
 * notes of a plan file. */
#ifndef PPSIM_PLANNER_SEARCH_ASSUMPTIONS_H
#define PPSIM_PLANNER_SEARCH_ASSUMPTIONS_H

#include "planner/candidate/search_state.h"

/* Adds the notes of the chosen candidate. workload: its microbatches. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_search_assume(const pp_search *search, const pp_candidate *chosen,
                                         const pp_workload *workload, pp_notes *notes, pp_err *err);

#endif
