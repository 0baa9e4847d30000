/* Makes an order from a policy (planner/order/policy.h). */
#ifndef PPSIM_PLANNER_ORDER_DISPATCH_H
#define PPSIM_PLANNER_ORDER_DISPATCH_H

#include "planner/order/policy.h"

/* Scratch memory for the orders of one problem. */
typedef struct pp_dispatch pp_dispatch;

/* problem: kept, must outlive the dispatch. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_dispatch_new(const pp_order_problem *problem, pp_dispatch **dispatch_out,
                                        pp_err *err);
void pp_dispatch_free(pp_dispatch **dispatch); /* for PP_CLEANUP; *dispatch NULL is fine */

/* Runs all ranks by the policy. Returns the makespan in ticks, or INT64_MAX when the policy gets
 * stuck or certainly ends after `limit`. */
int64_t pp_dispatch_run(pp_dispatch *dispatch, const pp_policy *policy, int64_t limit);
/* The order that the last run made, as pp_order_problem_print_orders takes it; valid until the next
 * run. */
const uint32_t *pp_dispatch_ops(const pp_dispatch *dispatch);

#endif
