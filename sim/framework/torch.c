/* torch.distributed.pipelining, _PipelineScheduleRuntime. */
#include "sim/framework/framework.h"
#include "sim/framework/lowering/torch_pass.h"
#include "sim/framework/registry.h"
#include "sim/framework/sizes/size_protocol.h"

static pp_status torch_lower(const pp_order *order, pp_program **program_out, pp_err *err)
{
    return pp_torch_lower(order, "torch", PP_TORCH_EARLY, program_out, err);
}

const pp_framework pp_framework_torch = {
    .name = "torch",
    .summary = "PyTorch pipelining's passes: a send and its receive are issued at the same moment",
    .lower = torch_lower,
    .size_protocols = &pp_size_protocols_torch,
    /* stage.py of 2.13: a receive buffer per microbatch and boundary from the start
     * (pytorch#136380); sent activations stay in fwd_cache, all sends in a list that is drained
     * when the step ends (pytorch#193903); output_chunks holds what the last stage made
     * (pytorch#159251) */
    .buffers = { .recv = PP_RECV_PER_MICROBATCH,
                 .send = PP_SEND_UNTIL_STEP_END,
                 .return_outputs = true },
};
