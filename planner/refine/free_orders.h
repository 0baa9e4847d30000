/* Searches orders beyond the named schedules, in the setups in which these did best. */
#ifndef PPSIM_PLANNER_REFINE_FREE_ORDERS_H
#define PPSIM_PLANNER_REFINE_FREE_ORDERS_H

#include "planner/candidate/search_state.h"

typedef enum pp_free_orders_verdict {
    PP_FREE_ORDERS_NOT_ASKED,  /* the request has named schedules only */
    PP_FREE_ORDERS_UNSEARCHED, /* the budget was used up before the search */
    PP_FREE_ORDERS_HOPELESS,   /* none can be measurably faster than the best named schedule */
    PP_FREE_ORDERS_UNUSABLE,   /* the orders that were found hang or lack memory in the framework */
    PP_FREE_ORDERS_ONLY,       /* one was found although no named schedule fits */
    PP_FREE_ORDERS_TAKEN,      /* the best one found is measurably faster and is taken */
    PP_FREE_ORDERS_TIED,       /* the best one found is faster, but within the tie, and the named
                                  schedule is taken (planner/search/choice.h) */
    PP_FREE_ORDERS_NO_GAIN,    /* the best one found is not measurably faster; it is taken only if
                                  the request requires one */
} pp_free_orders_verdict;

/* The outcome of the search for free orders. */
typedef struct pp_free_orders_outcome {
    pp_free_orders_verdict verdict;
    const pp_schedule *named; /* the best named schedule; NULL: none fits */
    double gain;      /* part of its step x GPUs that the best order saves; may be negative */
    pp_reason reason; /* UNUSABLE: why; ONLY, TAKEN, NO_GAIN: how good the order is */
} pp_free_orders_outcome;

/* Searches free orders for the most promising setups; each that fits becomes a candidate "planned".
 * best: SIZE_MAX or the best candidate; changed if the request lets one of these win. Fails:
 * INFEASIBLE if one must win and none was found, NOMEM. */
PP_MUST_CHECK pp_status pp_search_plan_orders(pp_search *search, size_t *best,
                                              pp_free_orders_outcome *outcome_out, pp_err *err);

#endif
