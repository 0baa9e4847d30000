/* What the ops of a step compute: one file in runtime/compute/ and one line in
 * runtime/computes.def each, or a caller's own (runtime/library/pp_runtime.h).
 *
 * The interpreter decides when an op runs and where its tensors lie; a compute fills them. It says
 * beforehand how many bytes they have, so that the simulator can predict and the arena can hold
 * them. */
#ifndef PPSIM_RUNTIME_CORE_COMPUTE_H
#define PPSIM_RUNTIME_CORE_COMPUTE_H

#include "runtime/core/device_memory.h"
#include "sim/cost/costs.h"
#include "sim/job/stage.h"
#include "sim/job/workload.h"
#include "sim/order/order.h"

/* The work of one step. All of it belongs to the caller and outlives the workers. */
typedef struct pp_compute_work {
    uint32_t ranks, stages, microbatches;
    const uint32_t *stage_rank;  /* [stages] */
    const pp_workload *workload; /* one replica, padded where the size protocol pads; NULL: no
                                    sequences are known */
    const pp_workload *data;     /* the same without padding: what the loss counts; NULL likewise */
    const pp_stage *partition;   /* [stages], or NULL: one layer per stage */
    const pp_costs *costs;       /* durations that the plan expects */
    const char *settings;        /* "hidden=64,heads=4", "" for the defaults */
    uint64_t seed;               /* of weights and data */
    bool forward_only;
} pp_compute_work;

/* Where the tensors of one op lie. Their sizes are those of pp_costs: the input and the output of F
 * have message_bytes of the boundary below and above, gradients likewise. Addresses are multiples
 * of 64, NULL where there is no such tensor. */
typedef struct pp_op_tensors {
    const void *activation_in; /* F, I, B: what came from the stage below; first stage: NULL */
    void *activation_out;      /* F: for the stage above; last stage: NULL */
    const void *gradient_in;   /* I, B: from the stage above; last stage: NULL */
    void *gradient_out;        /* I, B: for the stage below; first stage: NULL */
    void *saved;   /* F, I, B: activation_bytes less input and stash; gone after I or B */
    void *stash;   /* F, I, W, B: stash_bytes; gone after W or B */
    void *scratch; /* I, B: temporary_bytes; gone after the op */
    void *logits;  /* F, I, B: logits_bytes; gone after I or B */
} pp_op_tensors;

/* What --verify compares. Arrays of `double` or `float`, as value_bytes says. */
typedef enum pp_values {
    PP_VALUES_GRADIENTS,  /* of one stage, summed over the microbatches */
    PP_VALUES_PARAMETERS, /* of one stage, after the update */
    PP_VALUES_LOSSES,     /* one per microbatch, which sum to the step's; on the last stage only */
} pp_values;

typedef struct pp_compute {
    const char *name;
    const char *summary;
    bool sleeps; /* ops only sleep, so preemption does not invalidate a measurement */
    /* Writes the byte tables of *costs and has_memory; durations stay. activation_bytes includes
     * the input where that comes from another stage. NULL: the plan's bytes are used.
     * Fails: USAGE (settings), INPUT, NOMEM. */
    pp_status (*describe)(const pp_compute_work *work, pp_costs *costs, pp_err *err);
    /* A worker holds the parameters of the stages with holds[stage]. A worker belongs to one
     * thread. Fails: USAGE, INPUT, UNAVAILABLE, NOMEM. */
    pp_status (*open)(const pp_compute_work *work, const bool *holds, void **worker_out,
                      pp_err *err);
    void (*close)(void *worker); /* NULL is fine */
    /* Sets gradients and losses to zero. step: 0, 1, ... */
    pp_status (*begin)(void *worker, uint32_t step, pp_err *err);
    pp_status (*run)(void *worker, pp_op op, const pp_op_tensors *tensors, pp_err *err);
    /* The update, after the last op and after tied gradients were exchanged. */
    pp_status (*end)(void *worker, pp_err *err);
    /* When the last op ran, on this process's clock. NULL: from its call to its return. */
    void (*times)(const void *worker, pp_ns *start_ns, pp_ns *end_ns);
    /* Which GPU the worker computes on; other workers of this process may use the same. NULL: the
     * thread's processor. */
    uint32_t (*gpu)(const void *worker);
    /* Where tensors lie. NULL: in this process's memory. Fails: UNAVAILABLE. */
    pp_status (*memory)(pp_device_memory *memory_out, pp_err *err);

    /* Weights that the first and the last stage share: each gets the other's gradient. All NULL:
     * there are none. tied_bytes: 0 where this work ties nothing. tied_get: writes the gradient of
     * `stage`, which is the first or the last. tied_put: adds `other`, what the other stage wrote;
     * both sides add in the same order, the first stage first. */
    size_t (*tied_bytes)(const void *worker);
    void (*tied_get)(const void *worker, uint32_t stage, void *out);
    void (*tied_put)(void *worker, uint32_t stage, const void *other);

    /* All NULL: there is nothing to verify. value_count: how many values of `which` there are. */
    size_t (*value_bytes)(const void *worker); /* 8: double, 4: float */
    size_t (*value_count)(const void *worker, uint32_t stage, pp_values which);
    void (*value_read)(const void *worker, uint32_t stage, pp_values which, void *out);
    /* Adds to one parameter: the index-th of those that value_read gives. */
    void (*value_nudge)(void *worker, uint32_t stage, size_t index, double by);
    /* The first failure of calls that return no status. NULL: they cannot fail. */
    pp_status (*check)(void *worker, pp_err *err);
    /* The compute that --verify compares it with, whose values are double, its settings, and
     * how far they may differ, relative to the largest value of a stage and kind.
     * settings_out: PP_SETTINGS_MAX bytes. NULL: none. Fails: USAGE. */
    pp_status (*reference)(const pp_compute_work *work, const struct pp_compute **compute_out,
                           double *tolerance_out, char *settings_out, pp_err *err);
} pp_compute;

#define PP_SETTINGS_MAX 256

#endif
