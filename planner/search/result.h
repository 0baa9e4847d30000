/* The answer of a search: a plan, and every candidate that was considered. */
#ifndef PPSIM_PLANNER_SEARCH_RESULT_H
#define PPSIM_PLANNER_SEARCH_RESULT_H

#include "planner/candidate/pool.h"

/* Owner frees with pp_search_result_free. */
typedef struct pp_search_result {
    pp_plan *plan;           /* version and command are the caller's to fill */
    pp_cost_context context; /* of its costs; model and hardware are the request's */
    pp_bound bound;
    pp_candidate *candidate; /* [count]: the chosen one, other OK ones by speed, pruned, others */
    size_t count, ok, pruned, simulated;
    pp_candidate *split; /* [splits]: with request.gpus, the best of each legal split, as far as it
                            is known; the chosen one first */
    size_t splits;
    bool per_gpu;      /* GPU counts differ between candidates: compared by tokens/s per GPU */
    bool stopped;      /* the budget ended before the search did */
    char target[2400]; /* what the limits of the target cost (planner/study/target.h); empty: no
                          target */
    pp_jitter_ranking ranking;
    char orders[200];      /* what the search for orders came to; empty: there was none */
    char packing[400];     /* what the search for packings came to; empty: there was none */
    char setting[3][1000]; /* framework, shapes, communicators: the choice and what others cost;
                            empty: not free */
} pp_search_result;

void pp_search_result_free(pp_search_result **choice); /* for PP_CLEANUP; *choice NULL is fine */

/* From a finished search, of which `best` is the chosen candidate. Plan and candidates move out of
 * the search, which is good for nothing but pp_search_close then. Fails: INFEASIBLE, NOMEM. */
PP_MUST_CHECK pp_status pp_search_result_new(pp_search *search, size_t best,
                                             pp_search_result **result_out, pp_err *err);

/* One line per candidate, all of them, with a header; for spreadsheets. */
void pp_search_result_csv(const pp_search_result *choice, pp_text *text);

#endif
