/* From the last op of each rank to the end of its step: gradient sync, tied embedding, optimizer.
 */
#ifndef PPSIM_SIM_ANALYSIS_STEP_TAIL_H
#define PPSIM_SIM_ANALYSIS_STEP_TAIL_H

#include "sim/cost/costs.h"
#include "sim/framework/framework.h"
#include "sim/program/program.h"

/* By how much the step outlasts the makespan, and why. Parts that overlap with the last ops of
 * other ranks count 0. The four sum to step end - makespan. */
typedef struct pp_step_tail {
    pp_ns grad_sync_ns, tied_ns, optimizer_ns;
    pp_ns fixed_ns; /* the hardware's fixed time per step */
} pp_step_tail;

/* A time that does not exist; every other one is 0 or more. */
#define PP_NEVER ((pp_ns)-1)

/* Returns true if, without a barrier, a rank of this framework updates only after the ranks before
 * it have passed on their part of the gradient norm (post-validation of the zero-bubble runtime).
 * The message has a few bytes and takes no time in the model. framework: NULL for a program that
 * was read from a file; its ranks do not wait. */
bool pp_step_tail_chained(const pp_framework *framework);

/* end_ns[ranks]: on entry, the end of each rank's last op; on return, the time at which it may
 * begin the next step when no barrier ends this one. PP_NEVER remains unless the rank waits for
 * another. */
void pp_step_tail_pass(const pp_costs *costs, bool chained, pp_ns *end_ns);

/* Divides the time after the makespan. last_end_ns: [ranks], the end of each rank's last op.
 * makespan_ns: the latest of them. step_sync: no rank updates before all have finished, since the
 * gradient norm needs all of them. */
pp_step_tail pp_step_tail_of(const pp_costs *costs, const pp_ns *last_end_ns, pp_ns makespan_ns,
                             bool step_sync, bool chained);

/* The time at which the step ends; arguments as for pp_step_tail_of. */
pp_ns pp_step_tail_step_end(const pp_costs *costs, const pp_ns *last_end_ns, bool step_sync,
                            bool chained);

#endif
