/* PyTorch 2.15's torch.distributed.pipelining with _PipelineScheduleRuntime: as in 2.13 receives
 * are issued together with their sends, but the runtime waits for every send, so that its buffer is
 * freed: for activations after the backward of their microbatch, for gradients at the end of the
 * step (_add_wait_send). Receive buffers are made when the receive is posted (_recv_buffers.py). */
#include "sim/framework/framework.h"
#include "sim/framework/lowering/torch_pass.h"
#include "sim/framework/registry.h"
#include "sim/framework/sizes/size_protocol.h"

static pp_status torch_2_15_lower(const pp_order *order, pp_program **program_out, pp_err *err)
{
    return pp_torch_lower(order, (pp_torch_rules){ "torch-2.15", PP_TORCH_EARLY, true },
                          program_out, err);
}

const pp_framework pp_framework_torch_2_15 = {
    .name = "torch-2.15",
    .summary = "PyTorch 2.15: as torch, which is 2.13, and waits for every send",
    .lower = torch_2_15_lower,
    .size_protocols = &pp_size_protocols_torch,
    .pytorch = "2.15",
    .splits_late = true,
    .buffers = { .recv = PP_RECV_ON_POST, .send = PP_SEND_AT_WAIT, .return_outputs = true },
};
