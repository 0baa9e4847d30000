/* The inner loop of the Monte Carlo simulation. */
#ifndef PPSIM_PLANNER_ROBUSTNESS_JITTER_KERNEL_H
#define PPSIM_PLANNER_ROBUSTNESS_JITTER_KERNEL_H

#include "planner/robustness/jitter_pool.h"
#include "planner/robustness/jitter_tape.h"

/* Scratch memory of one thread. */
typedef struct pp_jitter_lanes {
    double *row;         /* [rows * LANES]; NULL without a tape */
    double *rank_factor; /* [ranks * LANES] */
    double *link_factor; /* [(links + 1) * LANES] */
} pp_jitter_lanes;

/* Computes one block of scenarios. slow: the factors of ranks and links are used. All kernels give
 * the same bits. */
typedef void pp_jitter_kernel(const pp_jitter_tape *tape, const pp_jitter_pool *pool,
                              const pp_jitter_lanes *lanes, uint64_t block, bool slow);

/* The kernels, the fastest last. Number 0 runs on every processor. NULL: this processor lacks the
 * instructions, or there is no such kernel. */
pp_jitter_kernel *pp_jitter_kernel_at(size_t index);
size_t pp_jitter_kernel_count(void);

#endif
