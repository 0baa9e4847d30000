/* Colossal-AI runs Megatron-LM's orders. In a batch, even ranks put sends before receives and odd
 * ranks the reverse. 1F1B waits for every batch at once (pipeline/schedule/one_f_one_b.py).
 * Interleaved waits for the batch of a direction before the next op of that direction, so that two
 * batches may be in flight (interleaved_pp.py). */
#include "sim/base/field.h"
#include "sim/framework/framework.h"
#include "sim/framework/lowering/megatron_sends.h"
#include "sim/framework/registry.h"
#include "sim/framework/sizes/size_protocol.h"

static uint32_t open(const pp_lowering *l, const pp_op *sent, const pp_op *next)
{
    uint32_t group = pp_comm_open(l->builder, l->rank);
    if (l->rank % 2 == 0)
        pp_lower_send(l, group, sent);
    pp_lower_receive(l, group, next);
    if (l->rank % 2 == 1)
        pp_lower_send(l, group, sent);
    return group;
}

static void batch(const pp_lowering *l, pp_megatron_call call)
{
    bool up = call.send_next || call.recv_next;
    pp_comm_exchange(l->builder, open(l, up ? call.send_next : call.send_prev,
                                      up ? call.recv_next : call.recv_prev));
}

static uint32_t post(const pp_lowering *l, const pp_op *sent, const pp_op *next)
{
    uint32_t group = open(l, sent, next);
    pp_comm_post(l->builder, group);
    return group;
}

/* The batch in flight in each direction. */
typedef struct batches {
    uint32_t f, b;
} batches;

static void forward(const pp_lowering *l, const pp_interleaved *loop, size_t k, batches *under_way)
{
    uint32_t i = pp_interleaved_forward(loop, k);
    pp_op space;
    pp_comm_wait(l->builder, under_way->f);
    pp_comm_run(l->builder, l->rank, i);
    under_way->f = post(l, &l->program->op[i], pp_interleaved_next_f(loop, k, &space));
}

static void backward(const pp_lowering *l, const pp_interleaved *loop, size_t k, batches *under_way)
{
    uint32_t i = pp_interleaved_backward(loop, k);
    pp_op space;
    pp_comm_wait(l->builder, under_way->b);
    pp_comm_run(l->builder, l->rank, i);
    under_way->b = post(l, &l->program->op[i], pp_interleaved_next_b(loop, k, &space));
}

static void lower_interleaved(const pp_lowering *l)
{
    const pp_interleaved loop = pp_interleaved_of(l);
    const pp_op *op = l->program->op;
    batches under_way = { .f = post(l, NULL, &op[pp_interleaved_forward(&loop, 0)]) };
    for (size_t k = 0; k < loop.warm; k++)
        forward(l, &loop, k, &under_way);
    under_way.b = post(l, NULL, &op[pp_interleaved_backward(&loop, 0)]);
    for (size_t k = 0; k < loop.total; k++) {
        if (k + loop.warm < loop.total)
            forward(l, &loop, k + loop.warm, &under_way);
        backward(l, &loop, k, &under_way);
    }
}

static pp_status lower_rank(const pp_lowering *l, pp_err *err)
{
    (void)err;
    if (l->group)
        lower_interleaved(l);
    else
        pp_megatron_single(l, batch);
    return PP_OK;
}

static pp_status colossalai_lower(const pp_order *order, pp_program **program_out, pp_err *err)
{
    uint32_t group = 0;
    pp_status status = pp_megatron_check(order, "colossalai", false, &group, err);
    if (!status && group) /* one_f_one_b.py evaluates as in its warm-up */
        status =
            pp_lower_check_trains(order, "colossalai interleaved", "megatron, torch or ideal", err);
    if (status)
        return status;
    if (group && (group != order->ranks || order->microbatches % group))
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_FRAMEWORK),
                          "colossalai runs interleaved only with groups of p microbatches, and p "
                          "must divide the number of microbatches");
    return pp_lower_ranks(order, group, lower_rank, program_out, err);
}

/* Every tensor, also a gradient, is preceded by the length of a pickled description and by the
 * description; the receiver waits for each and reads it. 512 bytes are assumed for a description
 * (pipeline/p2p.py, enable_metadata_cache off). */
static const pp_size_protocol_support colossalai_shapes = {
    .rounds = 2,
    .bytes = { 8, 512 },
    .gradients = true,
    .one_chunk = true,
};

const pp_framework pp_framework_colossalai = {
    .name = "colossalai",
    .summary = "Colossal-AI: Megatron's orders, but even ranks send first; interleaved with two "
               "batches at a time",
    .lower = colossalai_lower,
    .size_protocols = &colossalai_shapes,
    /* pipeline/p2p.py allocates when it receives; output_objs keeps an output for its backward
     * (one_f_one_b.py). Outputs of the last stage are kept only with return_outputs. In the earlier
     * engine, return_output_label was on (ColossalAI#94). */
    .buffers = { .recv = PP_RECV_ON_POST, .send = PP_SEND_UNTIL_BACKWARD },
};
