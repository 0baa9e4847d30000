/* Searches for the order in which each rank runs the ops of an instance: dispatch by policies,
 * annealing of policies, then moves of single ops along the critical path; small instances are
 * solved. Anytime: whenever it is
 * stopped it has an order that fits. Method and measurements: docs/planning.md. */
#ifndef PPSIM_PLANNER_ORDER_SEARCH_H
#define PPSIM_PLANNER_ORDER_SEARCH_H

#include "planner/order/problem_bound.h"

#define PP_SEARCH_THREADS_MAX 1024

typedef struct pp_search_budget {
    int64_t iterations; /* one is a dispatch or PP_SEARCH_MOVES moves; 0: `spent` alone decides */
    /* The part of the budget that is gone; from 1 on the search ends. With `iterations` it only
     * matters whether it is below 1 (an interrupt). Called by all threads. NULL: iterations. */
    double (*spent)(void *context);
    /* A better order than all before; from one thread at a time. NULL: not told. */
    void (*found)(void *context, int64_t makespan);
    void *context;
    /* An order to begin with, as pp_instance_print_orders takes them; what is found is not worse.
     * Left aside where it waits in a circle or does not fit. NULL: none. */
    const uint32_t *start;
    uint64_t seed;
    uint32_t threads; /* 0: 1. With `iterations` the result does not depend on it */
} pp_search_budget;

#define PP_SEARCH_MOVES 64

/* Owner frees with pp_found_order_free. */
typedef struct pp_found_order {
    int64_t makespan;
    uint32_t *ops;    /* as pp_instance_print_orders takes them */
    bool proved;      /* no order is shorter: it meets the bound, or all were looked at */
    bool exhausted;   /* all were looked at (planner/order/exact.h): small instances */
    bool ended_early; /* `spent` said 1 before the iterations were used up */
} pp_found_order;

/* bound: of pp_instance_bound; the search ends when it is met.
 * Fails: INFEASIBLE where a microbatch does not fit alone; USAGE (threads); NOMEM. */
PP_MUST_CHECK pp_status pp_search_order(const pp_instance *instance, int64_t bound,
                                        const pp_search_budget *budget, pp_found_order **found_out,
                                        pp_err *err);
void pp_found_order_free(pp_found_order **found); /* for PP_CLEANUP; *found NULL is fine */

#endif
