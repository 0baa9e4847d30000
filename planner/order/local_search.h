/* Improves an order by moves of single ops along its critical path and exchanges of
 * microbatches. */
#ifndef PPSIM_PLANNER_ORDER_LOCAL_SEARCH_H
#define PPSIM_PLANNER_ORDER_LOCAL_SEARCH_H

#include "planner/order/chain.h"
#include "planner/order/iteration_budget.h"

#define PP_LOCAL_SEARCH_MOVES 64 /* moves that an iteration tries */

/* Anneals the chain's order, from a temperature of `hot` ticks, until `bound` ticks are reached or
 * the budget ends. A chain without an order stays as it is. */
void pp_local_search(const pp_order_problem *problem, pp_search_scratch *scratch, double hot,
                     int64_t bound, pp_iteration_budget *budget, pp_search_chain *chain);

#endif
