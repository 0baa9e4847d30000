/* PyTorch's torch.distributed.pipelining, version 2.13, with _PipelineScheduleRuntime, whose passes
 * torch_pass.c follows: receives are issued together with their sends. */
#include "sim/framework/framework.h"
#include "sim/framework/lowering/torch_pass.h"
#include "sim/framework/registry.h"
#include "sim/framework/sizes/size_protocol.h"

static pp_status torch_lower(const pp_order *order, pp_program **program_out, pp_err *err)
{
    return pp_torch_lower(order, (pp_torch_rules){ "torch", PP_TORCH_EARLY, false, 0 }, program_out,
                          err);
}

const pp_framework pp_framework_torch = {
    .name = "torch",
    .summary = "PyTorch pipelining: posts a send and its receive at the same moment",
    .lower = torch_lower,
    .size_protocols = &pp_size_protocols_torch,
    .pytorch = "2.13",
    .splits_late = true,
    .shards = true,
    /* In stage.py of torch 2.13, receive buffers for all microbatches exist from the start
     * (pytorch#136380). Sent activations stay in fwd_cache, and all sends in a list that is emptied
     * when the step ends (pytorch#193903). output_chunks holds the outputs of the last stage
     * (pytorch#159251). */
    .buffers = { .recv = PP_RECV_PER_MICROBATCH,
                 .send = PP_SEND_UNTIL_STEP_END,
                 .return_outputs = true },
};
