/* Simulates a plan as a target runs it, and compares the memory of each rank with the limit. The
 * cost is one simulation; none if the plan was predicted with the target's framework. */
#include "tools/ppsim/export/target_fit.h"

#include "traces/target/registry.h"

#include <inttypes.h>

const pp_target *pp_target_of_format(const pp_format *format)
{
    for (size_t i = 0; i < pp_target_count(); i++) {
        if (&pp_target_at(i)->format == format)
            return pp_target_at(i);
    }
    return NULL;
}

pp_status pp_target_check_settings(const pp_target *target, const pp_plan *plan, pp_err *err)
{
    const pp_target_limits *limits = &target->limits;
    const pp_parallel *p = &plan->parallel;
    const bool experts = plan->experts || p->ep > 1;
    pp_parallel own = *p;
    pp_status status = pp_target_check_precision(limits, plan->precision, plan->low_parameters,
                                                 experts, PP_INFEASIBLE, limits->name, err);
    if (!status)
        status = pp_target_check_state(limits, plan->grad_dtype, plan->moments, PP_INFEASIBLE,
                                       limits->name, err);
    if (!status && plan->zero == 2)
        return pp_err_set(err, PP_INFEASIBLE, limits->name,
                          "it cannot be told to divide gradients alone, as the plan does (ZeRO 2); "
                          "plan with --target %s",
                          limits->name);
    if (!status && plan->zero > 2 && !limits->fsdp)
        return pp_err_set(err, PP_INFEASIBLE, limits->name,
                          "it shards no parameters, which the plan does (ZeRO %d); plan with "
                          "--target %s",
                          plan->zero, limits->name);
    if (!status && p->cp > 1)
        status = pp_target_check_cp_comm(limits, plan->cp_comm, PP_INFEASIBLE, limits->name, err);
    if (!status && plan->recompute == PP_RECOMPUTE_SELECTIVE && !limits->recompute_modules &&
        plan->recompute_modules && plan->recompute_modules != PP_MODULES_CORE)
        return pp_err_set(err, PP_INFEASIBLE, limits->name,
                          "it cannot be told which modules to recompute; plan with --target %s",
                          limits->name);
    if (!status && p->ep > 1)
        status =
            pp_target_check_dispatcher(limits, plan->dispatcher, PP_INFEASIBLE, limits->name, err);
    if (!status)
        status = pp_target_check_told(limits, plan->moe_fp8_dispatch, limits->fp8_dispatch,
                                      PP_TARGET_FP8_DISPATCH, PP_INFEASIBLE, limits->name, err);
    if (!status)
        status = pp_target_check_told(limits, plan->moe_shared_expert_overlap,
                                      limits->shared_expert_overlap, PP_TARGET_SHARED_OVERLAP,
                                      PP_INFEASIBLE, limits->name, err);
    if (!status)
        status = pp_target_check_told(limits, plan->moe_capacity > 0, limits->expert_capacity,
                                      PP_TARGET_CAPACITY, PP_INFEASIBLE, limits->name, err);
    if (!status)
        status = pp_target_check_graphs(limits, plan->graphs, experts, plan->moe_pads,
                                        PP_INFEASIBLE, limits->name, err);
    if (!status && plan->recompute == PP_RECOMPUTE_FULL)
        status = pp_target_check_told(limits, plan->recompute_layers > 1, limits->recompute_chunks,
                                      PP_TARGET_CHUNKS, PP_INFEASIBLE, limits->name, err);
    own.etp = pp_parallel_etp_of(p, limits->experts);
    if (status || !experts || pp_parallel_etp(&own) == pp_parallel_etp(p))
        return status;
    return pp_err_set(err, PP_INFEASIBLE, limits->name,
                      "with ep %" PRId64 " and tp %" PRId64 ", %" PRId64
                      " rank%s divide%s an expert, but the plan has etp %" PRId64
                      "; plan with --target %s",
                      p->ep, p->tp, pp_parallel_etp(&own), pp_parallel_etp(&own) == 1 ? "" : "s",
                      pp_parallel_etp(&own) == 1 ? "s" : "", pp_parallel_etp(p), limits->name);
}

static bool is_own(const pp_target *target, const pp_framework *framework)
{
    const pp_framework *const *own = target->limits.frameworks;
    while (*own && *own != framework)
        own++;
    return *own != NULL;
}

pp_plan pp_target_plan(const pp_target *target, const pp_plan *plan)
{
    pp_plan own = *plan;
    if (is_own(target, plan->framework))
        return own;
    own.framework = target->limits.frameworks[0];
    if (own.sizes.kind !=
        PP_SIZES_PADDED) /* the others are how the plan's framework learns sizes */
        own.sizes = (pp_size_protocol){ .kind = PP_SIZES_PLAN };
    if (target->limits.drops_outputs && !own.buffers.has_return_outputs) {
        own.buffers.has_return_outputs = true;
        own.buffers.return_outputs = false;
    }
    return own;
}

pp_status pp_target_check_fit(const pp_target *target, const pp_export *data, pp_err *err)
{
    const pp_plan own = pp_target_plan(target, data->plan);
    pp_report *report PP_CLEANUP(pp_report_free) = NULL;
    pp_err why = pp_err_like(err);
    char size[32];
    uint32_t rank = 0;
    if (!own.costs || own.memory_limit_bytes <= 0 || data->measured)
        return PP_OK;
    const bool predicted = own.framework == data->plan->framework && data->report;
    pp_status status = predicted ? PP_OK : pp_plan_simulate(&own, NULL, NULL, NULL, &report, &why);
    if (status == PP_NOMEM)
        return pp_err_nomem(err);
    if (status)
        return pp_err_set(err, PP_INFEASIBLE, target->limits.name, "%.600s", why.text);
    const pp_report *r = predicted ? data->report : report;
    const int64_t beyond = r->has_memory ? pp_report_excess(r, own.memory_limit_bytes, &rank) : 0;
    if (beyond <= 0)
        return PP_OK;
    return pp_err_set(err, PP_INFEASIBLE, target->limits.name,
                      "this plan does not fit there: under executor %s, rank %" PRIu32
                      " is short by %s of its limit",
                      own.framework->name, rank, pp_format_bytes(size, sizeof size, beyond));
}
