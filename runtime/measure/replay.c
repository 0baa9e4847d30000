/* Simulates a program with the durations that were measured. If the engine then predicts a timeline
 * other than the one that happened, more than durations differs. */
#include "runtime/measure/replay.h"

#include "sim/engine/engine.h"
#include "sim/program/comm.h"

static void take_ops(const pp_program *program, const pp_timeline *measured, pp_costs *costs)
{
    pp_ns *table[] = { costs->f_ns, costs->i_ns, costs->w_ns, costs->b_ns };
    for (size_t i = 0; i < program->count; i++) {
        pp_op op = program->op[i];
        table[op.kind][pp_cost_index(costs, op.stage, op.microbatch)] =
            measured->end_ns[i] - measured->start_ns[i];
    }
}

/* Takes the measured durations of transfers. A tensor that is sent in parts lasts until the last
 * part has arrived. */
static void take_transfers(const pp_program *program, const pp_timeline *measured, pp_costs *costs)
{
    const pp_comm *comm = program->comm;
    for (size_t t = 0; t < comm->transfer_count; t++) {
        const pp_transfer *own = &comm->transfer[t];
        if (own->kind != PP_RECV_F && own->kind != PP_RECV_B)
            continue;
        bool forward = own->kind == PP_RECV_F;
        uint32_t from = forward ? own->stage - 1u : own->stage + 1u;
        pp_ns *takes_ns = forward ? costs->send_f_ns : costs->send_b_ns;
        takes_ns += pp_cost_index(costs, from, own->microbatch);
        pp_ns took_ns = measured->comm->end_ns[t] - measured->comm->start_ns[t];
        *takes_ns = own->part == 0 || took_ns > *takes_ns ? took_ns : *takes_ns;
    }
}

pp_status pp_replay(pp_program *program, const pp_costs *costs, const pp_timeline *measured,
                    pp_timeline **replayed_out, pp_err *err)
{
    pp_costs *took PP_CLEANUP(pp_costs_free) = NULL;
    pp_status status = pp_costs_spread(costs, &took, err);
    if (status)
        return status;
    take_ops(program, measured, took);
    take_transfers(program, measured, took);
    return pp_simulate(program, took, replayed_out, err);
}
