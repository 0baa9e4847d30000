/* A compute backend: what the ops of a step compute. A backend is one file of runtime/compute/ and
 * one line of runtime/computes.def, or functions of the library's caller
 * (runtime/library/pp_runtime.h). The interpreter decides when an op runs and where its tensors
 * are; the backend fills them. It states the sizes of the tensors beforehand, so that the simulator
 * can predict them and the arena can hold them. */
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
    const pp_workload *workload; /* one replica, padded if the size protocol pads; NULL: no
                                    sequences are known */
    const pp_workload
        *data; /* the same without padding; the loss counts these tokens; NULL as above */
    const pp_stage *partition; /* [stages], or NULL: one layer per stage */
    const pp_costs *costs;     /* durations that the plan expects */
    const char *settings;      /* "hidden=64,heads=4", "" for the defaults */
    uint64_t seed;             /* of weights and data */
    bool forward_only;
    bool split; /* some backwards are I and W */
    /* Replicas that train one model together (runtime/core/sharding.h); with 0 or 1 the rest is 0,
     * too. */
    uint32_t replica, replicas;
    int zero; /* what they share: 1 the update, 2 also gradients, 3 also parameters */
    uint64_t sequences_before; /* of the replicas before this one in a step */
    double step_tokens; /* that the loss counts, of all replicas; 0: all have as many as this one */
} pp_compute_work;

/* Addresses of the tensors of one op. Their sizes are those of pp_costs: input and output of F have
 * message_bytes of the boundaries below and above the stage, gradients likewise. Addresses are
 * multiples of 64, or NULL if there is no such tensor. */
typedef struct pp_op_tensors {
    const void *activation_in; /* F, I, B: output of the stage below; first stage: NULL */
    void *activation_out;      /* F: for the stage above; last stage: NULL */
    const void *gradient_in;   /* I, B: from the stage above; last stage: NULL */
    void *gradient_out;        /* I, B: for the stage below; first stage: NULL */
    void *saved;   /* F, I, B: activation_bytes less input and stash; valid until I or B */
    void *stash;   /* F, I, W, B: stash_bytes; valid until W or B */
    void *scratch; /* I, B: temporary_bytes; valid during the op */
    void *logits;  /* F, I, B: logits_bytes; valid until I or B */
} pp_op_tensors;

/* What a verification compares, and what replicas share: arrays of `double` or `float`, depending
 * on value_bytes. */
typedef enum pp_values {
    PP_VALUES_GRADIENTS,  /* of one stage, summed over the microbatches */
    PP_VALUES_PARAMETERS, /* of one stage, after the update */
    PP_VALUES_LOSSES,     /* one per microbatch, which sum to the step's; on the last stage only */
} pp_values;

typedef struct pp_compute {
    const char *name;
    const char *summary;
    bool sleeps; /* ops only sleep, so preemption does not invalidate a measurement */
    /* Sets has_memory and the byte tables of *costs, and leaves durations as they are.
     * activation_bytes includes the input if that comes from another stage. NULL: the plan's bytes
     * are used. Fails: USAGE (settings), INPUT, NOMEM. */
    pp_status (*describe)(const pp_compute_work *work, pp_costs *costs, pp_err *err);
    /* Opens a worker, which holds the parameters of the stages with holds[stage] and is used by one
     * thread at a time. Fails: USAGE, INPUT, UNAVAILABLE, NOMEM. */
    pp_status (*open)(const pp_compute_work *work, const bool *holds, void **worker_out,
                      pp_err *err);
    void (*close)(void *worker); /* NULL is fine */
    /* Begins training step `step`, counted from 0: sets gradients and losses to zero. */
    pp_status (*begin)(void *worker, uint32_t step, pp_err *err);
    pp_status (*run)(void *worker, pp_op op, const pp_op_tensors *tensors, pp_err *err);
    /* Updates the parameters, after the last op and the exchange of tied gradients. */
    pp_status (*end)(void *worker, pp_err *err);
    /* Returns start and end of the last op on this process's clock, for backends whose ops run
     * elsewhere. NULL: an op lasts from its call to its return. */
    void (*times)(const void *worker, pp_ns *start_ns, pp_ns *end_ns);
    /* Returns the index of the GPU that the worker computes on; several workers of this process may
     * use one GPU. NULL: the worker computes on the processor. */
    uint32_t (*gpu)(const void *worker);
    /* Returns the memory in which tensors must be. NULL: ordinary host memory. Fails:
     * UNAVAILABLE. */
    pp_status (*memory)(pp_device_memory *memory_out, pp_err *err);

    /* Weights that the first and the last stage share (tied embeddings): each stage adds the
     * gradient of the other. All three are NULL if the backend has none. tied_bytes returns 0 if
     * this work ties nothing. tied_get writes the gradient of `stage`, which is the first or the
     * last. tied_put adds `other`, which the other stage wrote; both sides add the gradient of the
     * first stage first, so that the sums are equal to the bit. */
    size_t (*tied_bytes)(const void *worker);
    void (*tied_get)(const void *worker, uint32_t stage, void *out);
    void (*tied_put)(void *worker, uint32_t stage, const void *other);

    /* Parameters and gradients of a stage as one array each, for replicas that share them
     * (runtime/core/sharding.h). All are NULL if the backend cannot share. `block` returns the
     * array, or NULL if it is not held, and its size, which divides into equal parts for all
     * replicas. `hold` makes an array, of zeros; `drop` frees it. A stage must have both while its
     * ops run, gradients only in those for weight; `begin` and `end` pass over those not held.
     * `add` adds a part of gradients, which may be in this process's memory, to another; `update`
     * does to a part what `end` does. `take` gives memory like that of the arrays, of zeros, which
     * the caller returns by `give` before the worker is closed; `copy` copies between memory of
     * both kinds, and is complete when it returns. */
    void *(*block)(const void *worker, uint32_t stage, pp_values which, size_t *bytes_out);
    pp_status (*hold)(void *worker, uint32_t stage, pp_values which, pp_err *err);
    void (*drop)(void *worker, uint32_t stage, pp_values which);
    void (*add)(void *worker, size_t bytes, const void *other, void *sum);
    void (*update)(void *worker, size_t bytes, const void *gradients, void *parameters);
    pp_status (*take)(void *worker, size_t bytes, void **at_out, pp_err *err);
    void (*give)(void *worker, void *at); /* NULL is fine */
    void (*copy)(void *worker, void *to, const void *from, size_t bytes);

    /* Access to values for verification. All are NULL if there is nothing to verify. value_count
     * returns how many values of kind `which` a stage has. */
    size_t (*value_bytes)(const void *worker); /* 8: double, 4: float */
    size_t (*value_count)(const void *worker, uint32_t stage, pp_values which);
    void (*value_read)(const void *worker, uint32_t stage, pp_values which, void *out);
    /* Adds `by` to one parameter, the index-th of those that value_read gives. */
    void (*value_nudge)(void *worker, uint32_t stage, size_t index, double by);
    /* Returns the first failure of the calls above that return no status. NULL: they cannot fail.
     * */
    pp_status (*check)(void *worker, pp_err *err);
    /* Returns the backend that this one is verified against, whose values are double, with its
     * settings and the tolerance relative to the largest value of a stage and kind. settings_out:
     * PP_SETTINGS_MAX bytes. NULL: the backend is compared only with a sequential run of itself.
     * Fails: USAGE. */
    pp_status (*reference)(const pp_compute_work *work, const struct pp_compute **compute_out,
                           double *tolerance_out, char *settings_out, pp_err *err);
} pp_compute;

#define PP_SETTINGS_MAX 256

#endif
