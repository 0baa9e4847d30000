/* The steps of lowering that are common to all frameworks. */
#include "sim/framework/framework.h"

#include "sim/base/field.h"
#include "sim/framework/registry.h"
#include "sim/framework/sizes/lower_sizes.h"
#include "sim/program/comm.h"
#include "sim/program/program_new.h"
#include "sim/program/repeat.h"

#include <stdio.h>
#include <string.h>

bool pp_framework_has_zero(const pp_framework *framework, int zero)
{
    return zero < 2 || (zero == 2 ? framework->divides_gradients : framework->shards);
}

/* The names of the frameworks that have this ZeRO stage. Returns buffer. */
static const char *list_sharding(int zero, char *buffer, size_t size)
{
    buffer[0] = '\0';
    for (size_t i = 0; i < pp_framework_count(); i++) {
        const size_t used = strlen(buffer);
        if (pp_framework_has_zero(pp_framework_at(i), zero))
            snprintf(buffer + used, size - used, "%s%s", used ? ", " : "",
                     pp_framework_at(i)->name);
    }
    return buffer;
}

/* Like pp_framework_check_reshard for costs, which no option changes. PyTorch's I looks for the
 * weights among the parameters that are registered when it begins, which are the shards then
 * (stage_backward_input of torch/distributed/pipelining/_backward.py). */
static pp_status check_regathers(const pp_framework *framework, bool splits, pp_err *err)
{
    pp_err why = { 0 };
    if (!pp_framework_check_reshard(framework, splits, &why))
        return PP_OK;
    if (framework->splits_late)
        return pp_err_set(err, PP_USAGE, NULL,
                          "PyTorch loses the gradients of weights if forwards free parameters "
                          "(regather_ns, or reshard_after_forward of a plan) and the backward is "
                          "split into I and W; take costs without it, or a schedule with B, such "
                          "as 1f1b or interleaved");
    return pp_err_set(err, PP_USAGE, NULL,
                      "executor %s does not free parameters after forwards (regather_ns, or "
                      "reshard_after_forward of a plan), as those of PyTorch do, such as "
                      "torch-2.15; choose one of them, or plan without it",
                      framework->name);
}

static bool are_set(const pp_pytorch_settings *settings)
{
    return settings &&
           (settings->unshard_lookahead != PP_LOOKAHEAD_FULL || settings->max_outstanding_sends);
}

pp_status pp_framework_check_settings(const pp_framework *framework,
                                      const pp_pytorch_settings *settings, pp_err *err)
{
    if (!are_set(settings) || framework->lower_set)
        return PP_OK;
    return pp_err_set(
        err, PP_USAGE,
        pp_err_name(err, settings->max_outstanding_sends ? PP_FIELD_OUTSTANDING_SENDS
                                                         : PP_FIELD_UNSHARD_LOOKAHEAD),
        "is PyTorch 2.15's; choose executor torch-2.15 instead of %s, or leave it out",
        framework->name);
}

pp_status pp_framework_lower(const pp_framework *framework, const pp_order *order,
                             const pp_costs *costs, const pp_pytorch_settings *settings,
                             pp_program **program_out, pp_err *err)
{
    pp_status status = pp_framework_check_settings(framework, settings, err);
    if (status)
        return status;
    /* under ideal the gather takes no time */
    if (costs && costs->sharded && framework->size_protocols && !framework->shards) {
        char known[160];
        return pp_err_set(err, PP_USAGE, NULL,
                          "executor %s cannot shard parameters (unshard_ns, or ZeRO 3 of a plan); "
                          "choose one of %s, or plan with %s 1",
                          framework->name, list_sharding(3, known, sizeof known),
                          pp_err_name(err, PP_FIELD_ZERO));
    }
    if (costs && costs->sharded && framework->size_protocols &&
        framework->shards_ops != costs->shards_ops)
        return pp_err_set(err, PP_USAGE, NULL,
                          framework->shards_ops
                              ? "executor %s gathers and reduces in every op, and the costs lack "
                                "\"reduce_last_ns\" for that; plan for it"
                              : "executor %s does not gather and reduce in every op, for which the "
                                "costs are (reduce_last_ns); choose executor megatron-fsdp, or "
                                "plan for this one",
                          framework->name);
    if (costs && costs->regathers &&
        (status = check_regathers(framework, pp_order_splits_backward(order), err)))
        return status;
    if (are_set(settings))
        status = framework->lower_set(order, settings, program_out, err);
    else if (costs && framework->lower_timed)
        status = framework->lower_timed(order, costs, program_out, err);
    else
        status = framework->lower(order, program_out, err);
    if (!status)
        (*program_out)->overlaps_pairs = framework->overlaps_pairs;
    if (!status && (*program_out)->comm)
        (*program_out)->comm->buffers = framework->buffers;
    return status;
}

pp_status pp_framework_refuse_runs(pp_err *err)
{
    return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_RUNS),
                      "is modelled for one replica and for sharded parameters, which trainers that "
                      "run the schedule several times per step have; add %s 3 (FSDP)",
                      pp_err_name(err, PP_FIELD_ZERO));
}

pp_status pp_framework_check_runs(const pp_framework *framework, int64_t runs, pp_err *err)
{
    if (runs <= 1 || framework->pytorch || !framework->size_protocols)
        return PP_OK;
    return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_RUNS),
                      "executor %s runs the schedule once per step; choose torch-2.15 or torch, "
                      "whose trainers can run it several times, or leave it out",
                      framework->name);
}

pp_status pp_framework_repeat(const pp_framework *framework, const pp_order *order, int64_t runs,
                              pp_program **program, pp_err *err)
{
    pp_program *all = NULL;
    pp_status status = pp_framework_check_runs(framework, runs, err);
    if (status || runs <= 1)
        return status;
    if (order->mirrored_from < order->microbatches)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_RUNS),
                          "is not modelled for schedules that run every stage on two ranks, which "
                          "PyTorch does not have; choose dualpipev");
    if ((status = pp_program_repeat(*program, order, (uint32_t)runs, &all, err)))
        return status;
    pp_program_free(program);
    *program = all;
    return PP_OK;
}

/* FSDP2 divides parameters, gradients and optimizer state together (fully_shard). DeepSpeed's
 * PipelineEngine asserts that ZeRO is below 2 (runtime/pipe/engine.py). */
pp_status pp_framework_check_zero(const pp_framework *framework, int zero, pp_err *err)
{
    char known[160];
    if (pp_framework_has_zero(framework, zero))
        return PP_OK;
    if (zero == 2 && framework->shards)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_ZERO),
                          "executor %s does not divide gradients alone: PyTorch's FSDP divides the "
                          "parameters, too, and reduces at the end of a step; plan with %s 3, or "
                          "choose one of %s",
                          framework->name, pp_err_name(err, PP_FIELD_ZERO),
                          list_sharding(zero, known, sizeof known));
    return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_ZERO),
                      "executor %s cannot %s, as ZeRO %d does; choose one of %s, or plan with %s 1",
                      framework->name, zero == 2 ? "divide gradients" : "shard parameters", zero,
                      list_sharding(zero, known, sizeof known), pp_err_name(err, PP_FIELD_ZERO));
}

pp_status pp_framework_check_reshard(const pp_framework *framework, bool splits, pp_err *err)
{
    if (framework->shards_ops)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_RESHARD),
                          "executor %s always frees parameters after forwards and backwards; leave "
                          "it out",
                          framework->name);
    if (framework->size_protocols && !framework->splits_late)
        return pp_err_set(
            err, PP_USAGE, pp_err_name(err, PP_FIELD_RESHARD),
            "executor %s does not free parameters after forwards; plan with never, or "
            "for an executor of PyTorch, such as torch-2.15",
            framework->name);
    if (splits)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_RESHARD),
                          "PyTorch loses the gradients of weights if parameters are freed after "
                          "forwards and the backward is split into I and W; plan with never, or "
                          "choose a schedule with B, such as 1f1b or interleaved");
    return PP_OK;
}

pp_status pp_framework_check_stages(const pp_framework *framework, const pp_stage *stages,
                                    size_t stage_count, pp_status refusal, const char *what,
                                    pp_err *err)
{
    for (size_t s = 0; stages && framework->no_bare_ends && s < stage_count; s++) {
        if (!stages[s].layers && !stages[s].mtp)
            return pp_err_set(
                err, refusal, what,
                "executor %s %s, but stage %zu has no layer; choose another executor, "
                "or plan with %s off",
                framework->name, framework->no_bare_ends, s, pp_err_name(err, PP_FIELD_BARE_ENDS));
    }
    return PP_OK;
}

pp_status pp_exchange_lower(const pp_framework *framework, const pp_exchange_options *exchange,
                            const pp_costs *costs, pp_program *program, pp_err *err)
{
    return pp_sizes_lower(framework->name, framework->size_protocols, exchange, costs, program,
                          err);
}
