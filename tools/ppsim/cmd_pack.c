/* ppsim pack: chooses which sequences share a microbatch, and in which order the microbatches
 * run. */
#include "planner/study/budget_slice.h"
#include "runtime/core/clock.h"
#include "sim/base/alloc.h"
#include "sim/schedule/registry.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/base/console.h"
#include "tools/ppsim/base/option_rows.h"
#include "tools/ppsim/base/output.h"
#include "tools/ppsim/commands.h"
#include "tools/ppsim/pack/print.h"
#include "tools/ppsim/plan/input.h"
#include "tools/ppsim/plan/interrupt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_SCHEDULE "1f1b"
#define DEFAULT_MOVES 1000

static const pp_option options[] = {
    { PP_OPTION_MODEL },
    { PP_ROW("--seq-length", "N", MODEL, "longest sequence, in tokens", "the model's maximum") },
    { PP_OPTION_TRUNCATE },
    { PP_OPTION_SPLIT_LONG },
    { PP_ROW("--micro-batch-size", "N", MODEL, "a microbatch has at most N x seq-length tokens",
             "1") },
    { PP_ROW("--global-batch-size", "N", MODEL,
             "sequences per step, if the file holds several steps", "all sequences are one step") },
    { PP_ROW("--packing", "given|first-fit|equal|ramped|auto", SEARCH,
             "packing to start from. auto tries all of them", "auto") },
    { PP_ROW("--budget", "TIME|COUNTit", SEARCH,
             "time for all, mostly to improve that packing by moving and swapping sequences, or "
             "moves per batch, e.g. 1000it (iterations)",
             "1000it for auto, otherwise 0") },
    { PP_ROW("--seed", "N", SEARCH, "random seed of the moves and swaps", "0") },
    { PP_OPTION_HW },
    { PP_OPTION_MEMORY_LIMIT },
    { PP_OPTION_PP },
    { PP_OPTION_TP },
    { PP_OPTION_DP },
    { PP_OPTION_CP },
    { PP_OPTION_EP },
    { PP_OPTION_ETP },
    { PP_ROW("--schedule", "NAME|auto", SCHEDULE,
             "a name from 'ppsim list schedules'. auto takes the fastest", DEFAULT_SCHEDULE) },
    { PP_OPTION_VPP_CHOSEN },
    { PP_OPTION_MICROBATCH_GROUP_SIZE },
    { PP_OPTION_RECOMPUTE },
    { PP_OPTION_PARTITION },
    { PP_ROW("--target", "NAME", FRAMEWORK,
             "pack for what one framework can run (see 'ppsim list targets')", NULL) },
    { PP_OPTION_EXECUTOR },
    { PP_OPTION_STACK },
    { PP_OPTION_STEP_SYNC },
    { PP_OPTION_SHAPES },
    { "--verbose", NULL, PP_GROUP_OUTPUT, "also print all packings that were tried", NULL, "-v",
      false },
    { PP_ROW_END },
};

/* The state of one run of the command. */
typedef struct packing_run {
    pp_plan_input input;
    pp_packer *packer;
    pp_pack_result result;
    size_t batch_size; /* 0: all sequences are one batch */
    bool packings[PP_PACKING_COUNT];
    int64_t moves;
    bool timed;               /* the budget is a time */
    pp_budget_slice opening;  /* its part for the pipeline */
    pp_budget_slice batch;    /* and for the batch in progress */
    pp_plan_request at_batch; /* with that part */
} packing_run;

/* The part of the time after which the pipeline is chosen. */
#define OPENING_END 0.3

static void run_free(packing_run *run)
{
    for (size_t k = 0; k < run->result.count; k++)
        pp_packed_free(&run->result.batch[k].packed);
    free(run->result.batch);
    pp_packer_close(&run->packer);
    pp_plan_input_free(&run->input);
}

static pp_status read_packings(const pp_args *args, packing_run *run, pp_err *err)
{
    int choice = PP_PACKING_COUNT;
    pp_status status = pp_packing_read(args, &choice, run->packings, err);
    run->moves = choice == PP_PACKING_COUNT && !pp_args_has(args, "--budget") ? DEFAULT_MOVES : 0;
    return status;
}

static pp_status read_all(const pp_args *args, packing_run *run, pp_err *err)
{
    const char *path = pp_args_word(args, 0);
    pp_plan_request *request = &run->input.request;
    pp_ns time_ns = 0;
    if (!path || pp_args_word(args, 1))
        return pp_err_set(err, PP_USAGE, NULL,
                          "give one file of sequence lengths; see 'ppsim pack --help'");
    pp_status status = pp_plan_input_read_with(args, path, &run->input, err);
    if (status || (status = pp_plan_input_refuse_auto(&run->input, "pack", err)) ||
        (status = read_packings(args, run, err)) ||
        (status = pp_budget_read(args, &run->moves, &time_ns, err)))
        return status;
    if (!pp_args_has(args, "--schedule") &&
        (status = pp_schedule_get(DEFAULT_SCHEDULE, &request->schedule, err)))
        return status;
    run->timed = request->stop != NULL;
    if (!request->micro_batch_size)
        request->micro_batch_size = 1;
    if (request->switches.value.recompute == PP_RECOMPUTE_MICROBATCHES)
        return pp_err_set(err, PP_USAGE, "--recompute",
                          "pack makes the microbatches itself and lets all of them recompute "
                          "alike; give per-stage, or use 'ppsim plan --lengths'");
    if (request->global_batch_size && request->group_count)
        return pp_err_set(err, PP_USAGE, "--global-batch-size",
                          "%.64s holds the microbatches of one step; remove the option", path);
    run->batch_size = (size_t)request->global_batch_size;
    request->global_batch_size = 0;
    if (run->batch_size > request->length_count)
        return pp_err_set(err, PP_USAGE, "--global-batch-size",
                          "%.64s has %zu sequences, fewer than one batch of %zu", path,
                          request->length_count, run->batch_size);
    return PP_OK;
}

static pp_status cut_batches(packing_run *run, pp_err *err)
{
    const pp_lengths *all = &run->input.lengths;
    const size_t size = run->batch_size ? run->batch_size : all->count;
    pp_pack_result *result = &run->result;
    result->batch = pp_alloc_array(all->count / size, sizeof *result->batch);
    if (!result->batch)
        return pp_err_nomem(err);
    result->count = all->count / size;
    result->left_over = all->count % size;
    for (size_t k = 0; k < result->count; k++)
        result->batch[k] =
            (pp_pack_batch){ .lengths = all->length + k * size, .first = k * size, .count = size };
    return PP_OK;
}

/* Chooses the pipeline. The first batch, packed first fit, decides; among pipelines that are
 * equally good for it, all batches do. */
static pp_status open_packer(packing_run *run, pp_err *err)
{
    pp_plan_request request = run->input.request;
    pp_err why = pp_err_like(err);
    request.lengths = run->result.batch[0].lengths;
    request.length_count = run->result.batch[0].count;
    request.group_end = NULL;
    request.group_count = 0;
    pp_pack_batches batches = { .lengths = request.lengths,
                                .size = request.length_count,
                                .count = run->result.count };
    memcpy(batches.packings, run->packings, sizeof batches.packings);
    pp_plan_request part = request;
    pp_budget_slice_cut(&run->opening, &run->input.request, 0, OPENING_END, &part);
    pp_status status = pp_packer_open_for(&part, &batches, &run->packer, &why);
    if (status == PP_UNDECIDED && run->timed) /* nothing to pack for yet: with all of the time */
        return pp_packer_open_for(&request, &batches, &run->packer, err);
    if (status)
        *err = why;
    return status;
}

static pp_status pack_batch(packing_run *run, size_t k, pp_err *err)
{
    pp_pack_batch *batch = &run->result.batch[k];
    char now[64];
    snprintf(now, sizeof now, "packing batch %zu of %zu", k + 1, run->result.count);
    pp_progress_line_set(&run->input.progress, now);
    pp_pack_task task = { .lengths = batch->lengths,
                          .count = batch->count,
                          .group_end = run->input.lengths.group_end,
                          .group_count = run->input.lengths.group_count,
                          .iterations = run->moves,
                          .seed = run->input.request.seed };
    memcpy(task.packings, run->packings, sizeof task.packings);
    run->at_batch = run->input.request;
    if (run->timed) {
        (void)pp_budget_slice_take(&run->batch, &run->input.request, run->result.count - k,
                                   &run->at_batch);
        task.stop = run->at_batch.stop;
        task.context = run->at_batch.context;
    }
    pp_err why = pp_err_like(err);
    pp_status status = pp_pack_advised(run->packer, &run->at_batch, &task, &batch->packed, &why);
    if (status && run->result.count > 1)
        return pp_err_set(err, status, why.where, "batch %zu: %.400s", k + 1, why.text);
    if (status)
        *err = why;
    return status;
}

static pp_status print_lengths(const char *path, const pp_pack_result *result, pp_err *err)
{
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_pack_print_lengths(result, &text);
    pp_status status = pp_text_check(&text, err);
    if (status)
        return status;
    return strcmp(path, "-") == 0 ? pp_print_stdout(text.data, text.bytes, err)
                                  : pp_output_write(path, text.data, text.bytes, err);
}

/* Writes the lengths to -o and everything else to stdout. */
static pp_status print(const pp_args *args, const pp_pack_result *result, pp_err *err)
{
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_text words PP_CLEANUP(pp_text_free) = { 0 };
    pp_json_build build = { 0 };
    const char *path = pp_args_text(args, "-o");
    pp_status status = PP_OK;
    if (path && ((status = print_lengths(path, result, err)) ||
                 (strcmp(path, "-") == 0 && !pp_console_current())))
        return status;
    if (pp_args_has(args, "--json")) {
        pp_json *json PP_CLEANUP(pp_json_free) = pp_pack_write(result, &build);
        status = pp_json_print(&build, json, &text.data, &text.bytes, err);
        if (!status)
            status = pp_print_beside(true, &text, err);
    }
    if (status || !pp_prints_words(args))
        return status;
    pp_pack_print(result, path, pp_args_has(args, "--verbose"), &words);
    return pp_print_beside(false, &words, err);
}

/* Chooses the pipeline and packs. With a budget in seconds, ^C ends it with the best so far. */
static pp_status pack_all(const pp_args *args, packing_run *run, pp_err *err)
{
    struct sigaction before;
    pp_progress_line_begin(&run->input.progress, pp_args_begin_ns(args), run->input.end_ns);
    pp_progress_line_set(&run->input.progress, "choosing the pipeline");
    if (run->timed)
        pp_interrupt_begin(false, &before);
    pp_status status = open_packer(run, err);
    for (size_t k = 0; k < run->result.count && !status; k++)
        status = pp_plan_input_is_cancelled(&run->input)
                     ? pp_err_set(err, PP_CANCELLED, NULL, "%s", "cancelled")
                     : pack_batch(run, k, err);
    if (run->timed)
        pp_interrupt_end(&before);
    pp_progress_line_end(&run->input.progress);
    return status;
}

static pp_status pack(const pp_args *args, pp_err *err)
{
    packing_run run PP_CLEANUP(run_free) = { .moves = 0 };
    pp_status status = read_all(args, &run, err);
    if (status || (status = cut_batches(&run, err)) || (status = pack_all(args, &run, err)))
        return status;
    run.result.request = &run.input.request;
    run.result.packer = run.packer;
    run.result.assumed = &run.input.assumptions;
    if (run.result.count == 1) {
        const pp_pack_batch *batch = &run.result.batch[0];
        status = pp_pad_rows(&run.input.request, pp_packer_pipeline(run.packer), batch->lengths,
                             batch->count, &run.result.padded, err);
        if (status)
            return status;
    }
    if (run.result.left_over)
        pp_remark("the last %zu sequences do not fill a batch of %zu and are not used",
                  run.result.left_over, run.batch_size);
    return print(args, &run.result, err);
}

/* The options that --help shows. */
static const char *const everyday[] = { "--model",
                                        "--seq-length",
                                        "--micro-batch-size",
                                        "--global-batch-size",
                                        "--hw",
                                        "--memory-limit",
                                        "--pp",
                                        "--tp",

                                        "--schedule",
                                        "--recompute",
                                        "--packing",
                                        "--budget",

                                        "--verbose",
                                        "-o",
                                        NULL };

const pp_command pp_command_pack = {
    .name = "pack",
    .arguments = "LENGTHS --model M --pp P [options]",
    .summary = "group sequences into microbatches so that the step is short",
    .options = options,
    .everyday = everyday,
    .details =
        "LENGTHS holds sequence lengths, one per line or a JSON array. -o writes them grouped "
        "and in their new order, for 'ppsim plan --lengths'.\n",
    .examples = "ppsim pack lengths.txt --model llama3-70b --pp 8 --seq-length 8192 -o p.json\n",
    .run = pack,
};
