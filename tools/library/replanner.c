/* Replanners: the options of a request for `plan` are read once, the pipeline is chosen once, and
 * each batch is then planned by planner/study/replan.c. A budget of time is that of the machine's
 * steady clock. The answer is a result like that of `plan`, whose JSON is printed only where it is
 * asked for, since that takes as long as planning does. */
#include "tools/library/replanner.h"

#include "runtime/core/clock.h"
#include "sim/base/alloc.h"
#include "sim/plan/plan_write.h"
#include "tools/library/request.h"
#include "tools/library/result.h"
#include "tools/ppsim/base/files.h"
#include "tools/ppsim/base/option_names.h"
#include "tools/ppsim/base/pipes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a batch may take. */
typedef struct budget {
    int64_t begin_ns, time_ns;
} budget;

static double spent(void *context)
{
    const budget *b = context;
    return (double)(pp_clock_now_ns() - b->begin_ns) / (double)b->time_ns;
}

/* Refuses what a batch's budget, or nothing, would make of an option. */
static pp_status refuse_options(const pp_args *args, pp_err *err)
{
    static const char *const no[] = { "--gpus",     "--budget",     "--packing",       "--explain",
                                      "--pareto",   "--why",        "--jitter",        "--rank-by",
                                      "--instance", "--costs-file", "--pipeline-runs", NULL };
    const pp_option *option;
    const char *value;
    for (size_t i = 0; (option = pp_args_given(args, i, &value)); i++) {
        bool refused = option->group == PP_GROUP_OUTPUT && strcmp(option->name, "--json") != 0;
        for (size_t k = 0; no[k]; k++)
            refused = refused || strcmp(option->name, no[k]) == 0;
        if (refused)
            return pp_err_set(err, PP_USAGE, option->name,
                              "is not for a replanner, whose pipeline is settled; remove it");
    }
    return PP_OK;
}

/* Copies the command line of a request, which may be freed before the replanner. */
static pp_status copy_words(ppsim_replanner *r, const ppsim_request *request, pp_err *err)
{
    r->argv = pp_alloc_array(request->words + 3, sizeof *r->argv);
    if (!r->argv)
        return pp_err_nomem(err);
    for (size_t i = 0; i < request->words + 2; i++) {
        const char *word = i == 0   ? "ppsim"
                           : i == 1 ? request->command->name
                                    : request->word[i - 2];
        r->argv[i] = strdup(word);
        if (!r->argv[i])
            return pp_err_nomem(err);
        r->argc++;
    }
    return PP_OK;
}

static pp_status open_request(ppsim_replanner *r, const ppsim_request *request, pp_err *err)
{
    pp_status status;
    if (strcmp(request->command->name, "plan") != 0)
        return pp_err_set(err, PP_USAGE, NULL, "a replanner needs a request for plan, not for %s",
                          request->command->name);
    if ((status = copy_words(r, request, err)) ||
        (status = pp_args_parse(request->command, (int)r->argc, r->argv, &r->args, err)) ||
        (status = refuse_options(r->args, err)) || (status = pp_files_check(r->args, err)) ||
        (status = pp_pipes_read(r->args, err)) ||
        (status = pp_plan_input_read(r->args, &r->input, err)) ||
        (status = pp_plan_input_refuse_auto(&r->input, "a replanner", err)))
        return status;
    pp_plan_request *q = &r->input.request;
    if (!q->lengths)
        return pp_err_set(err, PP_USAGE, "--lengths",
                          "is missing; give the sequence lengths of a typical batch");
    if (q->switches.value.recompute == PP_RECOMPUTE_MICROBATCHES)
        return pp_err_set(err, PP_USAGE, "--recompute",
                          "per-microbatch is for one batch; give per-stage");
    if (q->expert_tokens)
        return pp_err_set(err, PP_USAGE, "--moe-tokens",
                          "is of the microbatches of one batch; remove it");
    q->micro_batch_size = q->micro_batch_size ? q->micro_batch_size : 1;
    q->orders = PP_ORDERS_NAMED;
    q->packings = NULL;
    return pp_replanner_new(q, &r->core, err);
}

void ppsim_replanner_free(ppsim_replanner *replanner)
{
    if (!replanner)
        return;
    pp_replanner_free(&replanner->core);
    pp_plan_input_free(&replanner->input);
    pp_args_free(&replanner->args);
    pp_console_free(&replanner->console);
    for (size_t i = 0; i < replanner->argc; i++)
        free(replanner->argv[i]);
    free(replanner->argv);
    free(replanner->command);
    free(replanner);
}

ppsim_status ppsim_replanner_new(const ppsim_request *request, ppsim_replanner **replanner_out,
                                 ppsim_error *error)
{
    pp_err err = PP_COMMAND_ERR;
    ppsim_replanner *r = pp_alloc_array(1, sizeof *r);
    pp_status status = PP_OK;
    *replanner_out = NULL;
    if (r) {
        r->console = ppsim_console_of(request);
        const ppsim_plain locales = ppsim_plain_begin();
        pp_console *outer = pp_console_current();
        pp_console_use(&r->console);
        status = open_request(r, request, &err);
        if (!status) {
            r->command = pp_args_command(r->args);
            status = r->command ? PP_OK : pp_err_nomem(&err);
        }
        pp_console_use(outer);
        ppsim_plain_end(&locales);
        if (status && r->args)
            pp_args_restore(r->args, &err);
        ppsim_console_leave(&r->console);
    } else {
        status = pp_err_nomem(&err);
    }
    if (status)
        ppsim_replanner_free(r);
    else
        *replanner_out = r;
    err.status = status;
    return ppsim_finish(&err, error);
}

/* Prints the plan of a result, as `plan --json` does. */
static pp_status print_plan(ppsim_result *result, pp_err *err)
{
    pp_json_build build = { 0 };
    pp_json *json PP_CLEANUP(pp_json_free) = pp_plan_write(result->console.plan, &build);
    return pp_json_print(&build, json, &result->console.json.data, &result->console.json.bytes,
                         err);
}

static pp_status print_packing(const pp_replanned *found, pp_text *text, pp_err *err)
{
    const pp_grouping *g = &found->grouping;
    size_t next = 0;
    pp_text_add(text, "[");
    for (size_t j = 0; j < (size_t)g->replicas * g->microbatches; j++) {
        pp_text_add(text, "%s[", j % g->microbatches ? "," : j ? "],[" : "[");
        for (size_t first = next; next < g->end[j]; next++)
            pp_text_add(text, "%s%" PRIu32, next > first ? "," : "", g->sequence[next]);
        pp_text_add(text, "]");
    }
    pp_text_add(text, "]]");
    return pp_text_check(text, err);
}

static pp_status replan(ppsim_replanner *r, const ppsim_batch *batch, ppsim_result *result,
                        pp_err *err)
{
    pp_replanned *found PP_CLEANUP(pp_replanned_free) = NULL;
    budget time = { .begin_ns = pp_clock_now_ns(), .time_ns = batch->time_ns };
    const pp_replan_task task = { .lengths = batch->lengths,
                                  .count = batch->count,
                                  .iterations = batch->iterations,
                                  .spent = batch->iterations ? NULL : spent,
                                  .context = &time,
                                  .seed = batch->seed };
    pp_text packing PP_CLEANUP(pp_text_free) = { 0 };
    pp_status status = PP_OK;
    if (batch->count < 1 || (batch->iterations < 1) == (batch->time_ns < 1))
        return pp_err_set(err, PP_USAGE, batch->count < 1 ? "lengths" : "budget",
                          batch->count < 1 ? "are empty; give one length at least"
                                           : "must be a time or a number of iterations above 0");
    if ((status = pp_replan(r->core, &task, &found, err)))
        return status;
    pp_console *console = &result->console;
    if ((status = print_packing(found, &packing, err)) ||
        (status = pp_console_write(console, "packing", packing.data, packing.bytes, err)))
        return status;
    console->plan = found->plan;
    console->program = found->program;
    console->timeline = found->timeline;
    found->plan = NULL;
    found->program = NULL;
    found->timeline = NULL;
    result->first_fit_ns = found->first_fit_ns;
    snprintf(console->plan->version, sizeof console->plan->version, "%s", PPSIM_VERSION);
    console->plan->command = strdup(r->command);
    if (!console->plan->command)
        return pp_err_nomem(err);
    return batch->whole_plan ? print_plan(result, err) : PP_OK;
}

ppsim_status ppsim_replan(ppsim_replanner *replanner, const ppsim_batch *batch,
                          ppsim_result **result_out, ppsim_error *error)
{
    pp_err err = PP_COMMAND_ERR;
    ppsim_result *result = pp_alloc_array(1, sizeof *result);
    *result_out = result;
    if (!result) {
        (void)pp_err_nomem(&err);
        return ppsim_report(&err, error);
    }
    result->console.keeps_files = true;
    const ppsim_plain locales = ppsim_plain_begin();
    pp_console *outer = pp_console_current();
    pp_console_use(&result->console);
    err.status = replan(replanner, batch, result, &err);
    pp_console_use(outer);
    ppsim_plain_end(&locales);
    return ppsim_finish(&err, error);
}

int64_t ppsim_result_first_fit_ns(const ppsim_result *result)
{
    return result ? result->first_fit_ns : 0;
}
