/* Small instances are solved: no order is shorter than what this returns. */
#ifndef PPSIM_PLANNER_ORDER_EXACT_H
#define PPSIM_PLANNER_ORDER_EXACT_H

#include "planner/order/problem.h"

#define PP_EXACT_OPS_MAX 63

typedef struct pp_exact_budget {
    int64_t states;              /* that are looked at, at most */
    bool (*stop)(void *context); /* NULL: nobody can */
    void *context;
} pp_exact_budget;

/* Looks for orders shorter than *makespan. Where there is one, sets *makespan and ops to the
 * shortest: [instance->ops], as pp_instance_print_orders takes them.
 * decided_out: all orders were looked at; otherwise the budget ended first, and what was found
 * until then is set. The instance has at most PP_EXACT_OPS_MAX ops. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_order_exact(const pp_instance *instance, const pp_exact_budget *budget,
                                       int64_t *makespan, uint32_t *ops, bool *decided_out,
                                       pp_err *err);

#endif
