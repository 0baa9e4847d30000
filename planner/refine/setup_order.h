/* The search for free orders in one setup. */
#ifndef PPSIM_PLANNER_REFINE_SETUP_ORDER_H
#define PPSIM_PLANNER_REFINE_SETUP_ORDER_H

#include "planner/candidate/search_state.h"
#include "planner/order/problem_bound.h"
#include "planner/refine/free_order_setups.h"

/* The budget of one setup: iterations, or the time between two parts of the whole, from 0 to 1. */
typedef struct pp_budget_share {
    const pp_plan_request *request;
    int64_t iterations; /* 0: limited by time, or not at all */
    double from, to;
    const pp_candidate *like; /* reports a better order as a candidate like this; NULL: reports
                                 none */
    pp_ns end_ns;             /* the part of its step after the makespan */
} pp_budget_share;

/* The order of one replica. */
typedef struct pp_replica_order {
    pp_order *order;
    int64_t makespan; /* INT64_MAX: no order yet */
    bool searched;
} pp_replica_order;

/* The most orders that are simulated beside the best one, since in a framework another may end
 * first. */
enum { PP_ORDERING_OTHERS = 52 };

/* The search in one setup. */
typedef struct pp_ordering {
    pp_search *search;
    pp_setup_candidate at;
    bool split;
    pp_cost_set set;
    pp_order *seed;                             /* the named order to begin with; NULL: none */
    pp_replica_order *share;                    /* [set.count] */
    int64_t *reserve;                           /* [ranks]: memory for the framework's buffers */
    pp_replica_order other[PP_ORDERING_OTHERS]; /* [others]; only if there is one replica */
    size_t others;
    int64_t named;          /* makespan of the seed in the slowest replica; 0: none */
    pp_order_bounds limits; /* bounds of the replica that was searched last */
    int64_t makespan;       /* makespan of that replica */
    pp_ns end_ns;           /* estimated time from the makespan to the end of the step */
    double lost;            /* part of the named order's step that the framework's communication
                               adds to its makespan and the shortest end of step; 0: not known */
    bool retried;           /* with more reserved: pp_ordering_retry */
    bool done;              /* searched, or not worth it */
    double least;           /* lower bound of the score of any order */
    double score;           /* estimated score of its orders, under framework ideal */
} pp_ordering;

/* Looked up each time, since setups move in memory when the pool grows. */
static inline const pp_setup *pp_ordering_setup(const pp_ordering *o)
{
    return &o->search->pool.setup[o->at.setup];
}

/* Makes its costs and the orders to begin with: that of the named schedule or, unless seed_only, a
 * shorter one by a policy. Sets done if the step is too large for an ordering problem, or nothing
 * fits. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_ordering_open(pp_ordering *o, pp_search *search,
                                         const pp_setup_candidate *at, bool seed_only, pp_err *err);
/* Searches the slowest replica, since it determines the step, until the slowest one has been
 * searched; the others keep their orders. Fails: like pp_order_search. */
PP_MUST_CHECK pp_status pp_ordering_search(pp_ordering *o, const pp_budget_share *budget_share,
                                           pp_err *err);
/* Shrinks the peak of the order that was found at an equal makespan, if there is one replica: the
 * orders that it replaces are kept as others in a framework that communicates. Without a budget
 * only. shrunk_out: whether it is another order now. Fails: like pp_order_search. */
PP_MUST_CHECK pp_status pp_ordering_shrink(pp_ordering *o, bool *shrunk_out, pp_err *err);
/* Raises the reserve to what the framework's buffers take in the orders that were found, and begins
 * again with the named order. Fails: NOMEM, INPUT. */
PP_MUST_CHECK pp_status pp_ordering_retry(pp_ordering *o, pp_err *err);
void pp_ordering_free(pp_ordering *o);

#endif
