/* What a request left open and a search filled in, as far as the plan, the chosen candidate and the
 * context of its costs do not show it. */
#ifndef PPSIM_PLANNER_SEARCH_ASSUMED_H
#define PPSIM_PLANNER_SEARCH_ASSUMED_H

#include "planner/candidate/search_state.h"

/* The source of the time of a transfer between stages. */
typedef enum pp_link_source {
    PP_LINK_MEASURED,  /* the hardware's own measurement (sim/job/measured.h) */
    PP_LINK_PUBLISHED, /* a published curve */
    PP_LINK_COMPUTED,  /* latency + bytes / bandwidth */
} pp_link_source;

/* The assumptions about the request that was searched, which a study may have derived from the
 * caller's. */
typedef struct pp_assumed {
    /* True if the request had a value. */
    struct {
        bool seq_length, global_batch_size, micro_batch_size, group_size, framework, memory_limit,
            shape_message, p2p, scatter_gather;
    } given;
    pp_parallel requested; /* degrees; 0: left open */
    int64_t gpus;          /* 0: not given */
    const pp_stack *stack; /* borrowed from the request, as `target` is */
    const char *target;    /* rules of the runtime; NULL: none */
    bool no_split;

    /* Data. */
    bool lengths; /* sequences have lengths of their own */
    size_t length_count, group_count;
    bool regrouped; /* a search made the groups, with `method`; otherwise the file did */
    pp_packing_method method;
    uint32_t token_counts; /* distinct token counts of the padded microbatches */

    /* Hardware. */
    int64_t memory_limit_bytes;   /* per GPU */
    int64_t memory_reserve_bytes; /* bytes kept free if no limit is given */
    bool link_inside_node;        /* all GPUs are in one node */
    pp_link_source link;
} pp_assumed;

/* The assumptions of a search that found `chosen`. */
pp_assumed pp_search_assumed(const pp_search *search, const pp_candidate *chosen);

/* True if tensors pass over `link` between neighbouring stages. */
bool pp_rank_link_is_used(const pp_rank_override *link, const pp_cost_context *context);

#endif
