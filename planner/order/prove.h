/* Proves how short an order can be, and finds shorter ones on the way. */
#ifndef PPSIM_PLANNER_ORDER_PROVE_H
#define PPSIM_PLANNER_ORDER_PROVE_H

#include "planner/order/problem.h"

#include <stdbool.h>

/* Problems with more pairs of ops that share a rank are left alone; a pair takes 100 bytes. */
#define PP_PROVE_PAIRS_MOST (1u << 20)

typedef struct pp_prove_budget {
    int64_t work; /* the most visits of ops, pairs and clauses; 0: `spent` alone decides */
    /* The part of the time that is used up; the proof ends when it reaches 1. With `work` it only
     * matters whether it is below 1 (an interrupt). NULL: work alone decides. */
    double (*spent)(void *context);
    void *context;
} pp_prove_budget;

/* What is known of a problem. Ops of 0 ticks without lags between them may wait for each other in a
 * circle, which times do not show: pp_movable_order_set tells whether `ops` is an order then. The
 * bound holds in any case. */
typedef struct pp_proved {
    int64_t bound;    /* ticks; no order is shorter */
    int64_t makespan; /* of ops; equal to bound: no order is shorter than this one */
    uint32_t *ops; /* [problem->ops], as pp_order_problem_print_orders takes them; the caller's */
} pp_proved;

/* Whether the problem is small enough; if not, the functions below do nothing. */
bool pp_prove_is_possible(const pp_order_problem *problem);
/* Looks for orders shorter than known->makespan until there are none, which makes it the bound. */
PP_MUST_CHECK pp_status pp_prove_shortest(const pp_order_problem *problem,
                                          const pp_prove_budget *budget, pp_proved *known,
                                          pp_err *err);
/* Looks for larger bounds between known->bound and known->makespan, and takes the orders that it
 * finds. Both change nothing where problem->rooms_are_low but for shorter orders; fail: NOMEM. */
PP_MUST_CHECK pp_status pp_prove_bound(const pp_order_problem *problem,
                                       const pp_prove_budget *budget, pp_proved *known,
                                       pp_err *err);

#endif
