/* Finds what is missing if nothing fits, and the cheapest change of the request that makes it fit:
 * each change alone, all together, then more and more GPUs. Every change is verified by a search
 * or, with a budget, by a plain pipeline that fits. */
#include "planner/study/repair.h"

#include "planner/candidate/budget.h"
#include "planner/candidate/evaluate.h"
#include "planner/search/first_fit.h"
#include "planner/search/search.h"
#include "sim/base/alloc.h"
#include "sim/base/field.h"
#include "sim/program/program_new.h"

#include <inttypes.h>
#include <stdio.h>

static bool free_recompute(pp_plan_request *request)
{
    bool fixed = request->switches.given.recompute &&
                 request->switches.value.recompute != PP_RECOMPUTE_AUTO &&
                 request->switches.value.recompute != PP_RECOMPUTE_FULL;
    request->switches.given.recompute = request->switches.given.recompute && !fixed;
    return fixed;
}

/* Makes smaller microbatches possible, with the same tokens per step. */
static bool free_micro_batch(pp_plan_request *request)
{
    if (request->micro_batch_size <= 1)
        return false;
    if (!request->global_batch_size && !request->lengths)
        request->global_batch_size = pp_default_batch_size(request);
    request->micro_batch_size = 0;
    return true;
}

static bool free_schedule(pp_plan_request *request)
{
    bool fixed = request->schedule || request->parallel.vpp || request->group_size;
    if (request->partition == PP_PARTITION_LAYOUT)
        return false;
    request->schedule = NULL;
    request->parallel.vpp = 0;
    request->group_size = 0;
    return fixed;
}

/* True if the optimizer state of each of several replicas is whole. */
static bool replicates_optimizer(const pp_plan_request *request)
{
    const pp_parallel replicas = { .tp = 1, .cp = 1, .dp = 2 };
    const pp_switches stack = pp_stack_switches(request->switches.stack, NULL, &replicas);
    return pp_switches_requested(&request->switches, stack).zero == 0;
}

static bool divide_optimizer(pp_plan_request *request)
{
    if (request->parallel.dp < 2 || !replicates_optimizer(request))
        return false;
    request->switches.given.zero = true;
    request->switches.value.zero = 1;
    return true;
}

static bool sequence_parallel(pp_plan_request *request)
{
    bool off =
        request->switches.given.sequence_parallel && !request->switches.value.sequence_parallel;
    if (request->parallel.tp == 1 || !off)
        return false;
    request->switches.given.sequence_parallel = false;
    return true;
}

static bool flash_attention(pp_plan_request *request)
{
    bool off = request->switches.given.flash_attention && !request->switches.value.flash_attention;
    request->switches.given.flash_attention = request->switches.given.flash_attention && !off;
    return off;
}

static bool free_partition(pp_plan_request *request)
{
    bool fixed = request->partition != PP_PARTITION_AUTO;
    request->partition = PP_PARTITION_AUTO;
    return fixed;
}

/* Drops the outputs of the last stage, if the framework keeps them by default. */
static bool drop_outputs(pp_plan_request *request)
{
    if (request->buffers.has_return_outputs || !request->framework ||
        !request->framework->buffers.return_outputs)
        return false;
    request->buffers.has_return_outputs = true;
    request->buffers.return_outputs = false;
    return true;
}

static bool grow_tensor(pp_plan_request *request, int64_t factor)
{
    bool given = request->parallel.tp > 0;
    request->parallel.tp *= factor;
    return given && !pp_hardware_tp_straddles(request->hardware, &request->parallel);
}

static bool grow_pipeline(pp_plan_request *request, int64_t factor)
{
    request->parallel.pp *= factor;
    return request->parallel.pp <= request->model->layers &&
           request->partition != PP_PARTITION_LAYOUT;
}

static bool grow_experts(pp_plan_request *request, int64_t factor)
{
    request->parallel.dp = (request->parallel.dp ? request->parallel.dp : 1) * factor;
    request->parallel.ep = (request->parallel.ep ? request->parallel.ep : 1) * factor;
    return request->model->experts > 0;
}

static bool grow_replicas(pp_plan_request *request, int64_t factor)
{
    request->parallel.dp = (request->parallel.dp ? request->parallel.dp : 1) * factor;
    if (replicates_optimizer(request)) {
        request->switches.given.zero = true;
        request->switches.value.zero = 1;
    }
    return true;
}

bool pp_change_apply(pp_change change, int64_t factor, pp_plan_request *request)
{
    static bool (*const changes[PP_CHANGE_COUNT])(pp_plan_request *) = {
        [PP_CHANGE_RECOMPUTE] = free_recompute,
        [PP_CHANGE_MICRO_BATCH] = free_micro_batch,
        [PP_CHANGE_SCHEDULE] = free_schedule,
        [PP_CHANGE_ZERO] = divide_optimizer,
        [PP_CHANGE_SEQUENCE_PARALLEL] = sequence_parallel,
        [PP_CHANGE_ATTENTION] = flash_attention,
        [PP_CHANGE_PARTITION] = free_partition,
        [PP_CHANGE_OUTPUTS] = drop_outputs,
    };
    static bool (*const growths[PP_CHANGE_COUNT])(pp_plan_request *, int64_t) = {
        [PP_GROWTH_TP] = grow_tensor,
        [PP_GROWTH_PP] = grow_pipeline,
        [PP_GROWTH_EP] = grow_experts,
        [PP_GROWTH_DP] = grow_replicas,
    };
    return changes[change] ? changes[change](request) : growths[change](request, factor);
}

pp_tries pp_tries_of(const pp_plan_request *request)
{
    return (pp_tries){ .left = request->max_simulations };
}

bool pp_tries_go_on(pp_tries *tries, const pp_plan_request *request)
{
    tries->ended |= pp_budget_time_is_up(request) || (request->max_simulations > 0 && !tries->left);
    return !tries->ended;
}

void pp_tries_count(pp_tries *tries, size_t simulated)
{
    tries->left -= simulated < tries->left ? simulated : tries->left;
}

/* Finds a candidate of the request that fits: the best one or, with a budget, a plain one. */
static pp_status find_fit(const pp_plan_request *request, pp_tries *tries, pp_found **found_out,
                          pp_err *err)
{
    size_t simulated = 0;
    pp_err why = pp_err_like(err);
    pp_status status;
    if (pp_budget_is_limited(request)) {
        status = pp_search_first_fit(request, found_out, &simulated, err);
        pp_tries_count(tries, simulated);
        return status;
    }
    pp_found *found PP_CLEANUP(pp_found_free) = pp_alloc_array(1, sizeof *found);
    if (!found)
        return pp_err_nomem(err);
    found->best = SIZE_MAX;
    status = pp_search_solve(&found->search, request, &found->best, &why);
    if (status == PP_NOMEM) {
        *err = why;
        return status;
    }
    if (status || found->best == SIZE_MAX)
        return PP_OK;
    *found_out = found;
    found = NULL; /* the caller's now */
    return PP_OK;
}

pp_status pp_repair_attempt(const pp_plan_request *request, pp_tries *tries, pp_fitting *best,
                            pp_err *err)
{
    pp_found *found PP_CLEANUP(pp_found_free) = NULL;
    if (!pp_tries_go_on(tries, request))
        return PP_OK;
    pp_status status = find_fit(request, tries, &found, err);
    if (status || !found)
        return status;
    const pp_candidate *c = &found->search.pool.candidate[found->best];
    double gpus = (double)pp_parallel_gpus(&c->parallel);
    double before = (double)pp_parallel_gpus(&best->candidate.parallel);
    if (!best->found || gpus < before || (gpus == before && c->step_ns < best->candidate.step_ns))
        *best = (pp_fitting){ .found = true, .candidate = *c, .request = *request };
    return PP_OK;
}

static pp_status try_same_gpus(const pp_plan_request *request, pp_plan_request *all,
                               pp_tries *tries, pp_fitting *best, pp_err *err)
{
    pp_status status = PP_OK;
    size_t changed = 0;
    *all = *request;
    for (int i = 0; i < PP_CHANGES && !status; i++) {
        pp_plan_request one = *request;
        changed += pp_change_apply((pp_change)i, 1, all);
        if (pp_change_apply((pp_change)i, 1, &one))
            status = pp_repair_attempt(&one, tries, best, err);
    }
    return status || best->found || changed < 2 ? status : pp_repair_attempt(all, tries, best, err);
}

/* Tries more GPUs, alone and with every other change. */
static pp_status try_more_gpus(const pp_plan_request *request, const pp_plan_request *all,
                               pp_tries *tries, pp_fitting *best, pp_err *err)
{
    pp_status status = PP_OK;
    for (int64_t factor = 2; factor <= PP_GROWTH_MAX && !status && !best->found; factor *= 2) {
        for (int i = PP_CHANGES; i < PP_CHANGE_COUNT && !status; i++) {
            pp_plan_request alone = *request;
            pp_plan_request more = *all;
            if (pp_change_apply((pp_change)i, factor, &alone))
                status = pp_repair_attempt(&alone, tries, best, err);
            if (!status && pp_change_apply((pp_change)i, factor, &more))
                status = pp_repair_attempt(&more, tries, best, err);
        }
    }
    return status;
}

static void add_number(pp_field field, int64_t was, int64_t is, pp_field_values *list)
{
    if (was != is)
        list->value[list->count++] = (pp_field_value){ .field = field, .number = is };
}

static void add_word(pp_field field, const char *word, pp_field_values *list)
{
    list->value[list->count++] = (pp_field_value){ .field = field, .word = word };
}

static int64_t or_one(int64_t degree)
{
    return degree ? degree : 1;
}

pp_field_values pp_repair_values(const pp_plan_request *request, const pp_fitting *best)
{
    const pp_candidate *c = &best->candidate;
    const pp_parallel *p = &request->parallel;
    const pp_switch_request *was = &request->switches;
    const pp_switch_request *is = &best->request.switches;
    pp_field_values list = { .count = 0 };
    add_number(PP_FIELD_RANKS, p->pp, c->parallel.pp, &list);
    if (p->tp)
        add_number(PP_FIELD_TP, p->tp, c->parallel.tp, &list);
    add_number(PP_FIELD_DP, or_one(p->dp), c->parallel.dp, &list);
    add_number(PP_FIELD_EP, or_one(p->ep), c->parallel.ep, &list);
    if (c->parallel.etp && !request->experts)
        add_number(PP_FIELD_ETP, p->etp, c->parallel.etp, &list);
    if (request->micro_batch_size)
        add_number(PP_FIELD_MICRO_BATCH_SIZE, request->micro_batch_size, c->micro_batch_size,
                   &list);
    if (p->vpp)
        add_number(PP_FIELD_CHUNKS, p->vpp, c->parallel.vpp, &list);
    if (request->schedule && request->schedule != c->schedule)
        add_word(PP_FIELD_SCHEDULE, c->schedule->name, &list);
    if (was->given.recompute && was->value.recompute != PP_RECOMPUTE_AUTO &&
        was->value.recompute != c->recompute)
        add_word(PP_FIELD_RECOMPUTE, pp_recompute_name(c->recompute), &list);
    if (is->given.zero && is->value.zero && !(was->given.zero && was->value.zero))
        add_number(PP_FIELD_ZERO, 0, 1, &list);
    if (was->given.sequence_parallel && !is->given.sequence_parallel)
        add_word(PP_FIELD_SEQUENCE_PARALLEL, "on", &list);
    if (was->given.flash_attention && !is->given.flash_attention)
        add_word(PP_FIELD_ATTENTION, "flash", &list);
    if (!request->buffers.has_return_outputs && best->request.buffers.has_return_outputs)
        add_word(PP_FIELD_RETURN_OUTPUTS,
                 pp_return_outputs_name(best->request.buffers.return_outputs), &list);
    if (request->partition != best->request.partition)
        add_word(PP_FIELD_PARTITION, "auto", &list);
    return list;
}

const char *pp_field_values_print(const pp_field_values *list, const pp_err *err, char *buffer,
                                  size_t size)
{
    size_t used = 0;
    buffer[0] = '\0';
    for (size_t i = 0; i < list->count && used < size; i++) {
        const pp_field_value *v = &list->value[i];
        const char *blank = i ? " " : "";
        const char *name = pp_err_name(err, v->field);
        const int bytes =
            v->word ? snprintf(buffer + used, size - used, "%s%s %s", blank, name, v->word)
                    : snprintf(buffer + used, size - used, "%s%s %" PRId64, blank, name, v->number);
        used += (size_t)bytes;
    }
    return buffer;
}

static pp_candidate *least_short(const pp_pool *pool)
{
    pp_candidate *nearest = NULL;
    for (size_t i = 0; i < pool->count; i++) {
        pp_candidate *c = &pool->candidate[i];
        if (c->status == PP_CANDIDATE_INFEASIBLE && c->legal && c->short_bytes > 0 &&
            (!nearest || c->short_bytes < nearest->short_bytes))
            nearest = c;
    }
    return nearest;
}

pp_status pp_repair_nearest(pp_search *search, const pp_candidate **nearest_out, pp_err *err)
{
    const pp_plan_request *request = search->problem->request;
    const size_t before = search->progress.simulated;
    pp_candidate *nearest;
    while ((nearest = least_short(&search->pool)) && !nearest->step_ns &&
           pp_search_affords(search, nearest) && !pp_budget_time_is_up(request) &&
           (!request->max_simulations ||
            search->progress.simulated - before < request->max_simulations)) {
        bool raised = false;
        pp_status status = PP_OK;
        if (nearest->reason.shortage.alone)
            status = pp_candidate_floor(search, nearest, &raised, err);
        if (!status && !raised)
            status = pp_candidate_simulate(search, nearest, err);
        if (status)
            return status;
    }
    *nearest_out = nearest;
    return PP_OK;
}

bool pp_repair_is_certain(const pp_plan_request *request)
{
    return request->switches.value.zero < 2 || !request->switches.given.zero || request->schedule ||
           request->only || request->orders == PP_ORDERS_NAMED;
}

const char *pp_repair_describe(int64_t memory_limit_bytes, bool certain, const pp_candidate *miss,
                               char *buffer, size_t size)
{
    char limit[64];
    char why[PP_REASON_BYTES];
    char etp[32] = "";
    if (miss->parallel.etp && miss->parallel.etp != miss->parallel.tp)
        snprintf(etp, sizeof etp, ", etp %" PRId64, miss->parallel.etp);
    snprintf(buffer, size,
             "%s %s per GPU%s; nearest: %s with pp %" PRId64 ", tp %" PRId64 ", cp %" PRId64
             ", dp %" PRId64 ", ep %" PRId64 "%s, vpp %" PRId64 ", micro-batch %" PRId64
             ", recompute %s: %s",
             certain ? "nothing fits" : "no plan that fits",
             pp_format_limit(limit, sizeof limit, memory_limit_bytes), certain ? "" : " was found",
             miss->schedule->name, miss->parallel.pp, miss->parallel.tp, miss->parallel.cp,
             miss->parallel.dp, miss->parallel.ep, etp, miss->parallel.vpp, miss->micro_batch_size,
             pp_recompute_name(miss->recompute), pp_misfit_print(&miss->reason, why, sizeof why));
    return buffer;
}

/* Reports the replica that exceeds the memory limit by the most. */
static pp_status report_miss(const pp_search *search, const pp_candidate *miss, pp_err *err)
{
    pp_candidate again = *miss;
    pp_cost_set set PP_CLEANUP(pp_cost_set_free) = { 0 };
    pp_order *order PP_CLEANUP(pp_order_free) = NULL;
    pp_status status = pp_pool_costs(&search->pool, &search->pool.setup[miss->setup], &set, err);
    if (!status)
        status = pp_candidate_order(search->problem, &again, set.costs[0], &order, err);
    for (uint32_t i = 0; i < set.count && !status; i++) {
        pp_program *program PP_CLEANUP(pp_program_free) = NULL;
        pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
        pp_report *report PP_CLEANUP(pp_report_free) = NULL;
        uint32_t rank = 0;
        status = pp_candidate_run(search->problem, &search->pool.setup[miss->setup], miss, order,
                                  set.costs[i], &program, &timeline, &report, err);
        if (status || pp_report_excess(report, search->problem->memory_limit_bytes, &rank) <
                          miss->short_bytes)
            continue;
        status = pp_report_set_limit(report, program, timeline, set.costs[i],
                                     search->problem->memory_limit_bytes, err);
        if (!status)
            search->problem->request->missed(search->problem->request->context, report);
        break;
    }
    return status;
}

static pp_status undecided(const pp_search *search, pp_err *err)
{
    size_t left = 0;
    for (size_t i = 0; i < search->pool.count; i++)
        left += search->pool.candidate[i].status == PP_CANDIDATE_NOT_SIMULATED;
    return pp_err_set(err, PP_UNDECIDED, pp_err_name(err, PP_FIELD_BUDGET),
                      "the budget ended after %zu iteration%s, before a plan that fits was found; "
                      "%zu of %zu candidates were not looked at; increase it",
                      search->progress.simulated, search->progress.simulated == 1 ? "" : "s", left,
                      search->pool.count);
}

pp_status pp_search_repair(pp_search *search, pp_err *err)
{
    const pp_plan_request *request = search->problem->request;
    const pp_candidate *miss;
    char what[PP_REPAIR_MISS_BYTES];
    if (search->progress.stopped || search->progress.unseen)
        return undecided(search, err);
    if (request->no_nearest && least_short(&search->pool))
        return pp_err_set(err, PP_INFEASIBLE, NULL, "nothing fits");
    pp_status status = pp_repair_nearest(search, &miss, err);
    if (status)
        return status;
    if (!miss) { /* every schedule refused these sizes */
        *err = search->progress.refusal;
        return err->status;
    }
    pp_repair_describe(search->problem->memory_limit_bytes, pp_repair_is_certain(request), miss,
                       what, sizeof what);
    if (request->missed && pp_search_affords(search, miss) &&
        (status = report_miss(search, miss, err)))
        return status;
    if (request->no_advice)
        return pp_err_set(err, PP_INFEASIBLE, NULL, "%s", what);
    pp_fitting best = { .found = false };
    pp_tries tries = pp_tries_of(request);
    pp_plan_request all;
    if ((status = try_same_gpus(request, &all, &tries, &best, err)) ||
        (!best.found && (status = try_more_gpus(request, &all, &tries, &best, err))))
        return status;
    if (!best.found && tries.ended)
        return pp_err_set(err, PP_INFEASIBLE, NULL,
                          "%s. The budget ended before a change that fits was found", what);
    if (!best.found && pp_budget_is_limited(request))
        return pp_err_set(
            err, PP_INFEASIBLE, NULL,
            "%s; no plain pipeline on up to %d times as many GPUs fits; without %s all "
            "kinds are tried",
            what, PP_GROWTH_MAX, pp_err_name(err, PP_FIELD_BUDGET));
    if (!best.found)
        return pp_err_set(err, PP_INFEASIBLE, NULL,
                          "%s; not even %d times as many GPUs fit; use "
                          "GPUs with more memory, or a shorter %s",
                          what, PP_GROWTH_MAX, pp_err_name(err, PP_FIELD_SEQ_LENGTH));
    char options[PP_REPAIR_VALUES_BYTES];
    char step[32];
    char peak[32];
    const pp_field_values values = pp_repair_values(request, &best);
    pp_field_values_print(&values, err, options, sizeof options);
    return pp_err_set(err, PP_INFEASIBLE, NULL,
                      "%s. Cheapest change tried that fits: %s (%" PRId64
                      " GPUs, step %s, peak %s on rank %" PRIu32 ")",
                      what, options, pp_parallel_gpus(&best.candidate.parallel),
                      pp_format_duration(step, sizeof step, best.candidate.step_ns),
                      pp_format_bytes(peak, sizeof peak, best.candidate.peak_bytes),
                      best.candidate.peak_rank);
}
