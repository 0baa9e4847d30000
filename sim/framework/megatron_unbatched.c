/* Megatron-LM without batch_p2p_comm posts each isend and irecv alone, on even ranks in the order
 * send_next, recv_prev, send_prev, recv_next, on odd ranks with each receive before its send, and
 * then waits for all (megatron/core/pipeline_parallel/p2p_communication.py, _p2p_ops). */
#include "sim/framework/framework.h"
#include "sim/framework/lowering/megatron_sends.h"
#include "sim/framework/registry.h"
#include "sim/framework/sizes/size_protocol.h"

/* Posts one isend or irecv; returns its group. */
static uint32_t post(const pp_lowering *l, const pp_op *op, bool sends)
{
    uint32_t group = pp_comm_open(l->builder, l->rank);
    if (sends)
        pp_lower_send(l, group, op);
    else
        pp_lower_receive(l, group, op);
    pp_comm_post(l->builder, group);
    return group;
}

static void one_by_one(const pp_lowering *l, pp_megatron_call call)
{
    const struct {
        const pp_op *op;
        bool sends;
    } even[] = { { call.send_next, true },
                 { call.recv_prev, false },
                 { call.send_prev, true },
                 { call.recv_next, false } };
    uint32_t group[4];
    size_t odd = l->rank % 2;
    for (size_t k = 0; k < 4; k++)
        group[k] = post(l, even[k ^ odd].op, even[k ^ odd].sends);
    for (size_t k = 0; k < 4; k++)
        pp_comm_wait(l->builder, group[k]);
}

static pp_status lower_rank(const pp_lowering *l, pp_err *err)
{
    (void)err;
    if (l->group)
        pp_megatron_interleaved(l, one_by_one);
    else
        pp_megatron_single(l, one_by_one);
    return PP_OK;
}

static pp_status megatron_unbatched_lower(const pp_order *order, pp_program **program_out,
                                          pp_err *err)
{
    uint32_t group = 0;
    pp_program *program = NULL;
    pp_status status = pp_megatron_check(order, "megatron-unbatched", true, &group, err);
    if (status || (status = pp_lower_ranks(order, group, lower_rank, &program, err)))
        return status;
    /* in PyTorch, isend and irecv outside a batch use a communicator per pair of ranks */
    program->comm->semantics.lanes = PP_LANES_PER_PEER;
    *program_out = program;
    return PP_OK;
}

const pp_framework pp_framework_megatron_unbatched = {
    .name = "megatron-unbatched",
    .summary = "Megatron-LM without batches: isend and irecv one by one in odd/even order, waited "
               "for at once",
    .lower = megatron_unbatched_lower,
    .overlaps_pairs = true,
    .size_protocols = &pp_size_protocols_megatron_parity,
    /* as for megatron */
    .buffers = { .recv = PP_RECV_ON_POST, .send = PP_SEND_UNTIL_WAITED },
};
