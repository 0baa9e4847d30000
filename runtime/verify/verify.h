/* Compares the values that a pipelined run ended with and those of a sequential one. */
#ifndef PPSIM_RUNTIME_VERIFY_VERIFY_H
#define PPSIM_RUNTIME_VERIFY_VERIFY_H

#include "runtime/core/run.h"

#define PP_VERIFY_TOLERANCE_DOUBLE 1e-12 /* relative, if sums are in another order */
#define PP_VERIFY_TOLERANCE_FLOAT 1e-4
#define PP_VERIFY_SLOPES 16u           /* weights that are moved, for backends in double */
#define PP_VERIFY_TOLERANCE_SLOPE 1e-5 /* relative, of central differences */

typedef struct pp_verdict {
    bool compared; /* false: this process does not host rank 0, or the backend has no values */
    bool ordered;  /* all stages sum their weights' gradients in one order of the microbatches, and
                      so did the sequential run: all bits must be equal */
    uint64_t values, differing;
    uint64_t endless; /* NaN or infinite values; that they are equal proves nothing */
    double tolerance; /* 0 where ordered */
    double worst;     /* relative to the largest value of its stage and kind */
    uint32_t worst_stage;
    pp_values worst_values;
    bool referred; /* also compared with the reference backend, in double */
    double reference_tolerance, worst_reference; /* relative, likewise */
    uint32_t slopes;    /* gradients that were compared with central differences */
    double worst_slope; /* relative to the largest gradient of the stage */
    double loss;        /* of the last step, summed over its microbatches */
} pp_verdict;

/* Verifies a run. Random weights are moved a little, one at a time: the loss must change as their
 * gradients say. Then `steps` steps are repeated sequentially from the start, and gradients,
 * parameters and losses after the last one are compared; of several replicas each is repeated, and
 * their gradients are added up. All processes call it, after pp_run. stop:
 * the stop flag, or NULL. Fails: INFEASIBLE when values differ more than allowed (to the bit if
 * ordered, else by the tolerance), naming stage and values, or when the stop flag is set; as
 * compute; NOMEM. */
PP_MUST_CHECK pp_status pp_verify(const pp_run_job *job, uint32_t steps,
                                  const volatile sig_atomic_t *stop, pp_verdict *verdict_out,
                                  pp_err *err);

#endif
