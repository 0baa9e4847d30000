/* PyTorch's lowering of compute_only rows (torch/distributed/pipelining/schedules.py), for the
 * frameworks that use it. */
#ifndef PPSIM_SIM_FRAMEWORK_LOWERING_TORCH_PASS_H
#define PPSIM_SIM_FRAMEWORK_LOWERING_TORCH_PASS_H

#include "sim/program/comm.h"

/* When receives are issued. */
typedef enum pp_torch_receives {
    PP_TORCH_EARLY,    /* with their sends; the op that needs one waits for it */
    PP_TORCH_DEFERRED, /* defer_pp_recv: right before the op that needs it or, on the lower of the
                          two ranks, before a send to the same peer (_defer_recv_ops) */
    PP_TORCH_BLOCKING, /* like EARLY, but the rank waits for each transfer right after issuing it */
} pp_torch_receives;

/* Lowers an order by the passes _add_unshard_reshard, _add_reduce_grad and _add_send_recv. Every
 * send and receive is a group of its own; no step waits for a send, unless BLOCKING.
 * framework: for messages.
 * Fails: USAGE when a stage is on two ranks, INFEASIBLE when PyTorch refuses the order or it
 * cannot finish, NOMEM. */
PP_MUST_CHECK pp_status pp_torch_lower(const pp_order *order, const char *framework,
                                       pp_torch_receives receives, pp_program **program_out,
                                       pp_err *err);

#endif
