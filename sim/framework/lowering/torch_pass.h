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

/* What differs between versions of PyTorch, and between the frameworks that use its passes. */
typedef struct pp_torch_rules {
    const char *framework; /* for messages */
    pp_torch_receives receives;
    /* PyTorch 2.15: a rank waits for the send of an activation after the backward of its
     * microbatch, for other sends at the end of the step, and for each gradient reduction right
     * after starting it; stages are resharded in the order in which they were gathered. */
    bool waits;
    int32_t lookahead; /* as in pp_pytorch_settings */
} pp_torch_rules;

/* Lowers an order by the passes _add_unshard_reshard, _add_reduce_grad, _add_send_recv and, with
 * waits, _add_wait_send. Every send and receive is a group of its own; without waits no step waits
 * for a send, unless BLOCKING.
 * Fails: USAGE when a stage is on two ranks, INFEASIBLE when PyTorch refuses the order or it
 * cannot finish, NOMEM. */
PP_MUST_CHECK pp_status pp_torch_lower(const pp_order *order, pp_torch_rules rules,
                                       pp_program **program_out, pp_err *err);

#endif
