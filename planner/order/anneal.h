/* Searches among policies: samples them, then improves one by simulated annealing. */
#ifndef PPSIM_PLANNER_ORDER_ANNEAL_H
#define PPSIM_PLANNER_ORDER_ANNEAL_H

#include "planner/order/chain.h"
#include "planner/order/iteration_budget.h"

/* Tries policies and keeps the best in the chain. First come policies by rule: the chain takes
 * number `first` and every stride-th one after it. Random ones follow. Ends at `bound` ticks or
 * with the budget, but not before the chain has an order. problem: must pass
 * pp_order_problem_check_room. */
void pp_anneal_sample(const pp_order_problem *problem, pp_search_scratch *scratch, uint32_t first,
                      uint32_t stride, int64_t bound, pp_iteration_budget *budget,
                      pp_search_chain *chain);
/* Anneals the chain's policy, from a temperature of `hot` ticks, until `bound` ticks are reached or
 * the budget ends. Moves of single ops that the chain has made are dropped. */
void pp_anneal_policy(const pp_order_problem *problem, pp_search_scratch *scratch, double hot,
                      int64_t bound, pp_iteration_budget *budget, pp_search_chain *chain);

#endif
