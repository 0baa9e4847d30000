/* ppsim check: decides whether a schedule or plan is valid and complete, and whether it can hang.
 * The engine runs the program under the communication mode that was asked for. On a hang the
 * command also searches for the message size at which the verdict changes, by bisection, and for a
 * repair. */
#include "sim/base/alloc.h"
#include "sim/engine/comm_engine.h"
#include "sim/engine/engine.h"
#include "sim/engine/replicas.h"
#include "sim/framework/registry.h"
#include "sim/plan/plan_read.h"
#include "sim/program/program_new.h"
#include "sim/program/transfer_costs.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/base/option_rows.h"
#include "tools/ppsim/base/output.h"
#include "tools/ppsim/check/print.h"
#include "tools/ppsim/check/target.h"
#include "tools/ppsim/commands.h"
#include "tools/ppsim/export/target_fit.h"
#include "tools/ppsim/input/exchange_args.h"
#include "tools/ppsim/scenario/scenario_run.h"
#include "traces/format/registry.h"
#include "traces/read/comm_rows.h"
#include "traces/read/gzip.h"
#include "traces/target/registry.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const pp_option options[] = {
    { PP_ROW("--executor", "NAME", FRAMEWORK,
             "framework that adds the sends and receives if the file has none: a name from 'ppsim "
             "list executors'",
             "torch") },
    { PP_ROW("--target", "NAME", FRAMEWORK,
             "also check that this runtime runs it, and trains rightly (see 'ppsim list targets')",
             NULL) },
    { PP_ROW("--comm", "MODE", COMMUNICATION,
             "how sends work: rendezvous, eager:BYTES or batched, or with the lanes of PyTorch's "
             "nccl, nccl-lazy, nccl-per-edge or gloo",
             "the plan's, or rendezvous") },
    { PP_ROW("--lanes", "WHICH", COMMUNICATION,
             "queues of a rank: single, per-direction, per-peer or per-edge",
             "those of the plan's executor or of the target's, or single") },
    { PP_ROW("--shapes", "PROTOCOL", COMMUNICATION,
             "how receivers learn tensor sizes: plan, local, message or cached", "plan") },
    { PP_OPTION_TENSORS_PER_BOUNDARY },
    { PP_ROW("--message-bytes", "SIZE", COMMUNICATION,
             "size of every message if no plan specifies it", "1B") },
    { PP_ROW("--partial", NULL, SCHEDULE, "the file is an excerpt: ops outside of it count as done",
             NULL) },
    { PP_ROW_END },
};

static void verdict_free(pp_check_verdict *v)
{
    pp_report_free(&v->report);
}

static void subject_free(pp_check_subject *s)
{
    free(s->text);
    pp_timeline_free(&s->timeline);
    pp_program_free(&s->program);
    pp_costs_free(&s->own_costs);
    pp_order_free(&s->order);
    pp_plan_free(&s->plan);
}

/* Returns whether every cell of a schedule file can be read. */
static bool is_readable(const char *text, size_t bytes)
{
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    pp_err ignored = { 0 };
    return pp_comm_rows_read(text, bytes, "", PP_ROWS_SINGLE, true, NULL, &program, &ignored) !=
           PP_INPUT;
}

/* Lowers an order. If the target's framework cannot run it, that is the target's answer. */
static pp_status lower(const pp_order *order, const pp_costs *costs, pp_check_verdict *v,
                       pp_check_subject *s, pp_err *err)
{
    pp_err why = pp_err_like(err);
    pp_status status = pp_framework_check_stages(v->framework, s->plan ? s->plan->partition : NULL,
                                                 order->stages, PP_INFEASIBLE, NULL, &why);
    if (!status)
        status = pp_framework_lower(v->framework, order, costs,
                                    s->plan && v->framework->lower_set ? &s->plan->pytorch : NULL,
                                    &s->program, &why);
    if (!status && s->plan)
        status = pp_framework_repeat(v->framework, order, s->plan->runs, &s->program, &why);
    if (status)
        *err = why;
    v->refused =
        v->target && (status == PP_USAGE || (status == PP_INFEASIBLE && !pp_check_circle(v)));
    if (!v->refused)
        return status;
    v->refusal = why;
    return PP_INFEASIBLE;
}

static pp_status load_rows(const char *text, size_t bytes, const pp_args *args, pp_check_verdict *v,
                           pp_check_subject *s, pp_err *err)
{
    const bool partial = pp_args_has(args, "--partial");
    if (partial || pp_comm_rows_recognise(text, bytes)) {
        pp_rows_grouping grouping =
            v->comm.mode == PP_COMM_BATCHED_SHAPES ? PP_ROWS_BATCHED : PP_ROWS_SINGLE;
        v->framework = NULL;
        return pp_comm_rows_read(text, bytes, v->file, grouping, partial, &s->order, &s->program,
                                 err);
    }
    pp_status status = pp_check_use_target(pp_args_has(args, "--executor"), NULL, v, err);
    if (status || (status = pp_format_read(text, bytes, v->file, &s->order, err)) == PP_OK)
        return status ? status : lower(s->order, NULL, v, s, err);
    if (status == PP_INPUT &&
        is_readable(text, bytes)) { /* the cells are correct, but the order is not */
        err->status = PP_INFEASIBLE;
        return PP_INFEASIBLE;
    }
    return status;
}

/* Lowers the order of one replica of the plan. Replicas may have orders and microbatches of their
 * own. */
static pp_status take_replica(pp_check_verdict *v, pp_check_subject *s, uint32_t replica,
                              pp_err *err)
{
    const pp_plan *plan = s->plan;
    pp_program_free(&s->program);
    pp_timeline_free(&s->timeline);
    v->sized = true;
    v->replica = replica;
    s->costs = plan->costs[plan->costs_count > 1 ? replica : 0];
    pp_status status = lower(plan->order[plan->order_count > 1 ? replica : 0], s->costs, v, s, err);
    if (!status && s->program->comm)
        s->program->comm->collective |= plan->p2p != PP_P2P_SEND_RECV;
    return status;
}

static pp_status load_plan(const char *text, size_t bytes, const pp_args *args, pp_check_verdict *v,
                           pp_check_subject *s, pp_err *err)
{
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    pp_status status = pp_json_parse(text, bytes, v->file, &json, err);
    if (status || (status = pp_plan_read(json, v->file, &s->plan, err)))
        return status;
    if (!pp_args_has(args, "--executor") && s->plan->framework != &pp_framework_ideal)
        v->framework = s->plan->framework;
    if ((status = pp_check_use_target(pp_args_has(args, "--executor"), s->plan, v, err)))
        return status;
    if (!pp_args_has(args, "--comm") && s->plan->comm.has_mode) {
        v->comm.mode = s->plan->comm.mode;
        v->comm.eager_bytes = s->plan->comm.eager_bytes;
    }
    if (!pp_args_has(args, "--lanes") && !pp_comm_is_transport(pp_args_text(args, "--comm")) &&
        s->plan->comm.has_lanes)
        v->comm.lanes = s->plan->comm.lanes;
    return take_replica(v, s, 0, err);
}

/* Makes costs for a file that has none. A verdict depends on message sizes, but not on
 * durations. */
static pp_status make_costs(const pp_args *args, pp_check_subject *s, pp_err *err)
{
    static const pp_uniform_costs uniform = { 1000, 1000, 1000, -1, 1000, 0 };
    int64_t bytes = 1;
    pp_status status = pp_args_bytes(args, "--message-bytes", &bytes, err);
    if (status || s->costs)
        return status;
    const pp_program *program = s->program;
    status = pp_costs_uniform(&uniform, program->ranks, program->stages, program->microbatches,
                              &s->own_costs, err);
    if (status)
        return status;
    s->own_costs->has_memory = true;
    for (size_t i = 0; i < (size_t)s->own_costs->classes * s->own_costs->stages; i++)
        s->own_costs->message_bytes[i] = bytes;
    s->costs = s->own_costs;
    return PP_OK;
}

static pp_status run(const pp_check_subject *s, pp_err *err)
{
    pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
    return pp_simulate(s->program, s->costs, &timeline, err);
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Returns the bytes of a transfer; 1 if its size is unknown, as in the engine. */
static int64_t size_of(const pp_check_subject *s, size_t transfer)
{
    const pp_comm *comm = s->program->comm;
    int64_t bytes = pp_comm_bytes(comm, s->costs, &comm->transfer[transfer]);
    return bytes ? bytes : 1;
}

/* Returns the first microbatch with a transfer of at least `bytes`. */
static uint32_t first_of(const pp_check_subject *s, int64_t bytes)
{
    const pp_comm *comm = s->program->comm;
    uint32_t first = UINT32_MAX;
    for (size_t t = 0; t < comm->transfer_count; t++) {
        if (comm->transfer[t].microbatch < first && size_of(s, t) >= bytes)
            first = comm->transfer[t].microbatch;
    }
    return first;
}

/* Writes the distinct sizes of the transfers in ascending order and returns their number. */
static size_t collect_sizes(const pp_check_subject *s, int64_t *sizes)
{
    size_t count = s->program->comm->transfer_count;
    size_t kept = 0;
    for (size_t t = 0; t < count; t++)
        sizes[t] = size_of(s, t);
    qsort(sizes, count, sizeof *sizes, by_size);
    for (size_t t = 0; t < count; t++) {
        if (kept == 0 || sizes[kept - 1] != sizes[t])
            sizes[kept++] = sizes[t];
    }
    return kept;
}

/* The plan as the target runs it, or as it is. It borrows everything from `plan`. */
static pp_plan as_asked(const pp_check_verdict *v, const pp_plan *plan)
{
    return v->target ? pp_target_plan(v->target, plan) : *plan;
}

/* Applies the size protocol of --shapes or of the plan. In the modes without groups (rendezvous,
 * eager) its messages are posted one by one; tensors keep the groups of their framework. */
static pp_status apply_shapes(const pp_args *args, pp_check_verdict *v, pp_check_subject *s,
                              pp_err *err)
{
    const pp_plan asked = s->plan ? as_asked(v, s->plan) : (pp_plan){ 0 };
    pp_exchange_options exchange =
        s->plan ? pp_plan_exchange(&asked) : (pp_exchange_options){ .tensors = 0 };
    pp_status status = pp_args_exchange(args, &exchange, err);
    if (status)
        return status;
    exchange.host = (pp_host_costs){ 0 }; /* no verdict depends on durations */
    if (pp_exchange_is_plain(&exchange))
        return PP_OK;
    if (s->plan && !s->plan->comm.has_mode && !pp_args_has(args, "--comm"))
        v->comm.mode = PP_COMM_BATCHED_SHAPES; /* as the plan runs */
    exchange.ungrouped = v->comm.mode != PP_COMM_BATCHED_SHAPES;
    if (!v->framework)
        return pp_err_set(err, PP_USAGE,
                          pp_args_has(args, "--shapes") ? "--shapes" : "--tensors-per-boundary",
                          "%.64s contains its own sends and receives, which are checked as they "
                          "are; remove the option",
                          v->file);
    v->protocol = true;
    status = pp_exchange_lower(v->framework, &exchange, s->costs, s->program, &v->reason);
    v->mismatch = status == PP_INFEASIBLE;
    return status == PP_USAGE ? pp_err_set(err, status, v->reason.where, "%s", v->reason.text)
           : v->mismatch      ? PP_OK
                              : status;
}

/* Finds the smallest eager limit among the message sizes under which a hanging schedule finishes,
 * by bisection. */
static pp_status find_flip(const pp_check_subject *s, pp_check_verdict *v, pp_err *err)
{
    pp_comm_semantics *semantics = &s->program->comm->semantics;
    const pp_comm_semantics asked = *semantics;
    int64_t *sizes = pp_alloc_array(s->program->comm->transfer_count, sizeof *sizes);
    if (!sizes)
        return pp_err_nomem(err);
    const size_t count = collect_sizes(s, sizes);
    size_t low = 0;
    size_t high = count; /* the answer is sizes[low], if it is below count */
    semantics->mode = PP_COMM_EAGER;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        pp_err ignored = { 0 };
        semantics->eager_bytes = sizes[middle];
        pp_status status = run(s, &ignored);
        if (status == PP_NOMEM) {
            free(sizes);
            return pp_err_nomem(err);
        }
        if (status)
            low = middle + 1;
        else
            high = middle;
    }
    v->flips = low < count;
    if (v->flips) {
        v->flip_bytes = sizes[low];
        v->flip_microbatch = first_of(s, sizes[low]);
    }
    *semantics = asked;
    free(sizes);
    return PP_OK;
}

/* Judges the program that was loaded: simulates it, and after a hang looks for the eager limit and
 * a repair. */
static pp_status judge_program(const pp_args *args, bool partial, pp_check_verdict *v,
                               pp_check_subject *s, pp_err *err)
{
    pp_status status;
    if ((status = make_costs(args, s, err)) || (status = apply_shapes(args, v, s, err)))
        return status;
    v->ops += s->program->count;
    v->transfers += s->program->comm->transfer_count;
    if (v->mismatch)
        return status;
    pp_comm_settings_apply(&v->comm, &s->program->comm->semantics);
    if ((status = pp_timeline_new_comm(s->program, &s->timeline, err)))
        return status;
    status = pp_simulate_into(s->program, s->costs, s->timeline, &v->reason);
    if (status == PP_INFEASIBLE) {
        v->hangs = true;
        status = find_flip(s, v, err);
        return status ? status : pp_repair_find(s->program, s->costs, partial, &v->repair, err);
    }
    return status ? pp_err_set(err, status, v->reason.where, "%s", v->reason.text) : PP_OK;
}

/* Judges whether the gathers and reductions of replicas meet that have orders of their own. */
static pp_status judge_replicas(pp_check_verdict *v, const pp_check_subject *s, pp_err *err)
{
    const pp_plan *plan = s->plan;
    const pp_status status = pp_replicas_orders_meet(v->framework, plan->order, plan->order_count,
                                                     plan->costs, plan->costs_count, &v->reason);
    v->hangs = v->apart = status == PP_INFEASIBLE;
    return status == PP_NOMEM ? pp_err_nomem(err) : PP_OK;
}

/* Loads and judges the file. A negative answer is kept in the pp_check_verdict; any other failure
 * is an error. */
static pp_status judge(const pp_args *args, pp_check_verdict *v, pp_check_subject *s, pp_err *err)
{
    const char *text = s->text;
    size_t bytes = s->bytes;
    bool partial = pp_args_has(args, "--partial");
    v->sized = pp_args_has(args, "--message-bytes");
    bool plan = bytes && text[strspn(text, " \t\r\n")] == '{';
    pp_status status = plan ? load_plan(text, bytes, args, v, s, &v->reason)
                            : load_rows(text, bytes, args, v, s, &v->reason);
    if (status == PP_INFEASIBLE) {
        v->hangs = pp_check_circle(v) != NULL;
        v->valid = v->hangs || v->refused;
        return PP_OK;
    }
    if (status)
        return pp_err_set(err, status, v->reason.where, "%s", v->reason.text);
    if (!v->framework && pp_args_has(args, "--executor"))
        return pp_err_set(err, PP_USAGE, "--executor",
                          "%.64s contains its own sends and receives, which are checked as they "
                          "are; remove the option",
                          v->file);
    if (v->target && partial)
        return pp_err_set(err, PP_USAGE, "--partial",
                          "a runtime runs whole schedules; remove it, or --target");
    if (plan && partial)
        return pp_err_set(err, PP_USAGE, "--partial",
                          "%.64s is a plan, and plans are always complete; remove the option",
                          v->file);
    v->valid = true;
    if (!s->program->comm)
        return pp_err_set(err, PP_USAGE, "--executor",
                          "executor %s has no sends and receives to check; choose torch, megatron "
                          "or deepspeed",
                          v->framework->name);
    const pp_lanes own = s->program->comm->semantics.lanes;
    const bool lanes_given = pp_args_has(args, "--lanes") ||
                             pp_comm_is_transport(pp_args_text(args, "--comm")) ||
                             (plan && s->plan->comm.has_lanes);
    if ((plan || v->target) && !lanes_given && v->framework)
        v->comm.lanes = own;
    else if (!lanes_given && own != PP_LANES_SINGLE)
        v->own_lanes = pp_lanes_name(own);
    status = judge_program(args, partial, v, s, err);
    for (uint32_t i = 1;
         plan && !status && !v->hangs && !v->mismatch && i < pp_check_replicas(s->plan); i++) {
        status = take_replica(v, s, i, &v->reason);
        if (status == PP_INFEASIBLE) {
            v->hangs = pp_check_circle(v) != NULL;
            v->valid = v->hangs || v->refused;
            return PP_OK;
        }
        if (!status)
            status = judge_program(args, partial, v, s, err);
    }
    return status || !plan || v->hangs || v->mismatch ? status : judge_replicas(v, s, err);
}

/* Simulates a plan with its own framework to check its memory. A plan that cannot run with it has
 * no peak to check. */
static pp_status simulate(pp_check_verdict *v, const pp_check_subject *s, pp_err *err)
{
    pp_err why = pp_err_like(err);
    uint32_t rank = 0;
    if (!s->plan || !v->valid || v->hangs || v->mismatch)
        return PP_OK;
    const pp_plan plan = as_asked(v, s->plan);
    pp_status status = pp_plan_simulate(&plan, NULL, NULL, NULL, &v->report, &why);
    if (status == PP_INFEASIBLE)
        return PP_OK;
    if (status) {
        *err = why;
        return status;
    }
    if (plan.framework == s->plan->framework)
        pp_scenario_tell_if_stale(s->plan, v->report, v->file);
    v->overflows = v->report->has_memory &&
                   pp_report_excess(v->report, v->report->memory_limit_bytes, &rank) > 0;
    return PP_OK;
}

static pp_status check(const pp_args *args, pp_err *err)
{
    pp_check_subject s PP_CLEANUP(subject_free) = { 0 };
    const char *framework = pp_args_text(args, "--executor");
    pp_check_verdict v PP_CLEANUP(verdict_free) = { .reason = pp_err_like(err),
                                                    .file = pp_args_word(args, 0),
                                                    .comm = { .has_mode = true, .has_lanes = true },
                                                    .framework = &pp_framework_torch };
    if (!v.file || pp_args_word(args, 1))
        return pp_err_set(err, PP_USAGE, NULL,
                          "give one schedule file or plan; see 'ppsim check "
                          "--help'");
    pp_status status = pp_comm_settings_parse(pp_args_text(args, "--comm"),
                                              pp_args_text(args, "--lanes"), &v.comm, err);
    if (!status && framework)
        status = pp_framework_get(framework, &v.framework, err);
    if (!status && pp_args_has(args, "--target"))
        status = pp_target_get(pp_args_text(args, "--target"), &v.target, err);
    if (status || (status = pp_gzip_read(v.file, &s.text, &s.bytes, err)) ||
        (status = judge(args, &v, &s, err)) || (status = simulate(&v, &s, err)) ||
        (v.valid && !v.hangs && !v.mismatch && !v.refused && !pp_args_has(args, "--partial") &&
         (status = pp_check_runtime(&s, &v, err))))
        return status;
    if (pp_args_has(args, "--json"))
        status = pp_check_print_json(args, &v, &s, err);
    if (!status && pp_prints_words(args))
        status = pp_check_print_text(args, &v, &s, err);
    if (status || (v.valid && !v.hangs && !v.mismatch && !v.overflows && !v.refused))
        return status;
    return pp_err_set(err, PP_INFEASIBLE, v.file, "%s",
                      !v.valid      ? "is not a complete and valid schedule"
                      : v.mismatch  ? "has mismatched sizes"
                      : v.hangs     ? "can hang"
                      : v.overflows ? "exceeds its memory limit"
                                    : "does not run as it should on its target");
}

const pp_command pp_command_check = {
    .name = "check",
    .arguments = "SCHEDULE.csv|PLAN.json [options]",
    .summary = "check a schedule or plan for errors, deadlocks and memory overruns",
    .options = options,
    .details = "The exit status is 1 if an op is missing or misplaced, if the schedule can hang "
               "(the ranks and ops that wait for each other are printed), if a plan exceeds its "
               "memory limit, or if the target does not run it.\n",
    .examples = "ppsim check plan.json\n"
                "ppsim check schedule.csv --executor torch --comm eager:64KiB\n"
                "ppsim check schedule.csv --target torchtitan\n",
    .run = check,
};
