/* Asks the target's writer whether its runtime runs an order, as --emit does, but writes nothing. A
 * schedule file becomes a plan without model and costs for that. What PyTorch runs and trains
 * wrongly is found in one pass over the ops. */
#include "tools/ppsim/check/target.h"

#include "sim/framework/registry.h"
#include "tools/ppsim/export/target_fit.h"
#include "traces/format/export/pytorch_facts.h"

pp_status pp_check_use_target(bool executor_given, const pp_plan *plan, pp_check_verdict *v,
                              pp_err *err)
{
    const pp_framework *wanted = executor_given ? v->framework : plan ? plan->framework : NULL;
    if (!v->target)
        return PP_OK;
    const pp_framework *const *own = v->target->limits.frameworks;
    while (*own && *own != wanted)
        own++;
    if (executor_given && !*own)
        return pp_err_set(err, PP_USAGE, "--executor",
                          "target %s does not run as %s does; leave one of the two out",
                          v->target->limits.name, wanted->name);
    v->framework = *own ? *own : v->target->limits.frameworks[0];
    return PP_OK;
}

/* Whether the framework is PyTorch's. NULL: that of rows with sends and receives. */
static bool is_pytorch(const pp_framework *framework)
{
    return !framework || framework->splits_late;
}

static pp_status ask(const pp_check_subject *s, const pp_plan *plan, const pp_order *order,
                     uint32_t replica, pp_check_verdict *v, pp_err *err)
{
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_companion companion = { 0 };
    const pp_export data = { .plan = plan,
                             .order = order,
                             .costs =
                                 s->plan ? plan->costs[plan->costs_count > 1 ? replica : 0] : NULL,
                             .path = "configuration.py" };
    v->refusal = pp_err_like(err);
    pp_status status = s->plan ? pp_target_check_settings(v->target, plan, &v->refusal) : PP_OK;
    if (!status)
        status = v->target->format.emit(&data, &text, &companion, &v->refusal);
    pp_text_free(&companion.text);
    v->refused = status && status != PP_NOMEM;
    return status == PP_NOMEM ? pp_err_nomem(err) : PP_OK;
}

static pp_status ask_target(const pp_check_subject *s, pp_check_verdict *v, pp_err *err)
{
    if (!s->plan && !v->framework && !is_pytorch(v->target->limits.frameworks[0])) {
        v->refused = true;
        v->refusal = pp_err_like(err);
        (void)pp_err_set(&v->refusal, PP_INFEASIBLE, v->file,
                         "rows with sends and receives are run by PyTorch only; give the rows "
                         "without them");
        return PP_OK;
    }
    pp_plan *bare PP_CLEANUP(pp_plan_free) = NULL;
    pp_status status = pp_plan_new(&bare, err);
    if (status)
        return status;
    pp_plan plan = pp_target_plan(v->target, s->plan ? s->plan : bare); /* borrows everything */
    pp_order *order = s->order;
    if (!s->plan) {
        plan.parallel = (pp_parallel){ 1, 1, 1, 1, 1, 1, 0 };
        plan.parallel.pp = order->ranks;
        plan.order = &order;
        plan.order_count = 1;
    }
    for (uint32_t i = 0; i < plan.order_count && !status && !v->refused; i++)
        status = ask(s, &plan, plan.order[i], i, v, err);
    return status;
}

pp_status pp_check_runtime(const pp_check_subject *s, pp_check_verdict *v, pp_err *err)
{
    const uint32_t orders = s->plan ? s->plan->order_count : 1;
    for (uint32_t i = 0; i < orders && is_pytorch(v->framework); i++)
        v->shuffled |= pp_pytorch_losses_shuffled(s->plan ? s->plan->order[i] : s->order);
    return v->target && v->target->format.emit ? ask_target(s, v, err) : PP_OK;
}
