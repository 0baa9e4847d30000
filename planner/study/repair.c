/* When nothing fits: what is missing, and the cheapest change that makes it fit, simulated. */
#include "planner/study/repair_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool free_recompute(pp_wish *wish)
{
    bool fixed = wish->switches.given.recompute &&
                 wish->switches.value.recompute != PP_RECOMPUTE_AUTO &&
                 wish->switches.value.recompute != PP_RECOMPUTE_FULL;
    wish->switches.given.recompute = wish->switches.given.recompute && !fixed;
    return fixed;
}

/* The same tokens per step in smaller microbatches. */
static bool free_micro_batch(pp_wish *wish)
{
    if (wish->micro_batch_size <= 1)
        return false;
    if (!wish->global_batch_size && !wish->lengths)
        wish->global_batch_size = pp_default_batch_size(wish);
    wish->micro_batch_size = 0;
    return true;
}

static bool free_schedule(pp_wish *wish)
{
    bool fixed = wish->schedule || wish->parallel.vpp || wish->group_size;
    if (wish->partition == PP_PARTITION_LAYOUT)
        return false;
    wish->schedule = NULL;
    wish->parallel.vpp = 0;
    wish->group_size = 0;
    return fixed;
}

static bool divide_optimizer(pp_wish *wish)
{
    if (wish->parallel.dp < 2 || (wish->switches.given.zero && wish->switches.value.zero))
        return false;
    wish->switches.given.zero = true;
    wish->switches.value.zero = 1;
    return true;
}

static bool sequence_parallel(pp_wish *wish)
{
    bool off = wish->switches.given.sequence_parallel && !wish->switches.value.sequence_parallel;
    if (wish->parallel.tp == 1 || !off)
        return false;
    wish->switches.given.sequence_parallel = false;
    return true;
}

static bool flash_attention(pp_wish *wish)
{
    bool off = wish->switches.given.flash_attention && !wish->switches.value.flash_attention;
    wish->switches.given.flash_attention = wish->switches.given.flash_attention && !off;
    return off;
}

static bool free_partition(pp_wish *wish)
{
    bool fixed = wish->partition != PP_PARTITION_AUTO;
    wish->partition = PP_PARTITION_AUTO;
    return fixed;
}

/* What a runtime keeps although nobody asked for it. */
static bool drop_outputs(pp_wish *wish)
{
    pp_err unknown = { 0 };
    const pp_executor *executor = NULL;
    if (wish->return_outputs || !wish->executor ||
        pp_executor_get(wish->executor, &executor, &unknown) || !executor->buffers.return_outputs)
        return false;
    wish->return_outputs = "off";
    return true;
}

const pp_change pp_changes[PP_CHANGES] = {
    { "free recomputation", free_recompute },      { "smaller micro-batches", free_micro_batch },
    { "free schedule and vpp", free_schedule },    { "ZeRO-1", divide_optimizer },
    { "sequence parallelism", sequence_parallel }, { "flash attention", flash_attention },
    { "automatic partition", free_partition },     { "outputs not kept", drop_outputs },
};

static void close_search(pp_search *search)
{
    pp_search_close(search);
}

pp_status pp_repair_attempt(const pp_wish *wish, pp_repair *best, pp_err *err)
{
    pp_search search PP_CLEANUP(close_search) = { 0 };
    pp_err why = { 0 };
    size_t found = SIZE_MAX;
    pp_status status = pp_search_solve(&search, wish, &found, &why);
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
        *best = (pp_repair){ .found = true, .candidate = *c, .wish = *wish };
    return PP_OK;
}

static pp_status try_same_gpus(const pp_wish *wish, pp_wish *all, pp_repair *best, pp_err *err)
{
    pp_status status = PP_OK;
    size_t changed = 0;
    *all = *wish;
    for (size_t i = 0; i < PP_CHANGES && !status; i++) {
        pp_wish one = *wish;
        changed += pp_changes[i].apply(all);
        if (pp_changes[i].apply(&one))
            status = pp_repair_attempt(&one, best, err);
    }
    return status || best->found || changed < 2 ? status : pp_repair_attempt(all, best, err);
}

static bool grow_tensor(pp_wish *wish, int64_t factor)
{
    bool given = wish->parallel.tp > 0;
    wish->parallel.tp *= factor;
    return given && wish->parallel.tp <= wish->hardware->gpus_per_node;
}

static bool grow_pipeline(pp_wish *wish, int64_t factor)
{
    wish->parallel.pp *= factor;
    return wish->parallel.pp <= wish->model->layers && wish->partition != PP_PARTITION_LAYOUT;
}

static bool grow_experts(pp_wish *wish, int64_t factor)
{
    wish->parallel.dp = (wish->parallel.dp ? wish->parallel.dp : 1) * factor;
    wish->parallel.ep = (wish->parallel.ep ? wish->parallel.ep : 1) * factor;
    return wish->model->experts > 0;
}

static bool grow_replicas(pp_wish *wish, int64_t factor)
{
    wish->parallel.dp = (wish->parallel.dp ? wish->parallel.dp : 1) * factor;
    wish->switches.given.zero = true;
    wish->switches.value.zero = 1;
    return true;
}

const pp_growth pp_growths[PP_GROWTHS] = {
    { "tp", grow_tensor },
    { "pp", grow_pipeline },
    { "ep and dp", grow_experts },
    { "dp with ZeRO-1", grow_replicas },
};

/* More GPUs, with every other change allowed. */
static pp_status try_more_gpus(const pp_wish *wish, pp_repair *best, pp_err *err)
{
    pp_status status = PP_OK;
    for (int64_t factor = 2; factor <= PP_GROWTH_MAX && !status && !best->found; factor *= 2) {
        for (size_t i = 0; i < PP_GROWTHS && !status; i++) {
            pp_wish more = *wish;
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

void pp_repair_options(const pp_wish *wish, const pp_repair *best, char *text, size_t size)
{
    const pp_candidate *c = &best->candidate;
    const pp_switch_wish *was = &wish->switches;
    const pp_switch_wish *is = &best->wish.switches;
    text[0] = '\0';
    say_number(text, size, "--pp", wish->parallel.pp, c->parallel.pp);
    if (wish->parallel.tp)
        say_number(text, size, "--tp", wish->parallel.tp, c->parallel.tp);
    say_number(text, size, "--dp", wish->parallel.dp ? wish->parallel.dp : 1, c->parallel.dp);
    say_number(text, size, "--ep", wish->parallel.ep ? wish->parallel.ep : 1, c->parallel.ep);
    if (wish->micro_batch_size)
        say_number(text, size, "--micro-batch-size", wish->micro_batch_size, c->micro_batch_size);
    if (wish->parallel.vpp)
        say_number(text, size, "--vpp", wish->parallel.vpp, c->parallel.vpp);
    size_t used = strlen(text);
    if (wish->schedule && wish->schedule != c->schedule)
        used += (size_t)snprintf(text + used, size - used, "--schedule %s ", c->schedule->name);
    if (was->given.recompute && was->value.recompute != PP_RECOMPUTE_AUTO &&
        was->value.recompute != c->recompute)
        used += (size_t)snprintf(text + used, size - used, "--recompute %s ",
                                 pp_recompute_name(c->recompute));
    if (is->given.zero && is->value.zero && !(was->given.zero && was->value.zero))
        used += (size_t)snprintf(text + used, size - used, "--zero 1 ");
    if (was->given.sequence_parallel && !is->given.sequence_parallel)
        used += (size_t)snprintf(text + used, size - used, "--sequence-parallel on ");
    if (was->given.flash_attention && !is->given.flash_attention)
        used += (size_t)snprintf(text + used, size - used, "--attention flash ");
    if (!wish->return_outputs && best->wish.return_outputs)
        used += (size_t)snprintf(text + used, size - used, "--return-outputs %s ",
                                 best->wish.return_outputs);
    if (wish->partition != best->wish.partition)
        used += (size_t)snprintf(text + used, size - used, "--partition auto ");
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
             pp_format_bytes(limit, sizeof limit, search->memory_limit_bytes), miss->schedule->name,
             miss->parallel.tp, miss->parallel.vpp, miss->micro_batch_size,
             pp_recompute_name(miss->recompute), miss->reason);
}

/* The replica that misses by most. */
static pp_status tell_miss(pp_search *search, const pp_candidate *miss, pp_err *err)
{
    pp_candidate again = *miss;
    pp_cost_set set PP_CLEANUP(pp_cost_set_free) = { 0 };
    pp_order *order PP_CLEANUP(pp_order_free) = NULL;
    pp_status status = pp_setup_costs(search, &search->setup[miss->setup], &set, err);
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
            pp_report_short(report, search->memory_limit_bytes, &rank) < miss->short_bytes)
            continue;
        status = pp_report_set_limit(report, program, timeline, set.costs[i],
                                     search->memory_limit_bytes, err);
        if (!status)
            search->wish->missed(search->wish->context, report);
        break;
    }
    return status;
}

pp_status pp_search_repair(pp_search *search, pp_err *err)
{
    const pp_wish *wish = search->wish;
    const pp_candidate *miss;
    char what[640];
    if (search->stopped)
        return pp_err_set(err, PP_INFEASIBLE, "--budget",
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
    if (wish->missed && (status = tell_miss(search, miss, err)))
        return status;
    if (wish->no_advice)
        return pp_err_set(err, PP_INFEASIBLE, NULL, "%s", what);
    pp_repair best = { .found = false };
    pp_wish all;
    if ((status = try_same_gpus(wish, &all, &best, err)) ||
        (!best.found && (status = try_more_gpus(&all, &best, err))))
        return status;
    if (!best.found)
        return pp_err_set(err, PP_INFEASIBLE, NULL,
                          "%s; not even %d times as many GPUs fit; use "
                          "GPUs with more memory, or a shorter --seq-length",
                          what, PP_GROWTH_MAX);
    char options[256];
    char step[32];
    char peak[32];
    pp_repair_options(wish, &best, options, sizeof options);
    return pp_err_set(err, PP_INFEASIBLE, NULL,
                      "%s. Cheapest change that fits: %s (%" PRId64
                      " GPUs, step %s, peak %s on rank %" PRIu32 ")",
                      what, options, pp_parallel_gpus(&best.candidate.parallel),
                      pp_format_duration(step, sizeof step, best.candidate.step_ns),
                      pp_format_bytes(peak, sizeof peak, best.candidate.peak_bytes),
                      best.candidate.peak_rank);
}
