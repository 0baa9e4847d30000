/* Ops of the cpu backend, one after the other: one stage of three, of which the others are empty, a
 * microbatch per mix of sequence lengths. */
#ifndef PPSIM_CALIB_MEASURE_OPS_H
#define PPSIM_CALIB_MEASURE_OPS_H

#include "calib/measure/probe_options.h"
#include "runtime/core/compute.h"

enum { PP_OPS_FIRST, PP_OPS_MIDDLE, PP_OPS_LAST, PP_OPS_STAGES };

/* Sequence lengths of one microbatch; lengths: [count]. */
typedef struct pp_mix {
    int64_t lengths[32];
    size_t count;
} pp_mix;

/* Tokens in one sequence. */
pp_mix pp_mix_one(int64_t tokens);
/* In four equal ones; tokens: divisible by 4. */
pp_mix pp_mix_four(int64_t tokens);
/* One of half of them, the rest in sequences of a sixteenth; tokens: divisible by 16. */
pp_mix pp_mix_skewed(int64_t tokens);

/* TOKENS, SQUARES, LONGEST, TILES. */
void pp_mix_variables(const pp_mix *mix, double at[PP_VARIABLE_COUNT]);

/* Owner frees with pp_ops_free; used by one thread. */
typedef struct pp_ops {
    const pp_compute *compute;
    pp_workload workload;
    pp_stage partition[PP_OPS_STAGES];
    uint32_t stage_rank[PP_OPS_STAGES];
    pp_compute_work work;
    pp_costs *costs;
    void *worker;
    uint32_t stage;              /* that has the layers */
    pp_op_tensors first, middle; /* of the first stage where it is empty, and of `stage` */
    char *memory;
} pp_ops;

/* stage: that has the layers and whose ops are run. Fails: UNAVAILABLE (no OpenBLAS), USAGE
 * (settings), INPUT, NOMEM. */
PP_MUST_CHECK pp_status pp_ops_new(const pp_probe_options *options, uint32_t stage,
                                   const pp_mix *mix, size_t count, pp_ops **ops_out, pp_err *err);
void pp_ops_free(pp_ops **ops); /* for PP_CLEANUP; *ops NULL is fine */

/* Input and output gradient of a microbatch; gradients of weights become 0. */
PP_MUST_CHECK pp_status pp_ops_begin(pp_ops *ops, size_t mix, pp_err *err);
/* I and B need an F before, W an I. */
PP_MUST_CHECK pp_status pp_ops_run(pp_ops *ops, size_t mix, pp_op_kind kind, pp_err *err);

#endif
