/* ppsim plan: which schedule, partition, recomputation and split is fastest, and does it fit. */
#include "runtime/core/clock.h"
#include "sim/base/file.h"
#include "sim/plan/plan_write.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/base/option_rows.h"
#include "tools/ppsim/base/output.h"
#include "tools/ppsim/commands.h"
#include "tools/ppsim/export/export.h"
#include "tools/ppsim/input/profile_args.h"
#include "tools/ppsim/plan/plan.h"
#include "traces/format/export/export.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const pp_option options[] = {
    { PP_OPTION_MODEL },
    { "--gpus", "N", "split N GPUs over pp, tp, cp, dp, ep where these are not given", NULL,
      false },
    { PP_OPTION_PP },
    { PP_OPTION_HW },
    { "--profile", "NAME|FILE",
      "measured, goes over --hw, or alone without it; 'ppsim list profiles', 'ppsim calibrate'",
      NULL, false },
    { "--profile-only", "kernels|links", "take this part of the profile; both", NULL, false },
    { "--profile-layers", "N", "of a stage that was measured and imported", NULL, false },
    { PP_OPTION_TP },
    { PP_OPTION_DP },
    { PP_OPTION_CP },
    { PP_OPTION_EP },
    { PP_OPTION_VPP_CHOSEN },
    { "--seq-length", "N", "tokens per sequence, or per bin of --lengths; the model's maximum",
      NULL, false },
    { "--micro-batch-size", "N", "sequences per microbatch; chosen when not given", NULL, false },
    { "--global-batch-size", "N", "sequences per step; 8 x pp x dp, in whole micro-batches", NULL,
      false },
    { PP_OPTION_LENGTHS },
    { "--packing", "first-fit|given|equal|ramped|auto",
      "which of them share a microbatch; auto: what is fastest", NULL, false },
    { "--schedule", "NAME",
      "one of 'ppsim list schedules', or planned: an order found; all, if not given", NULL, false },
    { PP_OPTION_MICROBATCH_GROUP_SIZE },
    { "--target", "NAME",
      "of 'ppsim list targets': plan only what that runtime runs, and say what that costs", NULL,
      false },
    { PP_OPTION_TORCH_COMPILE },
    { PP_OPTION_EXECUTOR_OR_AUTO },
    { PP_OPTION_SHAPES_OR_AUTO },
    { PP_OPTION_HOST },
    { PP_OPTION_SHAPE_MESSAGE },
    { PP_OPTION_TENSORS_PER_BOUNDARY },
    { PP_OPTION_RECOMPUTE },
    { PP_OPTION_MEMORY_LIMIT },
    { PP_OPTION_RANK_SPEED },
    { PP_OPTION_RANK_MEMORY },
    { PP_OPTION_RANK_LINK },
    { PP_OPTION_PARTITION },
    { "--bare-ends", NULL, "auto may give embedding or head a stage without layers", NULL, false },
    { PP_OPTION_STACK },
    { "--sequence-parallel", "on|off", "on when tp > 1", NULL, false },
    { "--attention", "flash|unfused", "the stack's", NULL, false },
    { "--grad-sync", "exposed|overlap", "data-parallel gradient reduction; the stack's", NULL,
      false },
    { "--grad-dtype", "fp16|bf16|fp32", "of the main gradients; the stack's", NULL, false },
    { "--tp-overlap", "on|off", "hide part of tensor-parallel communication; the stack's",
      "--tp-comm-overlap", false },
    { "--zero", "0|1", "1 divides the optimizer state over dp; the stack's", NULL, false },
    { "--communicators", "world|pp|per-edge|auto",
      "who shares one with a pipeline transfer; auto: what is fastest", NULL, false },
    { PP_OPTION_RECV_BUFFERS },
    { PP_OPTION_SEND_BUFFERS },
    { PP_OPTION_RETURN_OUTPUTS },
    { "--p2p", "send-recv|all-gather|all-reduce", "what a transfer is made of; the executor's",
      NULL, false },
    { "--scatter-gather", "on|off", "send 1/tp per rank, gather there; the stack's", NULL, false },
    { "--node-network", "RATE", "network of a node, 800Gb/s or 100GB/s; the hardware file's", NULL,
      false },
    { PP_OPTION_STEP_SYNC },
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
    { "--emit", "FORMAT=FILE", "write the schedule: plan, torchtitan, megatron, pytorch-csv, ...",
      NULL, true },
    { "--trace", "FORMAT=FILE", "write the timeline: chrome, text", NULL, true },
    { PP_OPTION_TRACE_RANKS },
    { "--use-distributed-optimizer", NULL, "Megatron's spelling of --zero 1", NULL, false },
    { "--overlap-grad-reduce", NULL, "Megatron's spelling of --grad-sync overlap", NULL, false },
    { "--use-flash-attn", NULL, "Megatron's spelling of --attention flash", NULL, false },
    { "--accumulate-allreduce-grads-in-fp32", NULL, "Megatron's spelling of --grad-dtype fp32",
      NULL, false },
    { "--no-overlap-p2p-communication", NULL, "Megatron's spelling of --executor megatron", NULL,
      false },
    { "--overlap-p2p-communication-warmup-flush", NULL,
      "Megatron's spelling of --executor megatron-overlap-flush", NULL, false },
    { "--recompute-method", "uniform", "Megatron's, beside --recompute-granularity full", NULL,
      false },
    { "--recompute-num-layers", "1", "Megatron's, beside --recompute-granularity full", NULL,
      false },
    { NULL, NULL, NULL, NULL, false },
};

static const pp_option_alias aliases[] = {
    { "--use-distributed-optimizer", "--zero", "1" },
    { "--overlap-grad-reduce", "--grad-sync", "overlap" },
    { "--use-flash-attn", "--attention", "flash" },
    { "--accumulate-allreduce-grads-in-fp32", "--grad-dtype", "fp32" },
    { "--no-overlap-p2p-communication", "--executor", "megatron" },
    { "--overlap-p2p-communication-warmup-flush", "--executor", "megatron-overlap-flush" },
    { NULL, NULL, NULL },
};

static pp_status write_candidates(const pp_args *args, const pp_search_result *choice, pp_err *err)
{
    const char *path = pp_args_text(args, "--candidates");
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    if (!path)
        return PP_OK;
    pp_search_result_csv(choice, &text);
    pp_status status = pp_text_check(&text, err);
    return status ? status : pp_file_write(path, text.data, text.bytes, err);
}

static pp_status write_exports(const pp_args *args, const pp_plan *plan, pp_err *err)
{
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
    pp_report *report PP_CLEANUP(pp_report_free) = NULL;
    const pp_costs *costs;
    bool compiled = false;
    if (!pp_args_has(args, "--emit") && !pp_args_has(args, "--trace") &&
        !pp_args_has(args, "--ranks"))
        return PP_OK;
    pp_status status = pp_args_switch(args, "--torch-compile", &compiled, err);
    if (!status)
        status = pp_plan_simulate(plan, &program, &timeline, &costs, &report, err);
    if (status)
        return status;
    const pp_export data = { .plan = plan,
                             .order = plan->order[0],
                             .program = program,
                             .timeline = timeline,
                             .costs = costs,
                             .report = plan->prediction,
                             .columns = 80,
                             .compiled = compiled };
    return pp_write_exports(args, &data, err);
}

static pp_status print(const pp_args *args, const pp_search_result *choice, pp_err *err)
{
    if (pp_args_has(args, "--json")) {
        pp_json_build build = { 0 };
        pp_json *json PP_CLEANUP(pp_json_free) = pp_plan_write(choice->plan, &build);
        return pp_print_json(args, &build, json, err);
    }
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_search_result_print(choice, &text);
    pp_status status = pp_text_check(&text, err);
    return status ? status : pp_print_product(args, text.data, text.bytes, err);
}

static void show(void *context, const pp_candidate *c)
{
    pp_plan_input *r = context;
    const double score = (double)c->step_ns * (double)pp_parallel_gpus(&c->parallel);
    char step[32];
    char least[32];
    if (r->shown > 0 && score >= r->shown)
        return;
    r->shown = score;
    pp_format_duration(step, sizeof step, c->step_ns);
    pp_format_duration(least, sizeof least, c->least_step_ns);
    const int64_t now_ns = pp_clock_now_ns();
    pp_remark("%.2f s, %.0f s left: step %s (%s, tp %d), bound %s, gap %.2f %%",
              (double)(now_ns - r->begin_ns) * 1e-9,
              now_ns < r->end_ns ? (double)(r->end_ns - now_ns) * 1e-9 : 0, step, c->schedule->name,
              (int)c->parallel.tp, least,
              c->least_step_ns ? 100 * ((double)c->step_ns / (double)c->least_step_ns - 1) : 0);
}

/* With --budget SECONDS: shown as it goes on, on a terminal, and ended by ^C. */
static pp_status choose(pp_plan_input *input, pp_search_result **choice_out, pp_err *err)
{
    struct sigaction before;
    if (!input->request.stop)
        return pp_plan_search(&input->request, choice_out, err);
    if (isatty(STDERR_FILENO) == 1)
        input->request.found = show;
    pp_interrupt_begin(&before);
    pp_status status = pp_plan_search(&input->request, choice_out, err);
    pp_interrupt_end(&before);
    if (!status && pp_interrupted())
        pp_remark("interrupted after %.1f s: this is the best plan by then",
                  (double)(pp_clock_now_ns() - input->begin_ns) * 1e-9);
    return status;
}

static pp_status plan(const pp_args *args, pp_err *err)
{
    if (pp_args_has(args, "--instance"))
        return pp_plan_instance(args, options, err);
    if (pp_args_has(args, "--pareto"))
        return pp_plan_pareto(args, err);
    pp_plan_input input PP_CLEANUP(pp_plan_input_free) = { .request = { .seed = 0 } };
    pp_search_result *choice PP_CLEANUP(pp_search_result_free) = NULL;
    pp_status status = pp_plan_input_read(args, &input, err);
    if (status || (status = pp_plan_input_read_packing(args, &input, err)))
        return status;
    if (pp_args_has(args, "--explain") && input.request.gpus)
        return pp_err_set(err, PP_USAGE, "--explain",
                          "changes given degrees; give --pp and the others instead of --gpus");
    if (pp_args_has(args, "--explain") &&
        (status = pp_plan_input_refuse_auto(&input, "--explain", err)))
        return status;
    input.request.missed = pp_plan_miss_print;
    status = choose(&input, &choice, err);
    if (status == PP_INFEASIBLE && pp_args_has(args, "--explain")) {
        pp_err own = pp_err_like(err);
        input.request.packings = NULL;
        if (pp_plan_explain(args, &input.request, &own)) {
            *err = own;
            return own.status;
        }
    }
    if (status)
        return status;
    if ((status = pp_profile_finish(&input.profile, &choice->context, choice->plan, err)) ||
        (input.target &&
         (status = pp_target_compare(input.target, &input.free_request, choice, err))))
        return status;
    snprintf(choice->plan->version, sizeof choice->plan->version, "%s", PPSIM_VERSION);
    choice->plan->command = pp_args_command(args);
    if (!choice->plan->command)
        return pp_err_nomem(err);
    if (choice->stopped)
        pp_remark("the budget ended after %zu simulation%s; a faster plan may exist",
                  choice->simulated, choice->simulated == 1 ? "" : "s");
    if (input.request.seq_length > input.model.max_seq_length)
        pp_remark("--seq-length %lld is beyond the %lld tokens that %s was made for",
                  (long long)input.request.seq_length, (long long)input.model.max_seq_length,
                  input.model.name);
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
    .aliases = aliases,
    .details = "What is not given is chosen or assumed, and printed.\n"
               "examples:\n"
               "  ppsim plan --model gpt175b --pp 16\n"
               "  ppsim plan --model llama3-70b --pp 8 --tp 4 --dp 2 --emit plan=plan.json\n"
               "  ppsim plan --model config.json --pp 4 --lengths lengths.txt --seq-length 8192\n"
               "  ppsim plan --instance instance.json --budget 5s -o orders.txt\n",
    .run = plan,
};
