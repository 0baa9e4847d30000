/* Searches for the order in which each rank runs the ops of a problem, so that the step is short
 * and the memory suffices. The search can be stopped at any time and always has an order that fits.
 * Unless the problem is large, it also proves how short an order can be. */
#ifndef PPSIM_PLANNER_ORDER_SEARCH_H
#define PPSIM_PLANNER_ORDER_SEARCH_H

#include "planner/order/problem_bound.h"

#include <stdbool.h>

#define PP_ORDER_SEARCH_THREADS_MAX 1024

typedef struct pp_order_search_options {
    /* An iteration is one dispatch of a policy or PP_LOCAL_SEARCH_MOVES moves of ops.
     * 0: `spent` alone decides when the search ends. */
    int64_t iterations;
    /* The part of the budget that is used up; the search ends when it reaches 1. With `iterations`
     * it only matters whether it is below 1 (an interrupt). All threads call it.
     * NULL: iterations alone decide. */
    double (*spent)(void *context);
    /* Called with every makespan that is shorter than all before, by one thread at a time. NULL: no
     * callback. */
    void (*found)(void *context, int64_t makespan);
    void *context;
    /* An order to begin with, as pp_order_problem_print_orders takes them; the result is not worse.
     * It is ignored if its ops wait for each other in a cycle or do not fit into the memory. NULL:
     * none. */
    const uint32_t *start;
    uint32_t runners; /* the most runners-up that are returned */
    uint64_t seed;
    uint32_t threads; /* 0 means 1. With `iterations` the result does not depend on it */
} pp_order_search_options;

/* Owner frees with pp_found_order_free. */
typedef struct pp_found_order {
    int64_t makespan;
    uint32_t *ops;        /* as pp_order_problem_print_orders takes them */
    int64_t bound;        /* the one given, or a larger one: no order is shorter */
    bool proved;          /* the order meets it */
    bool ended_early;     /* `spent` reached 1 before the iterations were used up */
    uint32_t *runner_ops; /* [runners x ops]: orders with which chains ended phases, by makespan */
    int64_t *runner;      /* [runners] makespans, each once, all longer */
    uint32_t runners;
    uint32_t chains; /* that were worked on side by side */
} pp_found_order;

/* bound: of pp_order_bounds_find; the search ends when it is met. Fails: INFEASIBLE if a microbatch
 * alone does not fit; USAGE (threads); NOMEM. */
PP_MUST_CHECK pp_status pp_order_search(const pp_order_problem *problem, int64_t bound,
                                        const pp_order_search_options *options,
                                        pp_found_order **found_out, pp_err *err);
void pp_found_order_free(pp_found_order **found); /* for PP_CLEANUP; *found NULL is fine */

#endif
