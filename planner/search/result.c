/* Makes the result of a finished search: the chosen candidate becomes a plan, which is simulated
 * again from its own data, and the candidates are sorted for the list. O(candidates log
 * candidates). */
#include "planner/search/result.h"

#include "planner/candidate/evaluate.h"
#include "planner/order/renumber.h"
#include "planner/search/sharding_choice.h"
#include "sim/base/alloc.h"
#include "sim/base/field.h"
#include "sim/program/program_new.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pp_search_result_free(pp_search_result **choice)
{
    if (!*choice)
        return;
    pp_plan_free(&(*choice)->plan);
    free((*choice)->candidate);
    free((*choice)->split);
    for (int k = 0; k < PP_SETTING_COUNT; k++)
        free((*choice)->setting[k].value);
    free(*choice);
    *choice = NULL;
}

/* The groups of candidates, in the order in which they are listed. */
static int group(const pp_candidate *c)
{
    return (int)c->status * 2 + !c->legal;
}

/* Candidates without a known time come last. */
static double listed_score(const pp_candidate *c)
{
    pp_ns ns = c->step_ns ? c->step_ns : c->least_step_ns;
    return ns ? pp_candidate_score(c, ns) : HUGE_VAL;
}

static int compare_listed(const void *left, const void *right)
{
    const pp_candidate *a = left;
    const pp_candidate *b = right;
    if (group(a) != group(b))
        return group(a) - group(b);
    if (a->status == PP_CANDIDATE_INFEASIBLE && a->short_bytes != b->short_bytes)
        return a->short_bytes < b->short_bytes ? -1 : 1;
    double x = listed_score(a);
    double y = listed_score(b);
    if (x != y)
        return x < y ? -1 : 1;
    if (a->parallel.vpp != b->parallel.vpp)
        return a->parallel.vpp < b->parallel.vpp ? -1 : 1;
    if (a->recompute != b->recompute)
        return a->recompute < b->recompute ? -1 : 1;
    int by_name = strcmp(a->schedule->name, b->schedule->name);
    return by_name ? by_name : (a->setup > b->setup) - (a->setup < b->setup);
}

void pp_search_describe(const pp_search *search, const pp_candidate *c, pp_plan *plan)
{
    const pp_plan_request *request = search->problem->request;
    const pp_switches *switches = &search->pool.setup[c->setup].context.switches;
    const pp_stack *stack = request->switches.stack;
    snprintf(plan->model, sizeof plan->model, "%s", request->model->name);
    snprintf(plan->hardware, sizeof plan->hardware, "%s", request->hardware->name);
    plan->parallel = c->parallel;
    plan->zero = switches->zero;
    plan->dp_replicate = switches->dp_replicate;
    plan->reshard_after_forward = switches->reshard_after_forward;
    plan->sequence_parallel = switches->sequence_parallel;
    plan->precision = switches->precision;
    plan->low_parameters = switches->low_parameters;
    plan->experts = request->model->experts > 0;
    plan->grad_dtype = switches->grad_dtype;
    plan->moments = switches->moments;
    pp_plan_set_cp_comm(plan, &search->pool.setup[c->setup].context);
    pp_plan_set_dispatch(plan, &search->pool.setup[c->setup].context);
    snprintf(plan->stack.name, sizeof plan->stack.name, "%s", stack->name);
    snprintf(plan->stack.stands_for, sizeof plan->stack.stands_for, "%s", stack->stands_for);
    snprintf(plan->stack.sha256, sizeof plan->stack.sha256, "%s", stack->sha256);
    plan->stack.changes = pp_stack_changes_of(&stack->switches, switches);
    plan->micro_batch_size = c->micro_batch_size;
    plan->global_batch_size = search->problem->global_batch_size;
    plan->seq_length = search->problem->seq_length;
    snprintf(plan->schedule, sizeof plan->schedule, "%s", c->schedule->name);
    plan->framework = search->problem->framework;
    const pp_exchange_options exchange = pp_candidate_exchange(search->problem, c);
    plan->sizes = exchange.shapes;
    plan->has_sizes = true;
    plan->host = exchange.host;
    plan->pytorch = exchange.pytorch;
    plan->runs = exchange.runs;
    plan->shape_message_ns = exchange.shape_message_ns;
    plan->tensors = exchange.tensors;
    plan->recompute = c->recompute;
    plan->recompute_layers = c->recompute == PP_RECOMPUTE_FULL ? switches->recompute_layers : 0;
    plan->recompute_modules = c->recompute == PP_RECOMPUTE_NONE || c->recompute == PP_RECOMPUTE_FULL
                                  ? PP_MODULES_CORE
                                  : search->pool.setup[c->setup].context.switches.recompute_modules;
    plan->comm.has_lanes = search->progress.communicates && switches->communicators;
    if (plan->comm.has_lanes)
        plan->comm.lanes = pp_communicators_lanes(switches->communicators);
    plan->p2p = switches->p2p;
    plan->buffers = request->buffers;
    plan->step_sync = !request->no_step_sync;
    plan->memory_limit_bytes = search->problem->memory_limit_bytes < PP_BYTES_MAX
                                   ? search->problem->memory_limit_bytes
                                   : 0;
    plan->seed = request->seed;
}

/* Simulates the candidate again with its final costs, and keeps its reason. */
static pp_status simulate_planned(pp_search *search, pp_candidate *c, const pp_planned *planned,
                                  const pp_plan *plan, pp_err *err)
{
    const pp_reason gap = c->reason;
    const bool late = plan->framework->splits_late;
    pp_cost_set set = { .costs = pp_alloc_array(plan->costs_count, sizeof *set.costs),
                        .count = plan->costs_count };
    if (!set.costs)
        return pp_err_nomem(err);
    for (uint32_t i = 0; i < set.count; i++)
        set.costs[i] = late ? plan->costs[i]->late : plan->costs[i];
    pp_status status =
        pp_candidate_simulate_orders(search, c, &set, planned->order, planned->count, err);
    free(set.costs); /* the costs are the plan's */
    if (!status && c->status != PP_CANDIDATE_OK)
        return pp_err_set(err, PP_INFEASIBLE, pp_err_name(err, PP_FIELD_SCHEDULE),
                          "the planned order does not run within the memory: %s; name a schedule",
                          c->legal ? pp_candidate_status_name(c->status) : c->reason.refusal);
    c->reason = gap;
    return status;
}

/* Gives each microbatch of the step an imbalance of its own, so that it can be renumbered. */
static pp_status spread_imbalances(pp_plan *plan, uint32_t microbatches, pp_err *err)
{
    double *all = pp_alloc_array(microbatches, sizeof *all);
    if (!all)
        return pp_err_nomem(err);
    for (uint32_t j = 0; j < microbatches; j++)
        all[j] = plan->moe_imbalances[j % plan->imbalance_count];
    free(plan->moe_imbalances);
    plan->moe_imbalances = all;
    plan->imbalance_count = microbatches;
    return PP_OK;
}

/* Renumbers what describes the microbatches of a free order. tokens: receives their imbalances, if
 * there are some. */
static pp_status renumber(const pp_planned *planned, pp_data *data, pp_setup *setup, pp_plan *plan,
                          pp_expert_tokens *tokens, pp_err *err)
{
    pp_workload *const workloads[] = { &data->real, &data->workload };
    pp_status status = PP_OK;
    if (plan->imbalance_count)
        status = spread_imbalances(plan, planned->order[0]->microbatches, err);
    if (!status)
        status = pp_renumber_microbatches(planned->order, planned->count, workloads, 2,
                                          setup->recomputed, plan->moe_imbalances, err);
    *tokens = (pp_expert_tokens){ .microbatches = plan->imbalance_count,
                                  .degrees = 1,
                                  .ep = &plan->parallel.ep,
                                  .imbalance = plan->moe_imbalances };
    if (plan->imbalance_count)
        setup->context.expert_tokens = tokens;
    return status;
}

/* Fills in orders, costs, stages and data of the chosen candidate; data and stages move to the
 * plan. tokens: those of the setup afterwards, if a free order renumbered them. */
static pp_status fill(pp_search *search, size_t best, pp_plan *plan, pp_expert_tokens *tokens,
                      pp_err *err)
{
    pp_candidate *c = &search->pool.candidate[best];
    pp_planned *planned = pp_pool_planned(&search->pool, best);
    pp_setup *setup = &search->pool.setup[c->setup];
    pp_cost_set set = { 0 };
    pp_data *data = &search->pool.data[setup->data];
    pp_status status = planned ? renumber(planned, data, setup, plan, tokens, err) : PP_OK;
    /* the plan may be simulated under other executors */
    setup->context.pairs_hide = true;
    setup->context.splits_late = false;
    setup->context.late_too = planned || c->schedule->splits_backward;
    if (!status)
        status = pp_pool_costs(&search->pool, setup, &set, err);
    setup->context.splits_late = plan->framework->splits_late;
    setup->context.late_too = false;
    if (status)
        return status;
    /* the reduction of the gradients now overlaps with the backward of another microbatch */
    plan->costs = set.costs;
    plan->costs_count = set.count;
    if (planned)
        status = simulate_planned(search, c, planned, plan, err);
    if (status)
        return status;
    if (planned) {
        plan->order = planned->order;
        plan->order_count = planned->count;
        *planned = (pp_planned){ .candidate = best };
    } else {
        plan->order = pp_alloc_array(1, sizeof *plan->order);
        if (!plan->order)
            return pp_err_nomem(err);
        plan->order_count = 1;
        status =
            pp_candidate_order(search->problem, c, pp_plan_costs(plan, 0), &plan->order[0], err);
    }
    plan->partition = setup->stages;
    setup->stages = NULL;
    if (setup->recomputed) {
        plan->recomputed = *setup->recomputed;
        setup->context.recomputed = &plan->recomputed;
        *setup->recomputed = (pp_recompute_table){ 0 };
    }
    pp_workload *real = data->real.microbatch ? &data->real : &data->workload;
    plan->workload = *real;
    *real = (pp_workload){ 0 };
    return status;
}

/* Cost tables without some of the exchange. */
typedef struct bare_costs {
    pp_costs *without[PP_EXCHANGE_KINDS];
} bare_costs;

static void bare_costs_free(bare_costs *bare)
{
    for (int k = 0; k < PP_EXCHANGE_KINDS; k++)
        pp_costs_free(&bare->without[k]);
}

/* Explains where the time of the step goes. The exchange inside ops is the difference between the
 * costs and the same costs without it. A group of one GPU exchanges nothing. */
static pp_status explain(const pp_pool *pool, const pp_setup *setup, const pp_plan *plan,
                         const pp_program *program, const pp_timeline *timeline,
                         const pp_costs *costs, pp_why *why_out, pp_err *err)
{
    bare_costs bare PP_CLEANUP(bare_costs_free) = { { NULL } };
    const pp_workload *computed = &pool->data[setup->data].workload;
    const pp_parallel *p = &plan->parallel;
    const int64_t degrees[PP_EXCHANGE_KINDS] = {
        [PP_EXCHANGE_TP] = p->tp > 1 ? p->tp : pp_parallel_etp(p),
        [PP_EXCHANGE_CP] = p->cp,
        [PP_EXCHANGE_EP] = p->ep,
    };
    const pp_costs *without[PP_EXCHANGE_KINDS];
    pp_cost_context context = setup->context;
    pp_status status = PP_OK;
    uint32_t replica = 0;
    while (pp_plan_costs(plan, replica) != costs)
        replica++;
    for (int k = 0; k < PP_EXCHANGE_KINDS && !status; k++) {
        context.omitted |= 1u << k;
        if (degrees[k] > 1)
            status = pp_cost_model_tables(&context, plan->partition, costs->stages,
                                          computed->microbatch ? computed : &plan->workload,
                                          replica, &bare.without[k], err);
        without[k] = bare.without[k];
    }
    return status
               ? status
               : pp_report_why(plan->prediction, program, timeline, costs, without, why_out, err);
}

/* Takes the numbers of the plan from the last simulation of the candidate, if that of the plan
 * would be the same and find nothing more. Returns false if they are not known. */
static bool take_numbers(pp_search *search, const pp_candidate *c, pp_plan *plan)
{
    const bool communicates = plan->framework->size_protocols != NULL; /* else more is refused */
    if (plan->costs_count > 1 || plan->order_count > 1 || plan->runs > 1 || !plan->step_sync ||
        !communicates || pp_sharing_is_on(&plan->sharing))
        return false;
    pp_report *report = pp_search_take_report(search, c);
    if (!report)
        return false;
    report->seed = plan->seed;
    report->memory_limit_bytes = plan->memory_limit_bytes; /* which no rank exceeds */
    plan->prediction = report;
    return true;
}

static pp_status predict(pp_search *search, const pp_candidate *c, const pp_setup *setup,
                         const pp_jitter_ranking *ranking, pp_plan *plan, pp_why *why_out,
                         pp_err *err)
{
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
    const pp_costs *costs;
    const bool known = take_numbers(search, c, plan);
    pp_status status = PP_OK;
    costs = pp_plan_costs(plan, 0);
    if (!known)
        status = pp_plan_simulate(plan, &program, &timeline, &costs, &plan->prediction, err);
    if (!status)
        status = pp_bound_report(costs, plan->order[0], true, plan->prediction, err);
    if (!status && ranking->verdict)
        status = pp_jitter_report(&ranking->chosen, plan->parallel.dp, plan->prediction, err);
    if (status || known ||
        (status = explain(&search->pool, setup, plan, program, timeline, costs, why_out, err)))
        return status;
    plan->prediction->has_why = search->problem->request->why;
    if (plan->prediction->has_why)
        plan->prediction->why = *why_out;
    return PP_OK;
}

static pp_status make_plan(pp_search *search, const pp_search_outcome *outcome, pp_plan **plan_out,
                           pp_why *why_out, pp_err *err)
{
    pp_candidate *c = &search->pool.candidate[outcome->best];
    pp_setup *setup = &search->pool.setup[c->setup];
    const pp_expert_tokens *given = setup->context.expert_tokens;
    pp_expert_tokens renumbered;
    pp_plan *plan PP_CLEANUP(pp_plan_free) = NULL;
    pp_status status = pp_plan_new(&plan, err);
    if (status)
        return status;
    pp_search_describe(search, c, plan);
    if ((status = pp_plan_set_imbalances(plan, &setup->context, err)) ||
        (status = fill(search, outcome->best, plan, &renumbered, err)) ||
        (status = predict(search, c, setup, &outcome->ranking, plan, why_out, err)))
        return status;
    setup->context.expert_tokens = given;
    assert(plan->prediction->step_ns == c->step_ns);
    *plan_out = plan;
    plan = NULL;
    return PP_OK;
}

static void list_candidates(pp_search *search, size_t best, pp_search_result *choice)
{
    pp_candidate first = search->pool.candidate[best];
    search->pool.candidate[best] = search->pool.candidate[0];
    search->pool.candidate[0] = first;
    qsort(search->pool.candidate + 1, search->pool.count - 1, sizeof *search->pool.candidate,
          compare_listed);
    for (size_t i = 0; i < search->pool.count; i++) {
        choice->ok += search->pool.candidate[i].status == PP_CANDIDATE_OK;
        choice->pruned += search->pool.candidate[i].status == PP_CANDIDATE_NOT_SIMULATED;
        choice->per_gpu =
            choice->per_gpu || pp_parallel_gpus(&search->pool.candidate[i].parallel) !=
                                   pp_parallel_gpus(&first.parallel);
    }
    choice->simulated = search->progress.simulated;
    choice->stopped = search->progress.stopped || search->progress.unseen;
    choice->candidate = search->pool.candidate;
    choice->count = search->pool.count;
    search->pool.candidate = NULL;
}

pp_status pp_search_result_new(pp_search *search, const pp_search_outcome *outcome,
                               pp_search_result **result_out, pp_err *err)
{
    pp_search_result *result PP_CLEANUP(pp_search_result_free) = pp_alloc_array(1, sizeof *result);
    if (!result)
        return pp_err_nomem(err);
    const pp_setup *setup = &search->pool.setup[search->pool.candidate[outcome->best].setup];
    pp_status status = pp_search_choose_sharding(search, outcome->best, result->setting, err);
    result->bound = setup->bound;
    if (!status)
        status = make_plan(search, outcome, &result->plan, &result->why, err);
    if (status)
        return status;
    result->context = setup->context;
    result->assumed = pp_search_assumed(search, &search->pool.candidate[outcome->best]);
    list_candidates(search, outcome->best, result);
    result->orders = outcome->orders;
    result->recommendation = outcome->recommendation;
    result->ranking = outcome->ranking;
    *result_out = result;
    result = NULL;
    return PP_OK;
}

double pp_search_result_fastest(const pp_search_result *result)
{
    const pp_candidate *c = &result->candidate[0];
    const pp_candidate *fastest = &result->recommendation.fastest;
    const double score = pp_candidate_score(c, c->step_ns);
    return result->recommendation.tie > 0
               ? fmin(score, pp_candidate_score(fastest, fastest->step_ns))
               : score;
}
