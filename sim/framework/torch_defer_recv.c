/* torch.distributed.pipelining with defer_pp_recv (pytorch#178815, torch 2.13): a receive is issued
 * late, so that it does not block sends that are ready. This needs a communicator per directed edge
 * (torchtitan#4540 makes them), since the send of an activation and that of a gradient would wait
 * for each other in one queue. If one edge carries both activations and gradients (V placements,
 * interleaving on two ranks), receives are no longer in the order of the sends. */
#include "sim/framework/framework.h"
#include "sim/framework/lowering/torch_pass.h"
#include "sim/framework/registry.h"
#include "sim/framework/sizes/size_protocol.h"

static pp_status torch_defer_recv_lower(const pp_order *order, pp_program **program_out,
                                        pp_err *err)
{
    pp_program *program = NULL;
    pp_status status = pp_torch_lower(
        order, (pp_torch_rules){ "torch-defer-recv", PP_TORCH_DEFERRED, false, 0 }, &program, err);
    if (status)
        return status;
    program->comm->semantics.lanes = PP_LANES_PER_PEER;
    *program_out = program;
    return PP_OK;
}

const pp_framework pp_framework_torch_defer_recv = {
    .name = "torch-defer-recv",
    .summary = "PyTorch with defer_pp_recv: posts a receive right before the op that needs it",
    .lower = torch_defer_recv_lower,
    .size_protocols = &pp_size_protocols_torch,
    .pytorch = "2.13",
    .splits_late = true,
    .shards = true,
    /* as for torch */
    .buffers = { .recv = PP_RECV_PER_MICROBATCH,
                 .send = PP_SEND_UNTIL_STEP_END,
                 .return_outputs = true },
};
