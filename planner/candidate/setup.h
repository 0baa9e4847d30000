/* One setup: everything that the costs of a candidate depend on except its schedule; its costs, and
 * what they show about the step before anything is simulated. */
#ifndef PPSIM_PLANNER_CANDIDATE_SETUP_H
#define PPSIM_PLANNER_CANDIDATE_SETUP_H

#include "planner/bound/bound.h"
#include "planner/candidate/problem.h"
#include "planner/candidate/reason.h"

/* The microbatches of one micro-batch size. */
typedef struct pp_data {
    int64_t micro_batch_size;
    uint32_t multiple_of;
    pp_workload real;     /* as packed */
    pp_workload workload; /* as computed: padded if the size protocol pads */
    uint32_t shapes;      /* number of distinct token counts in it; 0 unless padded */
} pp_data;

/* The bound of the same setup for orders that split the backward if its own does not, and the other
 * way round. */
typedef struct pp_twin_bound {
    bool wanted;
    pp_bound bound;
    pp_ns least_step_ns;
} pp_twin_bound;

/* Everything that costs depend on: a candidate without its schedule. */
typedef struct pp_setup {
    pp_cost_context context;
    int64_t micro_batch_size;
    pp_partition_kind partition;
    bool split;                     /* the bound is for orders that split the backward */
    size_t data;                    /* into pp_pool.data */
    pp_stage *stages;               /* [pp * vpp] */
    pp_recompute_table *recomputed; /* NULL, or that of the context: owned */
    pp_bound bound;
    pp_ns least_step_ns;
    pp_twin_bound twin;
    bool legal;
    bool unseen;      /* the budget ended before it was bounded; has no data and no stages */
    pp_reason reason; /* why it is not legal, or cannot fit */
    int64_t short_bytes;
    uint32_t short_rank;
    uint32_t classes; /* of microbatches, in the replicas that were bounded */
} pp_setup;

/* Frees what it owns. */
void pp_setup_free(pp_setup *setup);
void pp_free_recomputed(pp_recompute_table **table); /* for PP_CLEANUP; *table NULL is fine */
/* With a number of layers that every stage recomputes (pp_switches), makes it that of these. */
void pp_recompute_block(const pp_switches *switches, pp_stage *stages, size_t count);
/* True if these `count` stages are the same, recomputation included. */
bool pp_same_stages(const pp_stage *a, const pp_stage *b, size_t count);

/* True if two setups of one search have the same costs. */
bool pp_setup_costs_alike(const pp_setup *a, const pp_setup *b);

/* True if a split backward ends in an error: PyTorch's selective checkpointing goes through a layer
 * once, and a framework that splits late does so for every op with weights ("Trying to backward an
 * extra time"). */
static inline bool pp_setup_stops(const pp_setup *setup)
{
    return setup->context.splits_late &&
           setup->context.switches.recompute == PP_RECOMPUTE_SELECTIVE;
}

/* Tables of one setup, one per replica of its workload. */
typedef struct pp_cost_set {
    pp_costs **costs; /* [count] */
    uint32_t count;
} pp_cost_set;

/* units: a cache of costs of units, of setups with the same tp and recomputation; NULL: none. */
PP_MUST_CHECK pp_status pp_setup_costs(const pp_setup *setup, const pp_data *data,
                                       pp_unit_cache *units, pp_cost_set *set_out, pp_err *err);
void pp_cost_set_free(pp_cost_set *set);
/* Sets bound and least_step_ns, and those of the twin if they are wanted; also reason and shortfall
 * if one microbatch alone does not fit. units: like pp_setup_costs. */
PP_MUST_CHECK pp_status pp_setup_find_bound(pp_setup *setup, const pp_plan_problem *problem,
                                            const pp_data *data, pp_unit_cache *units, pp_err *err);

#endif
