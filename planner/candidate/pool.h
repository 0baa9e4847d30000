/* The pool of a search: the data, setups, candidates and planned orders that it has so far. An
 * index into one of them stays valid while the pool grows; a pointer does not. */
#ifndef PPSIM_PLANNER_CANDIDATE_POOL_H
#define PPSIM_PLANNER_CANDIDATE_POOL_H

#include "planner/candidate/candidate.h"
#include "planner/candidate/problem.h"
#include "planner/candidate/setup.h"

/* The orders that were found for a candidate whose schedule is "planned". */
typedef struct pp_planned {
    size_t candidate;
    pp_order **order; /* [count]: one, or one per replica */
    uint32_t count;
} pp_planned;

typedef struct pp_pool {
    pp_data *data;
    size_t data_count, data_capacity;
    pp_setup *setup;
    size_t setup_count, setup_capacity;
    pp_candidate *candidate;
    size_t count, capacity;
    pp_planned *planned;
    size_t planned_count, planned_capacity;
} pp_pool;

void pp_pool_free(pp_pool *pool); /* all zero is fine */
/* The least score that the bounds allow for the setups that may fit; HUGE_VAL if there are none. */
double pp_pool_least(const pp_pool *pool);
/* Adds a setup as it is. Fails: NOMEM, and frees what the setup owns. */
PP_MUST_CHECK pp_status pp_pool_append_setup(pp_pool *pool, pp_setup setup, pp_err *err);
/* Adds a candidate that has not been simulated. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_pool_add_candidate(pp_pool *pool, const pp_plan_problem *problem,
                                              const pp_schedule *schedule, size_t setup_index,
                                              pp_err *err);
/* The cost tables of one of its setups, or of one with the same data. Fails: like pp_setup_costs.
 */
PP_MUST_CHECK pp_status pp_pool_costs(const pp_pool *pool, const pp_setup *setup,
                                      pp_cost_set *set_out, pp_err *err);
/* The orders found for the candidate at `index`; NULL: it has a named schedule. */
pp_planned *pp_pool_planned(const pp_pool *pool, size_t index);

#endif
