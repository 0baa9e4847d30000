/* Megatron-LM's batched p2p: every exchange is one batch_isend_irecv that is waited for at once
 * (megatron/core/pipeline_parallel/schedules.py, overlap_p2p_comm off). Inside a batch:
 * send_prev, recv_prev, send_next, recv_next. */
#include "sim/comm.h"
#include "sim/schedule.h"

typedef struct lowering {
    pp_comm_builder *builder;
    const pp_program *program;
    uint32_t rank;
    size_t begin, end; /* of the rank's ops */
} lowering;

static bool leaves(const pp_program *program, pp_op op)
{
    return op.kind == PP_OP_F ? op.stage + 1u < program->stages : op.stage > 0;
}

static bool arrives(const pp_program *program, pp_op op)
{
    return op.kind == PP_OP_F ? op.stage > 0 : op.stage + 1u < program->stages;
}

static void add_send(const lowering *l, uint32_t group, const pp_op *op)
{
    if (op && leaves(l->program, *op))
        pp_comm_add(l->builder, group, op->kind == PP_OP_F ? PP_SEND_F : PP_SEND_B, op->stage,
                    op->microbatch);
}

static void add_receive(const lowering *l, uint32_t group, const pp_op *op)
{
    if (op && arrives(l->program, *op))
        pp_comm_add(l->builder, group, op->kind == PP_OP_F ? PP_RECV_F : PP_RECV_B, op->stage,
                    op->microbatch);
}

/* One batch; NULL: nothing of that kind. */
static void batch(const lowering *l, const pp_op *sent_b, const pp_op *next_f, const pp_op *sent_f,
                  const pp_op *next_b)
{
    uint32_t group = pp_comm_open(l->builder, l->rank);
    add_send(l, group, sent_b);
    add_receive(l, group, next_f);
    add_send(l, group, sent_f);
    add_receive(l, group, next_b);
    pp_comm_exchange(l->builder, group);
}

/* The next op of `kind` at or after i, or NULL. */
static const pp_op *find(const lowering *l, size_t i, pp_op_kind kind)
{
    while (i < l->end && l->program->op[i].kind != kind)
        i++;
    return i < l->end ? &l->program->op[i] : NULL;
}

/* Without interleaving: forwards of the warm-up and backwards of the cool-down send and receive
 * apart; in between an output leaves in one batch with the next input of the other direction. */
static void lower_single(const lowering *l)
{
    const pp_op *op = l->program->op;
    bool steady = l->program->microbatches > l->program->ranks - 1 - l->rank;
    batch(l, NULL, &op[l->begin], NULL, NULL);
    for (size_t i = l->begin; i < l->end; i++) {
        pp_comm_run(l->builder, l->rank, (uint32_t)i);
        const pp_op *next = i + 1 < l->end ? &op[i + 1] : NULL;
        bool forward = op[i].kind == PP_OP_F;
        bool turns = next && next->kind != op[i].kind && steady;
        const pp_op *fused = turns ? next : NULL;
        batch(l, forward ? NULL : &op[i], forward ? NULL : fused, forward ? &op[i] : NULL,
              forward ? fused : NULL);
        if (next && !turns)
            batch(l, NULL, next->kind == PP_OP_F ? next : NULL, NULL,
                  next->kind == PP_OP_B ? next : NULL);
    }
}

/* Forwards before the first backward, less the one that belongs to the first steady iteration. */
static size_t warmup(const lowering *l, uint32_t group)
{
    uint32_t chunks = l->program->stages / l->program->ranks;
    size_t total = (l->end - l->begin) / 2;
    size_t wanted = 2 * (size_t)(l->program->ranks - 1 - l->rank) + (size_t)(chunks - 1) * group;
    return wanted < total ? wanted : total;
}

static void lower_interleaved(const lowering *l, uint32_t group)
{
    const pp_op *op = l->program->op;
    size_t total = (l->end - l->begin) / 2;
    size_t warm = warmup(l, group);
    size_t i = l->begin;
    batch(l, NULL, find(l, i, PP_OP_F), NULL, NULL);
    for (size_t k = 0; k < warm; k++, i++) {
        pp_comm_run(l->builder, l->rank, (uint32_t)i);
        bool last = k + 1 == warm;
        batch(l, NULL, find(l, i + 1, PP_OP_F), &op[i], last ? find(l, i + 1, PP_OP_B) : NULL);
    }
    if (warm == 0)
        batch(l, NULL, NULL, NULL, find(l, i, PP_OP_B));
    for (size_t k = warm; k < total; k++, i += 2) {
        pp_comm_run(l->builder, l->rank, (uint32_t)i);
        pp_comm_run(l->builder, l->rank, (uint32_t)i + 1);
        batch(l, &op[i + 1], find(l, i + 2, PP_OP_F), &op[i], find(l, i + 2, PP_OP_B));
    }
    for (; i < l->end; i++) {
        pp_comm_run(l->builder, l->rank, (uint32_t)i);
        batch(l, &op[i], NULL, NULL, find(l, i + 1, PP_OP_B));
    }
}

/* Megatron's group: the microbatches that rank 0 runs before its second chunk. */
static uint32_t group_of(const pp_order *order)
{
    uint32_t group = 0;
    while (group < order->microbatches && order->ops[group].kind == PP_OP_F &&
           order->ops[group].stage == 0)
        group++;
    return group;
}

static pp_status check(const pp_order *order, uint32_t group, pp_err *err)
{
    bool single = order->stages == order->ranks;
    bool same = false;
    pp_status status =
        pp_schedule_makes(single ? "1f1b" : "interleaved", order, single ? 0 : group, &same, err);
    if (status || same)
        return status;
    return pp_err_set(err, PP_USAGE, "--executor",
                      "megatron runs the 1f1b and interleaved "
                      "schedules only; choose one of them or another executor");
}

static pp_status megatron_lower(const pp_order *order, pp_program **program_out, pp_err *err)
{
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    pp_comm_builder *builder PP_CLEANUP(pp_comm_builder_free) = NULL;
    uint32_t group = group_of(order);
    pp_status status = check(order, group, err);
    if (status || (status = pp_program_from_order(order, &program, err)) ||
        (status = pp_comm_builder_new(program, &builder, err)))
        return status;
    for (uint32_t r = 0; r < program->ranks; r++) {
        const lowering l = { builder, program, r, program->rank_begin[r],
                             program->rank_begin[r + 1] };
        if (order->stages == order->ranks)
            lower_single(&l);
        else
            lower_interleaved(&l, group);
    }
    if ((status = pp_comm_finish(builder, false, program, err)))
        return status;
    *program_out = program;
    program = NULL; /* the caller's now */
    return PP_OK;
}

const pp_executor pp_executor_megatron = {
    .name = "megatron",
    .summary = "batched sends and receives, each batch waited for at once (1f1b, interleaved)",
    .lower = megatron_lower,
};
