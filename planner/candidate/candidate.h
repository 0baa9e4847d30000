/* One candidate of the search: a schedule in one setup, and what is known about it. */
#ifndef PPSIM_PLANNER_CANDIDATE_CANDIDATE_H
#define PPSIM_PLANNER_CANDIDATE_CANDIDATE_H

#include "planner/bound/bound.h"
#include "planner/candidate/reason.h"
#include "planner/candidate/request.h"
#include "sim/order/order.h"

typedef enum pp_candidate_status {
    PP_CANDIDATE_OK,            /* simulated, fits */
    PP_CANDIDATE_NOT_SIMULATED, /* at first; it remains if the bound or the budget rules it out */
    PP_CANDIDATE_INFEASIBLE,    /* does not fit, or is not legal */
} pp_candidate_status;

const char *pp_candidate_status_name(pp_candidate_status status);

struct pp_candidate {
    pp_parallel parallel;
    int64_t micro_batch_size;
    uint32_t microbatches, group_size; /* microbatches: 0 if the budget ended before packing */
    pp_recompute recompute;
    pp_partition_kind partition;
    const pp_schedule *schedule; /* from the table, or "planned" for a free order */
    pp_candidate_status status;
    bool legal;          /* false: the rules of schedule, split or partition forbid it */
    pp_reason reason;    /* why not OK; if OK: the gap of a planned one, otherwise NONE */
    pp_ns least_step_ns; /* bound on the step, 0: not known */
    pp_bound_part bound; /* which bound that is, and of which rank */
    uint32_t bound_rank;
    pp_ns step_ns;      /* this and all that follow: 0 unless simulated */
    pp_ns mean_step_ns; /* mean over the replicas; step_ns is that of the slowest one */
    double bubble_fraction;
    double tokens_per_s, model_flops_utilization;
    pp_ns p50_ns, p95_ns;            /* of the step under jitter, that of the request or, with tie
                                        alone, the usual one of study/recommend.c; 0: not
                                        studied */
    pp_ns ranked_ns;                 /* the percentile that the request's jitter compares */
    bool tie;                        /* the best one's percentile is not measurably below its own */
    int64_t peak_bytes, short_bytes; /* short: bytes beyond the memory limit */
    uint32_t peak_rank;
    bool roomy;                /* every rank leaves the request's headroom free */
    int64_t copies;            /* of sharded parameters; 0: 1 */
    int32_t unshard_lookahead; /* as in pp_pytorch_settings */
    pp_ns searched_ns;         /* step_ns before copies and lookahead were chosen for it, with those
                                  of the other candidates; 0: they were not looked at */
    uint32_t setup;            /* internal */
    uint32_t report;           /* internal: its number among the kept reports; 0: none */
};

/* The schedule "planned": an order that was found, not generated. */
extern const pp_schedule pp_planned_schedule;
/* True if its schedule is one of the table and not a free order. */
bool pp_candidate_is_named(const pp_candidate *candidate);

/* Step time x GPUs: what is compared, since all candidates train the same tokens. */
double pp_candidate_score(const pp_candidate *candidate, pp_ns step_ns);
/* By which part c takes longer than `best`, by the steps of both or the bound of c: as they were
 * searched, unless settings of sharded parameters were chosen for both. */
double pp_candidate_more(const pp_candidate *c, const pp_candidate *best);
/* True if further work can pay off: the bound `least` is measurably below the best score, and
 * `score` exceeds the best score by at most five times the gain that the bound allows. */
bool pp_is_worth(double least, double score, double best_score);

#endif
