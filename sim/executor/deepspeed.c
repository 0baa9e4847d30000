/* DeepSpeed's TrainSchedule: blocking send and receive one at a time. Half-steps alternate by rank
 * parity, so that one neighbour sends while the other receives
 * (deepspeed/runtime/pipe/schedule.py).
 */
#include "sim/comm.h"
#include "sim/schedule.h"

static void exchange(pp_comm_builder *b, uint32_t rank, pp_transfer_kind kind, pp_op op)
{
    uint32_t group = pp_comm_open(b, rank);
    pp_comm_add(b, group, kind, op.stage, op.microbatch);
    pp_comm_exchange(b, group);
}

static void receive(pp_comm_builder *b, const pp_program *program, uint32_t rank, pp_op op)
{
    if (op.kind == PP_OP_F && op.stage > 0)
        exchange(b, rank, PP_RECV_F, op);
    else if (op.kind == PP_OP_B && op.stage + 1u < program->stages)
        exchange(b, rank, PP_RECV_B, op);
}

static void send(pp_comm_builder *b, const pp_program *program, uint32_t rank, pp_op op)
{
    if (op.kind == PP_OP_F && op.stage + 1u < program->stages)
        exchange(b, rank, PP_SEND_F, op);
    else if (op.kind == PP_OP_B && op.stage > 0)
        exchange(b, rank, PP_SEND_B, op);
}

/* A backward in the half-step right after a forward fetches its gradient before that forward's
 * output leaves. On rank r that is the backward of the (p - 1 - r)-th microbatch before. */
static bool adjacent(const pp_program *program, uint32_t rank, pp_op op, pp_op next)
{
    return op.kind == PP_OP_F && next.kind == PP_OP_B &&
           op.microbatch == next.microbatch + (program->ranks - 1 - rank);
}

static void lower_rank(pp_comm_builder *b, const pp_program *program, uint32_t rank)
{
    size_t begin = program->rank_begin[rank];
    size_t end = program->rank_begin[rank + 1];
    receive(b, program, rank, program->op[begin]);
    for (size_t i = begin; i < end; i++) {
        pp_op op = program->op[i];
        pp_comm_run(b, rank, (uint32_t)i);
        bool last = i + 1 == end;
        bool receive_first = !last && adjacent(program, rank, op, program->op[i + 1]);
        if (receive_first)
            receive(b, program, rank, program->op[i + 1]);
        send(b, program, rank, op);
        if (!last && !receive_first)
            receive(b, program, rank, program->op[i + 1]);
    }
}

static pp_status deepspeed_lower(const pp_order *order, pp_program **program_out, pp_err *err)
{
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    pp_comm_builder *builder PP_CLEANUP(pp_comm_builder_free) = NULL;
    bool same = false;
    pp_status status = pp_schedule_makes("1f1b", order, 0, &same, err);
    if (!status && !same)
        return pp_err_set(err, PP_USAGE, "--executor",
                          "deepspeed runs the 1f1b schedule only; choose --schedule 1f1b or "
                          "another executor");
    if (status || (status = pp_program_from_order(order, &program, err)) ||
        (status = pp_comm_builder_new(program, &builder, err)))
        return status;
    for (uint32_t r = 0; r < program->ranks; r++)
        lower_rank(builder, program, r);
    if ((status = pp_comm_finish(builder, false, program, err)))
        return status;
    *program_out = program;
    program = NULL; /* the caller's now */
    return PP_OK;
}

const pp_executor pp_executor_deepspeed = {
    .name = "deepspeed",
    .summary = "blocking sends and receives one at a time, in parity order (1f1b)",
    .lower = deepspeed_lower,
};
