/* DeepSpeed's TrainSchedule sends and receives one tensor at a time and blocks. Half-steps
 * alternate by rank parity, so that one neighbour sends while the other receives
 * (deepspeed/runtime/pipe/schedule.py). */
#include "sim/framework/framework.h"
#include "sim/framework/lowering/lower.h"
#include "sim/framework/registry.h"
#include "sim/framework/sizes/size_protocol.h"

/* A backward in the half-step right after a forward receives its gradient before the output of that
 * forward is sent. On rank r this is the backward of the microbatch p - 1 - r before that of the
 * forward. */
static bool adjacent(const pp_lowering *l, pp_op op, pp_op next)
{
    return op.kind == PP_OP_F && next.kind == PP_OP_B &&
           op.microbatch == next.microbatch + (l->program->ranks - 1 - l->rank);
}

static pp_status lower_rank(const pp_lowering *l, pp_err *err)
{
    const pp_op *op = l->program->op;
    (void)err;
    pp_lower_receive_now(l, &op[l->begin]);
    for (size_t i = l->begin; i < l->end; i++) {
        const pp_op *next = i + 1 < l->end ? &op[i + 1] : NULL;
        bool receive_first = next && adjacent(l, op[i], *next);
        pp_comm_run(l->builder, l->rank, (uint32_t)i);
        if (receive_first)
            pp_lower_receive_now(l, next);
        pp_lower_send_now(l, &op[i]);
        if (!receive_first)
            pp_lower_receive_now(l, next);
    }
    return PP_OK;
}

/* In InferenceSchedule, even stages send before they receive. */
static pp_status lower_evaluation(const pp_lowering *l, pp_err *err)
{
    const pp_op *op = l->program->op;
    (void)err;
    pp_lower_receive_now(l, &op[l->begin]);
    for (size_t i = l->begin; i < l->end; i++) {
        const pp_op *next = i + 1 < l->end ? &op[i + 1] : NULL;
        pp_comm_run(l->builder, l->rank, (uint32_t)i);
        if (l->rank % 2)
            pp_lower_receive_now(l, next);
        pp_lower_send_now(l, &op[i]);
        if (l->rank % 2 == 0)
            pp_lower_receive_now(l, next);
    }
    return PP_OK;
}

static pp_status deepspeed_lower(const pp_order *order, pp_program **program_out, pp_err *err)
{
    pp_status status = pp_lower_check_schedule(order, "deepspeed", "1f1b", err);
    return status ? status
                  : pp_lower_ranks(order, 0,
                                   pp_order_forward_only(order) ? lower_evaluation : lower_rank,
                                   program_out, err);
}

/* With dynamic_shape, _send_tensor_meta sends int32[256] before an activation, which the receiver
 * reads with .item(). Every tensor is a blocking send of its own. Sizes of gradients follow from
 * the outputs (pipe/engine.py). */
static const pp_size_protocol_support deepspeed_shapes = {
    .rounds = 1,
    .bytes = { 1024 },
    .tensor_by_tensor = true,
};

const pp_framework pp_framework_deepspeed = {
    .name = "deepspeed",
    .summary = "DeepSpeed: blocking sends and receives, one at a time, ordered by even and odd "
               "ranks (1f1b)",
    .lower = deepspeed_lower,
    .size_protocols = &deepspeed_shapes,
    /* runtime/pipe/engine.py: one pipe_recv_buf and one grad_layer for all microbatches, the input
     * is a clone; pipe_buffers['outputs'] keeps an output for its backward */
    .buffers = { .recv = PP_RECV_PER_DIRECTION,
                 .send = PP_SEND_UNTIL_BACKWARD,
                 .recv_copied = true },
};
