/* One search: what is asked with every value filled in, and all data, setups and candidates that it
 * has so far. */
#ifndef PPSIM_PLANNER_CANDIDATE_POOL_H
#define PPSIM_PLANNER_CANDIDATE_POOL_H

#include "planner/candidate/candidate.h"
#include "planner/candidate/problem.h"
#include "planner/candidate/setup.h"

/* What was found for a candidate whose schedule is "planned". */
typedef struct pp_planned {
    size_t candidate;
    pp_order **order; /* [count]: one, or one per replica */
    uint32_t count;
} pp_planned;

typedef struct pp_search {
    pp_plan_problem problem;
    bool communicates; /* its programs have sends and receives; known after a simulation */
    pp_data *data;
    size_t data_count, data_capacity;
    pp_setup *setup;
    size_t setup_count, setup_capacity;
    pp_candidate *candidate;
    size_t count, capacity;
    size_t simulated;
    bool stopped;
    size_t points, cut; /* legal ones; those of them beyond the request's limit */
    double least_score; /* of all points: a bound for any schedule and partition; 0: none */
    bool unseen;        /* some setups were not bounded */
    size_t usable;      /* setups that are legal and may fit */
    size_t min_bounded; /* so many are bounded, whatever the time */
    pp_err refusal;     /* the first reason why something was not legal */
    pp_planned *planned;
    size_t planned_count, planned_capacity;
} pp_search;

/* Values the request leaves open are filled in. Fails: USAGE. */
PP_MUST_CHECK pp_status pp_search_open(pp_search *search, const pp_plan_request *request,
                                       pp_err *err);
void pp_search_close(pp_search *search); /* for PP_CLEANUP; all zero is fine */
/* Score that the set-ups that were bounded and may fit have at least; HUGE_VAL: there are none. */
double pp_search_least(const pp_search *search);
/* Is the budget used up? Time ends a search only when it has found something. */
bool pp_search_is_over(const pp_search *search, bool found);
/* Remembers the first reason why something is not legal. Fails: as `why` where that is neither
 * USAGE nor INPUT. */
PP_MUST_CHECK pp_status pp_search_refuse(pp_search *search, const pp_err *why, pp_err *err);
/* Adds a setup with its bound; takes over what it owns, also on failure. Fails: NOMEM, USAGE. */
PP_MUST_CHECK pp_status pp_search_add_setup(pp_search *search, pp_setup setup, pp_err *err);
/* Adds a setup as it is. Fails: NOMEM, and frees what the setup owns. */
PP_MUST_CHECK pp_status pp_search_append_setup(pp_search *search, pp_setup setup, pp_err *err);
/* Adds a candidate, not simulated. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_search_add_candidate(pp_search *search, const pp_schedule *schedule,
                                                size_t setup_index, pp_err *err);
/* The tables of one of its setups, or of one like them. Fails: as pp_setup_costs. */
PP_MUST_CHECK pp_status pp_search_costs(const pp_search *search, const pp_setup *setup,
                                        pp_cost_set *set_out, pp_err *err);
/* What was found for the candidate at `index`; NULL: it has a named schedule. */
pp_planned *pp_search_planned(const pp_search *search, size_t index);
void pp_planned_free(pp_planned *planned);

#endif
