/* Single ops of the cpu backend: one of three stages holds all layers, the other two are empty.
 * Each mix of sequence lengths is one microbatch. */
#ifndef PPSIM_CALIB_MEASURE_OPS_H
#define PPSIM_CALIB_MEASURE_OPS_H

#include "calib/measure/probe_options.h"
#include "runtime/core/compute.h"

enum { PP_OPS_FIRST, PP_OPS_MIDDLE, PP_OPS_LAST, PP_OPS_STAGES };

/* Sequence lengths of one microbatch, in tokens; the first `count` are used. */
typedef struct pp_mix {
    int64_t lengths[32];
    size_t count;
} pp_mix;

/* One sequence of `tokens`. */
pp_mix pp_mix_one(int64_t tokens);
/* Four equal sequences; `tokens` must be divisible by 4. */
pp_mix pp_mix_four(int64_t tokens);
/* One sequence of half of the tokens and eight of a sixteenth; `tokens` must be divisible by 16. */
pp_mix pp_mix_skewed(int64_t tokens);

/* Sets the variables TOKENS, SQUARES, LONGEST and TILES. */
void pp_mix_variables(const pp_mix *mix, double at[PP_VARIABLE_COUNT]);

/* The owner frees it with pp_ops_free. Not thread-safe. */
typedef struct pp_ops {
    const pp_compute *compute;
    pp_workload workload;
    pp_stage partition[PP_OPS_STAGES];
    uint32_t stage_rank[PP_OPS_STAGES];
    pp_compute_work work;
    pp_costs *costs;
    void *worker;
    uint32_t stage;              /* the one that has the layers */
    pp_op_tensors first, middle; /* of the empty first stage, and of `stage` */
    char *memory;
} pp_ops;

/* Builds the job for the `count` mixes; `stage` gets the layers, and its ops can be run.
 * Fails: UNAVAILABLE (no OpenBLAS), USAGE (settings), INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_ops_new(const pp_probe_options *options, uint32_t stage,
                                   const pp_mix *mix, size_t count, pp_ops **ops_out, pp_err *err);
void pp_ops_free(pp_ops **ops); /* for PP_CLEANUP; *ops NULL is fine */

/* Makes input and output gradient of a mix, and sets the gradients of weights to 0. */
PP_MUST_CHECK pp_status pp_ops_begin(pp_ops *ops, size_t mix, pp_err *err);
/* Runs one op of a mix. I and B need an F of the mix before them, and W needs an I. */
PP_MUST_CHECK pp_status pp_ops_run(pp_ops *ops, size_t mix, pp_op_kind kind, pp_err *err);

#endif
