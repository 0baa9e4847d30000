/* ppsim convert: writes a schedule or timeline in another format, and warns about information
 * that the format cannot hold. */
#include "calib/import/registry.h"
#include "planner/bound/bound.h"
#include "sim/base/alloc.h"
#include "sim/framework/registry.h"
#include "sim/program/program_new.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/base/output.h"
#include "tools/ppsim/commands.h"
#include "tools/ppsim/export/export.h"
#include "tools/ppsim/scenario/scenario.h"
#include "traces/format/registry.h"
#include "traces/read/events.h"
#include "traces/read/events_cut.h"
#include "traces/read/gzip.h"
#include "traces/read/recording.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const pp_option options[] = {
    { PP_ROW("--to", "FORMAT", CONVERSION, "format to write: a name from 'ppsim list formats'",
             NULL) },
    { PP_ROW("--columns", "N", OUTPUT, "width of the text timeline, in characters", "80") },
    { PP_ROW("--ranks", "A-B", CONVERSION,
             "with --to chrome: copy only these ranks of a Chrome trace of any size", "all") },
    { PP_ROW(
        "--steps", "N|A-B", CONVERSION,
        "step to read if a recording has several, counted from 0. With --to chrome, A-B copies "
        "these steps of a trace of any size",
        "the last") },
    { PP_ROW_END },
};

#define HEAD_BYTES ((size_t)1 << 20) /* a log has its first table within this many bytes */

enum { PLAN_HOLDS = PP_HOLDS_ORDER | PP_HOLDS_SETTINGS | PP_HOLDS_COSTS | PP_HOLDS_REPLICAS };

/* Prints a remark about each kind of information in `lost`, which the target format cannot hold. */
static void tell_lost(const char *target, unsigned lost)
{
    static const char *const words[] = {
#define PP_HOLDS_WORDS(name, words) words,
        PP_HOLDS_MAP(PP_HOLDS_WORDS)
#undef PP_HOLDS_WORDS
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (lost & 1u << i)
            pp_remark("lost: %s, which %s cannot hold", words[i], target);
    }
}

/* Writes the target format to -o FILE or to stdout. */
static pp_status write_out(const pp_args *args, const char *option, const char *target,
                           const pp_export *data, pp_err *err)
{
    const char *path = pp_args_text(args, "-o");
    pp_text request PP_CLEANUP(pp_text_free) = { 0 };
    pp_text_add(&request, "%s=%s", target, path ? path : "-");
    pp_status status = pp_text_check(&request, err);
    return status ? status : pp_write_export(args, option, request.data, data, err);
}

typedef struct source {
    pp_plan *plan;
    pp_program *program;
    pp_timeline *timeline;
    const pp_costs *costs;
} source;

static void free_source(source *s)
{
    pp_program_free(&s->program);
    pp_timeline_free(&s->timeline);
    pp_plan_free(&s->plan);
}

/* Simulates the plan as `ppsim simulate` does, so that a plan that is written again is the same. */
static pp_status predict(source *s, uint32_t *replica_out, pp_err *err)
{
    pp_plan *plan = s->plan;
    uint32_t replica = 0;
    pp_status status =
        pp_plan_simulate(plan, &s->program, &s->timeline, &s->costs, &plan->prediction, err);
    if (status)
        return status;
    while (pp_plan_costs(plan, replica) != s->costs)
        replica++;
    *replica_out = plan->order_count > 1 ? replica : 0;
    return pp_bound_report(s->costs, plan->order[*replica_out], true, plan->prediction, err);
}

/* Fails because the target format needs a simulation, and the file has no costs for it. */
static pp_status need_costs(const char *target, pp_err *err)
{
    return pp_err_set(err, PP_INFEASIBLE, target,
                      "needs costs, which this file does not have; use 'ppsim simulate SCHEDULE "
                      "--costs ...' with --trace or --emit");
}

static pp_status convert_schedule(const pp_args *args, const char *target, const pp_format *format,
                                  pp_err *err)
{
    source s PP_CLEANUP(free_source) = { 0 };
    uint32_t replica = 0;
    if (pp_args_word(args, 1))
        return pp_err_set(
            err, PP_USAGE, pp_args_word(args, 1),
            "give one plan or schedule; several files must be recordings of one rank each");
    if (pp_args_has(args, "--steps") || pp_args_has(args, "--ranks"))
        return pp_err_set(err, PP_USAGE, pp_args_has(args, "--steps") ? "--steps" : "--ranks",
                          "applies only to Chrome traces and recordings; remove it");
    pp_status status =
        pp_scenario_load_schedule(args, pp_args_word(args, 0), &s.plan, &s.program, err);
    if (status)
        return status;
    bool written = s.program != NULL;
    bool emits = !format || format->emit;
    unsigned has = PP_HOLDS_ORDER | (written ? PP_HOLDS_COMM : 0);
    if (!s.plan->costs && !(format && emits))
        return need_costs(target, err);
    if (s.plan->costs) {
        if ((status = predict(&s, &replica, err)))
            return status;
        has |= PP_HOLDS_SETTINGS | PP_HOLDS_COSTS;
        has |= s.plan->order_count > 1 ? PP_HOLDS_REPLICAS : 0;
    }
    const pp_export data = { .plan = s.plan,
                             .order = s.plan->order[replica],
                             .program = s.program,
                             .timeline = s.timeline,
                             .costs = s.costs,
                             .report = s.plan->prediction,
                             .written = written };
    if ((status = write_out(args, emits ? "--emit" : "--trace", target, &data, err)))
        return status;
    tell_lost(target, has & ~(format ? format->holds : PLAN_HOLDS));
    return PP_OK;
}

/* Carries out --ranks and --steps A-B, which copy events unchanged. */
static pp_status cut(const pp_args *args, const char *target, const pp_events_part *part,
                     pp_err *err)
{
    const char *path = pp_args_text(args, "-o");
    size_t kept = 0;
    if (strcmp(target, "chrome") != 0 || pp_args_word(args, 1))
        return pp_err_set(err, PP_USAGE, pp_args_has(args, "--ranks") ? "--ranks" : "--steps",
                          "copies a part of a single Chrome trace; give one file and --to chrome");
    return pp_events_cut(pp_args_word(args, 0), part, path ? path : "-", pp_print_stdout, &kept,
                         err);
}

/* Prints remarks about what a recording holds in addition to the ops of the step. */
static void tell_recorded(const pp_recording *r, size_t step)
{
    char early[32];
    if (r->steps > 1 && r->transfers + r->waits + r->memory > 0)
        pp_remark("lost: %zu transfers, %zu waits and %zu samples of memory, because the recording "
                  "does not show to which step they belong",
                  r->transfers, r->waits, r->memory);
    if (r->steps > 1 && step == SIZE_MAX)
        pp_remark(
            "the recording has %zu steps; the last one is used, and --steps N chooses another",
            r->steps);
    if (r->early_ns > 0) {
        pp_format_duration(early, sizeof early, r->early_ns);
        pp_remark("an op starts %s before the ops that it needs have ended: the clocks of the "
                  "ranks differ, or the recorded ranges include waiting for the input",
                  early);
    }
}

static pp_status convert_recording(const pp_args *args, const char *target, const pp_format *format,
                                   pp_err *err)
{
    pp_recording found PP_CLEANUP(pp_recording_free) = { 0 };
    pp_plan *plan PP_CLEANUP(pp_plan_free) = NULL;
    pp_events_part part = { -1, -1, -1, -1 };
    int64_t columns = 80;
    size_t count = 0;
    while (pp_args_word(args, count))
        count++;
    pp_status status = pp_args_range(args, "--ranks", &part.rank_low, &part.rank_high, err);
    if (status || (status = pp_args_range(args, "--steps", &part.step_low, &part.step_high, err)) ||
        (status = pp_args_int(args, "--columns", 20, 100000, &columns, err)))
        return status;
    const char *steps = pp_args_text(args, "--steps");
    if (pp_args_has(args, "--ranks") || (steps && strchr(steps, '-')))
        return cut(args, target, &part, err);
    if (!format)
        return need_costs(target, err);
    size_t wanted = part.step_low < 0 ? SIZE_MAX : (size_t)part.step_low;
    const char **paths = pp_alloc_array(count, sizeof *paths);
    if (!paths)
        return pp_err_nomem(err);
    for (size_t i = 0; i < count; i++)
        paths[i] = pp_args_word(args, i);
    status = pp_recording_read(paths, count, wanted, &found, err);
    free(paths);
    if (status || (status = pp_plan_new(&plan, err)))
        return status;
    plan->parallel = (pp_parallel){ 1, 1, 1, 1, 1, 1, 0 };
    plan->parallel.pp = found.order->ranks;
    snprintf(plan->model, sizeof plan->model, "%s", found.model);
    snprintf(plan->schedule, sizeof plan->schedule, "%s", found.schedule);
    plan->framework = pp_framework_find(found.framework);
    const pp_export data = { .plan = plan,
                             .order = found.order,
                             .program = found.program,
                             .timeline = found.timeline,
                             .recorded = &found.recorded,
                             .recorded_framework = found.framework,
                             .columns = (int)columns,
                             .measured = found.measured };
    bool traces = format->trace != NULL;
    if ((status = write_out(args, traces ? "--trace" : "--emit", target, &data, err)))
        return status;
    tell_recorded(&found, wanted);
    unsigned has = PP_HOLDS_ORDER | PP_HOLDS_TIMES;
    if (found.steps == 1)
        has |= (found.transfers ? PP_HOLDS_TRANSFERS : 0) | (found.waits ? PP_HOLDS_IDLE : 0) |
               (found.memory ? PP_HOLDS_MEMORY : 0);
    unsigned shown = traces && format->emit
                         ? PP_HOLDS_TIMES
                         : 0; /* a format of orders and timelines, such as text, draws the times */
    tell_lost(target, has & ~(format->holds | shown));
    return PP_OK;
}

/* Replaces the message about a file that is neither schedule nor timeline if the file holds
 * measurements. */
static pp_status tell_import(const char *path, pp_status status, pp_err *err)
{
    char *text PP_CLEANUP(pp_free_text) = NULL;
    size_t bytes = 0;
    pp_err ignored = { 0 };
    if (status != PP_INPUT || pp_gzip_read_head(path, HEAD_BYTES, &text, &bytes, &ignored))
        return status;
    for (size_t i = 0; i < pp_import_count(); i++) {
        const pp_import *import = pp_import_at(i);
        if (strcmp(import->name, "kineto") == 0 || !import->recognise(text, bytes))
            continue;
        *err = pp_err_like(err); /* the new message replaces the old one */
        return pp_err_set(err, PP_INPUT, path,
                          "has measurements (%s) but no start times of ops, so it contains no "
                          "timeline; import it with 'ppsim calibrate --import %s=FILE'",
                          import->name, import->name);
    }
    return status;
}

static pp_status convert(const pp_args *args, pp_err *err)
{
    const char *target = pp_args_text(args, "--to");
    const pp_format *format = NULL;
    bool is_events = false;
    if (!target || !pp_args_word(args, 0))
        return pp_err_set(err, PP_USAGE, target ? NULL : "--to",
                          target ? "give a file to convert; see 'ppsim convert --help'"
                                 : "is missing; 'ppsim list formats' shows the formats");
    if (pp_args_has(args, "--json"))
        return pp_err_set(err, PP_USAGE, "--json",
                          "does not apply, because --to chooses the format; remove it");
    if (strcmp(target, "report") == 0)
        return pp_err_set(err, PP_USAGE, "--to",
                          "cannot write a report; use 'ppsim simulate --json'");
    pp_status status = strcmp(target, "plan") == 0 ? PP_OK : pp_format_get(target, &format, err);
    if (status || (status = pp_events_recognise(pp_args_word(args, 0), &is_events, err)))
        return status;
    status = is_events ? convert_recording(args, target, format, err)
                       : convert_schedule(args, target, format, err);
    return tell_import(pp_args_word(args, 0), status, err);
}

const pp_command pp_command_convert = {
    .name = "convert",
    .arguments = "FILE... --to FORMAT [-o FILE]",
    .summary = "convert a schedule or timeline to another format",
    .options = options,
    .details =
        "FILE is a plan, a schedule, a timeline of format chrome, or a recording of PyTorch's "
        "profiler (one file per rank). ppsim warns about information that FORMAT cannot "
        "hold.\n"
        "Compressed files are read as they are, and a file whose name ends in .gz is written "
        "compressed.\n",
    .examples = "ppsim convert plan.json --to pytorch-csv -o step.csv\n"
                "ppsim convert plan.json --to text\n",
    .run = convert,
};
