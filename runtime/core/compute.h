/* What the ops of a step compute: one file in runtime/compute/ and one line in
 * runtime/computes.def each, or a caller's own (runtime/library/pp_runtime.h).
 *
 * The interpreter decides when an op runs and where its tensors lie; a compute fills them. It says
 * beforehand how many bytes they have, so that the simulator predicts them and the arena holds
 * them. */
#ifndef PPSIM_RUNTIME_CORE_COMPUTE_H
#define PPSIM_RUNTIME_CORE_COMPUTE_H

#include "runtime/core/device_memory.h"
#include "sim/cost/costs.h"
#include "sim/job/job.h"
#include "sim/order/order.h"

/* One step's work. All of it is the caller's and outlives the workers. */
typedef struct pp_compute_work {
    uint32_t ranks, stages, microbatches;
    const uint32_t *stage_rank;  /* [stages] */
    const pp_workload *workload; /* one replica, padded where the shape protocol pads; NULL: no
                                    sequences are known */
    const pp_workload *data;     /* the same without padding: what the loss counts; NULL likewise */
    const pp_stage *partition;   /* [stages], or NULL: a layer each */
    const pp_costs *costs;       /* durations that the plan expects */
    const char *settings;        /* "hidden=64,heads=4", "" for the defaults */
    uint64_t seed;               /* of weights and data */
    bool forward_only;
} pp_compute_work;

/* Where the tensors of one op lie. Sizes are those of pp_costs: input and output of F have
 * message_bytes of the boundary below and above, gradients likewise. Addresses are multiples of
 * 64. NULL where there is none. */
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
    bool
        sleeps; /* its ops wait and compute nothing: that ranks lose their processor says nothing */
    /* Writes the byte tables of *costs and has_memory (durations stay): activation_bytes includes
     * the input where that comes from another stage. NULL: the plan's bytes hold.
     * Fails: USAGE (settings), INPUT, NOMEM. */
    pp_status (*describe)(const pp_compute_work *work, pp_costs *costs, pp_err *err);
    /* A worker holds the parameters of the stages with holds[stage]. A worker belongs to one
     * thread. Fails: USAGE, INPUT, UNAVAILABLE, NOMEM. */
    pp_status (*open)(const pp_compute_work *work, const bool *holds, void **worker_out,
                      pp_err *err);
    void (*close)(void *worker); /* NULL is fine */
    /* Gradients and losses are set to zero. step: 0, 1, ... */
    pp_status (*begin)(void *worker, uint32_t step, pp_err *err);
    pp_status (*run)(void *worker, pp_op op, const pp_op_tensors *tensors, pp_err *err);
    /* The update, after the last op and after tied gradients were exchanged. */
    pp_status (*end)(void *worker, pp_err *err);
    /* When the last op ran, by this process's clock. NULL: from its call to its return. */
    void (*times)(const void *worker, pp_ns *start_ns, pp_ns *end_ns);
    /* Which GPU it computes on, as others of this process may, too. NULL: the thread's processor.
     */
    uint32_t (*gpu)(const void *worker);
    /* Where its tensors lie. NULL: in this process's memory. Fails: UNAVAILABLE. */
    pp_status (*memory)(pp_device_memory *memory_out, pp_err *err);

    /* Weights that first and last stage share: each gets the other's gradient. All NULL: none.
     * tied_bytes: 0 where this work ties nothing. tied_get: of `stage` (first or last). tied_put:
     * `other` is what the other stage got; both sides add in the same order, first stage first. */
    size_t (*tied_bytes)(const void *worker);
    void (*tied_get)(const void *worker, uint32_t stage, void *out);
    void (*tied_put)(void *worker, uint32_t stage, const void *other);

    /* All NULL: there is nothing to verify. count: values of `which`. */
    size_t (*value_bytes)(const void *worker); /* 8: double, 4: float */
    size_t (*value_count)(const void *worker, uint32_t stage, pp_values which);
    void (*value_read)(const void *worker, uint32_t stage, pp_values which, void *out);
    /* Adds to one parameter: the index-th that value_read gives. */
    void (*value_nudge)(void *worker, uint32_t stage, size_t index, double by);
    /* What went wrong in calls that return nothing. NULL: nothing can. */
    pp_status (*check)(void *worker, pp_err *err);
    /* The compute that --verify compares it with, whose values are double, its settings, and
     * how far they may differ, relative to the largest value of a stage and kind.
     * settings_out: PP_SETTINGS_MAX bytes. NULL: none. Fails: USAGE. */
    pp_status (*reference)(const pp_compute_work *work, const struct pp_compute **compute_out,
                           double *tolerance_out, char *settings_out, pp_err *err);
} pp_compute;

#define PP_SETTINGS_MAX 256

size_t pp_compute_count(void);
const pp_compute *pp_compute_at(size_t index);
/* Fails: USAGE when unknown, with the nearest name. */
PP_MUST_CHECK pp_status pp_compute_get(const char *name, const pp_compute **compute_out,
                                       pp_err *err);

#endif
