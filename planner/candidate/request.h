/* What the planner is asked: a model, hardware, data, and the values that are given; the search
 * chooses the others. A request is data and never changes while it is searched; a study that wants
 * another answer makes another request. */
#ifndef PPSIM_PLANNER_CANDIDATE_REQUEST_H
#define PPSIM_PLANNER_CANDIDATE_REQUEST_H

#include "planner/candidate/kept_orders.h"
#include "sim/cost/cost_model.h"
#include "sim/cost/rank_overrides.h"
#include "sim/framework/framework.h"
#include "sim/job/hardware.h"
#include "sim/job/model.h"
#include "sim/job/stack.h"
#include "sim/plan/plan.h"

typedef enum pp_partition_kind {
    PP_PARTITION_AUTO,     /* balanced, bare, and also uniform if the layers divide evenly */
    PP_PARTITION_UNIFORM,  /* equally many layers per stage, later ones one more */
    PP_PARTITION_BALANCED, /* planner/bound/partition.h; every stage has a layer */
    PP_PARTITION_LAYOUT,   /* given */
    PP_PARTITION_BARE,     /* balanced; embedding and head may be stages of their own */
    PP_PARTITION_FITTED,   /* balanced, with less on ranks that have less memory than the others */
    PP_PARTITION_SHIFTED,  /* one of these, after moves of layers that made the step shorter */
} pp_partition_kind;

const char *pp_partition_name(pp_partition_kind kind);

/* Whether PP_PARTITION_AUTO tries PP_PARTITION_BARE, too. */
typedef enum pp_bare_ends {
    PP_BARE_ENDS_AUTO, /* unless the framework cannot run it */
    PP_BARE_ENDS_ON,   /* a framework that cannot is refused */
    PP_BARE_ENDS_OFF,
} pp_bare_ends;

/* Switches of the software: those of the stack, changed where `given` is set. If recompute is AUTO,
 * the search chooses the recomputation. */
typedef struct pp_switch_request {
    const pp_stack *stack; /* borrowed */
    pp_switches value;
    struct {
        bool recompute, sequence_parallel, flash_attention, grad_sync_overlap, grad_dtype,
            tp_overlap, zero, scatter_gather, p2p, dtype, precision, low_parameters, moments,
            transformer_engine, eager_loss, cp_comm, dispatcher, moe_fp8_dispatch,
            moe_shared_expert_overlap, recompute_modules, cuda_graphs, eager_layers;
    } given;
} pp_switch_request;

/* Orders beyond the named schedules: planner/order/search.h looks for them. */
typedef enum pp_orders {
    PP_ORDERS_NAMED,   /* only named schedules */
    PP_ORDERS_BETTER,  /* a free order, if it is measurably faster than the best named schedule */
    PP_ORDERS_PLANNED, /* the best free order found */
} pp_orders;

/* A difference is measurable when it is more than 1 / this of a step. */
#define PP_MEASURABLE_PART 1000

/* Which sequences share a microbatch: planner/pack/pack.h. */
typedef enum pp_packing {
    PP_PACKING_GIVEN,     /* consecutive sequences, or the file's own microbatches */
    PP_PACKING_FIRST_FIT, /* pp_workload_pack */
    PP_PACKING_EQUAL,     /* modelled times as equal as possible */
    PP_PACKING_RAMPED,    /* like EQUAL, but light microbatches first and last */
    PP_PACKING_COUNT,
} pp_packing;

/* The order of the microbatches of each replica, by modelled time. */
typedef enum pp_sorting {
    PP_SORTING_GIVEN, /* as the packing made them; ramped: light ones first and last */
    PP_SORTING_ASCENDING,
    PP_SORTING_DESCENDING,
    PP_SORTING_TENT, /* light ones first and last */
    PP_SORTING_COUNT,
} pp_sorting;

/* How microbatches were made. */
typedef struct pp_packing_method {
    pp_packing packing;
    pp_sorting sorting;
    bool searched; /* moves and swaps were tried afterwards */
} pp_packing_method;

/* "given", "first-fit", "equal", "ramped". */
const char *pp_packing_name(pp_packing packing);
/* "given", "ascending", "descending", "tent". */
const char *pp_sorting_name(pp_sorting sorting);
/* "equal work, light microbatches first, then sequences moved and swapped". Returns buffer. */
const char *pp_packing_method_print(const pp_packing_method *method, char *buffer, size_t size);

/* Settings of the framework that the search chooses, whatever values the request has for them. */
typedef struct pp_free_settings {
    bool framework, shapes, communicators;
    const pp_framework *const *frameworks; /* with framework: one of these, ends with NULL;
                                              NULL: any but ideal */
} pp_free_settings;

typedef struct pp_candidate pp_candidate; /* planner/candidate/candidate.h */

/* A request. All pointers are borrowed. */
typedef struct pp_plan_request {
    const pp_model *model;
    const pp_hardware *hardware;
    /* Degrees. pp must be given unless gpus is. If they are 0, tp and vpp are free, and cp, dp and
     * ep are 1, or free with gpus; etp is tp, or free with gpus. */
    pp_parallel parallel;
    pp_experts experts;        /* a target's: which etp it has, whatever parallel says */
    int64_t gpus;              /* pp x tp x cp x dp; 0: not given */
    int64_t seq_length;        /* tokens; 0: the model's maximum */
    int64_t micro_batch_size;  /* sequences; 0: free */
    int64_t global_batch_size; /* sequences; 0: pp_default_batch_size */

    /* Sequence lengths in tokens, instead of a global batch of full sequences. */
    const int64_t *lengths; /* [length_count]; NULL: full sequences */
    size_t length_count;
    const size_t *group_end; /* [group_count]: the lengths are grouped into microbatches that end
                                here (pp_workload_group); NULL: they are packed to seq_length */
    size_t group_count;
    const bool *packings; /* [PP_PACKING_COUNT]: packings to search. If first fit is among them, the
                             best one is taken only if it is measurably faster than the lengths as
                             they are packed above. NULL: none */
    const pp_packing_method *grouped; /* how the groups were made; NULL: by the file */

    const pp_expert_tokens *expert_tokens; /* of the model's experts, by microbatch; with lengths
                                              for named schedules only; NULL: not known */

    /* Schedules and orders. */
    const pp_schedule *schedule;    /* NULL: all of the table, or those of `only` */
    const pp_schedule *const *only; /* ends with NULL; NULL: all */
    bool no_split;                  /* excludes schedules that split the backward into I and W */
    const char *target;             /* rules of the runtime that will run the plan; NULL: none */
    pp_orders orders;        /* ignored with `schedule` or `only`, which imply PP_ORDERS_NAMED */
    bool one_order;          /* all replicas must run the same order */
    bool recompute_alike;    /* all stages must recompute the same number of layers */
    bool recompute_uniform;  /* all layers must recompute the same */
    bool recompute_constant; /* all microbatches must recompute the same */
    uint32_t threads;        /* for the search for orders, whose result does not depend on them */
    pp_kept_orders *kept;    /* of searches one after the other; ignored with more threads than one;
                                borrowed, NULL: each search has its own */
    uint32_t group_size;     /* microbatches per group; 0: the schedule's own rule */

    /* Software. */
    const pp_framework *framework; /* NULL: ideal */
    pp_exchange_options exchange;
    pp_free_settings free;
    struct {
        bool copies, unshard_lookahead, reshard;
    } given_sharding; /* settings of sharded parameters whose value is the request's; the others are
                         chosen (planner/search/sharding_choice.h) */
    bool shape_message_given;   /* otherwise a size message takes the latency of the link */
    pp_buffer_settings buffers; /* ignored by framework ideal */
    pp_switch_request switches;
    pp_partition_kind partition;
    const char *layout; /* with PP_PARTITION_LAYOUT */
    pp_bare_ends bare_ends;
    bool no_step_sync;

    /* Limits, and how candidates are compared. */
    const pp_rank_overrides *overrides; /* for single pipeline ranks; NULL: all are alike */
    int64_t memory_limit_bytes; /* per GPU; 0: the hardware's less pp_memory_reserve_bytes */
    double tie;   /* plans whose steps differ by at most this part count as equally fast, and
                     planner/search/choice.h takes one; 0: the fastest is taken */
    bool fastest; /* with tie: searches as far as that needs, and takes the fastest all the same */
    int64_t headroom_bytes;       /* of the limit; with tie: plans that leave it free on every GPU
                                     come first */
    const pp_jitter_spec *jitter; /* ranks the best candidates; NULL: they are ranked by step_ns */
    bool rank_by_p95;             /* with jitter; otherwise by p50 */
    double score_limit;           /* a step_ns x GPUs above this is of no use; 0: any is */
    bool why;                     /* the prediction has a breakdown of the step */
    bool no_advice;               /* a failure names no change of the request that would fit */
    bool numbers_only;            /* the plan's prediction has the numbers of the step and the peak
                                     memory, but no breakdown or worst waits, and not the memory of
                                     every rank */
    bool no_nearest;              /* if nothing fits, only the status is wanted: a failure does not
                                     name what is nearest to fitting, nor a change */
    uint64_t seed;

    /* Budget and callbacks; each callback may be NULL. */
    uint64_t max_simulations; /* iterations (planner/candidate/budget.h); 0: no limit. The search
                                 for orders gets what is left */
    /* Returns true when the time is up. The search still continues to bound setups until there is
     * something to simulate, and to simulate until a candidate that fits has been found. */
    bool (*stop)(void *context);
    /* With stop: the part of the time that has passed. The search for orders uses the rest. */
    double (*spent)(void *context);
    double budget_s; /* with spent: all of the time; 0: not known. A simulation that cannot end in
                        time is not begun */
    /* Returns true when the search shall fail with CANCELLED. It is asked before each simulation;
     * unlike `stop`, it does not change what the search does until then. */
    bool (*cancelled)(void *cancel_context);
    void *cancel_context;
    /* Reports a candidate that is better than those before it. Only its step_ns, least_step_ns and
     * schedule are set. Calls do not overlap. */
    void (*found)(void *context, const pp_candidate *better);
    /* If nothing fits, reports the simulation of the candidate that exceeds the limit by the
     * least. */
    void (*missed)(void *context, const pp_report *nearest);
    void *context; /* passed to all four */
} pp_plan_request;

/* True if the embedding, and the head with the loss, may be stages of their own. */
bool pp_request_bare_ends(const pp_plan_request *request);

/* The part of the hardware's memory that is left free when no limit is given: 5 %, for the CUDA
 * context, fragmentation in the allocator and whatever the memory model does not count. */
int64_t pp_memory_reserve_bytes(const pp_hardware *hardware);

/* Sequences per step when they are not given: 8 x pp x dp, rounded up to whole micro-batches; with
 * gpus one micro-batch per GPU. */
int64_t pp_default_batch_size(const pp_plan_request *request);
/* The switches of the stack, overridden by those that the request gives, except `recompute`, which
 * is never overridden. */
pp_switches pp_switches_requested(const pp_switch_request *request, pp_switches stack);

#endif
