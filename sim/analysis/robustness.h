/* How the time of a step changes when durations differ from those assumed: its spread under random
 * durations (planner/robustness/jitter.h), and its sensitivity to each stage and link
 * (planner/robustness/sensitivity.h). An optional part of a report. */
#ifndef PPSIM_SIM_ANALYSIS_ROBUSTNESS_H
#define PPSIM_SIM_ANALYSIS_ROBUSTNESS_H

#include "sim/base/units.h"
#include "sim/order/order.h"

#include <stdbool.h>

#define PP_JITTER_ANY ((int64_t)-1)

/* A rank or link whose times are multiplied. */
typedef struct pp_jitter_slow {
    int64_t at;    /* rank, or link between ranks `at` and at + 1; PP_JITTER_ANY: a random one in
                      every scenario */
    double factor; /* 0: no rank or link is slow */
} pp_jitter_slow;

typedef struct pp_jitter_spec {
    /* Factors are log-normal: these are the standard deviations of their logarithms. */
    double sigma[PP_OP_KIND_COUNT]; /* for ops */
    double comm_sigma;              /* for transfers between ranks */
    pp_jitter_slow rank, link;
    int64_t scenarios;
} pp_jitter_spec;

#define PP_JITTER_TWENTIETHS 19

/* step_ns over the scenarios. Percentile q is the ceil(q n)-th smallest value of the n scenarios.
 */
typedef struct pp_jitter_result {
    pp_jitter_spec spec;
    uint64_t seed;
    pp_ns min_ns, p50_ns, p95_ns, p99_ns, max_ns;
    pp_ns twentieth_ns[PP_JITTER_TWENTIETHS]; /* 5 %, 10 %, ... 95 %; not known if [0] is 0 */
    pp_ns p50_error_ns, p95_error_ns;         /* half of the 95 % interval by order statistics */
    double mean_ns;
    double deviation_ns; /* sample standard deviation (n - 1); needs two scenarios */
} pp_jitter_result;

/* One stage, or one link. */
typedef struct pp_sensitivity_row {
    bool is_link;
    uint32_t first, second; /* for a stage, both are its number; for a link, its ranks, first <
                               second */
    int64_t growth;     /* ns by which the step grows when each op or transfer takes 1 ns more */
    int64_t path_count; /* number of its ops or transfers on one critical path */
    pp_ns path_ns;      /* the total time of those ops or transfers */
} pp_sensitivity_row;

/* Sensitivity of a step to all stages and links. path_count and path_ns are valid only if has_path,
 * which holds for programs without communication. */
typedef struct pp_sensitivity {
    size_t count;
    pp_sensitivity_row *row; /* [count], the largest growth first */
    bool has_path;
    pp_ns path_end_ns; /* the end of the path, which is the sum of all path_ns */
} pp_sensitivity;

typedef struct pp_robustness {
    bool has_jitter;
    pp_jitter_result jitter;
    pp_sensitivity *sensitivity; /* NULL: not requested */
} pp_robustness;

void pp_sensitivity_free(pp_sensitivity **sensitivity); /* for PP_CLEANUP; *sensitivity NULL is
                                                           fine */
void pp_robustness_free(pp_robustness *robustness);     /* empties it */

#endif
