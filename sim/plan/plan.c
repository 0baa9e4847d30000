/* Simulates plans: lowers the order of each replica by the plan's framework, simulates the program,
 * and makes the report of the slowest replica. */
#include "sim/plan/plan.h"

#include "sim/analysis/period.h"
#include "sim/base/alloc.h"
#include "sim/base/field.h"
#include "sim/cost/context_exchange.h"
#include "sim/engine/engine.h"
#include "sim/framework/lowering/graphs.h"
#include "sim/program/comm.h"
#include "sim/program/program_new.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

pp_status pp_plan_new(pp_plan **plan_out, pp_err *err)
{
    pp_plan *plan = pp_alloc_array(1, sizeof *plan);
    if (!plan)
        return pp_err_nomem(err);
    plan->step_sync = true;
    plan->sequence_parallel = -1;
    plan->zero = -1;
    plan->grad_dtype = PP_DTYPE_FP32;
    plan->recompute = PP_RECOMPUTE_UNKNOWN;
    *plan_out = plan;
    return PP_OK;
}

/* Appends to a text of limited length. */
static void add_words(char *text, size_t bytes, const char *format, ...)
{
    size_t used = strlen(text);
    va_list values;
    va_start(values, format);
    vsnprintf(text + used, bytes - used, format, values);
    va_end(values);
}

void pp_plan_describe(const pp_plan *plan, char *text, size_t bytes)
{
    const pp_parallel *p = &plan->parallel;
    const int64_t gpus = pp_parallel_gpus(p);
    const struct {
        const char *name;
        int64_t degree;
    } degrees[] = { { "tp", p->tp }, { "cp", p->cp }, { "ep", p->ep }, { "dp", p->dp } };
    *text = '\0';
    if (!*plan->model)
        return;
    add_words(text, bytes, "%s on %" PRId64 " GPU%s (pp %d", plan->model, gpus,
              gpus == 1 ? "" : "s", (int)p->pp);
    for (size_t i = 0; i < sizeof degrees / sizeof degrees[0]; i++) {
        if (degrees[i].degree > 1)
            add_words(text, bytes, ", %s %" PRId64, degrees[i].name, degrees[i].degree);
    }
    if (p->etp && p->etp != p->tp)
        add_words(text, bytes, ", etp %d", (int)p->etp);
    add_words(text, bytes, ")");
    if (plan->global_batch_size)
        add_words(text, bytes, ", batch %" PRId64, plan->global_batch_size);
    if (plan->global_batch_size && plan->seq_length)
        add_words(text, bytes, " x %" PRId64 " tokens", plan->seq_length);
}

void pp_plan_free(pp_plan **plan)
{
    pp_plan *p = *plan;
    if (!p)
        return;
    free(p->partition);
    pp_workload_free(&p->workload);
    pp_recompute_table_free(&p->recomputed);
    for (uint32_t i = 0; p->order && i < p->order_count; i++)
        pp_order_free(&p->order[i]);
    for (uint32_t i = 0; p->costs && i < p->costs_count; i++)
        pp_costs_free(&p->costs[i]);
    free(p->order);
    free(p->costs);
    pp_notes_free(&p->assumptions);
    pp_notes_free(&p->profile_classes);
    pp_uncertainty_free(&p->uncertainty);
    pp_report_free(&p->prediction);
    free(p->moe_imbalances);
    free(p->command);
    free(p);
    *plan = NULL;
}

void pp_plan_set_cp_comm(pp_plan *plan, const pp_cost_context *context)
{
    plan->cp_comm = context->parallel.cp > 1 ? context->switches.cp_comm : PP_CP_COMM_RING;
    plan->cp_inner = plan->cp_comm == PP_CP_COMM_HIERARCHICAL ? pp_context_inner(context) : 0;
}

void pp_plan_set_dispatch(pp_plan *plan, const pp_cost_context *context)
{
    const bool exchanged = context->parallel.ep > 1;
    plan->dispatcher = exchanged ? context->switches.dispatcher : PP_DISPATCHER_ALLTOALL;
    plan->moe_fp8_dispatch = exchanged && context->switches.moe_fp8_dispatch;
    plan->moe_shared_expert_overlap =
        exchanged && context->model->shared_ffn > 0 && context->switches.moe_shared_expert_overlap;
    plan->moe_capacity = context->switches.moe_capacity;
    plan->moe_pads = context->switches.moe_pads;
    plan->graphs = context->switches.cuda_graphs ? PP_GRAPHS_FULL : context->switches.graphs;
    plan->moe_kept = context->switches.moe_kept < 1 ? context->switches.moe_kept : 0;
    plan->moe_imbalance = fmax(1, context->switches.moe_imbalance);
}

pp_status pp_plan_set_imbalances(pp_plan *plan, const pp_cost_context *context, pp_err *err)
{
    const pp_expert_tokens *tokens = context->expert_tokens;
    if (!tokens || context->parallel.ep <= 1)
        return PP_OK;
    double *made = pp_alloc_array(tokens->microbatches, sizeof *made);
    if (!made)
        return pp_err_nomem(err);
    for (uint32_t j = 0; j < tokens->microbatches; j++)
        made[j] = pp_expert_tokens_imbalance(tokens, j, context->parallel.ep);
    free(plan->moe_imbalances);
    plan->moe_imbalances = made;
    plan->imbalance_count = tokens->microbatches;
    return PP_OK;
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

/* The first setting that needs sends and receives, or NULL. */
static const char *needs_transfers(const pp_plan *plan, const pp_err *err)
{
    return plan->comm.has_mode                ? pp_err_name(err, PP_FIELD_COMM)
           : plan->comm.has_lanes             ? pp_err_name(err, PP_FIELD_LANES)
           : plan->buffers.has_recv           ? pp_err_name(err, PP_FIELD_RECV_BUFFERS)
           : plan->buffers.has_send           ? pp_err_name(err, PP_FIELD_SEND_BUFFERS)
           : plan->buffers.has_return_outputs ? pp_err_name(err, PP_FIELD_RETURN_OUTPUTS)
           : plan->sharing.ranks_per_nic      ? pp_err_name(err, PP_FIELD_RANKS_PER_NIC)
           : pp_sharing_is_on(&plan->sharing) ? pp_err_name(err, PP_FIELD_OVERLAP_SLOWDOWN)
                                              : NULL;
}

pp_status pp_plan_set_semantics(const pp_plan *plan, pp_program *program, pp_err *err)
{
    const char *option = needs_transfers(plan, err);
    if (program->comm) {
        program->comm->semantics.host = plan->host;
        program->comm->semantics.shape_message_ns = plan->shape_message_ns;
        program->comm->semantics.sharing = plan->sharing;
        program->comm->collective |= plan->p2p != PP_P2P_SEND_RECV;
        pp_comm_settings_apply(&plan->comm, &program->comm->semantics);
        pp_buffer_settings_apply(&plan->buffers, &program->comm->buffers);
        return PP_OK;
    }
    if (!option)
        return PP_OK;
    return pp_err_set(err, PP_USAGE, option,
                      "executor %s models only dependencies, not sends and receives; choose "
                      "another with %s, such as torch or megatron",
                      plan->framework->name, pp_err_name(err, PP_FIELD_FRAMEWORK));
}

static pp_status note_sharing(const pp_plan *plan, pp_report *report, pp_err *err)
{
    char text[300];
    if (!pp_sharing_is_on(&plan->sharing))
        return PP_OK;
    return pp_notes_add(&report->assumptions, err, "sharing", "%s",
                        pp_sharing_print(&plan->sharing, text, sizeof text));
}

static pp_status add_period(const pp_program *program, const pp_timeline *timeline,
                            const pp_costs *costs, pp_report *report, pp_err *err)
{
    pp_period period;
    if (program->ranks > PP_PERIOD_RANKS_MAX)
        return pp_notes_add(&report->assumptions, err, "period", "not searched for beyond %u ranks",
                            PP_PERIOD_RANKS_MAX);
    pp_status status = pp_period_of(program, costs, timeline,
                                    pp_step_tail_chained(report->framework), &period, err);
    if (status)
        return status;
    report->has_period = true;
    report->period_ns = pp_period_ns(period);
    return PP_OK;
}

pp_status pp_plan_simulate_program(const pp_plan *plan, pp_program *program, const pp_costs *costs,
                                   const pp_framework *framework, pp_timeline **timeline_out,
                                   pp_report **report_out, pp_err *err)
{
    pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
    pp_report *report PP_CLEANUP(pp_report_free) = NULL;
    pp_status status = pp_plan_set_semantics(plan, program, err);
    if (status || (status = pp_simulate(program, costs, &timeline, err)) ||
        (status = pp_report_build(plan->schedule, framework, program, timeline, costs,
                                  plan->step_sync, &report, err)) ||
        (status = pp_report_set_limit(report, program, timeline, costs, plan->memory_limit_bytes,
                                      err)) ||
        (status = pp_notes_copy(&plan->assumptions, &report->assumptions, err)) ||
        (status = note_sharing(plan, report, err)) ||
        (status = pp_report_add_worst(report, program, timeline, PP_WORST_DEFAULT, err)))
        return status;
    /* steps with shared links are not linear in (max, +), so that they have no period */
    if (!plan->step_sync && pp_sharing_is_on(&plan->sharing) &&
        (status = pp_notes_add(&report->assumptions, err, "period",
                               "unknown when transfers share a NIC or slow compute down")))
        return status;
    if (!plan->step_sync && !pp_sharing_is_on(&plan->sharing) &&
        (status = add_period(program, timeline, costs, report, err)))
        return status;
    if (plan->uncertainty.step_ns && plan->uncertainty.step_ns == report->step_ns &&
        (status = pp_uncertainty_copy(&plan->uncertainty, &report->uncertainty, err)))
        return status;
    report->seed = plan->seed;
    *timeline_out = timeline;
    *report_out = report;
    timeline = NULL; /* the caller owns the timeline and the report now */
    report = NULL;
    return PP_OK;
}

bool pp_plan_is_stale(const pp_plan *plan, const pp_report *report)
{
    return plan->predicted_in_file_ns &&
           (plan->predicted_in_file_ns != report->step_ns ||
            plan->makespan_in_file_ns != report->makespan_ns ||
            (report->has_memory && plan->peak_in_file_bytes != report->peak_memory_bytes));
}

pp_exchange_options pp_plan_exchange(const pp_plan *plan)
{
    return (pp_exchange_options){ .shapes = plan->sizes,
                                  .tensors = plan->tensors,
                                  .shape_message_ns = plan->shape_message_ns,
                                  .host = plan->host,
                                  .pytorch = plan->pytorch,
                                  .runs = plan->runs,
                                  .ungrouped = plan->comm.has_mode &&
                                               plan->comm.mode != PP_COMM_BATCHED_SHAPES };
}

pp_recomputed pp_plan_recomputed(const pp_plan *plan, uint32_t stage)
{
    if (plan->recomputed.of)
        return plan->recomputed.of[stage];
    return (pp_recomputed){ .full = (int32_t)plan->partition[stage].full,
                            .selective = (int32_t)plan->partition[stage].selective };
}

pp_recompute pp_plan_recompute(const pp_plan *plan, uint32_t stages)
{
    const bool table = plan->recomputed.of != NULL;
    bool none = true, selective = plan->partition != NULL, full = selective;
    if (!table && (!plan->partition || plan->recompute != PP_RECOMPUTE_STAGES))
        return plan->recompute;
    if (table && !pp_recompute_table_alike(&plan->recomputed))
        return PP_RECOMPUTE_MICROBATCHES;
    for (uint32_t s = 0; s < stages; s++) {
        const pp_recomputed here = pp_plan_recomputed(plan, s);
        const pp_stage *stage = plan->partition ? &plan->partition[s] : NULL;
        none = none && !here.full && !here.selective;
        selective = selective && here.selective == stage->layers && !stage->mtp;
        full = full && here.full == stage->layers && !stage->mtp;
    }
    return none        ? PP_RECOMPUTE_NONE
           : selective ? PP_RECOMPUTE_SELECTIVE
           : full      ? PP_RECOMPUTE_FULL
                       : PP_RECOMPUTE_STAGES;
}

pp_status pp_plan_pad(const pp_size_protocol *shapes, pp_plan *plan, pp_err *err)
{
    pp_status status = PP_OK;
    const bool to_longest = shapes->kind == PP_SIZES_PADDED && !shapes->tokens;
    const bool alike = !plan->recomputed.of || pp_recompute_table_alike(&plan->recomputed);
    if (to_longest && (!alike || plan->imbalance_count))
        return pp_err_set(
            err, PP_USAGE, pp_err_name(err, PP_FIELD_SHAPES),
            "gives all microbatches the costs of the longest one, but in this plan they "
            "%s; compute the costs again (%s), or plan with %s",
            alike ? "have different tokens per expert" : "recompute different layers",
            pp_err_name(err, PP_FIELD_RECOST), pp_err_name(err, PP_FIELD_ASK_PLAN_PADDED));
    for (uint32_t i = 0; i < plan->costs_count && !status; i++)
        status = pp_costs_pad(shapes, plan->costs[i], err);
    return status;
}

/* Whether the framework shares parameters and gradients over replicas as the plan's costs say. */
static pp_status check_sharing(const pp_plan *plan, pp_err *err)
{
    const bool unsharded =
        plan->zero >= 0 && plan->zero < 3 && plan->parallel.dp * plan->parallel.cp > 1;
    if (plan->runs > 1 && unsharded)
        return pp_framework_refuse_runs(err);
    if (plan->zero >= 2 && plan->framework->shards)
        return pp_framework_check_zero(plan->framework, plan->zero, err);
    return PP_OK;
}

pp_status pp_plan_lower(const pp_plan *plan, const pp_order *order, const pp_costs *costs,
                        pp_program **program_out, pp_err *err)
{
    const pp_exchange_options exchange = pp_plan_exchange(plan);
    const pp_pytorch_settings *pytorch = plan->framework->lower_set ? &plan->pytorch : NULL;
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    pp_status status = pp_framework_check_stages(plan->framework, plan->partition, order->stages,
                                                 PP_INFEASIBLE, NULL, err);
    if (status || (status = check_sharing(plan, err)) ||
        (status = pp_framework_lower(plan->framework, order, costs, pytorch, &program, err)) ||
        (status = pp_framework_repeat(plan->framework, order, plan->runs, &program, err)) ||
        (status = pp_exchange_lower(plan->framework, &exchange, costs, program, err)))
        return status;
    *program_out = program;
    program = NULL; /* the caller's now */
    return PP_OK;
}

bool pp_plan_splits_backward(const pp_plan *plan)
{
    for (uint32_t i = 0; i < plan->order_count; i++) {
        const pp_order *order = plan->order[i];
        for (size_t k = 0; k < order->rank_begin[order->ranks]; k++) {
            if (order->ops[k].kind == PP_OP_W)
                return true;
        }
    }
    return false;
}

const pp_costs *pp_plan_costs(const pp_plan *plan, uint32_t replica)
{
    const pp_costs *costs = plan->costs[plan->costs_count > 1 ? replica : 0];
    return plan->framework && plan->framework->splits_late && costs->late ? costs->late : costs;
}

static pp_status simulate_replica(const pp_plan *plan, uint32_t replica, outcome *out, pp_err *err)
{
    const pp_costs *costs = pp_plan_costs(plan, replica);
    const pp_order *order = plan->order[plan->order_count > 1 ? replica : 0];
    pp_status status = pp_plan_lower(plan, order, costs, &out->program, err);
    if (status || (status = pp_plan_simulate_program(plan, out->program, costs, plan->framework,
                                                     &out->timeline, &out->report, err)))
        return status;
    return pp_graphs_count(out->program, costs, plan->framework->graphs, &out->report->graphs, err);
}

pp_status pp_plan_simulate(const pp_plan *plan, pp_program **program_out,
                           pp_timeline **timeline_out, const pp_costs **costs_out,
                           pp_report **report_out, pp_err *err)
{
    uint32_t replicas =
        plan->costs_count > plan->order_count ? plan->costs_count : plan->order_count;
    outcome slowest PP_CLEANUP(outcome_free) = { 0 };
    uint32_t chosen = 0;
    for (uint32_t i = 0; i < replicas; i++) {
        outcome one PP_CLEANUP(outcome_free) = { 0 };
        pp_status status = simulate_replica(plan, i, &one, err);
        if (status)
            return status;
        one.report->memory_replica = i;
        if (!slowest.report || one.report->step_ns > slowest.report->step_ns) {
            outcome swap = slowest;
            slowest = one;
            one = swap;
            chosen = i;
        }
        if (one.report)
            pp_report_take_memory(slowest.report, one.report);
    }
    slowest.report->replica = chosen;
    if (program_out) {
        *program_out = slowest.program;
        slowest.program = NULL;
    }
    if (timeline_out) {
        *timeline_out = slowest.timeline;
        slowest.timeline = NULL;
    }
    if (costs_out)
        *costs_out = pp_plan_costs(plan, chosen);
    *report_out = slowest.report;
    slowest.report = NULL;
    return PP_OK;
}
