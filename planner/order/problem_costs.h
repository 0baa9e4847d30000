/* Between what the simulator counts in and what orders are searched in: costs and orders of ops F,
 * I, W, B on one side, instances and their ops F, B, W on the other. Ticks are nanoseconds. */
#ifndef PPSIM_PLANNER_ORDER_PROBLEM_COSTS_H
#define PPSIM_PLANNER_ORDER_PROBLEM_COSTS_H

#include "planner/order/problem_bound.h"
#include "sim/cost/costs.h"
#include "sim/order/order.h"

/* The problem of ordering the ops of one step: every order of it takes as long as pp_simulate says
 * under framework ideal, and needs as much memory. stage_rank: [costs->stages].
 * split: B is the backward for the input and W that for the weights; otherwise B is all of the
 * backward and W nothing.
 * memory_limit_bytes: 0, beyond PP_INSTANCE_BYTES_MAX, or without has_memory: none.
 * Fails: INPUT (beyond the limits of instances), NOMEM. */
PP_MUST_CHECK pp_status pp_instance_from_costs(const pp_costs *costs, const uint32_t *stage_rank,
                                               bool split, int64_t memory_limit_bytes,
                                               pp_instance **instance_out, pp_err *err);

/* ops: as pp_instance_print_orders takes them; `split` as above. Fails: NOMEM, INPUT. */
PP_MUST_CHECK pp_status pp_instance_to_order(const pp_instance *instance, const uint32_t *ops,
                                             bool split, pp_order **order_out, pp_err *err);

/* The inverse; a fused backward is a B with its W right behind. Each stage must live on one rank
 * and have its backwards. ops: [instance->ops]. */
void pp_instance_from_order(const pp_instance *instance, const pp_order *order, uint32_t *ops);

/* Bounds on the makespan of all orders of the ops of `order`, by the name of each in
 * instance_bound.h; limits_out->ticks is 0 where instances cannot say it: stages on two ranks,
 * forwards only, overlapped pairs that take a time of their own, some backwards split and others
 * cheaper than their halves, more than 2^19 forwards. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_instance_bound_order(const pp_costs *costs, const pp_order *order,
                                                int64_t memory_limit_bytes, pp_limits *limits_out,
                                                pp_err *err);

#endif
