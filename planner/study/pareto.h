/* How much speed memory buys: the fastest candidate of a search at every memory limit. Method:
 * docs/explanation/planning-memory.md. */
#ifndef PPSIM_PLANNER_STUDY_PARETO_H
#define PPSIM_PLANNER_STUDY_PARETO_H

#include "planner/candidate/candidate.h"
#include "sim/base/status.h"

/* The fastest for limits from candidate.peak_bytes up to limit_bytes. */
typedef struct pp_pareto_point {
    pp_candidate candidate;
    int64_t
        limit_bytes; /* the request's limit; then one byte below the peak of the previous point */
    pp_ns least_step_ns; /* no candidate, and no order on its split, is faster within the limit on
                            as many GPUs as this one has; 0: not known (budget) */
} pp_pareto_point;

/* Owner frees with pp_pareto_free. */
typedef struct pp_pareto {
    pp_pareto_point *point; /* [count], the fastest first; memory falls, step time x GPUs grows */
    size_t count, capacity;
    size_t simulated;
    bool stopped; /* the budget ended before everything was simulated or searched */
    bool per_gpu; /* numbers of GPUs differ between candidates */
} pp_pareto;

/* Searches named schedules and, unless the request has PP_ORDERS_NAMED, free orders at limits 5 %
 * apart. The jitter, why and gpus of the request are ignored; `found` is called with the fastest
 * candidate at each of these limits. Fails: USAGE, INPUT, INFEASIBLE when nothing fits the limit
 * (like pp_plan_search), NOMEM. */
PP_MUST_CHECK pp_status pp_pareto_find(const pp_plan_request *request, pp_pareto **pareto_out,
                                       pp_err *err);
void pp_pareto_free(pp_pareto **pareto); /* for PP_CLEANUP; *pareto NULL is fine */

#endif
