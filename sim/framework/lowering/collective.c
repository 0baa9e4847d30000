/* Writes blocking transfers, one at a time, in an order that cannot deadlock: that of Megatron's
 * loops for 1f1b and interleaved, and for other orders that of PyTorch's passes. */
#include "sim/framework/lowering/collective.h"

#include "sim/base/field.h"
#include "sim/framework/lowering/megatron_sends.h"
#include "sim/framework/lowering/torch_pass.h"

static void one_by_one(const pp_lowering *l, pp_megatron_call call)
{
    pp_lower_receive_now(l, call.recv_next);
    pp_lower_send_now(l, call.send_next);
    pp_lower_send_now(l, call.send_prev);
    pp_lower_receive_now(l, call.recv_prev);
}

/* The last rank sends first, so that the ranks do not wait in a cycle. */
static void one_by_one_interleaved(const pp_lowering *l, pp_megatron_call call)
{
    bool last = l->rank + 1 == l->program->ranks;
    if (!last) {
        pp_lower_receive_now(l, call.recv_prev);
        pp_lower_send_now(l, call.send_prev);
    }
    pp_lower_send_now(l, call.send_next);
    pp_lower_receive_now(l, call.recv_next);
    if (last) {
        pp_lower_receive_now(l, call.recv_prev);
        pp_lower_send_now(l, call.send_prev);
    }
}

static pp_status lower_rank(const pp_lowering *l, pp_err *err)
{
    (void)err;
    if (l->group)
        pp_megatron_interleaved(l, one_by_one_interleaved);
    else
        pp_megatron_single(l, one_by_one);
    return PP_OK;
}

pp_status pp_lower_pairs(const pp_order *order, const char *framework, pp_program **program_out,
                         pp_err *err)
{
    uint32_t group = 0;
    pp_program *program = NULL;
    pp_status status = pp_megatron_check(order, framework, false, &group, err);
    if (!status && group) /* InferenceSchedule has one chunk */
        status =
            pp_lower_check_trains(order, "neuronx interleaved", "megatron, torch or ideal", err);
    if (status)
        return status;
    if (group &&
        (group != order->ranks || order->microbatches % group || order->microbatches == group))
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_FRAMEWORK),
                          "%s runs interleaved only with groups of p microbatches, and the number "
                          "of microbatches must be a multiple of p, at least 2p",
                          framework);
    if ((status = pp_lower_ranks(order, group, lower_rank, &program, err)))
        return status;
    program->comm->collective = true;
    *program_out = program;
    return PP_OK;
}

pp_status pp_lower_pairs_any(const pp_order *order, const char *framework, pp_program **program_out,
                             pp_err *err)
{
    pp_program *program = NULL;
    pp_err other = pp_err_like(err);
    pp_status status = pp_lower_pairs(order, framework, program_out, &other);
    if (status != PP_USAGE)
        return status ? pp_err_set(err, status, other.where, "%s", other.text) : PP_OK;
    if ((status = pp_torch_lower(order, (pp_torch_rules){ framework, PP_TORCH_BLOCKING, false, 0 },
                                 &program, err)))
        return status;
    program->comm->collective = true;
    *program_out = program;
    return PP_OK;
}
