/* The parts of packing; for planner/ only. */
#ifndef PPSIM_PLANNER_PACK_PACK_INT_H
#define PPSIM_PLANNER_PACK_PACK_INT_H

#include "planner/pack/pack.h"
#include "planner/search/search_int.h"

/* A sequence of n tokens adds about linear n + square n^2 to its microbatch. */
typedef struct pp_pack_weights {
    double linear, square;
} pp_pack_weights;

struct pp_packer {
    pp_plan_request request;
    pp_search search;
    pp_candidate candidate; /* the chosen one; its results are those of the last simulation */
    size_t data;            /* into search.data: what it is simulated with */
    uint32_t replicas;
    uint32_t multiple_of; /* microbatches per replica */
    int64_t capacity;     /* tokens of a microbatch */
    pp_pack_weights weights;
    int64_t simulated;
    int64_t ops; /* simulated, and what dealing took, in ops */
    bool tight;  /* no pipeline has room for the first-fit packing it was chosen for */
};

/* The result for one replica, or the slowest of several. */
typedef struct pp_pack_verdict {
    pp_ns step_ns;
    pp_ns mean_step_ns; /* over the replicas */
    double bubble_fraction;
    int64_t peak_bytes, short_bytes; /* short: beyond the memory limit */
    char reason[200];                /* why it does not fit */
} pp_pack_verdict;

/* A task with what is derived of it. */
typedef struct pp_pack_case {
    pp_packer *packer;
    const pp_pack_task *task;
    double *weight;      /* [task->count], of the sequences */
    uint32_t *by_size;   /* [task->count]: heaviest first, then as given */
    uint32_t fewest, ff; /* microbatches per replica: the fewest that hold all tokens; of first fit,
                            0: there is none */
    pp_grouping first_fit;
    int64_t ops_before; /* of the packer */
} pp_pack_case;

/* Have moves and swaps, or packings where `part` is 2, used up what they may? */
bool pp_pack_is_over(const pp_pack_case *c, int part);

static inline double pp_pack_weight(pp_pack_weights w, double tokens, double square_sum)
{
    return w.linear * tokens + w.square * square_sum;
}

/* The request for this candidate's pipeline and nothing else; NULL: for the best one, of
 * microbatches as they are given or of one bin. */
pp_plan_request pp_request_pipeline(const pp_plan_request *request, const pp_candidate *candidate);
/* Has it a schedule of the table? */
bool pp_candidate_is_named(const pp_candidate *candidate);

PP_MUST_CHECK pp_status pp_grouping_new(uint32_t replicas, uint32_t microbatches, size_t count,
                                        pp_grouping *grouping_out, pp_err *err);
PP_MUST_CHECK pp_status pp_grouping_copy(const pp_grouping *from, pp_grouping *to, pp_err *err);
/* From the bin of each sequence; within a bin in the order given. bin_of: [count]. */
PP_MUST_CHECK pp_status pp_grouping_from_bins(const uint32_t *bin_of, size_t count,
                                              uint32_t replicas, uint32_t microbatches,
                                              pp_grouping *grouping_out, pp_err *err);

/* Tokens and sum of squares of a bin. */
pp_microbatch pp_grouping_bin(const pp_grouping *grouping, const int64_t *lengths, size_t bin);

/* The packings. Each fails with USAGE where it does not exist for that many microbatches. */
/* microbatches: at least so many per replica; the fullest are cut until there are. */
PP_MUST_CHECK pp_status pp_group_given(const pp_pack_case *c, uint32_t microbatches,
                                       pp_grouping *out, pp_err *err);
PP_MUST_CHECK pp_status pp_group_first_fit(const pp_pack_case *c, pp_grouping *out, pp_err *err);
PP_MUST_CHECK pp_status pp_group_equal(const pp_pack_case *c, uint32_t microbatches,
                                       pp_grouping *out, pp_err *err);
/* first: share of a full microbatch that the first and the last one get, above 0. */
PP_MUST_CHECK pp_status pp_group_ramped(const pp_pack_case *c, uint32_t microbatches, double first,
                                        pp_grouping *out, pp_err *err);
/* Reorders the microbatches of each replica. */
PP_MUST_CHECK pp_status pp_grouping_sort(const pp_pack_case *c, pp_sorting sorting,
                                         pp_grouping *grouping, pp_err *err);

/* Simulates one replica. Fails: NOMEM, and as the simulation does. */
PP_MUST_CHECK pp_status pp_pack_judge_replica(pp_packer *packer, const int64_t *lengths,
                                              const pp_grouping *grouping, uint32_t replica,
                                              pp_pack_verdict *verdict_out, pp_err *err);
/* All replicas. */
PP_MUST_CHECK pp_status pp_pack_judge(pp_packer *packer, const int64_t *lengths,
                                      const pp_grouping *grouping, pp_pack_verdict *verdict_out,
                                      pp_err *err);
/* Durations of given microbatches, [stages] per microbatch. Caller frees. */
PP_MUST_CHECK pp_status pp_pack_costs(const pp_pack_pipeline *pipeline,
                                      const pp_microbatch *microbatch, uint32_t count,
                                      pp_costs **costs_out, pp_err *err);
/* What packings are judged by. */
pp_pack_pipeline pp_packer_stages(const pp_packer *packer);

/* Moves and swaps. grouping, verdict: the start, replaced by the best found. */
PP_MUST_CHECK pp_status pp_pack_improve(const pp_pack_case *c, pp_grouping *grouping,
                                        pp_pack_verdict *verdict, bool *stopped_out, pp_err *err);

#endif
