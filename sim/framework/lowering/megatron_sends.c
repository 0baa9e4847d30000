/* Follows the loops of megatron/core/pipeline_parallel/schedules.py rank by rank, and finds which
 * tensors each communicate call sends and receives. Linear in the ops. */
#include "sim/framework/lowering/megatron_sends.h"

#include "sim/base/field.h"
#include "sim/schedule/registry.h"
#include "sim/schedule/schedule.h"

void pp_megatron_batched(const pp_lowering *l, pp_megatron_call call)
{
    uint32_t group = pp_comm_open(l->builder, l->rank);
    pp_lower_send(l, group, call.send_prev);
    pp_lower_receive(l, group, call.recv_prev);
    pp_lower_send(l, group, call.send_next);
    pp_lower_receive(l, group, call.recv_next);
    pp_comm_exchange(l->builder, group);
}

void pp_megatron_single(const pp_lowering *l, pp_megatron_batch *batch)
{
    const pp_op *op = l->program->op;
    bool steady = l->program->microbatches > l->program->ranks - 1 - l->rank;
    batch(l, (pp_megatron_call){ .recv_prev = &op[l->begin] });
    for (size_t i = l->begin; i < l->end; i++) {
        pp_comm_run(l->builder, l->rank, (uint32_t)i);
        const pp_op *next = i + 1 < l->end ? &op[i + 1] : NULL;
        bool forward = op[i].kind == PP_OP_F;
        bool turns = next && next->kind != op[i].kind && steady;
        const pp_op *fused = turns ? next : NULL;
        if (forward)
            batch(l, (pp_megatron_call){ .send_next = &op[i], .recv_next = fused });
        else
            batch(l, (pp_megatron_call){ .send_prev = &op[i], .recv_prev = fused });
        if (next && !turns && next->kind == PP_OP_F)
            batch(l, (pp_megatron_call){ .recv_prev = next });
        else if (next && !turns)
            batch(l, (pp_megatron_call){ .recv_next = next });
    }
}

pp_interleaved pp_interleaved_of(const pp_lowering *l)
{
    uint32_t chunks = l->program->stages / l->program->ranks;
    bool evaluation = l->program->forward_only; /* then all forwards are warm-up */
    size_t total = (l->end - l->begin) / (evaluation ? 1 : 2);
    size_t wanted = 2 * (size_t)(l->program->ranks - 1 - l->rank) + (size_t)(chunks - 1) * l->group;
    const bool pairs = l->program->has_pairs;
    wanted += pairs;
    return (pp_interleaved){ .l = l,
                             .total = total,
                             .warm = wanted < total && !evaluation ? wanted : total,
                             .pairs = pairs };
}

uint32_t pp_interleaved_forward(const pp_interleaved *loop, size_t k)
{
    return (uint32_t)(loop->l->begin + (k < loop->warm ? k : 2 * k - loop->warm));
}

uint32_t pp_interleaved_backward(const pp_interleaved *loop, size_t k)
{
    bool steady = k < loop->total - loop->warm;
    return (uint32_t)(loop->l->begin + (steady ? loop->warm + 2 * k + 1 : loop->total + k));
}

const pp_op *pp_interleaved_next_f(const pp_interleaved *loop, size_t k, pp_op *op_out)
{
    const pp_program *program = loop->l->program;
    if (k + 1 >= loop->total)
        return NULL;
    if (loop->l->rank > 0) {
        *op_out = program->op[pp_interleaved_forward(loop, k + 1)];
        return op_out;
    }
    if (k + 1 < program->ranks)
        return NULL;
    *op_out = program->op[pp_interleaved_forward(loop, k + 1 - program->ranks)];
    if (op_out->stage + program->ranks >= program->stages)
        return NULL;
    op_out->stage = (uint16_t)(op_out->stage + program->ranks);
    return op_out;
}

const pp_op *pp_interleaved_next_b(const pp_interleaved *loop, size_t k, pp_op *op_out)
{
    const pp_program *program = loop->l->program;
    if (k + 1 >= loop->total)
        return NULL;
    if (loop->l->rank + 1 < program->ranks) {
        *op_out = program->op[pp_interleaved_backward(loop, k + 1)];
        return op_out;
    }
    if (k + 1 < program->ranks)
        return NULL;
    *op_out = program->op[pp_interleaved_backward(loop, k + 1 - program->ranks)];
    if (op_out->stage < program->ranks)
        return NULL;
    op_out->stage = (uint16_t)(op_out->stage - program->ranks);
    return op_out;
}

static void warm_up(const pp_lowering *l, const pp_interleaved *loop, pp_megatron_batch *batch)
{
    const pp_op *op = l->program->op;
    pp_op space;
    batch(l, (pp_megatron_call){ .recv_prev = &op[pp_interleaved_forward(loop, 0)] });
    for (size_t k = 0; k < loop->warm; k++) {
        uint32_t i = pp_interleaved_forward(loop, k);
        bool last = k + 1 == loop->warm && loop->warm < loop->total;
        pp_comm_run(l->builder, l->rank, i);
        batch(l, (pp_megatron_call){ .recv_prev = pp_interleaved_next_f(loop, k, &space),
                                     .send_next = &op[i],
                                     .recv_next =
                                         last ? &op[pp_interleaved_backward(loop, 0)] : NULL });
    }
    if (loop->warm == loop->total && !l->program->forward_only)
        batch(l, (pp_megatron_call){ .recv_next = &op[pp_interleaved_backward(loop, 0)] });
}

void pp_megatron_interleaved(const pp_lowering *l, pp_megatron_batch *batch)
{
    const pp_interleaved loop = pp_interleaved_of(l);
    const pp_op *op = l->program->op;
    pp_op space[2];
    warm_up(l, &loop, batch);
    for (size_t k = 0; k < loop.total && !l->program->forward_only; k++) {
        pp_megatron_call call = { .recv_next = pp_interleaved_next_b(&loop, k, &space[1]) };
        if (k + loop.warm < loop.total) {
            uint32_t i = pp_interleaved_forward(&loop, k + loop.warm);
            pp_comm_run(l->builder, l->rank, i);
            call.recv_prev = pp_interleaved_next_f(&loop, k + loop.warm, &space[0]);
            call.send_next = &op[i];
        }
        uint32_t i = pp_interleaved_backward(&loop, k);
        pp_comm_run(l->builder, l->rank, i);
        call.send_prev = &op[i];
        batch(l, call);
    }
}

uint32_t pp_megatron_group(const pp_order *order)
{
    uint32_t group = 0;
    while (group < order->microbatches && group < order->rank_begin[1] &&
           order->ops[group].kind == PP_OP_F && order->ops[group].stage == 0)
        group++;
    return group;
}

pp_status pp_megatron_check(const pp_order *order, const char *framework, bool pairs,
                            uint32_t *group_out, pp_err *err)
{
    bool plain = order->stages == order->ranks;
    uint32_t group = plain ? 0 : pp_megatron_group(order);
    bool same = false;
    pp_status status = pp_schedule_makes(plain ? "1f1b" : "interleaved", order, group, &same, err);
    if (!status && !same && pairs)
        status = pp_schedule_makes("combined-1f1b", order, group, &same, err);
    if (status)
        return status;
    if (!same)
        return pp_err_set(
            err, PP_USAGE, pp_err_name(err, PP_FIELD_FRAMEWORK),
            "%s runs only 1f1b, and interleaved%s with microbatch groups of at least p; "
            "choose such a schedule or another executor",
            framework, pairs ? " or combined-1f1b" : "");
    *group_out = group;
    return PP_OK;
}
