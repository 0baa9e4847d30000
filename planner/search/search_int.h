/* The parts of the search; for planner/ only. */
#ifndef PPSIM_PLANNER_SEARCH_SEARCH_INT_H
#define PPSIM_PLANNER_SEARCH_SEARCH_INT_H

#include "planner/bound/partition.h"
#include "planner/search/branch_and_bound.h"
#include "sim/cost/cost_model.h"

/* The microbatches of one micro-batch size. */
typedef struct pp_data {
    int64_t micro_batch_size;
    uint32_t multiple_of;
    pp_workload real;     /* as packed */
    pp_workload workload; /* as computed: padded where --shapes says so */
    uint32_t shapes;      /* distinct token counts of it */
} pp_data;

/* All that costs depend on: a candidate but its schedule. */
typedef struct pp_setup {
    pp_cost_context context;
    int64_t micro_batch_size;
    pp_partition_kind partition;
    bool split;                     /* the bound is for orders that split the backward */
    size_t data;                    /* into pp_search.data */
    pp_stage *stages;               /* [pp * vpp] */
    pp_recompute_table *recomputed; /* NULL, or that of the context: owned */
    pp_bound bound;
    pp_ns least_step_ns;
    bool legal;
    bool unseen;      /* the budget ended before it was bounded; has no data and no stages */
    char reason[400]; /* why it is not legal, or cannot fit */
    int64_t short_bytes;
    uint32_t short_rank;
} pp_setup;

/* What was found for a candidate whose schedule is "planned". */
typedef struct pp_planned {
    size_t candidate;
    pp_order **order; /* [count]: one, or one per replica */
    uint32_t count;
} pp_planned;

typedef struct pp_search {
    const pp_plan_request *request;
    pp_parallel parallel; /* as requested; 0: free */
    int64_t seq_length, global_batch_size, memory_limit_bytes;
    double *rank_speed; /* [pp], then [pp] times the share of the limit that the rank has; NULL:
                           all are 1 */
    bool fitted;        /* some rank has less memory than the others */
    const pp_framework *framework;
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
    char orders[200], verdict[200]; /* as in pp_search_result */
    pp_jitter_result jitter;        /* of the best candidate, where it was asked for */
} pp_search;

/* Sequences per step when not given: 8 x pp x dp, rounded up to whole micro-batches. */
int64_t pp_default_batch_size(const pp_plan_request *request);
/* Values the request leaves open are filled in. Fails: USAGE. */
PP_MUST_CHECK pp_status pp_search_open(pp_search *search, const pp_plan_request *request,
                                       pp_err *err);
/* The stack's, changed where they are given; recompute is left alone. */
pp_switches pp_switches_requested(const pp_switch_request *request, pp_switches stack);
/* Every setup with its bound, every candidate. Fails: USAGE when none is legal; INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_search_enumerate(pp_search *search, pp_err *err);
/* Simulates what can still win. best_out: index into candidate, or SIZE_MAX when nothing fits.
 * Candidates stay where they are. */
PP_MUST_CHECK pp_status pp_search_run(pp_search *search, size_t *best_out, pp_err *err);
void pp_search_close(pp_search *search);
/* Score that the set-ups that were bounded and may fit have at least; HUGE_VAL: there are none. */
double pp_search_least(const pp_search *search);
/* Is the budget used up? Time ends a search only when it has found something. */
bool pp_search_is_over(const pp_search *search, bool found);
/* Frees what it owns. */
void pp_setup_free(pp_setup *setup);
/* Adds a setup with its bound; takes over what it owns, also on failure. Fails: NOMEM, USAGE. */
PP_MUST_CHECK pp_status pp_search_add_setup(pp_search *search, pp_setup setup, pp_err *err);
/* Adds a candidate, not simulated. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_search_add_candidate(pp_search *search, const pp_schedule *schedule,
                                                size_t setup_index, pp_err *err);
bool pp_same_stages(const pp_stage *a, const pp_stage *b, size_t count);
/* Recomputation stage by stage, and microbatch by microbatch, where recomputation is free and
 * memory is short: new setups and candidates, of which the best is changed to one that is
 * measurably faster. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_search_recompute(pp_search *search, size_t *best, pp_err *err);
/* Where a link differs: partitions that the simulated step decides, begun with the best candidates
 * of several schedules; best becomes one that is measurably faster. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_search_shift(pp_search *search, size_t *best, pp_err *err);
/* All of these. Where the time ended before every setup was bounded and none of those that
 * were fits, more are bounded until one does. search: pp_search_close it, also on failure. */
PP_MUST_CHECK pp_status pp_search_solve(pp_search *search, const pp_plan_request *request,
                                        size_t *best_out, pp_err *err);

/* After pp_search_run: free orders for the most promising set-ups, each a candidate "planned" where
 * one fits. best: SIZE_MAX or the best candidate, and changed where the request lets one of these
 * win. Fails: INFEASIBLE where one must and none does, NOMEM. */
PP_MUST_CHECK pp_status pp_search_plan_orders(pp_search *search, size_t *best, pp_err *err);
/* After these, where the request has jitter: studies the fastest candidates and changes best to the
 * one with the least percentile; 1f1b where that is as good. Fails: USAGE (no such rank or link),
 * INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_search_rank(pp_search *search, size_t *best, pp_err *err);
/* What was found for the candidate at `index`; NULL: it has a named schedule. */
pp_planned *pp_search_planned(const pp_search *search, size_t index);
void pp_planned_free(pp_planned *planned);
/* Tables of one setup, one per replica of its workload. */
typedef struct pp_cost_set {
    pp_costs **costs; /* [count] */
    uint32_t count;
} pp_cost_set;

PP_MUST_CHECK pp_status pp_setup_costs(const pp_search *search, const pp_setup *setup,
                                       pp_cost_set *set_out, pp_err *err);
void pp_cost_set_free(pp_cost_set *set);
/* Sets bound and least_step_ns; reason and shortfall where one microbatch alone does not fit. */
PP_MUST_CHECK pp_status pp_setup_find_bound(const pp_search *search, pp_setup *setup, pp_err *err);

/* The order of a candidate. Fails: USAGE when the schedule's rules forbid it. */
PP_MUST_CHECK pp_status pp_candidate_order(const pp_search *search, pp_candidate *candidate,
                                           const pp_costs *costs, pp_order **order_out,
                                           pp_err *err);
/* The request's, with the duration of a message about a shape where it is not given. */
pp_exchange_options pp_candidate_exchange(const pp_search *search, const pp_candidate *candidate);
/* One replica: its order as the framework runs it, its timeline and its numbers; the caller's to
 * free, also on failure. Fails: as pp_simulate, USAGE. */
PP_MUST_CHECK pp_status pp_candidate_run(pp_search *search, const pp_candidate *candidate,
                                         const pp_order *order, const pp_costs *costs,
                                         pp_program **program_out, pp_timeline **timeline_out,
                                         pp_report **report_out, pp_err *err);
/* Simulates one candidate and fills in its results. */
PP_MUST_CHECK pp_status pp_candidate_simulate(pp_search *search, pp_candidate *candidate,
                                              pp_err *err);
/* The same with these orders: one, or one per replica. */
PP_MUST_CHECK pp_status pp_candidate_simulate_orders(pp_search *search, pp_candidate *candidate,
                                                     const pp_cost_set *set, pp_order *const *order,
                                                     uint32_t orders, pp_err *err);
/* "rank 3 short by 2.1 GiB, activations": the largest component of those that a step adds, or of
 * the static ones when these alone do not fit. bytes: at the peak. */
void pp_candidate_short(char *buffer, size_t size, uint32_t rank, int64_t short_bytes,
                        const int64_t bytes[PP_MEMORY_COUNT]);

/* Step time x GPUs: what is compared, since all candidates train the same tokens. */
double pp_candidate_score(const pp_candidate *candidate, pp_ns step_ns);

/* A line of pp_search_result_csv; NULL: its header. */
void pp_candidate_csv(const pp_candidate *candidate, pp_text *text);

/* What was assumed, in words. workload: of `chosen`. */
PP_MUST_CHECK pp_status pp_search_assume(const pp_search *search, const pp_candidate *chosen,
                                         const pp_workload *workload, pp_notes *notes, pp_err *err);

/* From one part of the time of `request` to another. */
typedef struct pp_budget_slice {
    const pp_plan_request *request;
    double from, to;
} pp_budget_slice;

/* Gives `part`, a copy of the request that must not outlive the slice, the time between these parts
 * of it, where that is limited. */
void pp_budget_slice_cut(pp_budget_slice *slice, const pp_plan_request *request, double from,
                         double to, pp_plan_request *part);
/* The same, with an equal one of `parts` parts of what is left of it. False: nothing is left. */
bool pp_budget_slice_take(pp_budget_slice *slice, const pp_plan_request *request, size_t parts,
                          pp_plan_request *part);

/* Can what takes at least `least` gain, and is its score behind the best one by no more than 2.5
 * times of what `floor` lets it gain? */
bool pp_is_worth(double least, double floor, double score, double best_score);

/* pp_plan_search with the lengths as they are, packed first fit or grouped. Fails: as that. */
PP_MUST_CHECK pp_status pp_plan_search_as_packed(const pp_plan_request *request,
                                                 pp_search_result **choice_out, pp_err *err);
/* The same, and the choice says that the budget was too small for packings. */
PP_MUST_CHECK pp_status pp_plan_search_first_fit(const pp_plan_request *request,
                                                 pp_search_result **choice_out, pp_err *err);
/* pp_plan_search where degrees are given, and where the GPUs are. Fails: as that. */
PP_MUST_CHECK pp_status pp_plan_search_packings(const pp_plan_request *request,
                                                pp_search_result **choice_out, pp_err *err);
PP_MUST_CHECK pp_status pp_plan_search_gpu_splits(const pp_plan_request *request,
                                                  pp_search_result **choice_out, pp_err *err);
/* pp_plan_search where habits are free. Fails: as that. */
PP_MUST_CHECK pp_status pp_plan_search_frameworks(const pp_plan_request *request,
                                                  pp_search_result **choice_out, pp_err *err);

/* Nothing fits: finds the nearest miss and the cheapest change, and fails with both. */
PP_MUST_CHECK pp_status pp_search_repair(pp_search *search, pp_err *err);

#endif
