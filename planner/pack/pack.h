/* Which sequences of a global batch share a microbatch, which replica gets it, and in what order:
 * judged by the simulated step. Method and measurements: docs/planning.md, section 10. */
#ifndef PPSIM_PLANNER_PACK_PACK_H
#define PPSIM_PLANNER_PACK_PACK_H

#include "planner/search/branch_and_bound.h"

/* "given", "first-fit", "equal", "ramped". */
const char *pp_packing_name(pp_packing packing);

/* Of the microbatches of each replica, by modelled time. */
typedef enum pp_sorting {
    PP_SORTING_GIVEN, /* as the packing left them; ramped: light ones first and last */
    PP_SORTING_ASCENDING,
    PP_SORTING_DESCENDING,
    PP_SORTING_TENT, /* light ones first and last */
    PP_SORTING_COUNT,
} pp_sorting;

const char *pp_sorting_name(pp_sorting sorting);

/* Microbatch j of replica r is bin r * microbatches + j. Owner frees with pp_grouping_free. */
typedef struct pp_grouping {
    uint32_t replicas, microbatches;
    size_t count;
    uint32_t *sequence; /* [count]: indices into the lengths, bin after bin */
    size_t *end;        /* [replicas * microbatches]: of each bin, into `sequence` */
} pp_grouping;

void pp_grouping_free(pp_grouping *grouping); /* for PP_CLEANUP; all zero is fine */

/* One way to pack the batch. */
typedef struct pp_pack_row {
    pp_packing packing;
    pp_sorting sorting;
    bool searched; /* after moves and swaps; packing and sorting: where they began */
    bool fits;
    uint32_t microbatches; /* per replica; 0: this packing does not exist */
    pp_ns step_ns;         /* 0: not simulated */
    pp_ns mean_step_ns;    /* over the replicas; step_ns is the slowest one's */
    double bubble_fraction;
    int64_t peak_bytes;
    char reason[200]; /* why it does not fit or exist */
} pp_pack_row;

/* What no packing and no order can beat. */
typedef struct pp_pack_bound {
    pp_ns step_ns;
    char name[64];
} pp_pack_bound;

/* What one batch came to. Owner frees with pp_packed_free. */
typedef struct pp_packed {
    pp_pack_row *row; /* [count]: all that was tried */
    size_t count, capacity;
    size_t best;          /* the fastest row that fits */
    size_t today;         /* first fit in its own order; SIZE_MAX: there is none */
    pp_grouping grouping; /* of the best row */
    pp_pack_bound bound;
    int64_t simulated; /* steps of one replica */
    bool stopped;      /* time ended the moves and swaps */
} pp_packed;

/* The pipeline that judges: split, partition, schedule and framework are those that the search of
 * `ppsim plan` chooses for the first-fit packing, or those with the least shortfall where that
 * does not fit. */
typedef struct pp_packer pp_packer;

/* request: micro_batch_size must be given: a microbatch has at most that many times seq_length
 * tokens. lengths: of the batch that the pipeline is chosen for. Borrowed until the end.
 * Fails: as pp_plan_search. */
PP_MUST_CHECK pp_status pp_packer_open(const pp_plan_request *request, pp_packer **packer_out,
                                       pp_err *err);

/* Batches of one size, one after the other. */
typedef struct pp_pack_batches {
    const int64_t *lengths; /* [size * count] */
    size_t size, count;
    bool packings[PP_PACKING_COUNT]; /* which ones are tried */
} pp_pack_batches;

/* Of the pipelines that do best for the request (of the first batch), the one that takes least for
 * all batches together, each packed. One batch: as pp_packer_open. */
PP_MUST_CHECK pp_status pp_packer_open_for(const pp_plan_request *request,
                                           const pp_pack_batches *batches, pp_packer **packer_out,
                                           pp_err *err);
void pp_packer_close(pp_packer **packer); /* for PP_CLEANUP; *packer NULL is fine */

/* What was chosen. */
const pp_candidate *pp_packer_pipeline(const pp_packer *packer);
int64_t pp_packer_capacity(const pp_packer *packer); /* tokens of a microbatch */
int64_t pp_packer_memory_limit(const pp_packer *packer);

typedef struct pp_pack_task {
    const int64_t *lengths; /* [count] */
    size_t count;
    const size_t *group_end; /* [group_count]: the given microbatches; NULL: consecutive ones */
    size_t group_count;
    bool packings[PP_PACKING_COUNT]; /* which ones are tried */
    bool coarse;                     /* fewer numbers of microbatches, orders and ramps */
    int64_t ops_most;                /* ops simulated, about: half for packings, the rest for moves
                                        and swaps; 0: no limit */
    int64_t iterations;              /* moves and swaps judged; 0: none, unless ops_most or stop is
                                        given */
    bool (*stop)(void *context);     /* ends all once something fits; NULL: never */
    void *context;
    uint64_t seed;
} pp_pack_task;

/* No clock: equal tasks give equal answers, unless `stop` says otherwise. First fit is tried in any
 * case. Fails: USAGE (too few sequences), INPUT (a sequence beyond seq_length), INFEASIBLE (nothing
 * fits), NOMEM. */
PP_MUST_CHECK pp_status pp_pack(pp_packer *packer, const pp_pack_task *task, pp_packed **packed_out,
                                pp_err *err);
void pp_packed_free(pp_packed **packed); /* for PP_CLEANUP; *packed NULL is fine */

/* The stages that it holds for, and how their ops may run. */
typedef struct pp_pack_pipeline {
    const pp_cost_context *context;
    const pp_stage *stages; /* [pp * vpp] */
    bool split;             /* a W may be last */
    bool step_sync;
    uint32_t replicas;
    int64_t capacity; /* tokens of a microbatch */
} pp_pack_pipeline;

PP_MUST_CHECK pp_status pp_pack_find_bound(const pp_pack_pipeline *pipeline, const int64_t *lengths,
                                           size_t count, pp_pack_bound *bound_out, pp_err *err);
/* Of the packer's own pipeline. */
PP_MUST_CHECK pp_status pp_packer_bound(const pp_packer *packer, const int64_t *lengths,
                                        size_t count, pp_pack_bound *bound_out, pp_err *err);

#endif
