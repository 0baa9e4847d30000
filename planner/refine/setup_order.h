/* The search for free orders in one setup. */
#ifndef PPSIM_PLANNER_REFINE_SETUP_ORDER_H
#define PPSIM_PLANNER_REFINE_SETUP_ORDER_H

#include "planner/candidate/search_state.h"
#include "planner/order/problem_bound.h"
#include "planner/refine/free_order_setups.h"

/* What may be spent on one setup: iterations, or from one part of the time to another. */
typedef struct pp_budget_share {
    const pp_plan_request *request;
    int64_t iterations; /* 0: time */
    double from, to;
    const pp_candidate *like; /* a better order is reported as a candidate like this; NULL: not */
    pp_ns end_ns;             /* of its step, behind the makespan */
} pp_budget_share;

/* One replica's part of a planned step. */
typedef struct pp_replica_order {
    pp_order *order;
    int64_t makespan; /* INT64_MAX: no order yet */
    bool searched;
} pp_replica_order;

/* The search in one setup. */
typedef struct pp_ordering {
    pp_search *search;
    pp_setup_candidate at;
    bool split;
    pp_cost_set set;
    pp_order *seed;          /* NULL: none */
    pp_replica_order *share; /* [set.count] */
    int64_t named;           /* makespan of the seed in the slowest replica; 0: none */
    pp_order_bounds limits;  /* of the replica looked at last */
    int64_t makespan;        /* of that */
    pp_ns end_ns;            /* of the step, behind the makespan, about */
    bool exhausted;          /* all its orders were looked at */
    bool done;               /* searched, or of no use */
    double least;            /* score of any order */
    double score;            /* of its orders, under framework ideal, about */
    double floor;            /* of an order that meets the bound, about */
} pp_ordering;

/* Setups move in memory when more come. */
static inline const pp_setup *pp_ordering_setup(const pp_ordering *o)
{
    return &o->search->pool.setup[o->at.setup];
}

/* Its costs, and orders to begin with. Nothing is left to do where instances do not go so far, or
 * nothing fits. */
PP_MUST_CHECK pp_status pp_ordering_open(pp_ordering *o, pp_search *search,
                                         const pp_setup_candidate *at, pp_err *err);
/* The step is that of the slowest replica, so that one is searched until it is done, and the rest
 * keep the orders they have. */
PP_MUST_CHECK pp_status pp_ordering_search(pp_ordering *o, const pp_budget_share *budget_share,
                                           pp_err *err);
void pp_ordering_free(pp_ordering *o);

#endif
