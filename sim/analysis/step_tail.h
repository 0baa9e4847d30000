/* From the last op of each rank to the end of its step: gradient sync, tied embedding, optimizer.
 */
#ifndef PPSIM_SIM_ANALYSIS_STEP_TAIL_H
#define PPSIM_SIM_ANALYSIS_STEP_TAIL_H

#include "sim/cost/costs.h"
#include "sim/framework/framework.h"
#include "sim/program/program.h"

/* How long the step lasts beyond the makespan, and through what. Parts that run under the last ops
 * of other ranks are hidden and count 0; the four sum to step end - makespan. */
typedef struct pp_step_tail {
    pp_ns grad_sync_ns, tied_ns, optimizer_ns;
    pp_ns fixed_ns; /* per step, of the hardware */
} pp_step_tail;

/* A time that does not exist; every other one is 0 or more. */
#define PP_NEVER ((pp_ns)-1)

/* Without a barrier: does a rank of this framework update only after the ranks before it have
 * passed on their part of the gradient norm (sail-sg's post-validation)? The message is a few bytes
 * and takes no time here. NULL: a program that a file wrote down, whose ranks do not wait. */
bool pp_step_tail_chained(const pp_framework *framework);

/* end_ns[ranks]: in, the end of each rank's last op; out, when it may go on to the next step where
 * no barrier ends it. PP_NEVER stays what it is unless another rank is waited for. */
void pp_step_tail_pass(const pp_costs *costs, bool chained, pp_ns *end_ns);

/* last_end_ns[ranks]; makespan_ns: the latest of them. step_sync: no rank updates before all are
 * there (the gradient norm needs all ranks). */
pp_step_tail pp_step_tail_of(const pp_costs *costs, const pp_ns *last_end_ns, pp_ns makespan_ns,
                             bool step_sync, bool chained);

/* The end of the step. */
pp_ns pp_step_tail_step_end(const pp_costs *costs, const pp_ns *last_end_ns, bool step_sync,
                            bool chained);

#endif
