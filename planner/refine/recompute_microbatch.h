/* Recomputation that each stage chooses for each microbatch. Method:
 * docs/explanation/planning-recomputation.md. */
#ifndef PPSIM_PLANNER_REFINE_RECOMPUTE_MICROBATCH_H
#define PPSIM_PLANNER_REFINE_RECOMPUTE_MICROBATCH_H

#include "planner/candidate/search_state.h"

/* The level of a stage says how much of it is recomputed. Each level adds a whole layer; with
 * halves each adds the attention core of one layer, until all have it, and then the rest of one
 * layer. Returns the highest level of the stage. */
int64_t pp_recompute_levels(bool halves, const pp_stage *stage);
/* The layers that are recomputed at a level. */
pp_recomputed pp_recompute_at(bool halves, const pp_stage *stage, int64_t level);

/* Finds out whether half layers pay off, that is, whether the attention core frees more memory per
 * second than the rest of a layer. Fails: like pp_cost_unit. */
PP_MUST_CHECK pp_status pp_recompute_halves(const pp_cost_context *context,
                                            const pp_workload *workload, bool *halves_out,
                                            pp_err *err);

/* A setup in which microbatches are to differ. */
typedef struct pp_refining {
    const pp_plan_problem *problem;
    const pp_workload *workload; /* of the setup */
    const pp_setup *setup;       /* its stages recompute an amount that is known to fit */
    pp_candidate like;           /* its schedule makes the order if `order` is NULL */
    pp_order *const *order;      /* [orders]: one, or one per replica; or NULL */
    uint32_t orders;
    bool halves;
    const int64_t *reserve_bytes; /* [ranks]: bytes to leave free; NULL: none */
} pp_refining;

/* True if microbatches may differ in a setup like this, by the rules of the request. */
bool pp_recompute_may_differ(const pp_plan_request *request, const pp_setup *setup);
/* Makes a table with which the order fits, as far as the ordering problem models memory. No
 * microbatch recomputes more than the setup's stages do. table_out: the caller frees it; NULL if
 * there is none. left_bytes: [ranks], the bytes that the fullest op then leaves in addition to the
 * reserve; may be NULL. Fails: like pp_cost_model_tables, pp_candidate_order and
 * pp_order_problem_from_costs. */
PP_MUST_CHECK pp_status pp_recompute_refine(const pp_refining *refining,
                                            pp_recompute_table **table_out, int64_t *left_bytes,
                                            pp_err *err);
/* Adds a setup like `like` with this table, which it takes over, also on failure.
 * Fails: like pp_search_add_setup. */
PP_MUST_CHECK pp_status pp_recompute_add_setup(pp_search *search, const pp_setup *like,
                                               pp_recompute_table **table, pp_err *err);
/* Gives a planned candidate that recomputes by stage a table that suits its orders, if this is
 * measurably faster. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_recompute_refine_planned(pp_search *search, size_t index, pp_err *err);

#endif
