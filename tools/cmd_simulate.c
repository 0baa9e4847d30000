/* ppsim simulate: a plan, a schedule file or a named schedule, against costs. */
#include "tools/robust_tool.h"
#include "tools/study_tool.h"

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

/* --executor all. */
static pp_status table(const pp_args *args, pp_study *s, pp_err *err)
{
    static const char *const single[] = { "--emit",        "--trace",   "--compile-time",
                                          "--worst",       "--jitter",  "--sensitivity",
                                          "--seed",        "--threads", "--columns",
                                          "--memory-limit" };
    for (size_t i = 0; i < sizeof single / sizeof single[0]; i++) {
        if (pp_args_has(args, single[i]))
            return pp_err_set(err, PP_USAGE, single[i],
                              "goes with one executor, not with all; name it with --executor");
    }
    return pp_print_executor_table(args, s->plan, err);
}

static pp_status simulate(const pp_args *args, pp_err *err)
{
    pp_study s PP_CLEANUP(pp_study_free) = { 0 };
    int64_t columns = 80;
    int64_t worst = PP_WORST_DEFAULT;
    pp_robust_wish robust;
    pp_status status = pp_study_prepare(args, &s, err);
    if (status)
        return status;
    if (strcmp(s.plan->executor, "all") == 0)
        return table(args, &s, err);
    if ((status = pp_args_int(args, "--columns", 20, 100000, &columns, err)) ||
        (status = pp_args_int(args, "--worst", 0, 1000000, &worst, err)) ||
        (status = pp_robust_read(args, &robust, err)) || (status = pp_study_predict(args, &s, err)))
        return status;
    pp_report *report = s.plan->prediction;
    const pp_jitter_subject subject = { s.program, s.timeline, s.costs, s.plan->step_sync,
                                        !s.plan->step_sync &&
                                            pp_boundary_chained(report->executor) };
    if ((status = pp_report_add_worst(report, s.program, s.timeline, (size_t)worst, err)) ||
        (status = pp_robust_study(&robust, s.plan, &subject, report, err)))
        return status;
    const pp_export data = { .plan = s.plan,
                             .order = pp_study_order(&s),
                             .program = s.program,
                             .timeline = s.timeline,
                             .costs = s.costs,
                             .report = report,
                             .columns = (int)columns };
    if ((status = pp_write_exports(args, &data, err)) || (status = print(args, report, err)))
        return status;
    return pp_study_check_limit(report, err);
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
