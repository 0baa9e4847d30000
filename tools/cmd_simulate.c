/* ppsim simulate: a plan, a schedule file or a named schedule, against costs. */
#include "planner/bound.h"
#include "tools/robust_tool.h"
#include "tools/study_tool.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const pp_option options[] = {
    { "--schedule", "NAME|FILE", "a schedule of 'ppsim list schedules', or a schedule file", NULL,
      false },
    { "--pp", "P", "pipeline ranks", "--pipeline-model-parallel-size", false },
    { "--microbatches", "M", "microbatches per step", "--num-microbatches", false },
    { "--vpp", "V", "stages per rank; 1 where the schedule has one",
      "--num-virtual-stages-per-pipeline-rank", false },
    { "--microbatch-group-size", "N", "Megatron's microbatch group (interleaved)",
      "--microbatch-group-size-per-virtual-pipeline-stage", false },
    { "--costs", "F=T,I=T,W=T,comm=T",
      "durations per op of one stage; B=T instead of I and W; FB=T of an overlapped pair", NULL,
      false },
    { "--costs-file", "FILE", "durations per stage and microbatch (JSON, docs/formats.md)", NULL,
      false },
    { "--forward-only", NULL, "an evaluation: the schedule without its backwards", NULL, false },
    { "--memory-costs", "F=X,I=X,W=X", "memory change per op, in activations or with units", NULL,
      false },
    { "--memory-limit", "SIZE", "report against this limit per rank, 80GB", NULL, false },
    { "--rank-speed", "R=X,...", "compute speed of single pipeline ranks, 3=0.8,5=1.1; 1", NULL,
      false },
    { "--rank-memory", "R=SIZE,...", "memory limit of single pipeline ranks, 3=40GiB", NULL,
      false },
    { "--rank-link", "A:B=RATE,...", "rate between two pipeline ranks, 2:3=25GB/s", NULL, false },
    { "--executor", "NAME|all", "communication habits, 'ppsim list executors'; ideal. all: a table",
      NULL, false },
    { "--compile-time", "TIME", "of one graph, where the executor compiles (xla, neuronx)", NULL,
      false },
    { "--comm", "MODE", "rendezvous, eager:BYTES or batched, where the executor communicates", NULL,
      false },
    { "--lanes", "WHICH",
      "queues of a rank: single, per-direction, per-peer, per-edge; the executor's", NULL, false },
    { "--communicators", "world|pp|per-edge", "the lanes that follow: single, or one per edge",
      NULL, false },
    { "--p2p", "send-recv|all-gather|all-reduce",
      "what a transfer is made of (not how long it takes)", NULL, false },
    { "--nic", "K", "K consecutive ranks share a NIC, max-min fair; none is shared", NULL, false },
    { "--overlap-slowdown", "compute=X,comm=Y",
      "times as long while a rank computes and communicates; 1", NULL, false },
    { "--transfer-latency", "TIME", "part of a transfer that shares no NIC and slows nothing; 0",
      NULL, false },
    { "--recv-buffers", "POLICY",
      "on-post, per-microbatch, per-stage, per-direction or pool; the executor's", NULL, false },
    { "--send-buffers", "POLICY",
      "until-done, until-waited, until-backward or until-step-end; the executor's", NULL, false },
    { "--return-outputs", "on|off", "the last stage keeps what it made; as the executor", NULL,
      false },
    { "--shapes", "PROTOCOL",
      "how receivers learn sizes: plan, local, message, cached, padded[:MAX], bucket:N; plan", NULL,
      false },
    { "--host", "launch=T,sync=T,read=T",
      "of each rank's host, per op or group, sync, size read; 0", NULL, false },
    { "--shape-message", "TIME", "that a message about a shape takes; the plan's, or 0", NULL,
      false },
    { "--tensors-per-boundary", "K", "the bytes between stages come in K tensors; 1", NULL, false },
    { "--step-sync", "on|off", "a global barrier ends the step; on", NULL, false },
    { "--worst", "N", "show the N longest waits and what caused them; 5", NULL, false },
    { "--why", NULL, "say where the step goes, part by part, in ns that sum to it", NULL, false },
    { "--jitter", "SPEC", "Monte Carlo: compute=0.02,comm=0.1,slow-rank=3:1.3,scenarios=1000", NULL,
      false },
    { "--sensitivity", NULL, "growth of the step per ns on each stage and link", NULL, false },
    { "--threads", "N", "for --jitter, which does not depend on it; all processors", NULL, false },
    { "--seed", "N", "of --jitter, echoed in the report; 0", NULL, false },
    { "--columns", "N", "width of the text timeline; 80", NULL, false },
    { "--emit", "FORMAT=FILE", "write the schedule, the plan or the report; 'ppsim list formats'",
      NULL, true },
    { "--trace", "FORMAT=FILE", "write the timeline; 'ppsim list formats'", NULL, true },
    { NULL, NULL, NULL, NULL, false },
};

/* Everything that is made on the way. */
typedef struct study {
    pp_plan *plan;
    pp_program *program;
    pp_timeline *timeline;
    const pp_costs *costs; /* of the slowest replica; the plan's */
} study;

static void study_free(study *s)
{
    pp_program_free(&s->program);
    pp_timeline_free(&s->timeline);
    pp_plan_free(&s->plan);
}

/* Refused here when they are no policies, so that --emit writes none of them. */
static pp_status apply_buffers(const pp_args *args, pp_plan *plan, pp_err *err)
{
    const char *recv = pp_args_text(args, "--recv-buffers");
    const char *send = pp_args_text(args, "--send-buffers");
    const char *outputs = pp_args_text(args, "--return-outputs");
    pp_buffers parsed = { 0 };
    pp_status status =
        pp_buffers_parse(recv ? recv : "", send ? send : "", outputs ? outputs : "", &parsed, err);
    if (status)
        return status;
    if (recv)
        snprintf(plan->recv_buffers, sizeof plan->recv_buffers, "%s", recv);
    if (send)
        snprintf(plan->send_buffers, sizeof plan->send_buffers, "%s", send);
    if (outputs)
        snprintf(plan->return_outputs, sizeof plan->return_outputs, "%s", outputs);
    return PP_OK;
}

/* What was said on the command line goes over what the plan says. */
static pp_status apply_settings(const pp_args *args, pp_plan *plan, pp_err *err)
{
    int64_t seed = (int64_t)plan->seed;
    const char *executor = pp_args_text(args, "--executor");
    if (executor)
        snprintf(plan->executor, sizeof plan->executor, "%.31s", executor);
    const char *comm = pp_args_text(args, "--comm");
    const char *lanes = pp_args_text(args, "--lanes");
    if (comm)
        snprintf(plan->comm, sizeof plan->comm, "%.31s", comm);
    if (lanes)
        snprintf(plan->lanes, sizeof plan->lanes, "%.31s", lanes);
    pp_status status = apply_buffers(args, plan, err);
    if (status || (status = pp_args_switch(args, "--step-sync", &plan->step_sync, err)) ||
        (status = pp_apply_transfer_options(args, plan, err)) ||
        (status = pp_args_bytes(args, "--memory-limit", &plan->memory_limit_bytes, err)) ||
        (status = pp_args_int(args, "--seed", 0, INT64_MAX, &seed, err)))
        return status;
    plan->seed = (uint64_t)seed;
    return PP_OK;
}

/* What is said of single ranks goes over the costs. */
static pp_status apply_traits(const pp_args *args, pp_plan *plan, pp_err *err)
{
    pp_traits traits PP_CLEANUP(pp_traits_free) = { 0 };
    const pp_order *order = plan->order[0];
    pp_status status = pp_args_traits(args, &traits, err);
    if (status || !traits.count)
        return status;
    if (order->turned < order->microbatches)
        return pp_err_set(err, PP_USAGE, "--schedule",
                          "every stage runs on two ranks here, so none can have a speed, memory or "
                          "link of its own; choose dualpipev");
    for (uint32_t i = 0; i < plan->costs_count && !status; i++)
        status = pp_traits_apply(&traits, order->stage_rank, plan->sharing.latency_ns,
                                 plan->costs[i], err);
    return status;
}

static pp_status print(const pp_args *args, const pp_report *report, pp_err *err)
{
    if (pp_args_has(args, "--json")) {
        pp_json_build build = { 0 };
        pp_json *json PP_CLEANUP(pp_json_free) = pp_report_write(report, &build);
        return pp_print_json(args, &build, json, err);
    }
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_report_print(report, &text);
    pp_status status = pp_text_check(&text, err);
    return status ? status : pp_print_product(args, text.data, text.bytes, err);
}

/* Above the memory limit the answer is a "no". */
static pp_status check_limit(const pp_report *report, pp_err *err)
{
    char missing[32];
    uint32_t fullest = 0;
    int64_t beyond = pp_report_short(report, report->memory_limit_bytes, &fullest);
    if (!report->has_memory || beyond <= 0)
        return PP_OK;
    const pp_memory_peak *peak = &report->per_rank[fullest].memory;
    int largest = 0;
    for (int c = 1; c < PP_MEMORY_COUNT; c++)
        largest = peak->bytes[c] > peak->bytes[largest] ? c : largest;
    pp_format_bytes(missing, sizeof missing, beyond);
    return pp_err_set(err, PP_INFEASIBLE, NULL,
                      "does not fit the memory limit: rank %" PRIu32
                      " is short by %s, most of its memory is %s",
                      fullest, missing, pp_memory_key((pp_memory_component)largest));
}

static pp_status run_study(study *s, pp_err *err)
{
    if (!s->program)
        return pp_plan_simulate(s->plan, &s->program, &s->timeline, &s->costs, &s->plan->prediction,
                                err);
    s->costs = s->plan->costs[0];
    return pp_plan_simulate_program(s->plan, s->program, s->costs, "as written", &s->timeline,
                                    &s->plan->prediction, err);
}

/* Who hangs is told where to ask. */
static pp_status predict(study *s, pp_err *err)
{
    static const char hint[] = "; 'ppsim check' looks for a repair";
    pp_status status = run_study(s, err);
    size_t used = strlen(err->text);
    if (status == PP_INFEASIBLE && strstr(err->text, "the schedule hangs") &&
        used + sizeof hint <= sizeof err->text)
        memcpy(err->text + used, hint, sizeof hint);
    return status;
}

/* --executor all. */
static pp_status table(const pp_args *args, study *s, pp_err *err)
{
    static const char *const single[] = { "--emit",    "--trace",       "--compile-time", "--worst",
                                          "--jitter",  "--sensitivity", "--why",          "--seed",
                                          "--threads", "--columns",     "--memory-limit" };
    for (size_t i = 0; i < sizeof single / sizeof single[0]; i++) {
        if (pp_args_has(args, single[i]))
            return pp_err_set(err, PP_USAGE, single[i],
                              "goes with one executor, not with all; name it with --executor");
    }
    return pp_print_executor_table(args, s->plan, err);
}

/* Before the first step every distinct graph is compiled, ranks side by side. */
static pp_status add_compile_time(const pp_args *args, pp_report *report, pp_err *err)
{
    pp_ns each_ns = 0;
    pp_status status = pp_args_duration(args, "--compile-time", &each_ns, err);
    if (status || !pp_args_has(args, "--compile-time"))
        return status;
    if (!report->graphs)
        return pp_err_set(err, PP_USAGE, "--compile-time",
                          "executor %s compiles no graphs; choose xla, xla-fused or neuronx",
                          report->executor);
    if (each_ns > INT64_MAX / report->graphs)
        return pp_err_set(err, PP_USAGE, "--compile-time", "is too long for %" PRIu32 " graphs",
                          report->graphs);
    report->compile_ns = each_ns * report->graphs;
    return PP_OK;
}

static pp_status simulate(const pp_args *args, pp_err *err)
{
    study s PP_CLEANUP(study_free) = { 0 };
    int64_t columns = 80;
    int64_t worst = PP_WORST_DEFAULT;
    pp_robust_wish robust;
    pp_status status = pp_study_load(args, "simulate", &s.plan, &s.program, err);
    if (status || (status = pp_study_forward_only(args, s.program, s.plan, err)) ||
        (status = apply_settings(args, s.plan, err)) ||
        (status = pp_study_exchange(args, s.plan, s.program != NULL, err)) ||
        (status = apply_traits(args, s.plan, err)))
        return status;
    if (strcmp(s.plan->executor, "all") == 0)
        return table(args, &s, err);
    if ((status = pp_args_int(args, "--columns", 20, 100000, &columns, err)) ||
        (status = pp_args_int(args, "--worst", 0, 1000000, &worst, err)) ||
        (status = pp_robust_read(args, &robust, err)) || (status = predict(&s, err)))
        return status;
    if (pp_args_has(args, "--p2p") && !s.program->comm)
        return pp_err_set(err, PP_USAGE, "--p2p",
                          "executor %s has no transfers, only dependencies; choose another with "
                          "--executor, such as torch or megatron",
                          s.plan->executor);
    pp_report *report = s.plan->prediction;
    if (pp_args_has(args, "--memory-limit") && !report->has_memory)
        return pp_err_set(err, PP_USAGE, "--memory-limit",
                          "memory is not known; give --memory-costs with units, a costs file with "
                          "\"memory\", or leave the limit out");
    if ((status = add_compile_time(args, report, err)))
        return status;
    uint32_t replica = 0;
    while (s.plan->costs[replica] != s.costs)
        replica++;
    const pp_order *order = s.plan->order[s.plan->order_count > 1 ? replica : 0];
    const pp_jitter_subject subject = { s.program, s.timeline, s.costs, s.plan->step_sync,
                                        !s.plan->step_sync &&
                                            pp_boundary_chained(report->executor) };
    if ((status = pp_bound_report(s.costs, order, report, err)) ||
        (status = pp_report_add_worst(report, s.program, s.timeline, (size_t)worst, err)) ||
        (pp_args_has(args, "--why") &&
         (status = pp_report_add_why(report, s.program, s.timeline, s.costs, NULL, err))) ||
        (status = pp_robust_study(&robust, s.plan, &subject, report, err)))
        return status;
    const pp_export data = { .plan = s.plan,
                             .order = order,
                             .program = s.program,
                             .timeline = s.timeline,
                             .costs = s.costs,
                             .report = report,
                             .columns = (int)columns };
    if ((status = pp_write_exports(args, &data, err)) || (status = print(args, report, err)))
        return status;
    return check_limit(report, err);
}

const pp_command pp_command_simulate = {
    .name = "simulate",
    .arguments = "PLAN.json | FILE.csv --costs ... | --schedule NAME --pp P --microbatches M "
                 "--costs ...",
    .summary = "predict one step: time, bubble and why, memory per rank",
    .options = options,
    .details = "examples:\n"
               "  ppsim simulate plan.json\n"
               "  ppsim simulate --schedule 1f1b --pp 8 --microbatches 32 \\\n"
               "      --costs F=18.5ms,I=18.1ms,W=9.3ms,comm=0.6ms --trace chrome=step.json\n",
    .run = simulate,
};
