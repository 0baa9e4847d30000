/* What the planner is asked: a model, hardware, data, and the values that are given; the search
 * chooses the others. A request is data and never changes while it is searched; a study that wants
 * another answer makes another request. */
#ifndef PPSIM_PLANNER_CANDIDATE_REQUEST_H
#define PPSIM_PLANNER_CANDIDATE_REQUEST_H

#include "sim/cost/cost_model.h"
#include "sim/cost/rank_overrides.h"
#include "sim/framework/framework.h"
#include "sim/job/hardware.h"
#include "sim/job/model.h"
#include "sim/plan/plan.h"

typedef enum pp_partition_kind {
    PP_PARTITION_AUTO,     /* balanced, and uniform where it divides */
    PP_PARTITION_UNIFORM,  /* the same number of layers on every stage */
    PP_PARTITION_BALANCED, /* planner/bound/partition.h */
    PP_PARTITION_LAYOUT,   /* given */
    PP_PARTITION_FITTED,   /* balanced, with less on ranks that have less memory than the others */
    PP_PARTITION_SHIFTED,  /* layers moved from one of these while the simulated step got shorter */
} pp_partition_kind;

const char *pp_partition_name(pp_partition_kind kind);

/* Switches of the software: the stack's, changed where `given` says so. recompute AUTO is free. */
typedef struct pp_switch_request {
    const char *stack; /* pp_stack_find */
    pp_switches value;
    struct {
        bool recompute, sequence_parallel, flash_attention, grad_sync_overlap, grad_dtype,
            tp_overlap, zero, scatter_gather, p2p, dtype;
    } given;
} pp_switch_request;

/* Orders beyond the named schedules: planner/order/search.h looks for them. */
typedef enum pp_orders {
    PP_ORDERS_NAMED,   /* none */
    PP_ORDERS_BETTER,  /* one is taken where it beats the best named schedule measurably */
    PP_ORDERS_PLANNED, /* the best one found is the answer */
} pp_orders;

/* A found order is taken when its step is shorter by more than 1 / this. */
#define PP_MEASURABLE_GAIN 1000

/* Which sequences share a microbatch: planner/pack/pack.h. */
typedef enum pp_packing {
    PP_PACKING_GIVEN,     /* consecutive sequences, or the file's own microbatches */
    PP_PACKING_FIRST_FIT, /* pp_workload_pack */
    PP_PACKING_EQUAL,     /* modelled times as equal as they get */
    PP_PACKING_RAMPED,    /* the same, but light microbatches first and last */
    PP_PACKING_COUNT,
} pp_packing;

/* The order of the microbatches of each replica, by modelled time. */
typedef enum pp_sorting {
    PP_SORTING_GIVEN, /* as the packing left them; ramped: light ones first and last */
    PP_SORTING_ASCENDING,
    PP_SORTING_DESCENDING,
    PP_SORTING_TENT, /* light ones first and last */
    PP_SORTING_COUNT,
} pp_sorting;

/* How microbatches were made. */
typedef struct pp_packing_method {
    pp_packing packing;
    pp_sorting sorting;
    bool searched; /* moves and swaps followed */
} pp_packing_method;

/* "given", "first-fit", "equal", "ramped". */
const char *pp_packing_name(pp_packing packing);
/* "given", "ascending", "descending", "tent". */
const char *pp_sorting_name(pp_sorting sorting);
/* "equal, ascending, then moves and swaps". Returns buffer. */
const char *pp_packing_method_print(const pp_packing_method *method, char *buffer, size_t size);

/* Settings of the framework that the search chooses, whatever values the request has for them. */
typedef struct pp_free_settings {
    bool framework, shapes, communicators;
    const pp_framework *const *frameworks; /* with framework: of these, NULL at the end; NULL: of
                                              all but ideal */
} pp_free_settings;

typedef struct pp_candidate pp_candidate; /* planner/candidate/candidate.h */

/* What is asked. Pointers are borrowed. */
typedef struct pp_plan_request {
    const pp_model *model;
    const pp_hardware *hardware;
    pp_parallel parallel;      /* pp must be given; 0: tp and vpp are free, cp dp ep are 1 */
    int64_t gpus;              /* pp x tp x cp x dp; those and ep are free where 0. 0: not given */
    int64_t seq_length;        /* 0: the model's own maximum */
    int64_t micro_batch_size;  /* sequences; 0: free */
    int64_t global_batch_size; /* sequences; 0: 8 x pp x dp, with gpus that
                                  number, in whole micro-batches */
    const int64_t *lengths;    /* [length_count], packed to seq_length; NULL: full sequences */
    size_t length_count;
    const size_t *group_end; /* [group_count]: the lengths are microbatches as they are
                                (pp_workload_group); NULL: they are packed */
    size_t group_count;
    const bool *packings; /* [PP_PACKING_COUNT]: searched for the lengths, and the best one taken:
                             with first fit among them where it is measurably faster than the
                             lengths as they are packed above. NULL: none */
    const pp_packing_method *grouped; /* how the groups were made; NULL: by the file */
    const pp_schedule *schedule;      /* NULL: every entry of the table, or those of `only` */
    const pp_schedule *const *only;   /* NULL at the end: what the target runs; NULL: all */
    bool no_split;                    /* nothing with I and W */
    const char *target;               /* the rules of the runtime that is to run it; NULL: none */
    pp_orders orders;        /* ignored with `schedule` or `only`, which imply PP_ORDERS_NAMED */
    bool one_order;          /* replicas may not have orders of their own */
    bool recompute_alike;    /* stages may not differ in how many layers they recompute, */
    bool recompute_uniform;  /* nor layers in what they keep, */
    bool recompute_constant; /* nor microbatches in either */
    uint32_t threads;        /* of the search for orders; the result does not depend on it */
    uint32_t group_size;     /* 0: the schedule's own rule */
    const pp_framework *framework; /* NULL: ideal */
    pp_exchange_options exchange;  /* shapes, hosts, tensors */
    pp_free_settings free;
    bool shape_message_given;   /* otherwise the fixed part of the link's time */
    pp_buffer_settings buffers; /* not with ideal */
    pp_switch_request switches;
    pp_partition_kind partition;
    const char *layout;          /* of PP_PARTITION_LAYOUT */
    bool allow_empty_end_stages; /* a balanced partition may give embedding or head a stage of its
                                    own */
    bool no_step_sync;
    const pp_rank_overrides *overrides; /* of single pipeline ranks; NULL: all are alike */
    int64_t memory_limit_bytes;         /* 0: the hardware's, less pp_memory_reserve_bytes */
    const pp_jitter_spec *jitter; /* the best candidates are ranked under it; NULL: by step_ns */
    bool rank_by_p95;             /* with jitter; otherwise by p50 */
    bool why;                     /* the prediction says where the step goes */
    bool no_advice;               /* when nothing fits: without the cheapest change that would */
    uint64_t seed;
    uint64_t max_simulations;    /* 0: no limit; what is left of it goes to the search for orders:
                                    an iteration of that counts as one */
    bool (*stop)(void *context); /* NULL: never; asked before every bound, obeyed once there is
                                    something to simulate, and before every simulation, obeyed once
                                    a candidate has been found that fits */
    double (*spent)(void *context); /* with stop: the part of the time that is gone; the search for
                                       orders uses the rest. NULL: as without stop */
    void (*found)(void *context, const pp_candidate *better); /* than those before it, for people
                                       to watch: step_ns, least_step_ns and schedule are set; one
                                       at a time. NULL: no callback */
    void (*missed)(void *context,
                   const pp_report *nearest); /* nothing fits: the simulation of the
                        candidate that misses by least, for people. NULL: no callback */
    void *context;                            /* of stop, spent, found and missed */
    double score_limit;                       /* only step_ns x GPUs up to this is of use; 0: any */
    const pp_notes *assumptions;              /* what the caller has assumed already; may be NULL */
} pp_plan_request;

/* What is kept free of the hardware's memory when no limit is given: 5 % for the CUDA context,
 * the allocator's fragmentation and what no model of ours counts. */
int64_t pp_memory_reserve_bytes(const pp_hardware *hardware);

/* Sequences per step when not given: 8 x pp x dp, rounded up to whole micro-batches. */
int64_t pp_default_batch_size(const pp_plan_request *request);
/* The stack's, changed where they are given; recompute is left alone. */
pp_switches pp_switches_requested(const pp_switch_request *request, pp_switches stack);

#endif
