#include "planner/search/search_int.h"

#include "sim/base/alloc.h"
#include "sim/engine/engine.h"
#include "sim/program/comm.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A schedule that pruning left without a result is simulated this often at most, so that the
 * runners-up name it. */
#define RUNNER_UP_TRIES 3

const char *pp_partition_name(pp_partition_kind kind)
{
    static const char *const names[] = { "auto",   "uniform", "balanced",
                                         "layout", "fitted",  "shifted" };
    return names[kind];
}

const char *pp_candidate_status_name(pp_candidate_status status)
{
    static const char *const names[] = { "ok", "pruned", "infeasible" };
    return names[status];
}

double pp_candidate_score(const pp_candidate *candidate, pp_ns step_ns)
{
    return (double)step_ns * (double)pp_parallel_gpus(&candidate->parallel);
}

static bool is_static(int component)
{
    return component == PP_MEMORY_PARAMETERS || component == PP_MEMORY_GRADIENTS ||
           component == PP_MEMORY_OPTIMIZER || component == PP_MEMORY_COMM_LIBRARY;
}

/* The component to blame: the largest of those that a step adds, when the others fit. */
static pp_memory_component to_blame(int64_t short_bytes, const int64_t bytes[PP_MEMORY_COUNT])
{
    int64_t dynamic = 0;
    for (int c = 0; c < PP_MEMORY_COUNT; c++)
        dynamic += is_static(c) ? 0 : bytes[c];
    bool look_static = short_bytes > dynamic;
    pp_memory_component biggest = look_static ? PP_MEMORY_PARAMETERS : PP_MEMORY_ACTIVATIONS;
    for (int c = 0; c < PP_MEMORY_COUNT; c++) {
        if (is_static(c) == look_static && bytes[c] > bytes[biggest])
            biggest = (pp_memory_component)c;
    }
    return biggest;
}

void pp_candidate_short(char *buffer, size_t size, uint32_t rank, int64_t short_bytes,
                        const int64_t bytes[PP_MEMORY_COUNT])
{
    char amount[32];
    snprintf(buffer, size, "rank %" PRIu32 " short by %s, %s", rank,
             pp_format_bytes(amount, sizeof amount, short_bytes),
             pp_memory_key(to_blame(short_bytes, bytes)));
}

/* PyTorch's rule fixes the group of an interleaved schedule and refuses some m; Megatron's takes
 * any legal one, so the smallest is tried then. */
static pp_status smallest_group(const pp_schedule *schedule, pp_schedule_params *shape,
                                pp_order **order_out)
{
    pp_status status = PP_USAGE;
    uint32_t last = shape->microbatches < 2 * shape->ranks ? shape->microbatches : 2 * shape->ranks;
    for (uint32_t n = shape->ranks; n <= last && status == PP_USAGE; n++) {
        shape->group_size = n;
        status = pp_schedule_build(schedule, shape, order_out, NULL);
    }
    return status;
}

pp_status pp_candidate_order(const pp_search *search, pp_candidate *candidate,
                             const pp_costs *costs, pp_order **order_out, pp_err *err)
{
    pp_schedule_params shape = {
        .ranks = (uint32_t)candidate->parallel.pp,
        .chunks = (uint32_t)candidate->parallel.vpp,
        .microbatches = candidate->microbatches,
        .group_size = candidate->group_size,
        .costs = costs,
    };
    pp_err why = { 0 };
    pp_status status = pp_schedule_build(candidate->schedule, &shape, order_out, &why);
    if (status == PP_USAGE && candidate->schedule->grouped && !search->request->group_size &&
        smallest_group(candidate->schedule, &shape, order_out) == PP_OK) {
        candidate->group_size = shape.group_size;
        return PP_OK;
    }
    if (status)
        *err = why;
    return status;
}

pp_exchange_options pp_candidate_exchange(const pp_search *search, const pp_candidate *candidate)
{
    pp_exchange_options exchange = search->request->exchange;
    const pp_hardware *hardware = search->request->hardware;
    bool inside = pp_parallel_gpus(&candidate->parallel) <= hardware->gpus_per_node;
    const pp_p2p_curve *link = inside ? &hardware->node_p2p : &hardware->network_p2p;
    if (!search->request->shape_message_given && !pp_exchange_is_plain(&exchange))
        exchange.shape_message_ns = (pp_ns)(link->alpha_s * 1e9 + 0.5);
    return exchange;
}

/* As the plan says it: pp_plan_simulate. */
static void connect(pp_search *search, const pp_candidate *candidate, pp_program *program)
{
    const pp_plan_request *request = search->request;
    const pp_switches *s = &search->setup[candidate->setup].context.switches;
    search->communicates = program->comm != NULL;
    if (!program->comm)
        return;
    program->comm->collective |= s->p2p != PP_P2P_SEND_RECV;
    if (s->communicators)
        program->comm->semantics.lanes = pp_communicators_lanes(s->communicators);
    pp_buffer_settings_apply(&request->buffers, &program->comm->buffers);
}

pp_status pp_candidate_run(pp_search *search, const pp_candidate *candidate, const pp_order *order,
                           const pp_costs *costs, pp_program **program_out,
                           pp_timeline **timeline_out, pp_report **report_out, pp_err *err)
{
    const pp_exchange_options exchange = pp_candidate_exchange(search, candidate);
    pp_status status = pp_framework_lower(search->framework, order, costs, program_out, err);
    if (!status)
        status = pp_exchange_lower(search->framework, &exchange, costs, *program_out, err);
    if (!status)
        connect(search, candidate, *program_out);
    if (!status)
        status = pp_simulate(*program_out, costs, timeline_out, err);
    if (status)
        return status;
    return pp_report_build(candidate->schedule->name, search->framework, *program_out,
                           *timeline_out, costs, !search->request->no_step_sync, report_out, err);
}

/* Simulates one replica; the slowest one's numbers stay in the candidate. */
static pp_status simulate_replica(pp_search *search, pp_candidate *candidate, const pp_order *order,
                                  const pp_costs *costs, pp_err *err)
{
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
    pp_report *report PP_CLEANUP(pp_report_free) = NULL;
    pp_status status =
        pp_candidate_run(search, candidate, order, costs, &program, &timeline, &report, err);
    if (status)
        return status;
    uint32_t r = 0;
    int64_t beyond = pp_report_short(report, search->memory_limit_bytes, &r);
    if (report->peak_memory_bytes > candidate->peak_bytes) {
        candidate->peak_bytes = report->peak_memory_bytes;
        candidate->peak_rank = report->peak_memory_rank;
    }
    if (beyond > 0 && beyond > candidate->short_bytes) {
        candidate->short_bytes = beyond;
        pp_candidate_short(candidate->reason, sizeof candidate->reason, r, beyond,
                           report->per_rank[r].memory.bytes);
    }
    candidate->mean_step_ns += report->step_ns; /* divided by the caller */
    if (report->step_ns > candidate->step_ns) {
        candidate->step_ns = report->step_ns;
        candidate->bubble_fraction = report->bubble_fraction;
        candidate->tokens_per_s = report->tokens_per_s;
        candidate->model_flops_utilization = report->model_flops_utilization;
    }
    return PP_OK;
}

/* From how the simulation ended to what the candidate is. */
static pp_status judge(pp_search *search, pp_candidate *candidate, pp_status status,
                       const pp_err *why, pp_err *err)
{
    if (status == PP_NOMEM) {
        *err = *why;
        return status;
    }
    if (status) {
        if (!search->refusal.status)
            search->refusal = *why;
        candidate->legal = false;
        snprintf(candidate->reason, sizeof candidate->reason, "%.390s", why->text);
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
    pp_err why = { 0 };
    pp_status status = PP_OK;
    search->simulated++;
    candidate->reason[0] = '\0';
    candidate->peak_bytes = candidate->short_bytes = 0;
    candidate->step_ns = candidate->mean_step_ns = 0;
    for (uint32_t i = 0; i < set->count && !status; i++)
        status =
            simulate_replica(search, candidate, order[orders > 1 ? i : 0], set->costs[i], &why);
    candidate->mean_step_ns /= set->count;
    return judge(search, candidate, status, &why, err);
}

pp_status pp_candidate_simulate(pp_search *search, pp_candidate *candidate, pp_err *err)
{
    pp_cost_set set PP_CLEANUP(pp_cost_set_free) = { 0 };
    pp_order *order PP_CLEANUP(pp_order_free) = NULL;
    pp_err why = { 0 };
    pp_status status = pp_setup_costs(search, &search->setup[candidate->setup], &set, err);
    if (status)
        return status;
    status = pp_candidate_order(search, candidate, set.costs[0], &order, &why);
    if (!status)
        return pp_candidate_simulate_orders(search, candidate, &set, &order, 1, err);
    search->simulated++;
    candidate->peak_bytes = candidate->short_bytes = 0;
    return judge(search, candidate, status, &why, err);
}

static size_t table_index(const pp_schedule *schedule)
{
    size_t k = 0;
    while (pp_schedule_at(k) != schedule)
        k++;
    return k;
}

/* Which of two equally fast candidates: fewer chunks, less recompute. */
static int prefer_simpler(const pp_candidate *a, const pp_candidate *b)
{
    if (a->parallel.vpp != b->parallel.vpp)
        return a->parallel.vpp < b->parallel.vpp ? -1 : 1;
    return (a->recompute > b->recompute) - (a->recompute < b->recompute);
}

/* Then, when both have run: less memory, first in the table, first considered. */
static int compare_results(const pp_candidate *a, const pp_candidate *b)
{
    size_t x = table_index(a->schedule);
    size_t y = table_index(b->schedule);
    if (a->peak_bytes != b->peak_bytes)
        return a->peak_bytes < b->peak_bytes ? -1 : 1;
    if (x != y)
        return x < y ? -1 : 1;
    return (a->setup > b->setup) - (a->setup < b->setup);
}

typedef struct entry {
    double score;
    const pp_candidate *candidate;
    size_t index;
} entry;

static int compare_entries(const entry *a, const entry *b)
{
    if (a->score != b->score)
        return a->score < b->score ? -1 : 1;
    return prefer_simpler(a->candidate, b->candidate);
}

static int compare_queued(const void *left, const void *right)
{
    const entry *a = left;
    const entry *b = right;
    int order = compare_entries(a, b);
    return order ? order : (a->index > b->index) - (a->index < b->index);
}

static bool better(const entry *now, const entry *incumbent)
{
    if (!incumbent->candidate)
        return true;
    int order = compare_entries(now, incumbent);
    return order ? order < 0 : compare_results(now->candidate, incumbent->candidate) < 0;
}

bool pp_search_is_over(const pp_search *search, bool found)
{
    const pp_plan_request *request = search->request;
    bool time_is_up = request->stop && request->stop(request->context);
    return (request->max_simulations && search->simulated >= request->max_simulations) ||
           (time_is_up && found);
}

static void note_pruned(pp_search *search, pp_candidate *c, const pp_candidate *best)
{
    char least[32];
    char step[32];
    if (search->setup[c->setup].unseen) {
        snprintf(c->reason, sizeof c->reason, "the budget ended first");
        return;
    }
    pp_format_duration(least, sizeof least, c->least_step_ns);
    if (!best || search->stopped) {
        snprintf(c->reason, sizeof c->reason, "the budget ended first; takes at least %s", least);
        return;
    }
    pp_format_duration(step, sizeof step, best->step_ns);
    bool alike = pp_parallel_gpus(&c->parallel) == pp_parallel_gpus(&best->parallel);
    snprintf(c->reason, sizeof c->reason, "takes at least %s%s (%s), the best %s", least,
             alike ? "" : " on another number of GPUs", c->bound_name, step);
}

/* Best bound first, until no bound is at or below the best step. */
static pp_status branch_and_bound(pp_search *search, const entry *queue, size_t count, size_t *best,
                                  pp_err *err)
{
    entry incumbent = { 0 };
    for (size_t k = 0; k < count; k++) {
        const double limit = search->request->score_limit;
        if ((incumbent.candidate && compare_entries(&queue[k], &incumbent) > 0) ||
            (limit > 0 && queue[k].score > limit))
            break; /* the queue is sorted */
        if (pp_search_is_over(search, incumbent.candidate != NULL)) {
            search->stopped = true;
            break;
        }
        pp_candidate *c = &search->candidate[queue[k].index];
        pp_status status = pp_candidate_simulate(search, c, err);
        if (status)
            return status;
        entry now = { pp_candidate_score(c, c->step_ns), c, queue[k].index };
        if (c->status == PP_CANDIDATE_OK && better(&now, &incumbent)) {
            incumbent = now;
            *best = now.index;
            if (search->request->found)
                search->request->found(search->request->context, c);
        }
    }
    return PP_OK;
}

/* So that every schedule of the table has a result among the runners-up, when it can have one. */
static pp_status try_others(pp_search *search, const entry *queue, size_t count, pp_err *err)
{
    for (size_t k = 0; k < pp_schedule_count(); k++) {
        const pp_schedule *schedule = pp_schedule_at(k);
        bool done = false;
        for (size_t i = 0; i < count; i++)
            done = done || (queue[i].candidate->schedule == schedule &&
                            queue[i].candidate->status == PP_CANDIDATE_OK);
        for (size_t i = 0, tries = 0; i < count && !done && tries < RUNNER_UP_TRIES; i++) {
            pp_candidate *c = &search->candidate[queue[i].index];
            if (c->schedule != schedule || c->status != PP_CANDIDATE_PRUNED)
                continue;
            if (pp_search_is_over(search, true))
                return PP_OK;
            pp_status status = pp_candidate_simulate(search, c, err);
            if (status)
                return status;
            done = c->status == PP_CANDIDATE_OK;
            tries++;
        }
    }
    return PP_OK;
}

pp_status pp_search_run(pp_search *search, size_t *best_out, pp_err *err)
{
    entry *queue = pp_alloc_array(search->count, sizeof *queue);
    if (!queue)
        return pp_err_nomem(err);
    size_t count = 0;
    for (size_t i = 0; i < search->count; i++) {
        const pp_candidate *c = &search->candidate[i];
        if (c->status == PP_CANDIDATE_PRUNED && !search->setup[c->setup].unseen)
            queue[count++] = (entry){ pp_candidate_score(c, c->least_step_ns), c, i };
    }
    qsort(queue, count, sizeof *queue, compare_queued);
    size_t best = SIZE_MAX;
    pp_status status = branch_and_bound(search, queue, count, &best, err);
    if (!status && best != SIZE_MAX && !(search->request->score_limit > 0))
        status = try_others(search, queue, count, err);
    free(queue);
    if (!status)
        status = pp_search_recompute(search, &best, err);
    if (!status && !(search->request->score_limit > 0))
        status = pp_search_shift(search, &best, err);
    for (size_t i = 0; i < search->count && !status; i++) {
        pp_candidate *c = &search->candidate[i];
        if (c->status == PP_CANDIDATE_PRUNED)
            note_pruned(search, c, best == SIZE_MAX ? NULL : &search->candidate[best]);
    }
    *best_out = best;
    return status;
}

pp_status pp_search_solve(pp_search *search, const pp_plan_request *request, size_t *best_out,
                          pp_err *err)
{
    for (size_t min_bounded = 1;; min_bounded *= 4) {
        pp_status status = pp_search_open(search, request, err);
        search->min_bounded = min_bounded;
        if (status || (status = pp_search_enumerate(search, err)) ||
            (status = pp_search_run(search, best_out, err)))
            return status;
        if (*best_out != SIZE_MAX || !search->unseen)
            return PP_OK;
        pp_search_close(search);
    }
}
