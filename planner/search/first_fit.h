/* The plainest pipeline that fits: an answer after milliseconds, before anything is searched. */
#ifndef PPSIM_PLANNER_SEARCH_FIRST_FIT_H
#define PPSIM_PLANNER_SEARCH_FIRST_FIT_H

#include "planner/candidate/search_state.h"

/* The largest tp of a plain pipeline: the GPUs of a server, on racks too. */
#define PP_PLAIN_TP 8

/* A finished search that found a candidate. It has its own request, which the search points to, so
 * it is not copied. Owner frees with pp_found_free. */
typedef struct pp_found {
    pp_plan_request request;
    pp_search search;
    size_t best; /* index into its candidates */
} pp_found;

/* Finds the fastest of the plainest pipelines with these degrees: 1F1B, or the schedule that the
 * request gives; one chunk per rank, micro-batches of one sequence, layers spread evenly, the
 * recomputation that is fastest. Values that the request gives are kept. A free tp is that of a
 * whole node, at most PP_PLAIN_TP, or, if that is not legal or does not fit, the next lower power
 * of 2. found_out: stays NULL if none of these is legal, fits and is within the request's score
 * limit. The budget may be used up, but what does not fit into all of it is not tried. simulated:
 * receives the simulations in addition. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_search_first_fit(const pp_plan_request *request, pp_found **found_out,
                                            size_t *simulated, pp_err *err);
void pp_found_free(pp_found **found); /* for PP_CLEANUP; *found NULL is fine */

#endif
