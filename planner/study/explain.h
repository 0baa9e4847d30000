/* Why nothing fits, and what would: sets of changes, each simulated. Method: docs/planning.md,
 * section 2. */
#ifndef PPSIM_PLANNER_STUDY_EXPLAIN_H
#define PPSIM_PLANNER_STUDY_EXPLAIN_H

#include "planner/study/repair.h"

/* Values that make it fit; no part of them alone does. */
typedef struct pp_remedy {
    pp_field_values values;
    pp_candidate candidate; /* the fastest with them */
} pp_remedy;

/* One change alone. */
typedef struct pp_effect {
    pp_change change; /* a growth: by 2 */
    bool fits;
    int64_t short_bytes; /* of the nearest miss with it; 0 where it fits, or nothing is legal */
} pp_effect;

/* Owner frees with pp_explanation_free. */
typedef struct pp_explanation {
    int64_t memory_limit_bytes;
    int64_t short_bytes; /* of the nearest miss */
    pp_candidate asked;  /* that one; its step as if it fitted */
    pp_remedy *remedy;   /* [remedies]: fewer GPUs first, then faster, then as found */
    size_t remedies;
    pp_effect *effect; /* [effects]: in the order they were tried */
    size_t effects;
} pp_explanation;

/* For a request that pp_plan_search finds INFEASIBLE, with its pp given. explanation_out: NULL
 * where something fits after all, or the rules forbid all. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_explain(const pp_plan_request *request, pp_explanation **explanation_out,
                                   pp_err *err);
void pp_explanation_free(pp_explanation **explanation); /* for PP_CLEANUP; NULL inside is fine */

#endif
