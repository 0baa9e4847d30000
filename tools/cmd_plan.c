/* ppsim plan: which schedule, partition, recomputation and split is fastest, and does it fit. */
#include "sim/file.h"
#include "tools/plan_tool.h"

#include <stdio.h>
#include <stdlib.h>

static const pp_option options[] = {
    { "--model", "M", "a name of 'ppsim list models', a file, or a Hugging Face config.json", NULL,
      false },
    { "--gpus", "N", "split N GPUs over pp, tp, cp, dp, ep where these are not given", NULL,
      false },
    { "--pp", "P", "pipeline ranks, unless --gpus", "--pipeline-model-parallel-size", false },
    { "--hw", "H", "a name of 'ppsim list hardware', or a file; h100-80g", NULL, false },
    { "--profile", "FILE", "a calibrated profile instead of --hw", NULL, false },
    { "--tp", "N", "tensor parallel degree; chosen when not given", "--tensor-model-parallel-size",
      false },
    { "--dp", "N", "data parallel replicas; 1", "--data-parallel-size", false },
    { "--cp", "N", "context parallel degree; 1", "--context-parallel-size", false },
    { "--ep", "N", "expert parallel degree, inside dp x cp; 1", "--expert-model-parallel-size",
      false },
    { "--vpp", "V", "stages per rank; chosen when not given",
      "--num-virtual-stages-per-pipeline-rank", false },
    { "--seq-length", "N", "tokens per sequence, or per bin of --lengths; the model's maximum",
      NULL, false },
    { "--micro-batch-size", "N", "sequences per microbatch; chosen when not given", NULL, false },
    { "--global-batch-size", "N", "sequences per step; 8 x pp x dp, in whole micro-batches", NULL,
      false },
    { "--lengths", "FILE", "sequence lengths of one step, one per line or a JSON array", NULL,
      false },
    { "--schedule", "NAME",
      "one of 'ppsim list schedules', or planned: an order found; all, if not given", NULL, false },
    { "--microbatch-group-size", "N", "Megatron's microbatch group (interleaved)",
      "--microbatch-group-size-per-virtual-pipeline-stage", false },
    { "--target", "NAME",
      "torchtitan, automodel, megatron or ppsim: plan only what it runs, and say what that costs",
      NULL, false },
    { "--executor", "NAME", "communication habits, 'ppsim list executors'; ideal", NULL, false },
    { "--shapes", "PROTOCOL",
      "how receivers learn sizes: plan, local, message, cached, padded[:MAX], bucket:N; plan", NULL,
      false },
    { "--host", "launch=T,sync=T,read=T",
      "of each rank's host, per op or group, sync, size read; 0", NULL, false },
    { "--shape-message", "TIME", "that a message about a shape takes; the link's latency", NULL,
      false },
    { "--tensors-per-boundary", "K", "the bytes between stages come in K tensors; 1", NULL, false },
    { "--recompute", "none|selective|full|auto", "activation recomputation; auto",
      "--recompute-granularity", false },
    { "--memory-limit", "SIZE", "per GPU, 80GB; the GPU's memory less 5 %", NULL, false },
    { "--rank-speed", "R=X,...", "compute speed of single pipeline ranks, 3=0.8,5=1.1; 1", NULL,
      false },
    { "--rank-memory", "R=SIZE,...", "memory limit of single pipeline ranks, 3=40GiB", NULL,
      false },
    { "--rank-link", "A:B=RATE,...", "rate between two pipeline ranks, 2:3=25GB/s", NULL, false },
    { "--partition", "auto|uniform|LAYOUT", "layers per stage; auto. LAYOUT: Et*3|t*4|t*3L",
      "--pipeline-model-parallel-layout", false },
    { "--bare-ends", NULL, "auto may give embedding or head a stage without layers", NULL, false },
    { "--stack", "NAME", "software: megatron-2021, megatron-2022, current; current", NULL, false },
    { "--sequence-parallel", "on|off", "on when tp > 1", NULL, false },
    { "--attention", "flash|unfused", "the stack's", NULL, false },
    { "--grad-sync", "exposed|overlap", "data-parallel gradient reduction; the stack's", NULL,
      false },
    { "--grad-dtype", "fp16|bf16|fp32", "of the main gradients; the stack's", NULL, false },
    { "--tp-overlap", "on|off", "hide part of tensor-parallel communication; the stack's", NULL,
      false },
    { "--zero", "0|1", "1 divides the optimizer state over dp; the stack's", NULL, false },
    { "--communicators", "world|pp|per-edge", "who shares one with a pipeline transfer; see manual",
      NULL, false },
    { "--recv-buffers", "POLICY",
      "on-post, per-microbatch, per-stage, per-direction or pool; the executor's", NULL, false },
    { "--send-buffers", "POLICY",
      "until-done, until-waited, until-backward or until-step-end; the executor's", NULL, false },
    { "--return-outputs", "on|off", "the last stage keeps what it made; as the executor", NULL,
      false },
    { "--p2p", "send-recv|all-gather|all-reduce", "what a transfer is made of; the executor's",
      NULL, false },
    { "--scatter-gather", "on|off", "send 1/tp per rank, gather there; the stack's", NULL, false },
    { "--node-network", "RATE", "network of a node, 800Gb/s or 100GB/s; the hardware file's", NULL,
      false },
    { "--step-sync", "on|off", "a global barrier ends the step; on", NULL, false },
    { "--jitter", "SPEC", "rank the best by their step under jitter; as simulate --jitter", NULL,
      false },
    { "--rank-by", "p50|p95", "with --jitter: the percentile compared; p50", NULL, false },
    { "--pareto", NULL, "the fastest at every memory limit up to the given one: a table", NULL,
      false },
    { "--explain", NULL,
      "where nothing fits: the sets of changes that do, and what each change gives", NULL, false },
    { "--why", NULL, "say where the step goes, part by part, in ns that sum to it", NULL, false },
    { "--budget", "TIME|COUNTit", "end the search after 5s, or 20000it; simulations, then orders",
      NULL, false },
    { "--seed", "N", "of the search for orders and of --jitter; 0", NULL, false },
    { "--instance", "FILE", "order the ops of a ppsim.instance file; -o writes the orders", NULL,
      false },
    { "--threads", "N",
      "of the search for orders and --jitter, which do not depend on it; all processors", NULL,
      false },
    { "--candidates", "FILE", "write every candidate considered, with its reason, as CSV", NULL,
      false },
    { "--emit", "FORMAT=FILE", "write the schedule: plan, pytorch-csv, megatron, report", NULL,
      true },
    { "--trace", "FORMAT=FILE", "write the timeline: chrome, text", NULL, true },
    { NULL, NULL, NULL, NULL, false },
};

static pp_status write_candidates(const pp_args *args, const pp_choice *choice, pp_err *err)
{
    const char *path = pp_args_text(args, "--candidates");
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    if (!path)
        return PP_OK;
    pp_choice_csv(choice, &text);
    pp_status status = pp_text_check(&text, err);
    return status ? status : pp_file_write(path, text.data, text.bytes, err);
}

static pp_status write_exports(const pp_args *args, const pp_plan *plan, pp_err *err)
{
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
    pp_report *report PP_CLEANUP(pp_report_free) = NULL;
    const pp_costs *costs;
    if (!pp_args_has(args, "--emit") && !pp_args_has(args, "--trace"))
        return PP_OK;
    pp_status status = pp_plan_simulate(plan, &program, &timeline, &costs, &report, err);
    if (status)
        return status;
    const pp_export data = { .plan = plan,
                             .order = plan->order[0],
                             .program = program,
                             .timeline = timeline,
                             .costs = costs,
                             .report = plan->prediction,
                             .columns = 80 };
    return pp_write_exports(args, &data, err);
}

static pp_status print(const pp_args *args, const pp_choice *choice, pp_err *err)
{
    if (pp_args_has(args, "--json")) {
        pp_json_build build = { 0 };
        pp_json *json PP_CLEANUP(pp_json_free) = pp_plan_write(choice->plan, &build);
        return pp_print_json(args, &build, json, err);
    }
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_choice_print(choice, &text);
    pp_status status = pp_text_check(&text, err);
    return status ? status : pp_print_product(args, text.data, text.bytes, err);
}

static pp_status plan(const pp_args *args, pp_err *err)
{
    if (pp_args_has(args, "--instance"))
        return pp_plan_instance(args, options, err);
    if (pp_args_has(args, "--pareto"))
        return pp_plan_pareto(args, err);
    pp_request request PP_CLEANUP(pp_request_free) = { .wish = { .seed = 0 } };
    pp_choice *choice PP_CLEANUP(pp_choice_free) = NULL;
    pp_status status = pp_request_read(args, &request, err);
    if (status)
        return status;
    if (pp_args_has(args, "--explain") && request.wish.gpus)
        return pp_err_set(err, PP_USAGE, "--explain",
                          "changes given degrees; give --pp and the others instead of --gpus");
    status = pp_choose(&request.wish, &choice, err);
    if (status == PP_INFEASIBLE && pp_args_has(args, "--explain")) {
        pp_err own = { 0 };
        if (pp_plan_explain(args, &request.wish, &own)) {
            *err = own;
            return own.status;
        }
    }
    if (status)
        return status;
    if (request.target &&
        (status = pp_target_compare(request.target, &request.free_wish, choice, err)))
        return status;
    snprintf(choice->plan->version, sizeof choice->plan->version, "%s", PPSIM_VERSION);
    choice->plan->command = pp_args_command(args);
    if (!choice->plan->command)
        return pp_err_nomem(err);
    if (choice->stopped)
        pp_remark("the budget ended after %zu simulation%s; a faster plan may exist",
                  choice->simulated, choice->simulated == 1 ? "" : "s");
    if (request.wish.seq_length > request.model.max_seq_length)
        pp_remark("--seq-length %lld is beyond the %lld tokens that %s was made for",
                  (long long)request.wish.seq_length, (long long)request.model.max_seq_length,
                  request.model.name);
    if ((status = write_candidates(args, choice, err)) ||
        (status = write_exports(args, choice->plan, err)))
        return status;
    return print(args, choice, err);
}

const pp_command pp_command_plan = {
    .name = "plan",
    .arguments = "--model M --pp P [...]",
    .summary = "choose schedule, partition, recomputation and split; predict the step",
    .options = options,
    .details = "What is not given is chosen or assumed, and printed.\n"
               "examples:\n"
               "  ppsim plan --model gpt175b --pp 16\n"
               "  ppsim plan --model llama3-70b --pp 8 --tp 4 --dp 2 --emit plan=plan.json\n"
               "  ppsim plan --model config.json --pp 4 --lengths lengths.txt --seq-length 8192\n"
               "  ppsim plan --instance instance.json --budget 5s -o orders.txt\n",
    .run = plan,
};
