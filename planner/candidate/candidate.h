/* One candidate of the search: a schedule in one setup, and what is known of it. */
#ifndef PPSIM_PLANNER_CANDIDATE_CANDIDATE_H
#define PPSIM_PLANNER_CANDIDATE_CANDIDATE_H

#include "planner/candidate/request.h"
#include "sim/base/text.h"
#include "sim/order/order.h"

typedef enum pp_candidate_status {
    PP_CANDIDATE_OK,         /* simulated, fits */
    PP_CANDIDATE_PRUNED,     /* not simulated: its bound is worse than the best, or no budget */
    PP_CANDIDATE_INFEASIBLE, /* does not fit, or is not legal */
} pp_candidate_status;

const char *pp_candidate_status_name(pp_candidate_status status);

struct pp_candidate {
    pp_parallel parallel;
    int64_t micro_batch_size;
    uint32_t microbatches, group_size; /* microbatches: 0 where the budget ended before packing */
    pp_recompute recompute;
    pp_partition_kind partition;
    const pp_schedule *schedule; /* of the table, or "planned": a free order */
    pp_candidate_status status;
    bool legal;          /* false: the rules of schedule, split or partition forbid it */
    char reason[400];    /* why not; when OK: of planned, its gap; otherwise empty */
    pp_ns least_step_ns; /* bound on the step, 0: not known */
    char bound_name[64];
    pp_ns step_ns;      /* the rest: 0 unless simulated */
    pp_ns mean_step_ns; /* over the replicas; step_ns is the slowest one's */
    double bubble_fraction;
    double tokens_per_s, model_flops_utilization;
    pp_ns p50_ns, p95_ns;            /* of the step under jitter; 0: not studied */
    pp_ns ranked_ns;                 /* the one that is compared */
    bool tie;                        /* the best one's percentile is not measurably below its own */
    int64_t peak_bytes, short_bytes; /* short: beyond the memory limit */
    uint32_t peak_rank;
    uint32_t setup; /* internal */
};

/* The schedule "planned": an order that was found, not generated. */
extern const pp_schedule pp_planned_schedule;
/* Has it a schedule of the table, and not a free order? */
bool pp_candidate_is_named(const pp_candidate *candidate);

/* Step time x GPUs: what is compared, since all candidates train the same tokens. */
double pp_candidate_score(const pp_candidate *candidate, pp_ns step_ns);
/* Can what takes at least `least` gain, and is its score behind the best one by no more than 2.5
 * times of what `floor` lets it gain? */
bool pp_is_worth(double least, double floor, double score, double best_score);

/* "rank 3 short by 2.1 GiB, activations": the largest component of those that a step adds, or of
 * the static ones when these alone do not fit. bytes: at the peak. */
void pp_candidate_short(char *buffer, size_t size, uint32_t rank, int64_t short_bytes,
                        const int64_t bytes[PP_MEMORY_COUNT]);

/* A line of comma-separated values for spreadsheets; NULL: their header. */
void pp_candidate_csv(const pp_candidate *candidate, pp_text *text);

#endif
