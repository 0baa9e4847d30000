/* The assumptions of a plan in sentences: what the request left open, how the search filled it in,
 * and what the cost model takes for granted. */
#ifndef PPSIM_TOOLS_PPSIM_PLAN_ASSUMPTIONS_H
#define PPSIM_TOOLS_PPSIM_PLAN_ASSUMPTIONS_H

#include "planner/search/result.h"

/* Puts the caller's own notes, and then those about the result, before all other notes of the plan
 * and its prediction. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_plan_note_assumptions(const pp_search_result *result,
                                                 const pp_notes *own, pp_err *err);

#endif
