/* Runs the work of a step on one worker, one op after the other. A pipelined step must give the
 * same values, and the durations of ops can be measured without waits for other ranks. */
#ifndef PPSIM_RUNTIME_VERIFY_SEQUENTIAL_H
#define PPSIM_RUNTIME_VERIFY_SEQUENTIAL_H

#include "runtime/core/arena.h"
#include "runtime/core/compute.h"

#include <signal.h>

/* A worker that holds all stages, and the tensors of one microbatch. The owner frees it with
 * pp_sequential_free. */
typedef struct pp_sequential {
    const pp_compute *compute;
    const pp_compute_work *work;
    const pp_program *program;
    const pp_costs *costs;
    void *worker;
    pp_op_tensors *tensors; /* [stages] */
    char *memory;
    pp_device_memory device; /* what the memory is of; all zero: this process */
    bool *split;             /* [stages]: the backward is I and W, not B */
    char *tied;              /* gradients of tied weights, of the first and the last stage */
    uint32_t
        *microbatch_order; /* [microbatches]: a step takes them in this order; ascending at first */
    const volatile sig_atomic_t
        *stop; /* as in pp_world_options, checked before every op; NULL at first */
} pp_sequential;

/* Makes a sequential run of the same work. program: determines which stages split their backward.
 * Fails: as compute->open; NOMEM. */
PP_MUST_CHECK pp_status pp_sequential_new(const pp_compute *compute, const pp_compute_work *work,
                                          const pp_program *program, const pp_costs *costs,
                                          pp_sequential **sequential_out, pp_err *err);
void pp_sequential_free(pp_sequential **sequential); /* for PP_CLEANUP */

/* These four fail: INFEASIBLE when the stop flag is set; as compute.
 *
 * Runs one step of the training run, microbatch after microbatch by `microbatch_order`; update
 * included. took: NULL, or costs with a class per microbatch; what the ops took is added to f_ns,
 * i_ns, w_ns, b_ns. */
PP_MUST_CHECK pp_status pp_sequential_step(pp_sequential *sequential, uint32_t step, pp_costs *took,
                                           pp_err *err);

/* Runs a step of replicas that train one model: each its own microbatches, then the sum of their
 * gradients in the order of the replicas, then the update of each. */
PP_MUST_CHECK pp_status pp_sequential_step_all(pp_sequential *const *replica, uint32_t count,
                                               uint32_t step, pp_err *err);

/* Runs forward and backward of one microbatch without an update: its gradients and its loss. */
PP_MUST_CHECK pp_status pp_sequential_gradient(pp_sequential *sequential, uint32_t microbatch,
                                               pp_err *err);
/* Runs the forward of one microbatch: its loss. */
PP_MUST_CHECK pp_status pp_sequential_loss(pp_sequential *sequential, uint32_t microbatch,
                                           pp_err *err);

#endif
