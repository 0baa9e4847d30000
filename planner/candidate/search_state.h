/* The state of one search: the problem, which is const, the pool, which grows, and the progress. */
#ifndef PPSIM_PLANNER_CANDIDATE_SEARCH_STATE_H
#define PPSIM_PLANNER_CANDIDATE_SEARCH_STATE_H

#include "planner/candidate/kept_orders.h"
#include "planner/candidate/pool.h"
#include "sim/analysis/report.h"

/* The progress of a search, and what it has found on the way. */
typedef struct pp_progress {
    size_t simulated;    /* iterations of the budget: simulations, of which large ones count as
                            several, and bounds of many microbatches (budget.h) */
    size_t floors;       /* candidates that were tried by the memory of their order */
    size_t usable;       /* setups that are legal and may fit */
    double bounding;     /* the effort of bounds and partitions (budget.h) */
    double bounding_end; /* part of the time at which no more setups are bounded */
    double ops;          /* of the largest candidate that was found to fit */
    bool unseen;         /* some setups were not bounded */
    bool stopped;        /* the budget was used up first */
    bool communicates;   /* programs have sends and receives; known after a simulation */
    pp_err refusal;      /* the first reason why something was not legal */
} pp_progress;

/* The points of the search space: tp, micro-batch size and recomputation. */
typedef struct pp_space {
    bool points_only; /* set it before: points are bounded, and no setups are made */
    size_t legal_points;
    size_t over_score_limit; /* those of them of which no setups were made, also since their bound
                                exceeds the request's limit */
    double least_score;      /* of all points: a bound for any schedule and partition; 0: none */
} pp_space;

/* The costs of the setup that was tried last: with lengths they take longer to make than the memory
 * of an order, and most candidates follow others with the same costs. */
typedef struct pp_kept_costs {
    size_t setup;
    pp_cost_set set; /* no costs: nothing is kept */
} pp_kept_costs;

enum { PP_KEPT_REPORTS = 64 };

/* Reports of the candidates that were simulated last, if the request wants the numbers of a plan
 * alone: number n is in row n % PP_KEPT_REPORTS. */
typedef struct pp_kept_reports {
    struct {
        uint32_t number; /* 0: nothing is kept */
        pp_report *report;
    } row[PP_KEPT_REPORTS];
    uint32_t last; /* number */
} pp_kept_reports;

/* The costs of units for the setups with one tp and recomputation, made with those of the last
 * setup. */
typedef struct pp_kept_units {
    pp_unit_cache *cache;
    int64_t tp;
    pp_recompute recompute;
} pp_kept_units;

typedef struct pp_search {
    const pp_plan_problem *problem; /* owned; NULL: not opened */
    pp_pool pool;
    pp_kept_costs kept;
    pp_kept_orders *orders; /* the request's or, with own_orders, the search's; NULL: none yet */
    bool own_orders;
    pp_kept_reports reports;
    pp_kept_units units;
    pp_progress progress;
    pp_space space;
} pp_search;

/* Makes the request's problem, with the values that it leaves open filled in. The request must
 * outlive the search, or last until pp_search_continue replaces it. Close the search also on
 * failure. Fails: USAGE, NOMEM. */
PP_MUST_CHECK pp_status pp_search_open(pp_search *search, const pp_plan_request *request,
                                       pp_err *err);
/* Continues with this pool for another request, which may differ only in memory limit and budget.
 * Bounds and statuses in the pool remain those of the previous request. Fails: USAGE, NOMEM. */
PP_MUST_CHECK pp_status pp_search_continue(pp_search *search, const pp_plan_request *request,
                                           pp_err *err);
void pp_search_close(pp_search *search); /* for PP_CLEANUP; all zero is fine */
/* The costs of units that are kept for such a setup; NULL: none. */
pp_unit_cache *pp_search_units(pp_search *search, const pp_cost_context *context);
/* Frees the costs that pp_candidate_try has kept. */
void pp_search_drop_costs(pp_search *search);

/* True if the budget is used up, but for the time that the result of the largest candidate that
 * fits takes. */
bool pp_search_is_over(const pp_search *search);
/* True if the budget that is left suffices to simulate a candidate and to make a result of it. */
bool pp_search_affords(const pp_search *search, const pp_candidate *candidate);
/* The most ops of so many microbatches in all replicas. */
double pp_ops_of(const pp_parallel *parallel, uint32_t microbatches, uint32_t replicas);
/* The ops of all replicas of a candidate. */
double pp_search_ops(const pp_search *search, const pp_candidate *candidate);
/* Remembers the first reason why something is not legal. Fails: with `why` itself if its status is
 * neither USAGE nor INPUT. */
PP_MUST_CHECK pp_status pp_refuse(pp_progress *progress, const pp_err *why, pp_err *err);
/* Counts an effort of bounds or partitions, and the iterations that it takes. */
void pp_search_count(pp_progress *progress, double effort);
/* Adds a setup with its bound; takes ownership of its contents, also on failure. Fails: NOMEM,
 * USAGE. */
PP_MUST_CHECK pp_status pp_search_add_setup(pp_search *search, pp_setup setup, pp_err *err);

/* Adds the twin of a setup of the pool: for orders that split the backward if that is for others,
 * and the other way round. Its bound was made with that of the setup if it was wanted. Fails:
 * NOMEM, USAGE. */
PP_MUST_CHECK pp_status pp_search_add_twin(pp_search *search, size_t index, pp_err *err);

#endif
