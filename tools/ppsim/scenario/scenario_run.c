/* Applies the options of a scenario to its plan, then predicts one step. */
#include "tools/ppsim/scenario/scenario_run.h"

#include "planner/bound/bound.h"
#include "sim/framework/registry.h"
#include "sim/program/program_new.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/base/output.h"
#include "tools/ppsim/input/transfer_args.h"
#include "tools/ppsim/report/op_words.h"
#include "tools/ppsim/scenario/scenario.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void pp_scenario_free(pp_scenario *s)
{
    pp_program_free(&s->program);
    pp_timeline_free(&s->timeline);
    pp_plan_free(&s->plan);
}

/* Applies the settings of the command line, which take precedence over the plan's. */
static pp_status apply_settings(const pp_args *args, pp_scenario *s, pp_err *err)
{
    pp_plan *plan = s->plan;
    int64_t seed = (int64_t)plan->seed;
    const char *framework = pp_args_text(args, "--executor");
    pp_status status = PP_OK;
    s->every_framework = framework && strcmp(framework, "all") == 0;
    if (framework && !s->every_framework)
        status = pp_framework_get(framework, &plan->framework, err);
    if (status ||
        (status = pp_comm_settings_parse(pp_args_text(args, "--comm"),
                                         pp_args_text(args, "--lanes"), &plan->comm, err)) ||
        (status = pp_buffer_settings_parse(
             pp_args_text(args, "--recv-buffers"), pp_args_text(args, "--send-buffers"),
             pp_args_text(args, "--return-outputs"), &plan->buffers, err)) ||
        (status = pp_args_switch(args, "--step-sync", &plan->step_sync, err)) ||
        (status = pp_apply_transfer_options(args, plan, err)) ||
        (status = pp_args_bytes(args, "--memory-limit", &plan->memory_limit_bytes, err)) ||
        (status = pp_args_int(args, "--seed", 0, INT64_MAX, &seed, err)))
        return status;
    plan->seed = (uint64_t)seed;
    return PP_OK;
}

/* Prints a remark about each --rank-link without effect: tensors pass only between ranks of
 * adjacent stages. */
static void tell_unused_links(const pp_rank_overrides *overrides, const pp_order *order)
{
    for (size_t i = 0; i < overrides->count; i++) {
        const pp_rank_override *t = &overrides->item[i];
        bool used = t->kind != PP_RANK_OVERRIDE_LINK;
        for (uint32_t s = 0; s + 1 < order->stages && !used; s++)
            used = pp_rank_override_joins(t, order->stage_rank[s], order->stage_rank[s + 1]);
        if (!used)
            pp_remark("--rank-link %" PRIu32 ":%" PRIu32
                      " has no effect: no stage of one rank is next to a stage of the other",
                      t->rank, t->other);
    }
}

/* Applies the options about single ranks to the costs. */
static pp_status apply_overrides(const pp_args *args, pp_plan *plan, pp_err *err)
{
    pp_rank_overrides overrides PP_CLEANUP(pp_rank_overrides_free) = { 0 };
    const pp_order *order = plan->order[0];
    pp_status status = pp_args_rank_overrides(args, &overrides, err);
    if (status || !overrides.count)
        return status;
    if (order->mirrored_from < order->microbatches)
        return pp_err_set(err, PP_USAGE, "--schedule",
                          "every stage of this schedule runs on two ranks, so a single rank cannot "
                          "have its own speed, memory or link; choose dualpipev");
    for (uint32_t i = 0; i < plan->costs_count && !status; i++)
        status = pp_rank_overrides_apply(&overrides, order->stage_rank, plan->sharing.latency_ns,
                                         plan->costs[i], err);
    if (!status)
        tell_unused_links(&overrides, order);
    return status;
}

void pp_scenario_tell_if_stale(const pp_plan *plan, const pp_report *report, const char *path)
{
    char told[32];
    char is[32];
    if (!pp_plan_is_stale(plan, report))
        return;
    if (plan->predicted_in_file_ns == report->step_ns &&
        plan->makespan_in_file_ns == report->makespan_ns) {
        pp_remark("%s: the file predicts a peak of %s, but its order and costs give %s: it was "
                  "edited, or predicted by another version. The results are from a new simulation, "
                  "and 'ppsim simulate %s --emit plan=NEW.json' saves it",
                  path, pp_format_bytes(told, sizeof told, plan->peak_in_file_bytes),
                  pp_format_bytes(is, sizeof is, report->peak_memory_bytes), path);
        return;
    }
    pp_remark("%s: the file predicts a step of %s, but its order and costs give %s: it was edited, "
              "or predicted by another version. The results are from a new simulation, and 'ppsim "
              "simulate %s --emit plan=NEW.json' saves it",
              path, pp_format_duration(told, sizeof told, plan->predicted_in_file_ns),
              pp_format_duration(is, sizeof is, report->step_ns), path);
}

void pp_scenario_tell_stale(const pp_plan *plan, const char *path)
{
    pp_report *report PP_CLEANUP(pp_report_free) = NULL;
    pp_err ignored = { 0 }; /* a later simulation of the plan reports it again */
    if (plan->predicted_in_file_ns && !pp_plan_simulate(plan, NULL, NULL, NULL, &report, &ignored))
        pp_scenario_tell_if_stale(plan, report, path);
}

pp_status pp_scenario_read(const pp_args *args, const char *source, pp_scenario *s, pp_err *err)
{
    pp_status status = pp_scenario_load_source(args, source, &s->plan, &s->program, err);
    if (!status && s->tells_stale)
        pp_scenario_tell_stale(s->plan, source);
    if (status || (status = pp_scenario_forward_only(args, s->program, s->plan, err)) ||
        (status = apply_settings(args, s, err)) ||
        (status = pp_scenario_exchange(args, s->plan, s->program != NULL, err)))
        return status;
    return apply_overrides(args, s->plan, err);
}

static pp_status run_study(pp_scenario *s, pp_err *err)
{
    if (!s->program)
        return pp_plan_simulate(s->plan, &s->program, &s->timeline, &s->costs, &s->plan->prediction,
                                err);
    s->costs = pp_plan_costs(s->plan, 0);
    return pp_plan_simulate_program(s->plan, s->program, s->costs, NULL, &s->timeline,
                                    &s->plan->prediction, err);
}

/* Adds to the message about a hang the command that looks for a repair. */
pp_status pp_scenario_predict(pp_scenario *s, pp_err *err)
{
    static const char hint[] = "; 'ppsim check' looks for a repair";
    pp_status status = run_study(s, err);
    size_t used = strlen(err->text);
    if (status == PP_INFEASIBLE && strstr(err->text, "the schedule hangs") &&
        used + sizeof hint <= sizeof err->text)
        memcpy(err->text + used, hint, sizeof hint);
    return status;
}

const pp_order *pp_scenario_order(const pp_scenario *s)
{
    uint32_t replica = 0;
    while (pp_plan_costs(s->plan, replica) != s->costs)
        replica++;
    return s->plan->order[s->plan->order_count > 1 ? replica : 0];
}

pp_status pp_scenario_prepare(const pp_args *args, pp_scenario *s, pp_err *err)
{
    const char *source;
    pp_status status = pp_scenario_source(args, "simulate", &source, err);
    s->tells_stale = true;
    return status ? status : pp_scenario_read(args, source, s, err);
}

/* Adds the time to compile all distinct graphs before the first step. All ranks compile at the same
 * time. */
static pp_status add_compile_time(const pp_args *args, pp_report *report, pp_err *err)
{
    pp_ns each_ns = 0;
    pp_status status = pp_args_duration(args, "--compile-time", &each_ns, err);
    if (status || !pp_args_has(args, "--compile-time"))
        return status;
    if (!report->graphs)
        return pp_err_set(err, PP_USAGE, "--compile-time",
                          "executor %s compiles no graphs; choose xla, xla-fused or neuronx",
                          pp_report_framework_name(report));
    if (each_ns > INT64_MAX / report->graphs)
        return pp_err_set(err, PP_USAGE, "--compile-time", "is too long for %" PRIu32 " graphs",
                          report->graphs);
    report->compile_ns = each_ns * report->graphs;
    return PP_OK;
}

static pp_status check_asked(const pp_args *args, const pp_scenario *s, pp_err *err)
{
    if (pp_args_has(args, "--p2p") && !s->program->comm)
        return pp_err_set(err, PP_USAGE, "--p2p",
                          "executor %s has no transfers, only dependencies; choose another with "
                          "--executor, such as torch or megatron",
                          s->plan->framework->name);
    if (pp_args_has(args, "--memory-limit") && !s->plan->prediction->has_memory)
        return pp_err_set(err, PP_USAGE, "--memory-limit",
                          "the memory of the ops is not known; give --memory-costs with units or a "
                          "costs file with \"memory\", or remove the limit");
    return PP_OK;
}

/* Plans always have the closer bound, so that their predictions are repeated to the byte. */
static bool wants_bound(const pp_args *args)
{
    const char *file;
    bool plan = false;
    for (size_t i = 0; (file = pp_args_each(args, "--emit", i)) != NULL; i++)
        plan = plan || strncmp(file, "plan=", 5) == 0;
    return plan || pp_args_has(args, "--bound");
}

pp_status pp_scenario_report(const pp_args *args, pp_scenario *s, pp_err *err)
{
    pp_status status = pp_scenario_predict(s, err);
    if (status || (status = check_asked(args, s, err)) ||
        (status = add_compile_time(args, s->plan->prediction, err)))
        return status;
    return pp_bound_report(s->costs, pp_scenario_order(s), wants_bound(args), s->plan->prediction,
                           err);
}

pp_status pp_scenario_check_limit(const pp_report *report, pp_err *err)
{
    char missing[32];
    uint32_t fullest = 0;
    int64_t beyond = pp_report_excess(report, report->memory_limit_bytes, &fullest);
    if (!report->has_memory || beyond <= 0)
        return PP_OK;
    const pp_rank_report *rank = &report->per_rank[fullest];
    const pp_memory_peak *peak = &rank->memory;
    char op[PP_OP_WORDS_BYTES];
    char at[32];
    int largest = 0;
    for (int c = 1; c < PP_MEMORY_COUNT; c++)
        largest = peak->bytes[c] > peak->bytes[largest] ? c : largest;
    pp_format_bytes(missing, sizeof missing, beyond);
    return pp_err_set(
        err, PP_INFEASIBLE, NULL,
        "the step does not fit the memory limit: rank %" PRIu32
        " needs %s more than its limit, and most of its memory is %s; it is first over "
        "the limit at %s, during %s",
        fullest, missing, pp_memory_key((pp_memory_component)largest),
        pp_format_duration(at, sizeof at, rank->over_at_ns), pp_op_words(rank->over_op, op));
}
