/* The pipeline that judges packings, by simulating the replicas that they make. */
#ifndef PPSIM_PLANNER_PACK_PACK_JUDGE_H
#define PPSIM_PLANNER_PACK_PACK_JUDGE_H

#include "planner/candidate/search_state.h"
#include "planner/pack/grouping.h"

/* A sequence of n tokens adds about linear n + square n^2 to its microbatch. */
typedef struct pp_pack_weights {
    double linear, square;
} pp_pack_weights;

static inline double pp_pack_weight(pp_pack_weights w, double tokens, double square_sum)
{
    return w.linear * tokens + w.square * square_sum;
}

/* Split, partition, schedule and framework are those that a search chose for the first-fit packing,
 * or those with the least shortfall if that does not fit. */
typedef struct pp_packer {
    pp_plan_request request; /* of the search */
    pp_search search;
    pp_candidate candidate; /* the chosen one; its results are those of the last simulation */
    size_t index;           /* of the chosen one in search.pool */
    size_t data;            /* index into search.pool.data of the data that is simulated */
    uint32_t replicas;
    uint32_t multiple_of; /* microbatches per replica */
    int64_t capacity;     /* tokens of a microbatch */
    pp_pack_weights weights;
    int64_t simulated;
    int64_t ops; /* ops simulated, and the cost of dealing sequences in ops */
    bool tight;  /* no pipeline can hold the first-fit packing that it was chosen for */
} pp_packer;

/* A packer of one candidate of a solved search, which moves into the packer, also on failure.
 * request: that of the search; copied. tight: the candidate does not fit.
 * Fails: like pp_cost_model_tables, NOMEM. */
PP_MUST_CHECK pp_status pp_packer_new(pp_search *search, const pp_plan_request *request,
                                      size_t candidate, bool tight, pp_packer **packer_out,
                                      pp_err *err);
void pp_packer_close(pp_packer **packer); /* for PP_CLEANUP; *packer NULL is fine */

/* The candidate that was chosen. */
const pp_candidate *pp_packer_pipeline(const pp_packer *packer);
int64_t pp_packer_capacity(const pp_packer *packer); /* tokens of a microbatch */
int64_t pp_packer_memory_limit(const pp_packer *packer);

/* The stages of a pipeline, and how their ops may run. */
typedef struct pp_pack_pipeline {
    const pp_cost_context *context;
    const pp_stage *stages; /* [pp * vpp] */
    bool split;             /* the last op may be a W */
    bool step_sync;
    uint32_t replicas;
    int64_t capacity; /* tokens of a microbatch */
} pp_pack_pipeline;

/* The pipeline by which packings are judged. */
pp_pack_pipeline pp_packer_stages(const pp_packer *packer);
/* Durations of given microbatches, [stages] per microbatch. The caller frees them. */
PP_MUST_CHECK pp_status pp_pack_costs(const pp_pack_pipeline *pipeline,
                                      const pp_microbatch *microbatch, uint32_t count,
                                      pp_costs **costs_out, pp_err *err);
/* The result for one replica, or the slowest of several. */
typedef struct pp_pack_verdict {
    pp_ns step_ns;
    pp_ns mean_step_ns; /* over the replicas */
    double bubble_fraction;
    int64_t peak_bytes, short_bytes; /* short: bytes beyond the memory limit */
    pp_reason reason;                /* why it does not fit */
} pp_pack_verdict;

/* Replaces the data of the pipeline by `count` replicas of the grouping, from `replica` on. The
 * throughput of the candidate is meaningless then. Fails: NOMEM. */
PP_MUST_CHECK pp_status pp_packer_set_data(pp_packer *packer, const int64_t *lengths,
                                           const pp_grouping *grouping, uint32_t replica,
                                           uint32_t count, pp_err *err);
/* Simulates one replica. Fails: NOMEM, and like the simulation. */
PP_MUST_CHECK pp_status pp_pack_judge_replica(pp_packer *packer, const int64_t *lengths,
                                              const pp_grouping *grouping, uint32_t replica,
                                              pp_pack_verdict *verdict_out, pp_err *err);
/* Simulates all replicas. */
PP_MUST_CHECK pp_status pp_pack_judge(pp_packer *packer, const int64_t *lengths,
                                      const pp_grouping *grouping, pp_pack_verdict *verdict_out,
                                      pp_err *err);
#endif
