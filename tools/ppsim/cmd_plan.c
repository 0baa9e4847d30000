/* ppsim plan: searches for the fastest schedule, partition, recomputation and parallel degrees that
 * fit into memory, and predicts the step. The command reads the request, calls pp_plan_search (or
 * --instance, --pareto, --explain) and writes the result. */
#include "runtime/core/clock.h"
#include "sim/plan/plan_write.h"
#include "sim/program/program_new.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/base/colour.h"
#include "tools/ppsim/base/output.h"
#include "tools/ppsim/commands.h"
#include "tools/ppsim/export/export.h"
#include "tools/ppsim/input/load.h"
#include "tools/ppsim/input/profile_args.h"
#include "tools/ppsim/page/page.h"
#include "tools/ppsim/plan/assumptions.h"
#include "tools/ppsim/plan/elsewhere.h"
#include "tools/ppsim/plan/explain.h"
#include "tools/ppsim/plan/input.h"
#include "tools/ppsim/plan/instance.h"
#include "tools/ppsim/plan/interrupt.h"
#include "tools/ppsim/plan/interval.h"
#include "tools/ppsim/plan/memory.h"
#include "tools/ppsim/plan/options.h"
#include "tools/ppsim/plan/pareto.h"
#include "tools/ppsim/plan/print.h"
#include "tools/ppsim/plan/sentences.h"
#include "traces/format/export/export.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The part of a budget of time after which other executors are not simulated any more. */
#define ELSEWHERE_UNTIL 0.8

static void list_candidates(const pp_search_result *choice, pp_text *text)
{
    pp_candidate_csv(NULL, text);
    for (size_t i = 0; i < choice->count; i++)
        pp_candidate_csv(&choice->candidate[i], text);
    for (size_t i = 1; i < choice->splits; i++)
        pp_candidate_csv(&choice->split[i], text);
}

static pp_status write_candidates(const pp_args *args, const pp_search_result *choice, pp_err *err)
{
    const char *path = pp_args_text(args, "--candidates");
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    if (!path)
        return PP_OK;
    list_candidates(choice, &text);
    pp_status status = pp_text_check(&text, err);
    return status ? status : pp_output_write(path, text.data, text.bytes, err);
}

/* Returns the file that --emit plan= names, or NULL. */
static const char *plan_file(const pp_args *args)
{
    const char *emit;
    for (size_t i = 0; (emit = pp_args_each(args, "--emit", i)); i++) {
        if (strncmp(emit, "plan=", 5) == 0 && strcmp(emit, "plan=-") != 0)
            return emit + 5;
    }
    return NULL;
}

/* True if --hw names a file of the user. */
static bool hardware_is_file(const pp_args *args, const pp_search_result *choice)
{
    const char *hardware = pp_args_text(args, "--hw");
    return hardware && strcmp(hardware, choice->plan->hardware) != 0 &&
           !pp_load_alias(PP_DATA_HARDWARE, hardware);
}

/* Appends the answer for people. */
static void print_words(const pp_args *args, const pp_search_result *choice, pp_text *text)
{
    const char *hardware = pp_args_text(args, "--hw");
    const char *profile = pp_args_text(args, "--profile");
    const char *model = pp_args_text(args, "--model");
    const bool is_alias = hardware && pp_load_alias(PP_DATA_HARDWARE, hardware);
    const bool is_file = hardware_is_file(args, choice);
    const pp_plan_view view = {
        .result = choice,
        .plan_file = plan_file(args),
        .hardware = hardware || !profile ? (is_file ? hardware : choice->plan->hardware) : NULL,
        .is_file = is_file,
        .model_alias = model && pp_load_alias(PP_DATA_MODEL, model) ? model : NULL,
        .alias = is_alias ? hardware : NULL,
        .profile = profile,
        .packing = pp_args_has(args, "--packing"),
        .verbose = pp_args_has(args, "--verbose")
    };
    pp_plan_print(&view, text);
}

static pp_status print(const pp_args *args, const pp_search_result *choice, pp_err *err)
{
    if (pp_args_has(args, "--json")) {
        pp_json_build build = { 0 };
        pp_json *json PP_CLEANUP(pp_json_free) = pp_plan_write(choice->plan, &build);
        pp_status status = pp_print_json(args, &build, json, err);
        if (status || !pp_prints_words(args))
            return status;
    }
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    print_words(args, choice, &text);
    return pp_print_answer(args, &text, err);
}

/* Writes the page of --report, with all candidates. */
static pp_status write_page(const pp_args *args, pp_search_result *choice, pp_err *err)
{
    const char *path = pp_args_text(args, "--report");
    pp_plan *plan = choice->plan;
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
    pp_report *report PP_CLEANUP(pp_report_free) = NULL;
    const pp_costs *costs;
    pp_page page PP_CLEANUP(pp_page_free) = { 0 };
    pp_text answer PP_CLEANUP(pp_text_free) = { 0 };
    pp_text candidates PP_CLEANUP(pp_text_free) = { 0 };
    if (!path)
        return PP_OK;
    pp_status status = pp_plan_simulate(plan, &program, &timeline, &costs, &report, err);
    if (status)
        return status;
    const pp_export data = { .plan = plan,
                             .program = program,
                             .timeline = timeline,
                             .costs = costs,
                             .report = plan->prediction };
    print_words(args, choice, &answer);
    pp_colour_strip(&answer);
    list_candidates(choice, &candidates);
    if ((status = pp_text_check(&answer, err)) || (status = pp_text_check(&candidates, err)))
        return status;
    /* The page has more of the report than what is printed. */
    pp_report *own = plan->prediction;
    const bool has_why = own->has_why;
    own->why = choice->why;
    own->has_why = true;
    status = pp_report_add_worst(own, program, timeline, PP_PAGE_WAITS, err);
    if (!status)
        status = pp_page_add_plan(&page, plan->model, &data, answer.data, candidates.data, err);
    own->has_why = has_why;
    own->has_worst = false;
    return status ? status : pp_page_write(&page, args, path, err);
}

static void show(void *context, const pp_candidate *c)
{
    pp_plan_input *r = context;
    const double score = (double)c->step_ns * (double)pp_parallel_gpus(&c->parallel);
    char step[32];
    char least[32];
    char best[sizeof r->progress.best];
    if (r->shown > 0 && score >= r->shown)
        return;
    r->shown = score;
    snprintf(best, sizeof best, "step %s (%s, tp %d), bound %s, gap %.2f %%",
             pp_format_duration(step, sizeof step, c->step_ns), c->schedule->name,
             (int)c->parallel.tp, pp_format_duration(least, sizeof least, c->least_step_ns),
             c->least_step_ns ? 100 * ((double)c->step_ns / (double)c->least_step_ns - 1) : 0);
    pp_progress_line_set(&r->progress, best);
}

static void miss(void *context, const pp_report *nearest)
{
    pp_plan_input *r = context;
    pp_progress_line_hide(&r->progress);
    pp_plan_miss_print(context, nearest);
}

/* Runs the search, and explains why nothing fits if that is asked for. With --budget SECONDS, ^C
 * ends it with the best plan so far. */
static pp_status choose(const pp_args *args, pp_plan_input *input, pp_search_result **choice_out,
                        pp_err *err)
{
    struct sigaction before;
    const bool timed = input->request.stop != NULL;
    input->request.found = show;
    input->request.missed = miss;
    input->request.context = input;
    pp_progress_line_begin(&input->progress, pp_args_begin_ns(args), input->end_ns);
    if (timed)
        pp_interrupt_begin(false, &before);
    pp_status status = pp_plan_search(&input->request, choice_out, err);
    if (status == PP_INFEASIBLE && pp_args_has(args, "--explain")) {
        pp_err own = pp_err_like(err);
        input->request.packings = NULL;
        if (pp_plan_explain(args, &input->request, &input->progress, &own)) {
            *err = own;
            status = own.status;
        }
    }
    if (timed)
        pp_interrupt_end(&before);
    pp_progress_line_end(&input->progress);
    if (!status && timed && pp_interrupted(input->console))
        pp_remark("interrupted after %.1f s; this is the best plan found until then",
                  (double)(pp_clock_now_ns() - input->begin_ns) * 1e-9);
    return status;
}

/* Notes what the sequences take without packing, unless the budget is used up. */
static pp_status note_padding(const pp_plan_input *input, const pp_search_result *choice,
                              pp_err *err)
{
    const pp_plan_request *request = &input->request;
    const pp_candidate *like = NULL;
    pp_plan_request own = *request;
    pp_padded_rows rows;
    for (size_t i = 0; i < choice->count && !like; i++) {
        const pp_candidate *c = &choice->candidate[i];
        if (c->status == PP_CANDIDATE_OK && pp_candidate_is_named(c))
            like = c;
    }
    if (!request->lengths || !like || choice->stopped)
        return PP_OK;
    own.framework = choice->plan->framework;
    own.free = (pp_free_settings){ .framework = false };
    pp_status status = pp_pad_rows(&own, like, request->lengths, request->length_count, &rows, err);
    return status || !rows.step_ns ? status : pp_plan_note_padding(choice, &rows, err);
}

/* Finds what the plan takes under other executors, unless the runtime was chosen or the budget is
 * used up. */
static pp_status find_elsewhere(const pp_args *args, const pp_plan_input *input,
                                const pp_search_result *choice, pp_err *err)
{
    const pp_plan_request *request = &input->request;
    if (input->target || pp_args_has(args, "--executor") || choice->stopped ||
        (request->stop && request->spent(request->context) > ELSEWHERE_UNTIL))
        return PP_OK;
    return pp_plan_find_elsewhere(choice->plan, err);
}

static pp_status plan(const pp_args *args, pp_err *err)
{
    if (pp_args_has(args, "--instance") || pp_args_has(args, "--costs-file"))
        return pp_plan_instance(args, pp_plan_options, err);
    if (pp_args_has(args, "--pareto"))
        return pp_plan_pareto(args, err);
    pp_plan_input input PP_CLEANUP(pp_plan_input_free) = { .request = { .seed = 0 } };
    pp_search_result *choice PP_CLEANUP(pp_search_result_free) = NULL;
    pp_status status = pp_plan_input_read(args, &input, err);
    if (status || (status = pp_plan_input_read_packing(args, &input, err)))
        return status;
    if (pp_args_has(args, "--explain") && input.request.gpus)
        return pp_err_set(err, PP_USAGE, "--explain",
                          "applies to given degrees; give --pp and the other degrees "
                          "instead of --gpus");
    if (pp_args_has(args, "--explain") &&
        (status = pp_plan_input_refuse_auto(&input, "--explain", err)))
        return status;
    input.request.no_advice = pp_args_has(args, "--explain"); /* its table has it */
    status = choose(args, &input, &choice, err);
    if (status || (status = pp_plan_note_assumptions(choice, &input.assumptions, err)) ||
        (status = pp_plan_note_choices(choice, err)) ||
        (status = note_padding(&input, choice, err)) ||
        (status = find_elsewhere(args, &input, choice, err)) ||
        (status = pp_profile_finish(&input.profile, &choice->context, choice->plan, err)) ||
        (input.target && pp_args_has(args, "--verbose") && !input.request.lengths &&
         (status = pp_target_compare(input.target, &input.free_request, choice, err))))
        return status;
    if (!pp_args_has(args, "--profile")) /* its measurements have an interval of their own */
        pp_plan_find_interval(hardware_is_file(args, choice) ? NULL : choice->plan->hardware,
                              choice);
    snprintf(choice->plan->version, sizeof choice->plan->version, "%s", PPSIM_VERSION);
    choice->plan->command = pp_args_command(args);
    if (!choice->plan->command)
        return pp_err_nomem(err);
    if (choice->stopped)
        pp_remark("the budget ended after %zu iteration%s; a faster plan may exist",
                  choice->simulated, choice->simulated == 1 ? "" : "s");
    pp_plan_remark_degrees(&input.request, err);
    if (input.request.seq_length > input.model.max_seq_length)
        pp_remark(
            "--seq-length %lld exceeds %lld tokens, the longest sequence that %s was made for",
            (long long)input.request.seq_length, (long long)input.model.max_seq_length,
            input.model.name);
    if ((status = pp_write_plan_exports(args, choice->plan, err)) ||
        (status = write_candidates(args, choice, err)) ||
        (status = write_page(args, choice, err)) || (status = print(args, choice, err)))
        return status;
    if (pp_console_current()) {
        pp_console_current()->plan = choice->plan;
        choice->plan = NULL; /* the console owns it now */
    }
    return PP_OK;
}

/* The options that --help shows. */
static const char *const everyday[] = { "--model",    "--seq-length", "--global-batch-size",
                                        "--lengths",  "--hw",         "--memory-limit",

                                        "--gpus",     "--pp",         "--tp",
                                        "--schedule", "--recompute",  "--target",
                                        "--budget",   "--verbose",    "--emit",
                                        "--json",     "-o",           NULL };

const pp_command pp_command_plan = {
    .name = "plan",
    .arguments = "--model M (--gpus N | --pp P) [options]",
    .summary = "choose the fastest setup that fits in memory and predict its step",
    .options = pp_plan_options,
    .everyday = everyday,
    .aliases = pp_plan_option_aliases,
    .details = "Whatever is not given is chosen or assumed; --verbose lists what was assumed.\n"
               "An interrupt (Ctrl-C) ends a search with --budget TIME and prints the best plan so "
               "far.\n",
    .examples = "ppsim plan --model gpt175b --pp 16\n"
                "ppsim plan --model llama3-70b --gpus 64 --emit plan=plan.json\n"
                "ppsim plan --model config.json --pp 4 --lengths lengths.txt --seq-length 8192\n",
    .run = plan,
};
