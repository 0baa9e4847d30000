/* What a step does when durations are not what was assumed: the spread of its time under random
 * durations (planner/robustness/jitter.h) and how much it depends on each stage and link
 * (planner/robustness/sensitivity.h). Part of a report, for those who asked. */
#ifndef PPSIM_SIM_ANALYSIS_ROBUSTNESS_H
#define PPSIM_SIM_ANALYSIS_ROBUSTNESS_H

#include "sim/base/units.h"
#include "sim/order/order.h"

#include <stdbool.h>

#define PP_JITTER_ANY ((int64_t)-1)

/* A rank or link whose times are multiplied. */
typedef struct pp_jitter_slow {
    int64_t at;    /* rank, or link (between ranks at and at + 1); PP_JITTER_ANY: another one in
                      every scenario */
    double factor; /* 0: none is slow */
} pp_jitter_slow;

typedef struct pp_jitter_spec {
    double sigma[PP_OP_KIND_COUNT]; /* of the logarithm of the factor of an op */
    double comm_sigma;              /* the same of a transfer between ranks */
    pp_jitter_slow rank, link;
    int64_t scenarios;
} pp_jitter_spec;

#define PP_JITTER_TWENTIETHS 19

/* step_ns over the scenarios. Percentile q is the scenario of rank ceil(q n): one that happened. */
typedef struct pp_jitter_result {
    pp_jitter_spec spec;
    uint64_t seed;
    pp_ns min_ns, p50_ns, p95_ns, p99_ns, max_ns;
    pp_ns twentieth_ns[PP_JITTER_TWENTIETHS]; /* 5 %, 10 %, ... 95 %; first 0: not known */
    pp_ns p50_error_ns, p95_error_ns; /* half of the 95 % interval that order statistics give */
    double mean_ns;
    double deviation_ns; /* of a sample (n - 1); meaningful from two scenarios on */
} pp_jitter_result;

/* One stage, or one link. */
typedef struct pp_sensitivity_row {
    bool is_link;
    uint32_t first, second; /* the stage, twice; or the link's ranks, first < second */
    int64_t growth;         /* ns by which the step grows per ns on every op or transfer */
    int64_t path_count;     /* its ops or transfers on one critical path */
    pp_ns path_ns;          /* the time that they take there */
} pp_sensitivity_row;

/* path_count and path_ns: only where has_path (a program without communication); they sum to the
 * makespan up to the rank that ends the step. */
typedef struct pp_sensitivity {
    size_t count;
    pp_sensitivity_row *row; /* [count], the largest growth first */
    bool has_path;
    pp_ns path_end_ns; /* end of the path: what the rows' path_ns sum to */
} pp_sensitivity;

typedef struct pp_robustness {
    bool has_jitter;
    pp_jitter_result jitter;
    pp_sensitivity *sensitivity; /* NULL: not asked for */
} pp_robustness;

void pp_sensitivity_free(pp_sensitivity **sensitivity); /* for PP_CLEANUP; NULL inside is fine */
void pp_robustness_free(pp_robustness *robustness);     /* empties it */

#endif
