/* Evaluates one candidate: its schedule makes an order, the framework lowers it to a program, and
 * the engine times the program against the costs of the setup. With replicas of different
 * microbatches each replica is simulated, and the step is that of the slowest. The cost of a
 * simulation grows linearly with the instructions of the program. */
#include "planner/candidate/evaluate.h"

#include "planner/candidate/budget.h"
#include "sim/analysis/memory_floor.h"
#include "sim/base/alloc.h"
#include "sim/engine/engine.h"
#include "sim/engine/replicas.h"
#include "sim/program/comm.h"
#include "sim/program/program_new.h"
#include "sim/schedule/registry.h"

#include <math.h>
#include <stdlib.h>

/* With more ranks no reports are kept. */
#define KEPT_RANKS_MOST 4096

/* PyTorch's rule fixes the group of an interleaved schedule and refuses some m. Megatron's rule
 * accepts any legal group; then the smallest one is tried. */
static pp_status smallest_group(const pp_schedule *schedule, pp_schedule_params *params,
                                pp_order **order_out)
{
    pp_status status = PP_USAGE;
    uint32_t last =
        params->microbatches < 2 * params->ranks ? params->microbatches : 2 * params->ranks;
    for (uint32_t n = params->ranks; n <= last && status == PP_USAGE; n++) {
        params->group_size = n;
        status = pp_schedule_build(schedule, params, order_out, NULL);
    }
    return status;
}

pp_status pp_candidate_order(const pp_plan_problem *problem, pp_candidate *candidate,
                             const pp_costs *costs, pp_order **order_out, pp_err *err)
{
    pp_schedule_params params = {
        .ranks = (uint32_t)candidate->parallel.pp,
        .chunks = (uint32_t)candidate->parallel.vpp,
        .microbatches = candidate->microbatches / pp_problem_runs(problem),
        .group_size = candidate->group_size,
        .costs = costs,
    };
    pp_err why = pp_err_like(err);
    pp_status status = pp_schedule_build(candidate->schedule, &params, order_out, &why);
    if (status == PP_USAGE && candidate->schedule->grouped && !problem->request->group_size &&
        smallest_group(candidate->schedule, &params, order_out) == PP_OK) {
        candidate->group_size = params.group_size;
        return PP_OK;
    }
    if (status)
        *err = why;
    return status;
}

pp_status pp_search_order(pp_search *search, const pp_plan_problem *problem,
                          pp_candidate *candidate, const pp_costs *costs, pp_order **order_out,
                          pp_err *err)
{
    const pp_order_key key = { .schedule = candidate->schedule,
                               .ranks = (uint32_t)candidate->parallel.pp,
                               .chunks = (uint32_t)candidate->parallel.vpp,
                               .microbatches = candidate->microbatches / pp_problem_runs(problem),
                               .asked_group = candidate->group_size };
    pp_status status = PP_OK;
    pp_order *order;
    if (!search->orders) {
        status = pp_kept_orders_new(&search->orders, err);
        search->own_orders = !status;
    }
    order = status ? NULL : pp_kept_orders_find(search->orders, &key, &candidate->group_size);
    if (!status && !order && !(status = pp_candidate_order(problem, candidate, costs, &order, err)))
        pp_kept_orders_add(search->orders, &key, candidate->group_size, order);
    *order_out = order;
    return status;
}

pp_exchange_options pp_candidate_exchange(const pp_plan_problem *problem,
                                          const pp_candidate *candidate)
{
    pp_exchange_options exchange = problem->request->exchange;
    const pp_hardware *hardware = problem->request->hardware;
    bool inside = pp_parallel_gpus(&candidate->parallel) <= hardware->gpus_per_node;
    const pp_p2p_curve *link = inside ? &hardware->node_p2p : &hardware->network_p2p;
    if (!problem->request->shape_message_given && !pp_exchange_is_plain(&exchange))
        exchange.shape_message_ns = (pp_ns)(link->alpha_s * 1e9 + 0.5);
    exchange.pytorch.unshard_lookahead = candidate->unshard_lookahead;
    return exchange;
}

/* Settings of the request that a plan file keeps and pp_plan_simulate applies in the same way. */
static void connect(const pp_plan_request *request, const pp_switches *s, pp_program *program)
{
    if (!program->comm)
        return;
    program->comm->collective |= s->p2p != PP_P2P_SEND_RECV;
    if (s->communicators)
        program->comm->semantics.lanes = pp_communicators_lanes(s->communicators);
    pp_buffer_settings_apply(&request->buffers, &program->comm->buffers);
}

static pp_status lower(const pp_plan_problem *problem, const pp_setup *setup,
                       const pp_candidate *candidate, const pp_order *order, const pp_costs *costs,
                       pp_program **program_out, pp_err *err)
{
    const pp_framework *framework = problem->framework;
    const pp_exchange_options exchange = pp_candidate_exchange(problem, candidate);
    pp_status status =
        pp_framework_lower(framework, order, costs, &exchange.pytorch, program_out, err);
    if (!status)
        status = pp_framework_repeat(framework, order, exchange.runs, program_out, err);
    if (!status)
        status = pp_exchange_lower(framework, &exchange, costs, *program_out, err);
    if (!status)
        connect(problem->request, &setup->context.switches, *program_out);
    return status;
}

pp_status pp_candidate_run(const pp_plan_problem *problem, const pp_setup *setup,
                           const pp_candidate *candidate, const pp_order *order,
                           const pp_costs *costs, pp_program **program_out,
                           pp_timeline **timeline_out, pp_report **report_out, pp_err *err)
{
    pp_status status = lower(problem, setup, candidate, order, costs, program_out, err);
    if (status || (status = pp_simulate(*program_out, costs, timeline_out, err)))
        return status;
    return pp_report_build(candidate->schedule->name, problem->framework, *program_out,
                           *timeline_out, costs, !problem->request->no_step_sync, report_out, err);
}

/* True if pp_lowering_key has all that a program of the candidate depends on besides its order. */
static bool is_keyed(const pp_plan_problem *problem, const pp_candidate *candidate)
{
    const pp_exchange_options x = pp_candidate_exchange(problem, candidate);
    const pp_buffer_settings *buffers = &problem->request->buffers;
    const pp_framework *framework = problem->framework;
    return pp_exchange_is_plain(&x) && x.runs <= 1 && !x.pytorch.max_outstanding_sends &&
           x.pytorch.unshard_lookahead == PP_LOOKAHEAD_FULL && !buffers->has_recv &&
           !buffers->has_send && !buffers->has_return_outputs &&
           (!framework->lower_timed || framework->ignores_durations);
}

/* Finds the program of a candidate, or makes it. own_out: it, unless it is kept. */
static pp_status program_of(pp_search *search, const pp_candidate *candidate, const pp_order *order,
                            const pp_costs *costs, const pp_program **program_out,
                            pp_program **own_out, pp_err *err)
{
    const pp_plan_problem *problem = search->problem;
    const pp_setup *setup = &search->pool.setup[candidate->setup];
    const pp_switches *switches = &setup->context.switches;
    const bool keyed = search->orders && is_keyed(problem, candidate);
    const pp_lowering_key key = { .framework = problem->framework,
                                  .communicators = switches->communicators,
                                  .collective = switches->p2p != PP_P2P_SEND_RECV,
                                  .sharded = costs->sharded,
                                  .shards_ops = costs->shards_ops,
                                  .regathers = costs->regathers };
    if (keyed && (*program_out = pp_kept_orders_program(search->orders, order, &key)))
        return PP_OK;
    pp_status status = lower(problem, setup, candidate, order, costs, own_out, err);
    *program_out = *own_out;
    if (!status && keyed)
        pp_kept_orders_add_program(search->orders, order, &key, own_out);
    return status;
}

/* Keeps the report of a candidate, if it may be what the plan needs. Takes ownership then. */
static void keep_report(pp_search *search, pp_candidate *candidate, pp_report **report)
{
    pp_kept_reports *kept = &search->reports;
    candidate->report = 0;
    if (!search->problem->request->numbers_only || (*report)->ranks > KEPT_RANKS_MOST)
        return;
    candidate->report = ++kept->last;
    const size_t at = kept->last % PP_KEPT_REPORTS;
    pp_report_free(&kept->row[at].report);
    kept->row[at].number = kept->last;
    kept->row[at].report = *report;
    *report = NULL;
}

pp_report *pp_search_take_report(pp_search *search, const pp_candidate *candidate)
{
    const size_t at = candidate->report % PP_KEPT_REPORTS;
    if (!candidate->report || search->reports.row[at].number != candidate->report)
        return NULL;
    pp_report *report = search->reports.row[at].report;
    search->reports.row[at].report = NULL;
    search->reports.row[at].number = 0;
    return report;
}

static bool communicates(const pp_plan_problem *problem)
{
    return problem->framework->size_protocols != NULL;
}

/* Simulates one replica. The candidate keeps the numbers of the slowest replica. */
static pp_status simulate_replica(pp_search *search, pp_candidate *candidate, const pp_order *order,
                                  const pp_costs *costs, bool only, pp_err *err)
{
    const pp_program *program = NULL;
    pp_program *own PP_CLEANUP(pp_program_free) = NULL;
    pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
    pp_report *report PP_CLEANUP(pp_report_free) = NULL;
    pp_status status = program_of(search, candidate, order, costs, &program, &own, err);
    if (!status)
        status = pp_simulate(program, costs, &timeline, err);
    if (!status)
        status = pp_report_build_peak(candidate->schedule->name, search->problem->framework,
                                      program, timeline, costs,
                                      !search->problem->request->no_step_sync, &report, err);
    if (program)
        search->progress.communicates = program->comm != NULL;
    if (status)
        return status;
    uint32_t r = 0;
    if (pp_report_excess(report, search->problem->comfortable_bytes, &r) > 0)
        candidate->roomy = false;
    int64_t beyond = pp_report_excess(report, search->problem->memory_limit_bytes, &r);
    if (report->peak_memory_bytes > candidate->peak_bytes) {
        candidate->peak_bytes = report->peak_memory_bytes;
        candidate->peak_rank = report->peak_memory_rank;
    }
    if (beyond > 0 && beyond > candidate->short_bytes) {
        candidate->short_bytes = beyond;
        candidate->reason =
            pp_reason_short(pp_memory_shortage_of(r, beyond, report->per_rank[r].memory.bytes));
    }
    candidate->mean_step_ns += report->step_ns; /* the caller divides this sum */
    if (report->step_ns > candidate->step_ns) {
        candidate->step_ns = report->step_ns;
        candidate->bubble_fraction = report->bubble_fraction;
        candidate->tokens_per_s = report->tokens_per_s;
        candidate->model_flops_utilization = report->model_flops_utilization;
    }
    if (only)
        keep_report(search, candidate, &report);
    return PP_OK;
}

/* Sets the status of the candidate by how its simulation ended. */
static pp_status judge(pp_progress *progress, pp_candidate *candidate, pp_status status,
                       const pp_err *why, pp_err *err)
{
    if (status == PP_NOMEM) {
        *err = *why;
        return status;
    }
    if (status) {
        if (!progress->refusal.status)
            progress->refusal = *why;
        candidate->legal = false;
        candidate->reason = pp_reason_refused(why);
    }
    bool fits = !status && candidate->short_bytes <= 0;
    candidate->short_bytes = fits ? 0 : candidate->short_bytes;
    candidate->status = fits ? PP_CANDIDATE_OK : PP_CANDIDATE_INFEASIBLE;
    return PP_OK;
}

pp_status pp_candidate_simulate_orders(pp_search *search, pp_candidate *candidate,
                                       const pp_cost_set *set, pp_order *const *order,
                                       uint32_t orders, pp_err *err)
{
    pp_err why = pp_err_like(err);
    pp_status status = PP_OK;
    const pp_plan_request *request = search->problem->request;
    if (request->cancelled && request->cancelled(request->cancel_context))
        return pp_err_set(err, PP_CANCELLED, NULL, "the search was cancelled");
    search->progress.simulated += pp_budget_iterations(pp_search_ops(search, candidate));
    candidate->reason.kind = PP_REASON_NONE;
    candidate->peak_bytes = candidate->short_bytes = 0;
    candidate->step_ns = candidate->mean_step_ns = 0;
    candidate->report = 0;
    candidate->roomy = true;
    for (uint32_t i = 0; i < set->count && !status; i++)
        status = simulate_replica(search, candidate, order[orders > 1 ? i : 0], set->costs[i],
                                  set->count == 1, &why);
    candidate->mean_step_ns /= set->count;
    if (!status)
        status = pp_replicas_orders_meet(search->problem->framework, order, orders, set->costs,
                                         set->count, &why);
    if (!status && candidate->short_bytes <= 0)
        search->progress.ops = fmax(search->progress.ops, pp_search_ops(search, candidate));
    return judge(&search->progress, candidate, status, &why, err);
}

/* The rank that exceeds its limit by the most, by what the order alone needs. Returns the excess;
 * 0: the order may fit. */
static int64_t find_floor(const pp_plan_problem *problem, const pp_order *order,
                          const pp_costs *costs, pp_memory_peak *peak_out, uint32_t *rank_out)
{
    pp_buffers buffers = problem->framework->buffers;
    int64_t most = 0;
    pp_buffer_settings_apply(&problem->request->buffers, &buffers);
    for (uint32_t r = 0; r < order->ranks && costs->has_memory; r++) {
        pp_memory_peak peak;
        pp_memory_floor(order, costs, r, communicates(problem) && buffers.return_outputs, &peak);
        const int64_t limit = pp_costs_limit(costs, r, problem->memory_limit_bytes);
        if (!limit || peak.total_bytes - limit <= most)
            continue;
        most = peak.total_bytes - limit;
        *peak_out = peak;
        *rank_out = r;
    }
    return most;
}

/* Sets the status of a candidate whose order alone exceeds the limit. Returns false if it may
 * fit. */
static bool is_over_floor(pp_search *search, pp_candidate *candidate, const pp_order *order,
                          const pp_cost_set *set)
{
    pp_memory_peak peak;
    uint32_t rank = 0;
    for (uint32_t i = 0; i < set->count; i++) {
        const int64_t beyond = find_floor(search->problem, order, set->costs[i], &peak, &rank);
        if (beyond <= candidate->short_bytes)
            continue;
        candidate->short_bytes = beyond;
        candidate->peak_bytes = peak.total_bytes;
        candidate->peak_rank = rank;
        candidate->reason = pp_reason_short(pp_memory_shortage_of(rank, beyond, peak.bytes));
    }
    search->progress.floors++;
    if (candidate->short_bytes <= 0)
        return false;
    candidate->status = PP_CANDIDATE_INFEASIBLE;
    search->progress.communicates = communicates(search->problem);
    return true;
}

/* Finds the costs of a setup of the pool, or makes and keeps them. */
static pp_status costs_of(pp_search *search, size_t index, pp_err *err)
{
    const pp_setup *setup = &search->pool.setup[index];
    pp_kept_costs *kept = &search->kept;
    if (kept->set.costs && pp_setup_costs_alike(&search->pool.setup[kept->setup], setup))
        return PP_OK;
    pp_cost_set_free(&kept->set);
    kept->setup = index;
    return pp_setup_costs(setup, &search->pool.data[setup->data],
                          pp_search_units(search, &setup->context), &kept->set, err);
}

/* floor: the candidate is not simulated if its order alone shows that it does not fit. */
static pp_status simulate(pp_search *search, pp_candidate *candidate, bool floor, pp_err *err)
{
    pp_order *order;
    pp_err why = pp_err_like(err);
    pp_status status = costs_of(search, candidate->setup, err);
    const pp_cost_set *set = &search->kept.set;
    if (status)
        return status;
    candidate->peak_bytes = candidate->short_bytes = 0;
    status = pp_search_order(search, search->problem, candidate, set->costs[0], &order, &why);
    if (!status && floor && is_over_floor(search, candidate, order, set))
        return PP_OK;
    if (!status)
        return pp_candidate_simulate_orders(search, candidate, set, &order, 1, err);
    search->progress.simulated++;
    return judge(&search->progress, candidate, status, &why, err);
}

pp_status pp_candidate_simulate(pp_search *search, pp_candidate *candidate, pp_err *err)
{
    pp_search_drop_costs(search);
    pp_status status = simulate(search, candidate, false, err);
    pp_search_drop_costs(search);
    return status;
}

pp_status pp_candidate_floor(pp_search *search, pp_candidate *candidate, bool *raised_out,
                             pp_err *err)
{
    pp_order *order;
    pp_err why = pp_err_like(err);
    const int64_t before_bytes = candidate->short_bytes;
    pp_status status = costs_of(search, candidate->setup, err);
    const pp_cost_set *set = &search->kept.set;
    *raised_out = false;
    if (status)
        return status;
    status = pp_search_order(search, search->problem, candidate, set->costs[0], &order, &why);
    if (status == PP_NOMEM) {
        *err = why;
        return status;
    }
    if (!status)
        *raised_out =
            is_over_floor(search, candidate, order, set) && candidate->short_bytes > before_bytes;
    return PP_OK;
}

pp_status pp_candidate_try(pp_search *search, pp_candidate *candidate, pp_err *err)
{
    return simulate(search, candidate, true, err);
}
