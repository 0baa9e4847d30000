/* PyTorch's lowering of compute_only rows (torch/distributed/pipelining/schedules.py), for the
 * frameworks that keep to it. */
#ifndef PPSIM_SIM_FRAMEWORK_LOWERING_TORCH_PASS_H
#define PPSIM_SIM_FRAMEWORK_LOWERING_TORCH_PASS_H

#include "sim/program/comm.h"

typedef enum pp_torch_receives {
    PP_TORCH_EARLY,    /* issued with their sends, waited for by the op that needs them */
    PP_TORCH_DEFERRED, /* defer_pp_recv: right before the op that needs them or, on the lower of the
                          two ranks, before a send to the same peer (_defer_recv_ops) */
    PP_TORCH_BLOCKING, /* where EARLY has them, but the rank waits for every transfer at once */
} pp_torch_receives;

/* The passes _add_unshard_reshard, _add_reduce_grad, _add_send_recv. Every send and receive is a
 * group of its own; no step waits for a send (unless BLOCKING).
 * framework: for the text. Fails: USAGE when a stage lives on two ranks, INFEASIBLE when PyTorch
 * refuses the order or it cannot finish, NOMEM. */
PP_MUST_CHECK pp_status pp_torch_lower(const pp_order *order, const char *framework,
                                       pp_torch_receives receives, pp_program **program_out,
                                       pp_err *err);

#endif
