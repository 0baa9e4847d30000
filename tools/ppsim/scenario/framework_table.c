/* Carries out `simulate --executor all`: simulates one schedule under the communication behaviour
 * of every framework and prints a table. */
#include "tools/ppsim/scenario/framework_table.h"

#include "sim/engine/engine.h"
#include "sim/framework/registry.h"
#include "sim/program/comm.h"
#include "sim/program/program_new.h"
#include "tools/ppsim/base/args.h"
#include "tools/ppsim/base/output.h"
#include "tools/ppsim/base/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A row: the result of one framework. */
typedef struct row {
    const pp_framework *framework;
    pp_status status;     /* USAGE: it does not run this schedule; INFEASIBLE: it cannot finish */
    pp_report *report;    /* NULL if it cannot run */
    bool hangs_one_queue; /* it hangs under rendezvous with one queue per rank */
    bool communicates;
    pp_err reason;
} row;

static void row_free(row *r)
{
    pp_report_free(&r->report);
}

/* Finds out whether the program hangs under strict rendezvous on one queue, the behaviour of a
 * single communicator without buffers. */
static pp_status try_one_queue(const pp_costs *costs, pp_program *program, row *r, pp_err *err)
{
    pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
    pp_err hang = pp_err_like(err);
    r->communicates = program->comm != NULL;
    if (!r->communicates)
        return PP_OK;
    program->comm->semantics =
        (pp_comm_semantics){ .mode = PP_COMM_RENDEZVOUS, .lanes = PP_LANES_SINGLE };
    pp_status status = pp_simulate(program, costs, &timeline, &hang);
    r->hangs_one_queue = status == PP_INFEASIBLE;
    if (status && !r->hangs_one_queue)
        return pp_err_set(err, status, hang.where, "%s", hang.text);
    return PP_OK;
}

/* Removes the options about transfers and hosts for the framework ideal. Padding stays, because the
 * costs include it. */
static void forget_transfers(pp_plan *plan)
{
    plan->has_sizes = false;
    plan->sizes = (pp_size_protocol){ .kind = PP_SIZES_PLAN };
    plan->comm = (pp_comm_settings){ .has_mode = false };
    plan->buffers = (pp_buffer_settings){ .has_recv = false };
    plan->sharing = (pp_sharing){ 0 };
    plan->host = (pp_host_costs){ 0 };
    plan->tensors = 0;
}

/* Fills a row. A refusal or a hang is a result; any other failure is an error. */
static pp_status fill(pp_plan *plan, row *r, pp_err *err)
{
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
    const pp_costs *costs = NULL;
    pp_plan own = *plan;
    own.framework = r->framework;
    if (r->framework == &pp_framework_ideal)
        forget_transfers(&own);
    r->status = pp_plan_simulate(&own, &program, &timeline, &costs, &r->report, &r->reason);
    if (r->status == PP_OK)
        return try_one_queue(costs, program, r, err);
    if (r->status == PP_USAGE || r->status == PP_INFEASIBLE)
        return PP_OK;
    return pp_err_set(err, r->status, r->reason.where, "%s", r->reason.text);
}

#define REASON_COLUMN 24

static void print_row(const row *r, pp_ns ideal_ns, pp_text *text)
{
    char step[32];
    char memory[32];
    char over[32] = "-";
    pp_text_add(text, "%-23s", r->framework->name);
    if (r->status) {
        char reason[sizeof r->reason.text];
        snprintf(reason, sizeof reason, "no: %.*s", pp_first_clause(r->reason.text),
                 r->reason.text);
        pp_text_add(text, " ");
        pp_print_words(text, reason, REASON_COLUMN, REASON_COLUMN);
        return;
    }
    const pp_report *report = r->report;
    if (ideal_ns)
        snprintf(over, sizeof over, "%.2f %%",
                 100.0 * ((double)report->step_ns / (double)ideal_ns - 1.0));
    pp_text_add(text, " %11s %9s %7.2f %% %12s  %s\n",
                pp_format_duration(step, sizeof step, report->step_ns), over,
                100.0 * report->bubble_fraction,
                report->has_memory
                    ? pp_format_bytes(memory, sizeof memory, report->peak_memory_bytes)
                    : "-",
                !r->communicates     ? "-"
                : r->hangs_one_queue ? "hangs"
                                     : "finishes");
}

static pp_json *write_row(const row *r, pp_json_build *build)
{
    pp_json *object = pp_json_new_object(build);
    pp_json_put_text(build, object, "executor", r->framework->name);
    pp_json_put_bool(build, object, "runs", r->status == PP_OK);
    pp_json_put_text(build, object, "reason", r->status ? r->reason.text : NULL);
    if (r->status)
        return object;
    pp_json_put_int(build, object, "step_ns", r->report->step_ns);
    pp_json_put_double(build, object, "bubble_fraction", r->report->bubble_fraction);
    if (r->report->has_memory)
        pp_json_put_int(build, object, "peak_memory_bytes", r->report->peak_memory_bytes);
    else
        pp_json_put_null(build, object, "peak_memory_bytes");
    if (r->communicates)
        pp_json_put_bool(build, object, "hangs_on_one_queue", r->hangs_one_queue);
    else
        pp_json_put_null(build, object, "hangs_on_one_queue");
    return object;
}

/* Adds all rows to `text` or `list`. */
static pp_status add_rows(pp_plan *plan, pp_text *text, pp_json *list, pp_json_build *build,
                          pp_err *err)
{
    pp_ns ideal_ns = 0; /* framework ideal is the first of the table */
    for (size_t i = 0; i < pp_framework_count(); i++) {
        row r PP_CLEANUP(row_free) = { .framework = pp_framework_at(i),
                                       .reason = pp_err_like(err) };
        pp_status status = fill(plan, &r, err);
        if (status)
            return status;
        if (i == 0 && r.report)
            ideal_ns = r.report->step_ns;
        if (text)
            print_row(&r, ideal_ns, text);
        else
            pp_json_add(build, list, write_row(&r, build));
    }
    return PP_OK;
}

static pp_status print_json(const pp_args *args, pp_plan *plan, pp_err *err)
{
    pp_json_build build = { 0 };
    pp_json *json PP_CLEANUP(pp_json_free) = pp_json_new_object(&build);
    pp_json *list = pp_json_new_array(&build);
    pp_status status = add_rows(plan, NULL, list, &build, err);
    pp_json_put_text(&build, json, "format", "ppsim.executors");
    pp_json_put_int(&build, json, "version", 1);
    pp_json_put_text(&build, json, "schedule", plan->schedule);
    pp_json_put(&build, json, "executors", list);
    return status ? status : pp_print_json(args, &build, json, err);
}

pp_status pp_print_executor_table(const pp_args *args, pp_plan *plan, pp_err *err)
{
    pp_text text PP_CLEANUP(pp_text_free) = { 0 };
    pp_status status = PP_OK;
    if (pp_args_has(args, "--json"))
        status = print_json(args, plan, err);
    if (status || !pp_prints_words(args))
        return status;
    pp_text_add(&text,
                "%s\n\nexecutor                       step over ideal   bubble  peak memory  one "
                "queue\n",
                plan->schedule);
    status = add_rows(plan, &text, NULL, NULL, err);
    pp_text_add(&text, "one queue: with a queue per rank and no buffers\n");
    return status ? status : pp_print_answer(args, &text, err);
}
