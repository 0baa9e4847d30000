/* One search over schedule, chunks per rank, partition, recomputation, tensor-parallel degree and
 * micro-batch size, as far as the request does not give them. */
#ifndef PPSIM_PLANNER_SEARCH_SEARCH_H
#define PPSIM_PLANNER_SEARCH_SEARCH_H

#include "planner/candidate/search_state.h"
#include "planner/refine/free_orders.h"
#include "planner/search/choice.h"
#include "planner/search/jitter_choice.h"

/* The outcome of a whole search (planner/study/recommend.h). */
typedef struct pp_search_outcome {
    size_t best; /* index into the candidates; SIZE_MAX: nothing fits */
    pp_free_orders_outcome orders;
    pp_recommendation recommendation;
    pp_jitter_ranking ranking;
} pp_search_outcome;

/* Finds the best candidate with a schedule of the table, with recomputation and partition refined.
 * With a budget the plainest pipeline that fits (planner/search/first_fit.h) is found first, and is
 * the answer unless the rest of the search finds a better one before the budget ends. search: close
 * it with pp_search_close, also on failure. best_out: index into its candidates; SIZE_MAX when
 * nothing fits. Fails: USAGE when no candidate is legal; INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_search_solve(pp_search *search, const pp_plan_request *request,
                                        size_t *best_out, pp_err *err);

#endif
