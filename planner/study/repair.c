/* When nothing fits: what is missing, and the cheapest change that makes it fit, simulated. */
#include "planner/study/repair.h"

#include "planner/candidate/evaluate.h"
#include "planner/search/search.h"
#include "sim/base/field.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool free_recompute(pp_plan_request *request)
{
    bool fixed = request->switches.given.recompute &&
                 request->switches.value.recompute != PP_RECOMPUTE_AUTO &&
                 request->switches.value.recompute != PP_RECOMPUTE_FULL;
    request->switches.given.recompute = request->switches.given.recompute && !fixed;
    return fixed;
}

/* The same tokens per step in smaller microbatches. */
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

static bool divide_optimizer(pp_plan_request *request)
{
    if (request->parallel.dp < 2 || (request->switches.given.zero && request->switches.value.zero))
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

/* What a runtime keeps although nobody asked for it. */
static bool drop_outputs(pp_plan_request *request)
{
    if (request->buffers.has_return_outputs || !request->framework ||
        !request->framework->buffers.return_outputs)
        return false;
    request->buffers.has_return_outputs = true;
    request->buffers.return_outputs = false;
    return true;
}

const pp_change pp_changes[PP_CHANGES] = {
    { "free recomputation", free_recompute },      { "smaller micro-batches", free_micro_batch },
    { "free schedule and vpp", free_schedule },    { "ZeRO-1", divide_optimizer },
    { "sequence parallelism", sequence_parallel }, { "flash attention", flash_attention },
    { "automatic partition", free_partition },     { "outputs not kept", drop_outputs },
};

pp_status pp_repair_attempt(const pp_plan_request *request, pp_repair *best, pp_err *err)
{
    pp_search search PP_CLEANUP(pp_search_close) = { 0 };
    pp_err why = pp_err_like(err);
    size_t found = SIZE_MAX;
    pp_status status = pp_search_solve(&search, request, &found, &why);
    if (status == PP_NOMEM) {
        *err = why;
        return status;
    }
    if (status || found == SIZE_MAX)
        return PP_OK;
    const pp_candidate *c = &search.candidate[found];
    double gpus = (double)pp_parallel_gpus(&c->parallel);
    double before = (double)pp_parallel_gpus(&best->candidate.parallel);
    if (!best->found || gpus < before || (gpus == before && c->step_ns < best->candidate.step_ns))
        *best = (pp_repair){ .found = true, .candidate = *c, .request = *request };
    return PP_OK;
}

static pp_status try_same_gpus(const pp_plan_request *request, pp_plan_request *all,
                               pp_repair *best, pp_err *err)
{
    pp_status status = PP_OK;
    size_t changed = 0;
    *all = *request;
    for (size_t i = 0; i < PP_CHANGES && !status; i++) {
        pp_plan_request one = *request;
        changed += pp_changes[i].apply(all);
        if (pp_changes[i].apply(&one))
            status = pp_repair_attempt(&one, best, err);
    }
    return status || best->found || changed < 2 ? status : pp_repair_attempt(all, best, err);
}

static bool grow_tensor(pp_plan_request *request, int64_t factor)
{
    bool given = request->parallel.tp > 0;
    request->parallel.tp *= factor;
    return given && request->parallel.tp <= request->hardware->gpus_per_node;
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
    request->switches.given.zero = true;
    request->switches.value.zero = 1;
    return true;
}

const pp_growth pp_growths[PP_GROWTHS] = {
    { "tp", grow_tensor },
    { "pp", grow_pipeline },
    { "ep and dp", grow_experts },
    { "dp with ZeRO-1", grow_replicas },
};

/* More GPUs, with every other change allowed. */
static pp_status try_more_gpus(const pp_plan_request *request, pp_repair *best, pp_err *err)
{
    pp_status status = PP_OK;
    for (int64_t factor = 2; factor <= PP_GROWTH_MAX && !status && !best->found; factor *= 2) {
        for (size_t i = 0; i < PP_GROWTHS && !status; i++) {
            pp_plan_request more = *request;
            if (pp_growths[i].apply(&more, factor))
                status = pp_repair_attempt(&more, best, err);
        }
    }
    return status;
}

static void say_number(char *text, size_t size, const char *option, int64_t was, int64_t is)
{
    size_t used = strlen(text);
    if (was != is)
        snprintf(text + used, size - used, "%s %" PRId64 " ", option, is);
}

void pp_repair_options(const pp_plan_request *request, const pp_repair *best, const pp_err *err,
                       char *text, size_t size)
{
    const pp_candidate *c = &best->candidate;
    const pp_switch_request *was = &request->switches;
    const pp_switch_request *is = &best->request.switches;
    text[0] = '\0';
    say_number(text, size, pp_err_name(err, PP_FIELD_RANKS), request->parallel.pp, c->parallel.pp);
    if (request->parallel.tp)
        say_number(text, size, pp_err_name(err, PP_FIELD_TP), request->parallel.tp, c->parallel.tp);
    say_number(text, size, pp_err_name(err, PP_FIELD_DP),
               request->parallel.dp ? request->parallel.dp : 1, c->parallel.dp);
    say_number(text, size, pp_err_name(err, PP_FIELD_EP),
               request->parallel.ep ? request->parallel.ep : 1, c->parallel.ep);
    if (request->micro_batch_size)
        say_number(text, size, pp_err_name(err, PP_FIELD_MICRO_BATCH_SIZE),
                   request->micro_batch_size, c->micro_batch_size);
    if (request->parallel.vpp)
        say_number(text, size, pp_err_name(err, PP_FIELD_CHUNKS), request->parallel.vpp,
                   c->parallel.vpp);
    size_t used = strlen(text);
    if (request->schedule && request->schedule != c->schedule)
        used += (size_t)snprintf(text + used, size - used, "%s %s ",
                                 pp_err_name(err, PP_FIELD_SCHEDULE), c->schedule->name);
    if (was->given.recompute && was->value.recompute != PP_RECOMPUTE_AUTO &&
        was->value.recompute != c->recompute)
        used +=
            (size_t)snprintf(text + used, size - used, "%s %s ",
                             pp_err_name(err, PP_FIELD_RECOMPUTE), pp_recompute_name(c->recompute));
    if (is->given.zero && is->value.zero && !(was->given.zero && was->value.zero))
        used +=
            (size_t)snprintf(text + used, size - used, "%s 1 ", pp_err_name(err, PP_FIELD_ZERO));
    if (was->given.sequence_parallel && !is->given.sequence_parallel)
        used += (size_t)snprintf(text + used, size - used, "%s on ",
                                 pp_err_name(err, PP_FIELD_SEQUENCE_PARALLEL));
    if (was->given.flash_attention && !is->given.flash_attention)
        used += (size_t)snprintf(text + used, size - used, "%s flash ",
                                 pp_err_name(err, PP_FIELD_ATTENTION));
    if (!request->buffers.has_return_outputs && best->request.buffers.has_return_outputs)
        used += (size_t)snprintf(text + used, size - used, "%s %s ",
                                 pp_err_name(err, PP_FIELD_RETURN_OUTPUTS),
                                 pp_return_outputs_name(best->request.buffers.return_outputs));
    if (request->partition != best->request.partition)
        used += (size_t)snprintf(text + used, size - used, "%s auto ",
                                 pp_err_name(err, PP_FIELD_PARTITION));
    if (used)
        text[used - 1] = '\0';
}

static pp_candidate *least_short(const pp_search *search)
{
    pp_candidate *nearest = NULL;
    for (size_t i = 0; i < search->count; i++) {
        pp_candidate *c = &search->candidate[i];
        if (c->status == PP_CANDIDATE_INFEASIBLE && c->legal && c->short_bytes > 0 &&
            (!nearest || c->short_bytes < nearest->short_bytes))
            nearest = c;
    }
    return nearest;
}

pp_status pp_repair_nearest(pp_search *search, const pp_candidate **nearest_out, pp_err *err)
{
    pp_candidate *nearest;
    while ((nearest = least_short(search)) && !nearest->step_ns) {
        pp_status status = pp_candidate_simulate(search, nearest, err);
        if (status)
            return status;
    }
    *nearest_out = nearest;
    return PP_OK;
}

void pp_repair_describe(const pp_search *search, const pp_candidate *miss, char *text, size_t size)
{
    char limit[32];
    snprintf(text, size,
             "nothing fits %s per GPU; nearest: %s with tp %" PRId64 ", vpp %" PRId64
             ", micro-batch %" PRId64 ", recompute %s: %s",
             pp_format_bytes(limit, sizeof limit, search->problem.memory_limit_bytes),
             miss->schedule->name, miss->parallel.tp, miss->parallel.vpp, miss->micro_batch_size,
             pp_recompute_name(miss->recompute), miss->reason);
}

/* The replica that misses by most. */
static pp_status tell_miss(pp_search *search, const pp_candidate *miss, pp_err *err)
{
    pp_candidate again = *miss;
    pp_cost_set set PP_CLEANUP(pp_cost_set_free) = { 0 };
    pp_order *order PP_CLEANUP(pp_order_free) = NULL;
    pp_status status = pp_search_costs(search, &search->setup[miss->setup], &set, err);
    if (!status)
        status = pp_candidate_order(search, &again, set.costs[0], &order, err);
    for (uint32_t i = 0; i < set.count && !status; i++) {
        pp_program *program PP_CLEANUP(pp_program_free) = NULL;
        pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
        pp_report *report PP_CLEANUP(pp_report_free) = NULL;
        uint32_t rank = 0;
        status =
            pp_candidate_run(search, miss, order, set.costs[i], &program, &timeline, &report, err);
        if (status ||
            pp_report_short(report, search->problem.memory_limit_bytes, &rank) < miss->short_bytes)
            continue;
        status = pp_report_set_limit(report, program, timeline, set.costs[i],
                                     search->problem.memory_limit_bytes, err);
        if (!status)
            search->problem.request->missed(search->problem.request->context, report);
        break;
    }
    return status;
}

pp_status pp_search_repair(pp_search *search, pp_err *err)
{
    const pp_plan_request *request = search->problem.request;
    const pp_candidate *miss;
    char what[640];
    if (search->stopped)
        return pp_err_set(err, PP_INFEASIBLE, pp_err_name(err, PP_FIELD_BUDGET),
                          "the budget ended after %zu simulations, "
                          "before a candidate that fits was found; give more",
                          search->simulated);
    pp_status status = pp_repair_nearest(search, &miss, err);
    if (status)
        return status;
    if (!miss) { /* every schedule refused its shape */
        *err = search->refusal;
        return err->status;
    }
    pp_repair_describe(search, miss, what, sizeof what);
    if (request->missed && (status = tell_miss(search, miss, err)))
        return status;
    if (request->no_advice)
        return pp_err_set(err, PP_INFEASIBLE, NULL, "%s", what);
    pp_repair best = { .found = false };
    pp_plan_request all;
    if ((status = try_same_gpus(request, &all, &best, err)) ||
        (!best.found && (status = try_more_gpus(&all, &best, err))))
        return status;
    if (!best.found)
        return pp_err_set(err, PP_INFEASIBLE, NULL,
                          "%s; not even %d times as many GPUs fit; use "
                          "GPUs with more memory, or a shorter %s",
                          what, PP_GROWTH_MAX, pp_err_name(err, PP_FIELD_SEQ_LENGTH));
    char options[256];
    char step[32];
    char peak[32];
    pp_repair_options(request, &best, err, options, sizeof options);
    return pp_err_set(err, PP_INFEASIBLE, NULL,
                      "%s. Cheapest change that fits: %s (%" PRId64
                      " GPUs, step %s, peak %s on rank %" PRIu32 ")",
                      what, options, pp_parallel_gpus(&best.candidate.parallel),
                      pp_format_duration(step, sizeof step, best.candidate.step_ns),
                      pp_format_bytes(peak, sizeof peak, best.candidate.peak_bytes),
                      best.candidate.peak_rank);
}
