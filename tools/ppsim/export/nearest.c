/* Finds, for an order that a target cannot run, the fastest schedule on the same stages that it can
 * run, by building, exporting and simulating every schedule of the registry, and adds the
 * difference in step time to the message. */
#include "tools/ppsim/export/nearest.h"

#include "sim/schedule/registry.h"
#include "tools/ppsim/export/target_fit.h"

#include <stdio.h>
#include <string.h>

static bool may_run(const pp_target *target, const pp_schedule *schedule)
{
    const pp_schedule *const *only = target->limits.only;
    while (only && *only && *only != schedule)
        only++;
    return !schedule->simulate_only && (!only || *only);
}

/* Tries an order in place of the plan's, on the same stages. Returns false when the target does not
 * run it or it exceeds the memory limit. step_ns_out receives 0 when there are no costs. */
static bool try_order(const pp_target *target, const pp_export *data, const pp_schedule *schedule,
                      pp_order *order, pp_ns *step_ns_out)
{
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_companion companion = { 0 };
    pp_report *report PP_CLEANUP(pp_report_free) = NULL;
    pp_err reason = { 0 };
    pp_plan plan = pp_target_plan(target, data->plan);
    pp_export own = *data;
    plan.order = &order;
    plan.order_count = 1;
    snprintf(plan.schedule, sizeof plan.schedule, "%s", schedule->name);
    own.plan = &plan;
    own.order = order;
    pp_status status = target->format.emit(&own, &text, &companion, &reason);
    pp_text_free(&companion.text);
    *step_ns_out = 0;
    if (status || !plan.costs)
        return !status;
    if (pp_plan_simulate(&plan, NULL, NULL, NULL, &report, &reason))
        return false;
    *step_ns_out = report->step_ns;
    uint32_t fullest = 0;
    return !report->has_memory || pp_report_excess(report, plan.memory_limit_bytes, &fullest) <= 0;
}

static pp_order *build(const pp_schedule *schedule, const pp_export *data)
{
    const pp_order *from = data->order;
    pp_order *order = NULL;
    pp_err reason = { 0 };
    const pp_schedule_params params = { .ranks = from->ranks,
                                        .chunks = from->stages / from->ranks,
                                        .microbatches = from->microbatches,
                                        .costs = data->costs };
    return pp_schedule_build(schedule, &params, &order, &reason) ? NULL : order;
}

/* Appends "; the nearest that it runs is 1f1b, ..." to the message. */
static void say(const pp_target *target, const pp_export *data, const char *name, pp_ns step_ns,
                pp_err *err)
{
    size_t used = strlen(err->text);
    size_t room = sizeof err->text - used;
    const pp_framework *own = pp_target_plan(target, data->plan).framework;
    const bool same = own == data->plan->framework;
    const pp_ns from_ns = data->report ? data->report->step_ns : 0;
    char step[32];
    if (!step_ns || !from_ns)
        snprintf(err->text + used, room, "; it runs %s", name);
    else
        snprintf(err->text + used, room,
                 "; the nearest that it runs is %s, with a step of %s (%+.2f %%%s%s) on the same "
                 "stages; 'ppsim plan --target %s' searches for more",
                 name, pp_format_duration(step, sizeof step, step_ns),
                 100 * ((double)step_ns / (double)from_ns - 1), same ? "" : " against executor ",
                 same ? "" : data->plan->framework->name, target->limits.name);
}

void pp_add_nearest(const pp_format *format, const pp_export *data, pp_err *err)
{
    const pp_target *target = pp_target_of_format(format);
    const pp_schedule *best = NULL;
    pp_ns best_ns = 0;
    if (!target || data->measured || pp_order_forward_only(data->order) ||
        data->order->stages % data->order->ranks != 0)
        return;
    for (size_t i = 0; i < pp_schedule_count(); i++) {
        const pp_schedule *schedule = pp_schedule_at(i);
        pp_ns step_ns = 0;
        pp_order *order PP_CLEANUP(pp_order_free) =
            may_run(target, schedule) ? build(schedule, data) : NULL;
        if (order && try_order(target, data, schedule, order, &step_ns) &&
            (!best || step_ns < best_ns)) {
            best = schedule;
            best_ns = step_ns;
        }
    }
    if (best)
        say(target, data, best->name, best_ns, err);
}
