/* Solves small problems: no order is shorter than the one found. */
#ifndef PPSIM_PLANNER_ORDER_EXACT_H
#define PPSIM_PLANNER_ORDER_EXACT_H

#include "planner/order/problem.h"

#include <stdbool.h>

#define PP_EXACT_OPS_MAX 63

typedef struct pp_exact_budget {
    int64_t states;              /* the most states that are examined */
    bool (*stop)(void *context); /* returns true to end the search; NULL: never */
    void *context;
} pp_exact_budget;

/* Looks for orders shorter than *makespan. If there is one, sets *makespan and ops, [problem->ops],
 * to the shortest, as pp_order_problem_print_orders takes it. decided_out: whether all orders were
 * examined; if not, the budget ended first, and the shortest order found until then is set.
 * problem: has at most PP_EXACT_OPS_MAX ops. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_exact_solve(const pp_order_problem *problem,
                                       const pp_exact_budget *budget, int64_t *makespan,
                                       uint32_t *ops, bool *decided_out, pp_err *err);

#endif
