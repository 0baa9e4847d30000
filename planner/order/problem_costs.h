/* Converts between the simulator's terms (costs and orders of ops F, I, W, B) and those of the
 * order search (problems and their ops F, B, W). Ticks are nanoseconds. */
#ifndef PPSIM_PLANNER_ORDER_PROBLEM_COSTS_H
#define PPSIM_PLANNER_ORDER_PROBLEM_COSTS_H

#include "planner/order/problem_bound.h"
#include "sim/cost/costs.h"
#include "sim/order/order.h"

/* Makes the problem of ordering the ops of one step: every order of it takes as long as pp_simulate
 * predicts under framework ideal, and needs as much memory. stage_rank: [costs->stages]. split: B
 * is the backward for the input and W that for the weights; otherwise B is all of the backward and
 * W nothing. There is no limit if memory_limit_bytes is 0 or beyond PP_ORDER_PROBLEM_BYTES_MAX, or
 * without has_memory. Fails: INPUT (beyond the limits of problems), NOMEM. */
PP_MUST_CHECK pp_status pp_order_problem_from_costs(const pp_costs *costs,
                                                    const uint32_t *stage_rank, bool split,
                                                    int64_t memory_limit_bytes,
                                                    pp_order_problem **problem_out, pp_err *err);

/* Gives the problem other costs of the same sizes. The arguments are as above, and the limit is
 * there or not as it was. Fails: INPUT; the problem is not to be used then. */
PP_MUST_CHECK pp_status pp_order_problem_set_costs(const pp_costs *costs, bool split,
                                                   int64_t memory_limit_bytes,
                                                   pp_order_problem *problem, pp_err *err);

/* ops: as pp_order_problem_print_orders takes them; `split` as above. Fails: NOMEM, INPUT. */
PP_MUST_CHECK pp_status pp_order_problem_to_order(const pp_order_problem *problem,
                                                  const uint32_t *ops, bool split,
                                                  pp_order **order_out, pp_err *err);

/* The inverse of pp_order_problem_to_order; a fused backward is a B followed at once by its W. Each
 * stage must be on one rank and have its backwards. ops: [problem->ops]. */
void pp_order_problem_from_order(const pp_order_problem *problem, const pp_order *order,
                                 uint32_t *ops);

/* Bounds on the makespan of all orders of the ops of `order`, as in problem_bound.h, where `enough`
 * is explained. bounds_out->ticks is 0 if a problem cannot express these ops: a stage is on two
 * ranks, there are forwards only, overlapped pairs take a time of their own, some backwards are
 * split while others are cheaper than their halves, or a number is too large. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_order_bounds_of_order(const pp_costs *costs, const pp_order *order,
                                                 int64_t memory_limit_bytes, int64_t enough,
                                                 pp_order_bounds *bounds_out, pp_err *err);

#endif
