/* Sends, receives and checks from which frameworks write the steps of a rank. */
#include "sim/framework/lowering/lower.h"

#include "sim/base/field.h"
#include "sim/program/program_new.h"
#include "sim/schedule/registry.h"
#include "sim/schedule/schedule.h"

/* The rank to which `op` sends its result, or from which it gets its input; its own if there is
 * none. */
static uint32_t other_rank(const pp_program *program, pp_op op, bool sends)
{
    bool up = (op.kind == PP_OP_F) == sends;
    if (op.kind == PP_OP_W || (up ? op.stage + 1u >= program->stages : op.stage == 0))
        return pp_program_rank(program, op);
    return pp_program_stage_rank(program, up ? op.stage + 1u : op.stage - 1u, op.microbatch);
}

bool pp_lower_leaves(const pp_program *program, pp_op op)
{
    return other_rank(program, op, true) != pp_program_rank(program, op);
}

bool pp_lower_arrives(const pp_program *program, pp_op op)
{
    return other_rank(program, op, false) != pp_program_rank(program, op);
}

void pp_lower_send(const pp_lowering *l, uint32_t group, const pp_op *op)
{
    if (op && pp_lower_leaves(l->program, *op))
        pp_comm_add(l->builder, group, op->kind == PP_OP_F ? PP_SEND_F : PP_SEND_B, op->stage,
                    op->microbatch);
}

void pp_lower_receive(const pp_lowering *l, uint32_t group, const pp_op *op)
{
    if (op && pp_lower_arrives(l->program, *op))
        pp_comm_add(l->builder, group, op->kind == PP_OP_F ? PP_RECV_F : PP_RECV_B, op->stage,
                    op->microbatch);
}

void pp_lower_send_now(const pp_lowering *l, const pp_op *op)
{
    uint32_t group = pp_comm_open(l->builder, l->rank);
    pp_lower_send(l, group, op);
    pp_comm_exchange(l->builder, group);
}

void pp_lower_receive_now(const pp_lowering *l, const pp_op *op)
{
    uint32_t group = pp_comm_open(l->builder, l->rank);
    pp_lower_receive(l, group, op);
    pp_comm_exchange(l->builder, group);
}

pp_status pp_lower_ranks(const pp_order *order, uint32_t group, pp_lower_rank *rank,
                         pp_program **program_out, pp_err *err)
{
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    pp_comm_builder *builder PP_CLEANUP(pp_comm_builder_free) = NULL;
    pp_status status = pp_program_from_order(order, &program, err);
    if (status || (status = pp_comm_builder_new(program, &builder, err)))
        return status;
    for (uint32_t r = 0; r < program->ranks && !status; r++) {
        const pp_lowering l = { .builder = builder,
                                .program = program,
                                .rank = r,
                                .begin = program->rank_begin[r],
                                .end = program->rank_begin[r + 1],
                                .group = group };
        status = rank(&l, err);
    }
    if (status || (status = pp_comm_finish(builder, false, program, err)))
        return status;
    *program_out = program;
    program = NULL; /* the caller's now */
    return PP_OK;
}

pp_status pp_lower_check_one_rank(const pp_order *order, const char *framework, pp_err *err)
{
    if (order->mirrored_from == order->microbatches)
        return PP_OK;
    return pp_err_set(
        err, PP_USAGE, pp_err_name(err, PP_FIELD_FRAMEWORK),
        "%s keeps every stage on one rank, but this schedule is bidirectional; choose "
        "executor dualpipe or ideal, or %s dualpipev",
        framework, pp_err_name(err, PP_FIELD_SCHEDULE));
}

pp_status pp_lower_check_trains(const pp_order *order, const char *framework, const char *instead,
                                pp_err *err)
{
    if (!pp_order_forward_only(order))
        return PP_OK;
    return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_FRAMEWORK),
                      "ppsim does not model how %s runs forwards only; choose %s", framework,
                      instead);
}

pp_status pp_lower_check_schedule(const pp_order *order, const char *framework,
                                  const char *schedule, pp_err *err)
{
    bool same = false;
    pp_status status = pp_schedule_makes(schedule, order, 0, &same, err);
    if (status || same)
        return status;
    return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_FRAMEWORK),
                      "%s runs only the schedule %s; choose %s %s or another executor", framework,
                      schedule, pp_err_name(err, PP_FIELD_SCHEDULE), schedule);
}
