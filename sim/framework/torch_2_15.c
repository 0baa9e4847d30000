/* PyTorch 2.15's torch.distributed.pipelining with _PipelineScheduleRuntime: as in 2.13 receives
 * are issued together with their sends, but the runtime waits for every send, so that its buffer is
 * freed: for activations after the backward of their microbatch, for gradients at the end of the
 * step (_add_wait_send). Receive buffers are made when the receive is posted (_recv_buffers.py). */
#include "sim/framework/framework.h"
#include "sim/framework/lowering/send_budget.h"
#include "sim/framework/lowering/torch_pass.h"
#include "sim/framework/registry.h"
#include "sim/framework/sizes/size_protocol.h"
#include "sim/program/program_new.h"

static pp_status torch_2_15_set(const pp_order *order, const pp_pytorch_settings *settings,
                                pp_program **program_out, pp_err *err)
{
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    const pp_torch_rules rules = { "torch-2.15", PP_TORCH_EARLY, true,
                                   settings->unshard_lookahead };
    pp_status status = pp_torch_lower(order, rules, &program, err);
    if (!status && settings->max_outstanding_sends)
        status = pp_send_budget(program, settings->max_outstanding_sends, err);
    if (status)
        return status;
    *program_out = program;
    program = NULL; /* the caller's now */
    return PP_OK;
}

static pp_status torch_2_15_lower(const pp_order *order, pp_program **program_out, pp_err *err)
{
    return torch_2_15_set(order, &(pp_pytorch_settings){ 0 }, program_out, err);
}

const pp_framework pp_framework_torch_2_15 = {
    .name = "torch-2.15",
    .summary = "PyTorch 2.15: as torch, which is 2.13, and waits for every send",
    .lower = torch_2_15_lower,
    .lower_set = torch_2_15_set,
    .size_protocols = &pp_size_protocols_torch,
    .pytorch = "2.15",
    .splits_late = true,
    .shards = true,
    .buffers = { .recv = PP_RECV_ON_POST, .send = PP_SEND_AT_WAIT, .return_outputs = true },
};
