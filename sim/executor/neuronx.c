/* neuronx-distributed (pipeline/scheduler.py: Train1F1BSchedule, TrainInterleavedSchedule without
 * fused graphs): one transfer at a time, each a collective of two ranks, so that both must be
 * there. 1F1B receives a gradient before it sends an activation. */
#include "sim/lower_megatron.h"
#include "sim/shapes.h"

static void one_by_one(const pp_lowering *l, pp_megatron_call call)
{
    pp_lower_receive_now(l, call.recv_next);
    pp_lower_send_now(l, call.send_next);
    pp_lower_send_now(l, call.send_prev);
    pp_lower_receive_now(l, call.recv_prev);
}

/* The last rank begins with its sends, which breaks the circle. */
static void one_by_one_interleaved(const pp_lowering *l, pp_megatron_call call)
{
    bool last = l->rank + 1 == l->program->ranks;
    if (!last) {
        pp_lower_receive_now(l, call.recv_prev);
        pp_lower_send_now(l, call.send_prev);
    }
    pp_lower_send_now(l, call.send_next);
    pp_lower_receive_now(l, call.recv_next);
    if (last) {
        pp_lower_receive_now(l, call.recv_prev);
        pp_lower_send_now(l, call.send_prev);
    }
}

static pp_status lower_rank(const pp_lowering *l, pp_err *err)
{
    (void)err;
    if (l->group)
        pp_megatron_interleaved(l, one_by_one_interleaved);
    else
        pp_megatron_single(l, one_by_one);
    return PP_OK;
}

static pp_status neuronx_lower(const pp_order *order, pp_program **program_out, pp_err *err)
{
    uint32_t group = 0;
    pp_program *program = NULL;
    pp_status status = pp_megatron_check(order, "neuronx", true, &group, err);
    if (status)
        return status;
    if (group &&
        (group != order->ranks || order->microbatches % group || order->microbatches == group))
        return pp_err_set(err, PP_USAGE, "--executor",
                          "neuronx runs interleaved with groups of p microbatches only, and p has "
                          "to divide their number more than once");
    if ((status = pp_lower_ranks(order, group, lower_rank, &program, err)))
        return status;
    program->comm->collective = true;
    *program_out = program;
    return PP_OK;
}

static const pp_shape_habit neuronx_shapes = {
    .no_message = "shapes are traced before the first step and compiled into its graphs",
    .no_cache = "shapes are traced before the first step and compiled into its graphs",
    .tensor_by_tensor = true,
};

const pp_executor pp_executor_neuronx = {
    .name = "neuronx",
    .summary = "one transfer at a time, each a collective of two ranks (1f1b, interleaved)",
    .lower = neuronx_lower,
    .shape_habit = &neuronx_shapes,
};
