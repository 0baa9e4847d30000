/* The programs of the ranks of a replica, as rows. A result keeps its plan, whose order is lowered
 * again here, since it keeps the program of the slowest replica alone. Rows are counted when a
 * program is made: one for each op, transfer and wait; the other steps of a rank have none. */
#include "tools/library/program.h"

#include "sim/analysis/memory_slots.h"
#include "sim/base/alloc.h"
#include "sim/program/comm.h"
#include "sim/program/program_new.h"
#include "tools/library/request.h"
#include "tools/library/result.h"
#include "tools/ppsim/base/option_names.h"

#include <stdlib.h>

_Static_assert((int)PPSIM_SEND_ACTIVATION + (int)PP_RECV_B == (int)PPSIM_RECEIVE_GRADIENT &&
                   PP_SEND_F == 0 && PP_RECV_F == 1 && PP_SEND_B == 2,
               "actions are in the order of the kinds of transfers");

/* Appends the rows of a step, where `to` is not NULL; returns their number. */
static size_t add_step(const pp_program *program, const pp_costs *costs, uint32_t rank,
                       pp_comm_step step, ppsim_row *to)
{
    const pp_comm *comm = program->comm;
    if (step.kind == PP_COMM_STEP_RUN) {
        const pp_op op = program->op[step.index];
        if (to)
            *to = (ppsim_row){ op.kind, op.stage, op.microbatch, rank, 0, 0 };
        return 1;
    }
    if (step.kind == PP_COMM_STEP_WAIT) {
        if (to)
            *to = (ppsim_row){ .action = PPSIM_WAIT, .peer = rank, .group = step.index };
        return 1;
    }
    if (step.kind != PP_COMM_STEP_POST)
        return 0;
    const pp_group *group = &comm->group[step.index];
    size_t count = 0;
    for (uint32_t t = group->first; t < group->first + group->count; t++) {
        const pp_transfer *transfer = &comm->transfer[t];
        if (!pp_transfer_has_buffer(transfer))
            continue;
        if (to)
            to[count] = (ppsim_row){ (uint8_t)(PPSIM_SEND_ACTIVATION + transfer->kind),
                                     transfer->stage,
                                     transfer->microbatch,
                                     transfer->peer,
                                     step.index,
                                     pp_transfer_bytes(costs, transfer) };
        count++;
    }
    return count;
}

/* Writes the rows of all ranks where `out` has room for them; returns their number. */
static size_t add_rows(const pp_program *program, const pp_costs *costs, ppsim_program *out)
{
    const pp_comm *comm = program->comm;
    size_t count = 0;
    for (uint32_t r = 0; r < program->ranks; r++) {
        out->begin[r] = count;
        for (size_t s = comm->step_begin[r]; s < comm->step_begin[r + 1]; s++)
            count += add_step(program, costs, r, comm->step[s], out->row ? out->row + count : NULL);
    }
    out->begin[program->ranks] = count;
    return count;
}

static pp_status make(const pp_program *program, const pp_costs *costs, ppsim_program **out,
                      pp_err *err)
{
    ppsim_program *made = pp_alloc_array(1, sizeof *made);
    if (!made)
        return pp_err_nomem(err);
    made->ranks = program->ranks;
    made->begin = pp_alloc_array(program->ranks + 1u, sizeof *made->begin);
    if (made->begin)
        made->row = pp_alloc_array(add_rows(program, costs, made) + 1, sizeof *made->row);
    if (!made->row) {
        ppsim_program_free(made);
        return pp_err_nomem(err);
    }
    add_rows(program, costs, made);
    *out = made;
    return PP_OK;
}

static pp_status lower(const pp_plan *plan, uint32_t replica, ppsim_program **out, pp_err *err)
{
    const uint32_t replicas = plan && plan->costs_count > plan->order_count ? plan->costs_count
                              : plan                                        ? plan->order_count
                                                                            : 0;
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    if (!replicas || !plan->framework)
        return pp_err_set(err, PP_USAGE, NULL, "the result has no step that could be run");
    if (replica >= replicas && replicas > 1)
        return pp_err_set(err, PP_USAGE, "replica", "is %u; there are %u, from 0", replica,
                          replicas);
    const pp_costs *costs = pp_plan_costs(plan, replica);
    pp_status status =
        pp_plan_lower(plan, plan->order[plan->order_count > 1 ? replica : 0], costs, &program, err);
    if (status)
        return status;
    if (!program->comm)
        return pp_err_set(err, PP_USAGE, "executor",
                          "%s has no communication; take another, such as ppsim",
                          plan->framework->name);
    return make(program, costs, out, err);
}

ppsim_status ppsim_program_new(const ppsim_result *result, uint32_t replica,
                               ppsim_program **program_out, ppsim_error *error)
{
    pp_err err = PP_COMMAND_ERR;
    err.status = lower(result ? result->console.plan : NULL, replica, program_out, &err);
    return ppsim_finish(&err, error);
}

void ppsim_program_free(ppsim_program *program)
{
    if (!program)
        return;
    free(program->begin);
    free(program->row);
    free(program);
}

size_t ppsim_program_count(const ppsim_program *program, uint32_t rank)
{
    return rank < program->ranks ? program->begin[rank + 1] - program->begin[rank] : 0;
}

void ppsim_program_rows(const ppsim_program *program, uint32_t rank, uint8_t *action_out,
                        uint32_t *stage_out, uint32_t *microbatch_out, uint32_t *peer_out,
                        uint32_t *group_out, int64_t *bytes_out)
{
    const size_t count = ppsim_program_count(program, rank);
    for (size_t i = 0; i < count; i++) {
        const ppsim_row *from = &program->row[program->begin[rank] + i];
        if (action_out)
            action_out[i] = from->action;
        if (stage_out)
            stage_out[i] = from->stage;
        if (microbatch_out)
            microbatch_out[i] = from->microbatch;
        if (peer_out)
            peer_out[i] = from->peer;
        if (group_out)
            group_out[i] = from->group;
        if (bytes_out)
            bytes_out[i] = from->bytes;
    }
}
