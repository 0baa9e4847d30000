/* The memory that a framework's buffers take beside that of the ops of an ordering problem. */
#ifndef PPSIM_PLANNER_REFINE_ORDER_RESERVE_H
#define PPSIM_PLANNER_REFINE_ORDER_RESERVE_H

#include "planner/candidate/search_state.h"
#include "planner/order/problem.h"

/* An order of one replica, with what it is simulated with. */
typedef struct pp_reserved_order {
    const pp_plan_problem *problem;
    const pp_setup *setup;
    const pp_candidate *candidate;
    const pp_costs *costs;
    const pp_order *order;
} pp_reserved_order;

/* Raises reserve[r] to what the order's simulated peak on rank r exceeds the peak of its ops by.
 * x: the replica's problem, without any reserve. An order that the framework does not run leaves
 * `reserve` as it is. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_order_reserve_grow(const pp_reserved_order *of,
                                              const pp_order_problem *x, int64_t *reserve,
                                              pp_err *err);

/* Takes the reserve from the rooms of the problem. */
void pp_order_reserve_take(const int64_t *reserve, pp_order_problem *x);

/* used_out: [x->ranks], the most of its room that each rank uses. ops: as
 * pp_order_problem_print_orders takes them. */
void pp_order_used(const pp_order_problem *x, const uint32_t *ops, int64_t *used_out);

#endif
