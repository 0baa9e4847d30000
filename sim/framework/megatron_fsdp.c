/* Megatron-LM with Megatron-FSDP (--use-megatron-fsdp), which divides parameters with ZeRO 3
 * (--data-parallel-sharding-strategy optim_grads_params) or leaves them whole with ZeRO 2
 * (optim_grads). The pipeline loops are those of Megatron-LM. Gathers and reductions are no actions
 * of a row but happen inside every op, by hooks of the layers (_register_fsdp_hooks of
 * megatron/core/distributed/fsdp/src/megatron_fsdp/megatron_fsdp.py): sim/cost/step.c says what
 * they cost. A chunk's sizes of gathers are computed per layer, so that it needs one
 * (_init_fsdp_param_and_grad_buffer divides by their number). */
#include "sim/base/field.h"
#include "sim/framework/framework.h"
#include "sim/framework/lowering/megatron_sends.h"
#include "sim/framework/lowering/overlap.h"
#include "sim/framework/registry.h"
#include "sim/framework/sizes/size_protocol.h"

/* combined_1f1b_schedule_for_interleaved_pipelining of
 * megatron/core/pipeline_parallel/combined_1f1b.py asserts that no chunk is wrapped. */
static pp_status check_pairs(const pp_order *order, pp_err *err)
{
    for (size_t i = 0; i < order->rank_begin[order->ranks]; i++) {
        if (order->ops[i].paired)
            return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_FRAMEWORK),
                              "Megatron-FSDP refuses overlapped pairs of interleaved schedules (EP "
                              "overlap); choose schedule interleaved, or executor megatron-overlap "
                              "with ZeRO 1");
    }
    return PP_OK;
}

static pp_status megatron_fsdp_lower(const pp_order *order, pp_program **program_out, pp_err *err)
{
    uint32_t group;
    pp_status status = check_pairs(order, err);
    if (!status)
        status = pp_megatron_check(order, "megatron-fsdp", false, &group, err);
    return status ? status : pp_megatron_overlap(order, "megatron-fsdp", false, program_out, err);
}

const pp_framework pp_framework_megatron_fsdp = {
    .name = "megatron-fsdp",
    .summary =
        "megatron-overlap with Megatron-FSDP: every op gathers the parameters of its layers, "
        "and every backward reduces their gradients (1f1b, interleaved)",
    .lower = megatron_fsdp_lower,
    .shards = true,
    .shards_ops = true,
    .divides_gradients = true,
    .no_bare_ends = "divides by the number of layers of a stage",
    .size_protocols = &pp_size_protocols_megatron_overlap,
    .buffers = { .recv = PP_RECV_ON_POST, .send = PP_SEND_UNTIL_WAITED },
};
