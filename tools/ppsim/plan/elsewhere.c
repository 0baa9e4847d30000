/* Simulates a plan that was made for the runtime of this program as PyTorch and Megatron-LM run it:
 * the plan's own order and costs are lowered by their executors, as `simulate --executor` does.
 * What they have no means for is said without a simulation. The cost is at most three simulations.
 */
#include "tools/ppsim/plan/elsewhere.h"

#include "planner/candidate/candidate.h"
#include "sim/framework/registry.h"
#include "tools/ppsim/export/target_fit.h"
#include "traces/target/registry.h"

#include <stdio.h>
#include <string.h>

/* The most ops of a step that is simulated: three simulations of it take about 0.3 s. */
#define OPS_MOST 200000.0

static double ops_of(const pp_plan *plan)
{
    return 3.0 * (double)(plan->parallel.pp * plan->parallel.vpp) *
           (double)plan->workload.microbatches * (double)plan->costs_count;
}

/* Appends "torch 9.729 s", with what is over the limit: "torch 14.08 s, 36.40 GiB too much".
 * Fails: NOMEM. */
static pp_status say_step(const pp_plan *plan, pp_text *text, pp_err *err)
{
    pp_plan own = *plan; /* borrows everything */
    pp_report *report PP_CLEANUP(pp_report_free) = NULL;
    pp_err why = pp_err_like(err);
    char value[32];
    uint32_t rank;
    pp_status status = pp_plan_simulate(&own, NULL, NULL, NULL, &report, &why);
    int64_t beyond = 0;
    if (!status && report->has_memory)
        beyond = pp_report_excess(report, own.memory_limit_bytes, &rank);
    const bool keeps_outputs =
        beyond > 0 && own.framework->buffers.return_outputs && !own.buffers.has_return_outputs;
    if (keeps_outputs) {
        own.buffers.has_return_outputs = true;
        own.buffers.return_outputs = false;
        pp_report_free(&report);
        report = NULL;
        status = pp_plan_simulate(&own, NULL, NULL, NULL, &report, &why);
        beyond = status ? 0 : pp_report_excess(report, own.memory_limit_bytes, &rank);
    }
    if (status == PP_NOMEM)
        return pp_err_nomem(err);
    pp_text_add(text, "%s ", own.framework->name);
    if (status) {
        pp_text_add(text, "cannot run it");
        return PP_OK;
    }
    pp_text_add(text, "%s", pp_format_duration(value, sizeof value, report->step_ns));
    if (beyond > 0)
        pp_text_add(text, ", %s too much", pp_format_bytes(value, sizeof value, beyond));
    else if (keeps_outputs)
        pp_text_add(text, ", --return-outputs off");
    return PP_OK;
}

/* True if the target runs the schedule; a custom order has none. */
static bool has_schedule(const pp_target_limits *limits, const char *name)
{
    size_t i = 0;
    while (limits->only && limits->only[i] && strcmp(limits->only[i]->name, name) != 0)
        i++;
    return !limits->only || limits->only[i];
}

/* True if all stages recompute equally many layers. */
static bool recomputes_alike(const pp_plan *plan)
{
    const uint32_t stages = (uint32_t)(plan->parallel.pp * plan->parallel.vpp);
    const pp_recomputed first = pp_plan_recomputed(plan, 0);
    for (uint32_t s = 1; s < stages && plan->recompute == PP_RECOMPUTE_STAGES; s++) {
        const pp_recomputed r = pp_plan_recomputed(plan, s);
        if (r.full != first.full || r.selective != first.selective)
            return false;
    }
    return true;
}

static bool has_mtp(const pp_plan *plan)
{
    const uint32_t stages = (uint32_t)(plan->parallel.pp * plan->parallel.vpp);
    uint32_t s = 0;
    while (s < stages && plan->partition && plan->partition[s].mtp == 0)
        s++;
    return plan->partition && s < stages;
}

typedef enum lack {
    LACKS_NOTHING,
    LACKS_SCHEDULE,
    LACKS_MTP,
    LACKS_MICROBATCHES,
    LACKS_STAGES,
} lack;

static lack lack_of(const pp_plan *plan, const pp_target_limits *limits)
{
    if (!has_schedule(limits, plan->schedule))
        return LACKS_SCHEDULE;
    if (limits->no_mtp && has_mtp(plan))
        return LACKS_MTP;
    if (plan->recompute == PP_RECOMPUTE_MICROBATCHES)
        return LACKS_MICROBATCHES;
    return limits->recompute_alike && !recomputes_alike(plan) ? LACKS_STAGES : LACKS_NOTHING;
}

/* Says why a runtime has no means for the plan. */
static void say_lack(const pp_plan *plan, lack why, pp_text *text)
{
    const bool custom = strcmp(plan->schedule, pp_planned_schedule.name) == 0;
    switch (why) {
    case LACKS_NOTHING:
        break;
    case LACKS_SCHEDULE:
        pp_text_add(text, " has no %s", custom ? "custom orders" : plan->schedule);
        break;
    case LACKS_MTP:
        pp_text_add(text, " has no multi-token prediction");
        break;
    case LACKS_MICROBATCHES:
        pp_text_add(text, " does not recompute per microbatch");
        break;
    case LACKS_STAGES:
        pp_text_add(text, " recomputes stages alike");
        break;
    }
}

pp_status pp_plan_find_elsewhere(pp_plan *plan, pp_err *err)
{
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    static const struct {
        const char *name, *target;
    } others[] = { { "torch", "torchtitan" }, { "megatron", "megatron" } };
    lack before = LACKS_NOTHING;
    if (plan->framework != &pp_framework_ppsim || plan->parallel.pp < 2 || ops_of(plan) > OPS_MOST)
        return PP_OK;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        const pp_target *target;
        pp_plan own = *plan; /* borrows everything */
        pp_status status = pp_target_get(others[i].target, &target, err);
        if (status)
            return status;
        pp_text_add(&text, "%s", i ? "; " : "");
        const lack why = lack_of(plan, &target->limits);
        if (why && why == before)
            pp_text_add(&text, "%s neither", others[i].name);
        else if (why)
            pp_text_add(&text, "%s", others[i].name);
        if (why && why != before)
            say_lack(plan, why, &text);
        own.framework = target->limits.frameworks[0];
        if (!why && (status = say_step(&own, &text, err)))
            return status;
        before = why;
    }
    pp_status status = pp_text_check(&text, err);
    if (!status)
        snprintf(plan->elsewhere, sizeof plan->elsewhere, "%s", text.data);
    return status;
}
