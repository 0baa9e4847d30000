/* Explains why nothing fits, and finds sets of changes that would; each set is simulated. Method:
 * docs/explanation/planning-memory.md. */
#ifndef PPSIM_PLANNER_STUDY_EXPLAIN_H
#define PPSIM_PLANNER_STUDY_EXPLAIN_H

#include "planner/study/repair.h"

/* Values that make it fit; no subset of them does. */
typedef struct pp_remedy {
    pp_field_values values;
    pp_candidate candidate; /* the fastest candidate with them */
} pp_remedy;

/* The effect of one change alone. */
typedef struct pp_effect {
    pp_change change; /* a growth is by a factor of 2 */
    bool fits;
    bool undecided;      /* the budget ended before all with this change was looked at */
    int64_t short_bytes; /* shortfall of the nearest miss; 0 if it fits, or nothing is legal */
} pp_effect;

/* Owner frees with pp_explanation_free. */
typedef struct pp_explanation {
    int64_t memory_limit_bytes;
    bool certain;        /* pp_repair_is_certain */
    int64_t short_bytes; /* shortfall of the nearest miss */
    pp_candidate asked;  /* the nearest miss, simulated as if it fitted */
    pp_remedy *remedy;   /* [remedies]: fewer GPUs first, then faster, then in the order found */
    size_t remedies;
    pp_effect *effect; /* [effects]: in the order in which they were tried */
    size_t effects;
    bool stopped; /* the budget ended it: some sets of changes were not tried */
} pp_explanation;

/* For a request that pp_plan_search finds INFEASIBLE, with its pp given. It obeys the budget of the
 * request, as far as that is not used up yet; bounding 100 setups counts as a simulation. With a
 * budget, sets of changes are tried with plain pipelines. explanation_out: NULL if
 * something fits after all, or if the rules forbid everything. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_explain(const pp_plan_request *request, pp_explanation **explanation_out,
                                   pp_err *err);
void pp_explanation_free(pp_explanation **explanation); /* for PP_CLEANUP; NULL inside is fine */

#endif
