/* PyTorch's lowering of compute_only rows (torch/distributed/pipelining/schedules.py), for the
 * executors that keep to it. */
#ifndef PPSIM_SIM_LOWER_TORCH_H
#define PPSIM_SIM_LOWER_TORCH_H

#include "sim/comm.h"

/* The passes _add_unshard_reshard, _add_reduce_grad, _add_send_recv. Every send and receive is a
 * group of its own; a receive is waited for by the op that needs it, a send by nobody.
 * defers: then _defer_recv_ops (defer_pp_recv): a receive stands right before the op that needs it,
 * or, on the lower of the two ranks, before a send to the same peer.
 * Fails: INFEASIBLE when PyTorch refuses the order or it cannot finish, NOMEM. */
PP_MUST_CHECK pp_status pp_torch_lower(const pp_order *order, bool defers, pp_program **program_out,
                                       pp_err *err);

#endif
