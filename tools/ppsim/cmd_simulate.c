/* ppsim simulate: predicts one step of a plan, a schedule file or a named schedule. */
#include "sim/analysis/report_json.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/base/console.h"
#include "tools/ppsim/base/output.h"
#include "tools/ppsim/commands.h"
#include "tools/ppsim/export/export.h"
#include "tools/ppsim/input/profile_plan.h"
#include "tools/ppsim/report/recompute_print.h"
#include "tools/ppsim/report/report_print.h"
#include "tools/ppsim/report/robustness.h"
#include "tools/ppsim/scenario/framework_table.h"
#include "tools/ppsim/scenario/scenario_run.h"
#include "tools/ppsim/scenario/simulate_answer.h"
#include "tools/ppsim/scenario/simulate_options.h"
#include "traces/format/export/export.h"

#include <string.h>

/* Prints the report with all its tables. */
static void print_report(const pp_plan *plan, pp_text *text)
{
    pp_report_print(plan->prediction, text);
    if (plan->recomputed.of || plan->recompute == PP_RECOMPUTE_STAGES) {
        pp_text_add(text, "\n");
        pp_recompute_print(plan, text);
    }
}

/* Prints the answer, and the tables that options ask for. */
static void print_summary(const pp_args *args, const pp_scenario *s, const pp_why *why,
                          pp_text *text)
{
    const pp_report *report = s->plan->prediction;
    pp_simulate_answer_print(s, why, text);
    if (report->has_why)
        pp_why_print(why, report->step_ns, text);
    if (pp_args_has(args, "--worst"))
        pp_waits_print(report, text);
    pp_robustness_print(&report->robustness, text);
}

static pp_status print(const pp_args *args, const pp_scenario *s, const pp_why *why, pp_err *err)
{
    const pp_report *report = s->plan->prediction;
    if (pp_args_has(args, "--json")) {
        pp_json_build build = { 0 };
        pp_json *json PP_CLEANUP(pp_json_free) = pp_report_write(report, &build);
        pp_status status = pp_print_json(args, &build, json, err);
        if (status || !pp_prints_words(args))
            return status;
    }
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    if (pp_args_has(args, "--verbose"))
        print_report(s->plan, &text);
    else
        print_summary(args, s, why, &text);
    return pp_print_answer(args, &text, err);
}

/* Prints the table of --executor all. */
static pp_status table(const pp_args *args, pp_scenario *s, pp_err *err)
{
    static const char *const single[] = {
        "--emit",        "--trace", "--ranks", "--compile-time", "--worst",   "--jitter",
        "--sensitivity", "--why",   "--seed",  "--threads",      "--columns", "--memory-limit"
    };
    for (size_t i = 0; i < sizeof single / sizeof single[0]; i++) {
        if (pp_args_has(args, single[i]))
            return pp_err_set(err, PP_USAGE, single[i],
                              "needs a single executor; name one with --executor instead of all");
    }
    return pp_print_executor_table(args, s->plan, err);
}

static pp_status simulate(const pp_args *args, pp_err *err)
{
    pp_scenario s PP_CLEANUP(pp_scenario_free) = { 0 };
    int64_t columns = 80;
    int64_t worst = PP_WORST_DEFAULT;
    bool compiled = false;
    pp_why why = { 0 };
    pp_robustness_request robust;
    pp_status status = pp_scenario_prepare(args, &s, err);
    if (status || (status = pp_profile_of_plan(args, s.plan, err)))
        return status;
    if (s.every_framework)
        return table(args, &s, err);
    if ((status = pp_args_int(args, "--columns", 20, 100000, &columns, err)) ||
        (status = pp_args_switch(args, "--torch-compile", &compiled, err)) ||
        (status = pp_args_int(args, "--worst", 0, 1000000, &worst, err)) ||
        (status = pp_robust_read(args, &robust, err)) ||
        (status = pp_scenario_report(args, &s, err)))
        return status;
    pp_report *report = s.plan->prediction;
    const pp_jitter_subject subject = { .program = s.program,
                                        .timeline = s.timeline,
                                        .costs = s.costs,
                                        .step_sync = s.plan->step_sync,
                                        .chained = !s.plan->step_sync &&
                                                   pp_step_tail_chained(report->framework) };
    if (worst != PP_WORST_DEFAULT) /* otherwise the report has them already */
        status = pp_report_add_worst(report, s.program, s.timeline, (size_t)worst, err);
    report->has_why = pp_args_has(args, "--why");
    if (!status && (report->has_why || pp_prints_words(args)))
        status = pp_report_why(report, s.program, s.timeline, s.costs, NULL, &why, err);
    if (status || (status = pp_robust_study(&robust, s.plan, &subject, report, err)))
        return status;
    report->why = why;
    const pp_export data = { .plan = s.plan,
                             .order = pp_scenario_order(&s),
                             .program = s.program,
                             .timeline = s.timeline,
                             .costs = s.costs,
                             .report = report,
                             .columns = (int)columns,
                             .compiled = compiled };
    if ((status = pp_write_exports(args, &data, err)) || (status = print(args, &s, &why, err)))
        return status;
    status = pp_scenario_check_limit(report, err);
    if (pp_console_current()) {
        pp_console *console = pp_console_current();
        console->plan = s.plan;
        console->program = s.program;
        console->timeline = s.timeline;
        s = (pp_scenario){ 0 }; /* the console owns them now */
    }
    return status;
}

/* The options that --help shows. */
static const char *const everyday[] = { "--schedule",
                                        "--pp",
                                        "--microbatches",

                                        "--costs",

                                        "--memory-limit",
                                        "--executor",
                                        "--why",
                                        "--sensitivity",
                                        "--jitter",
                                        "--emit",
                                        "--trace",
                                        "--verbose",

                                        "-o",
                                        NULL };

const pp_command pp_command_simulate = {
    .name = "simulate",
    .arguments = "PLAN.json [options]\n"
                 "FILE.csv --costs F=T,B=T [options]\n"
                 "--schedule NAME --pp P --microbatches M --costs F=T,B=T",
    .summary = "predict one training step: time, idle time and memory per rank",
    .options = pp_simulate_options,
    .everyday = everyday,
    .examples = "ppsim simulate plan.json --why\n"
                "ppsim simulate --schedule zb-h1 --pp 8 --microbatches 32 \\\n"
                "    --costs F=18.5ms,I=18.1ms,W=9.3ms,comm=0.6ms --trace chrome=step.json\n"
                "ppsim simulate plan.json --jitter compute=0.02,comm=0.1 --seed 1\n",
    .run = simulate,
};
