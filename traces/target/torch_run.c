/* Checks and settings of plans for torchtitan and AutoModel, which both let PyTorch's pipeline
 * runtime (torch.distributed.pipelining, 2.13 and 2.15) run schedule rows from a file. These are
 * checks of the order and of the sizes of its microbatches, the settings that follow from the plan,
 * and the printing that both configurations share. */
#include "traces/target/torch_run.h"

#include "sim/framework/registry.h"
#include "sim/program/program_new.h"
#include "traces/read/gzip.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static pp_status refuse(const char *name, const char *reason, pp_err *err)
{
    return pp_err_set(err, PP_INFEASIBLE, name, "%s", reason);
}

static pp_status check_path(const char *name, const pp_export *data, pp_err *err)
{
    if (!data->path || strcmp(data->path, "-") == 0)
        return pp_err_set(err, PP_USAGE, name,
                          "the schedule is written next to the configuration, which names it; give "
                          "a file, --emit %s=FILE",
                          name);
    if (pp_gzip_named(data->path))
        return pp_err_set(
            err, PP_USAGE, name,
            "it does not read compressed configurations and schedules; give a name without .gz");
    return PP_OK;
}

/* Checks what PyTorch's runtime checks of rows (reading, placing, lowering), and what it needs but
 * does not check. */
static pp_status check_order(const char *name, const pp_export *data, pp_torch_run *run,
                             pp_err *err)
{
    const pp_pytorch_facts *facts = &run->facts;
    if (data->order->ranks < 2)
        return refuse(name, "it reads no schedule with 1 pipeline rank; use --pp 2 or more", err);
    if (facts->forward_only)
        return refuse(name,
                      "its configuration is for training, and these are only forwards; write the "
                      "whole schedule",
                      err);
    if (!facts->per_rank || !run->schedule)
        return refuse(name,
                      "it places stages on a loop, with equally many on every rank, or on a V of "
                      "two per rank; choose such a schedule",
                      err);
    const pp_pytorch_settings *set = &data->plan->pytorch;
    if (data->plan->reshard_after_forward > 0)
        return refuse(name,
                      "it cannot be told over how many GPUs parameters stay divided after a "
                      "forward; plan with --reshard-after-forward always or never",
                      err);
    if (facts->split && data->plan->reshard_after_forward != PP_RESHARD_NEVER)
        return refuse(name,
                      "PyTorch loses the gradients of weights if parameters are freed after "
                      "forwards and the backward is split into I and W; plan with "
                      "--reshard-after-forward never",
                      err);
    if (set->max_outstanding_sends || set->unshard_lookahead != PP_LOOKAHEAD_FULL)
        return refuse(name,
                      "it cannot be told max_outstanding_sends and unshard_lookahead; simulate the "
                      "plan with --max-outstanding-sends none --unshard-lookahead full",
                      err);
    if (facts->losses_shuffled)
        return refuse(
            name,
            "PyTorch uses wrong losses if the last stage computes forwards in another order "
            "than that of the microbatches; number the microbatches in that order",
            err);
    if (facts->split && data->compiled)
        return refuse(name,
                      "torch.compile does not allow I and W, the split backward; leave out "
                      "--torch-compile, or choose a schedule with B",
                      err);
    if (facts->split && run->recompute == PP_RECOMPUTE_SELECTIVE)
        return refuse(name,
                      "PyTorch cannot recompute selectively and split the backward into I and W: "
                      "it stops with \"Trying to backward an extra time\"; plan with --recompute "
                      "none or full, or a schedule with B, such as interleaved",
                      err);
    return PP_OK;
}

static pp_status check_data(const char *name, const pp_export *data, const pp_torch_run *run,
                            const pp_size_protocol *shapes, pp_err *err)
{
    const pp_plan *plan = data->plan;
    if (run->facts.lengths_differ && shapes->kind != PP_SIZES_PADDED)
        return refuse(name,
                      "all microbatches of a step need one shape, and those of this plan differ; "
                      "plan with --shapes padded",
                      err);
    if (plan->order_count > 1)
        return refuse(name,
                      "all replicas read one file, and the replicas of this plan have different "
                      "orders; plan with --target",
                      err);
    for (uint32_t s = 0; plan->partition && s < data->order->stages; s++) {
        if (plan->partition[s].mtp)
            return refuse(name,
                          "it cannot place multi-token prediction modules, because their names are "
                          "unknown; plan a model without them",
                          err);
    }
    if (!plan->partition && run->facts.per_rank > 2)
        return refuse(name,
                      "it builds 2 stages per rank without a partition; write it from a plan of a "
                      "model, which has a partition",
                      err);
    return PP_OK;
}

static int64_t longest_tokens(const pp_workload *workload)
{
    int64_t longest = 0;
    for (size_t i = 0;
         workload->microbatch && i < (size_t)workload->replicas * workload->microbatches; i++) {
        if (workload->microbatch[i].tokens > longest)
            longest = workload->microbatch[i].tokens;
    }
    return longest;
}

static void fill_sizes(const pp_export *data, const pp_size_protocol *shapes, pp_torch_run *run)
{
    const pp_plan *plan = data->plan;
    int64_t tokens = longest_tokens(&plan->workload);
    if (shapes->kind == PP_SIZES_PADDED && shapes->tokens)
        tokens = shapes->tokens;
    run->known = plan->micro_batch_size > 0;
    run->micro_batch_size = run->known ? plan->micro_batch_size : 1;
    run->local_batch_size = run->micro_batch_size * data->order->microbatches;
    run->global_batch_size =
        run->known ? run->local_batch_size * plan->parallel.dp * (plan->runs ? plan->runs : 1) : 0;
    run->seq_length = tokens ? tokens / run->micro_batch_size : plan->seq_length;
}

pp_status pp_torch_run_of(const char *name, const pp_export *data, pp_torch_run *run_out,
                          pp_err *err)
{
    pp_torch_run run = { .recompute = pp_plan_recompute(data->plan, data->order->stages) };
    pp_program *lowered PP_CLEANUP(pp_program_free) = NULL;
    const pp_size_protocol *sizes = &data->plan->sizes;
    pp_status status = check_path(name, data, err);
    if (!status && run.recompute == PP_RECOMPUTE_STAGES)
        return pp_err_set(err, PP_INFEASIBLE, name,
                          "it recomputes the same on all stages, but here stages differ; plan with "
                          "--target %s, or --recompute none, selective or full",
                          name);
    if (!status && run.recompute == PP_RECOMPUTE_MICROBATCHES)
        return pp_err_set(err, PP_INFEASIBLE, name,
                          "it recomputes the same for all microbatches, but here they differ; plan "
                          "with --target %s, or --recompute none, selective or full",
                          name);
    if (status || (status = pp_pytorch_facts_gather(data, &run.facts, err)))
        return status;
    run.schedule = pp_pytorch_schedule_name(data, &run.facts);
    if ((status = check_order(name, data, &run, err)) ||
        (status =
             pp_framework_lower(&pp_framework_torch, data->order, NULL, NULL, &lowered, err)) ||
        (status = check_data(name, data, &run, sizes, err)))
        return status;
    fill_sizes(data, sizes, &run);
    *run_out = run;
    return PP_OK;
}

pp_status pp_torch_finish(const pp_export *data, const pp_text *text, pp_companion *companion,
                          pp_err *err)
{
    pp_status status = pp_text_check(text, err);
    if (status)
        return status;
    pp_pytorch_rows_print(data->order, &companion->text);
    companion->suffix = ".csv";
    return pp_text_check(&companion->text, err);
}

/* Prints `words` and a line feed; control characters become blanks, so that it is one line. */
static void print_comment(const char *words, pp_text *text)
{
    for (; *words; words++)
        pp_text_add(text, "%c", (unsigned char)*words < ' ' ? ' ' : *words);
    pp_text_add(text, "\n");
}

void pp_torch_print_head(const pp_export *data, const char *where_to, pp_text *text)
{
    if (data->plan->command) {
        pp_text_add(text, "# Made by: ");
        print_comment(data->plan->command, text);
    }
    const pp_framework *own = data->plan->framework;
    if (data->plan->runs > 1)
        pp_text_add(text,
                    "# The schedule runs %" PRId64
                    " times per step: the global batch size is that of one run times this, "
                    "times dp.\n",
                    data->plan->runs);
    pp_text_add(text, "# %s\n# The path of the schedule is from where training starts.\n",
                where_to);
    if (own && own->pytorch)
        pp_text_add(text, "# The prediction is for PyTorch %s (executor %s).\n", own->pytorch,
                    own->name);
    else if (own)
        pp_text_add(text, "# The prediction is for executor %s, not for PyTorch.\n", own->name);
}

void pp_torch_print_quoted(const char *words, const char *suffix, pp_text *text)
{
    const char *parts[] = { words, suffix };
    pp_text_add(text, "\"");
    for (size_t i = 0; i < 2; i++) {
        for (const char *c = parts[i]; *c; c++) {
            if ((unsigned char)*c < ' ' || *c == 127)
                pp_text_add(text, "\\u%04x", (unsigned)*c);
            else
                pp_text_add(text, "%s%c", *c == '"' || *c == '\\' ? "\\" : "", *c);
        }
    }
    pp_text_add(text, "\"");
}

void pp_torch_print_16bit(const pp_export *data, const char *head, pp_text *text)
{
    const int64_t edge = pp_recipe_of(data->plan->precision)->edge_layers;
    int64_t layers = 0;
    for (uint32_t s = 0; s < data->order->stages; s++)
        layers += data->plan->partition[s].layers;
    pp_text_add(text, "[\"%s\"", head);
    for (int64_t i = 0; i < edge; i++)
        pp_text_add(text, ", \"layers.%" PRId64 ".\", \"layers.%" PRId64 ".\"", i, layers - 1 - i);
    pp_text_add(text, "]\n");
}

void pp_torch_print_modules(const pp_stage *stage, const pp_module_names *names, pp_text *text)
{
    const char *comma = "";
    pp_text_add(text, "[");
    if (stage->embedding) {
        pp_text_add(text, "\"%s\"", names->embedding);
        comma = ", ";
    }
    for (int64_t i = 0; i < stage->layers; i++) {
        pp_text_add(text, "%s\"%s%" PRId64 "\"", comma, names->layers, stage->first_layer + i);
        comma = ", ";
    }
    if (stage->loss)
        pp_text_add(text, "%s\"%s\", \"%s\"", comma, names->norm, names->head);
    if (stage->loss)
        comma = ", ";
    if (names->every)
        pp_text_add(text, "%s\"%s\"", comma, names->every);
    pp_text_add(text, "]");
}
