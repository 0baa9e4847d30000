#include "sim/plan.h"

#include "sim/alloc.h"
#include "sim/engine.h"

#include <stdlib.h>

pp_status pp_plan_new(pp_plan **plan_out, pp_err *err)
{
    pp_plan *plan = pp_alloc_array(1, sizeof *plan);
    if (!plan)
        return pp_err_nomem(err);
    plan->step_sync = true;
    plan->sequence_parallel = -1;
    *plan_out = plan;
    return PP_OK;
}

void pp_plan_free(pp_plan **plan)
{
    pp_plan *p = *plan;
    if (!p)
        return;
    free(p->partition);
    pp_workload_free(&p->workload);
    for (uint32_t i = 0; p->order && i < p->order_count; i++)
        pp_order_free(&p->order[i]);
    for (uint32_t i = 0; p->costs && i < p->costs_count; i++)
        pp_costs_free(&p->costs[i]);
    free(p->order);
    free(p->costs);
    pp_notes_free(&p->assumptions);
    pp_report_free(&p->prediction);
    free(p->command);
    free(p);
    *plan = NULL;
}

typedef struct outcome {
    pp_program *program;
    pp_timeline *timeline;
    pp_report *report;
} outcome;

static void outcome_free(outcome *o)
{
    pp_program_free(&o->program);
    pp_timeline_free(&o->timeline);
    pp_report_free(&o->report);
}

static pp_status simulate_replica(const pp_plan *plan, const pp_executor *executor,
                                  uint32_t replica, outcome *out, pp_err *err)
{
    const pp_costs *costs = plan->costs[plan->costs_count > 1 ? replica : 0];
    const pp_order *order = plan->order[plan->order_count > 1 ? replica : 0];
    pp_status status = executor->lower(order, &out->program, err);
    if (!status)
        status = pp_simulate(out->program, costs, &out->timeline, err);
    if (!status)
        status = pp_report_build(plan->schedule, plan->executor, out->program, out->timeline, costs,
                                 plan->step_sync, &out->report, err);
    if (!status) {
        out->report->memory_limit_bytes = plan->memory_limit_bytes;
        out->report->seed = plan->seed;
        status = pp_notes_copy(&plan->assumptions, &out->report->assumptions, err);
    }
    return status;
}

pp_status pp_plan_simulate(const pp_plan *plan, pp_program **program_out,
                           pp_timeline **timeline_out, const pp_costs **costs_out,
                           pp_report **report_out, pp_err *err)
{
    const pp_executor *executor;
    pp_status status = pp_executor_get(plan->executor, &executor, err);
    if (status)
        return status;
    uint32_t replicas =
        plan->costs_count > plan->order_count ? plan->costs_count : plan->order_count;
    outcome slowest PP_CLEANUP(outcome_free) = { 0 };
    uint32_t chosen = 0;
    for (uint32_t i = 0; i < replicas; i++) {
        outcome one PP_CLEANUP(outcome_free) = { 0 };
        if ((status = simulate_replica(plan, executor, i, &one, err)))
            return status;
        if (!slowest.report || one.report->step_ns > slowest.report->step_ns) {
            outcome swap = slowest;
            slowest = one;
            one = swap;
            chosen = i;
        }
    }
    if (program_out) {
        *program_out = slowest.program;
        slowest.program = NULL;
    }
    if (timeline_out) {
        *timeline_out = slowest.timeline;
        slowest.timeline = NULL;
    }
    if (costs_out)
        *costs_out = plan->costs[plan->costs_count > 1 ? chosen : 0];
    *report_out = slowest.report;
    slowest.report = NULL;
    return PP_OK;
}
