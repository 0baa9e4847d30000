/* Prints what ppsim run measured: as text, and as a report with the key "execution". */
#include "tools/ppsim/run/print.h"

#include "sim/analysis/report_json.h"
#include "sim/program/transfer_costs.h"
#include "tools/ppsim/report/report_print.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static const char *const link_names[] = { "free", "plan", "throttled" };

typedef struct spread {
    pp_ns low_ns, high_ns;
} spread;

/* Returns the range of the step times that were not voided, or of all step times if all were
 * voided. */
static spread spread_of(const pp_run_result *result)
{
    bool all = result->voided == result->count;
    spread s = { INT64_MAX, 0 };
    for (uint32_t k = 0; k < result->count; k++) {
        const pp_iteration *it = &result->iteration[k];
        if (it->voided && !all)
            continue;
        s.low_ns = it->step_ns < s.low_ns ? it->step_ns : s.low_ns;
        s.high_ns = it->step_ns > s.high_ns ? it->step_ns : s.high_ns;
    }
    return s;
}

static void print_steps(const pp_run_print *run, pp_text *text)
{
    const pp_run_result *result = &run->execution->result;
    const pp_report *report = run->execution->report;
    char cell[3][32];
    spread s = spread_of(result);
    pp_text_add(text, "executed     %s by %s, on %s, %" PRIu32 " ranks, %" PRIu32 " microbatches\n",
                report->schedule[0] ? report->schedule : "the plan", run->options->compute->name,
                run->options->transport->name, report->ranks, report->microbatches);
    pp_text_add(text, "step         %s median of %" PRIu32 " (%s to %s)\n",
                pp_format_duration(cell[0], sizeof cell[0], report->step_ns), result->count,
                pp_format_duration(cell[1], sizeof cell[1], s.low_ns),
                pp_format_duration(cell[2], sizeof cell[2], s.high_ns));
    if (result->voided)
        pp_text_add(text, "             %" PRIu32 " void: other processes took the processors%s\n",
                    result->voided,
                    result->voided == result->count ? "; all are shown nevertheless" : "");
}

static void print_prediction(const pp_run_print *run, const pp_comparison *c, pp_text *text)
{
    const pp_execution *x = run->execution;
    char cell[2][32];
    pp_text_add(text, "makespan     %s",
                pp_format_duration(cell[0], sizeof cell[0], x->report->makespan_ns));
    if (x->prediction)
        pp_text_add(text, ", predicted %s",
                    pp_format_duration(cell[1], sizeof cell[1], x->prediction->makespan_ns));
    if (isfinite(c->step_error))
        pp_text_add(text, " (%+.2f %%)", 100 * c->step_error);
    pp_text_add(text, "\n");
    if (x->serial_ns)
        pp_text_add(text,
                    "serialized   %" PRIu32
                    " GPU%s for the ranks; the ops of the busiest take %s one "
                    "after the other (%+.2f %%)\n",
                    x->gpus, x->gpus == 1 ? "" : "s",
                    pp_format_duration(cell[0], sizeof cell[0], x->serial_ns),
                    100 * ((double)x->report->makespan_ns / (double)x->serial_ns - 1));
    if (run->planned_framework)
        pp_text_add(text, "executor     %s; the plan names %s, so it is predicted again\n",
                    pp_report_framework_name(x->report), run->planned_framework);
}

static void print_verdict(const pp_run_print *run, pp_text *text)
{
    const pp_verdict *v = &run->execution->verdict;
    const pp_run_result *result = &run->execution->result;
    if (!run->options->verify)
        return;
    if (!v->compared)
        pp_text_add(text, "verified     no values: %s computes none\n",
                    run->options->compute->name);
    else
        pp_text_add(text,
                    "verified     %" PRIu64 " gradients, parameters and losses equal a "
                    "sequential run's ",
                    v->values);
    if (v->compared && v->differing)
        pp_text_add(text, "within %.g relative\n", v->tolerance);
    else if (v->compared)
        pp_text_add(text, "bit for bit\n");
    if (v->slopes)
        pp_text_add(text,
                    "             %" PRIu32
                    " random gradients are those of central differences (off "
                    "by %.1g at most)\n",
                    v->slopes, v->worst_slope);
    if (v->referred)
        pp_text_add(
            text, "             near compute cpu in double (off by %.1g at most, %.g is allowed)\n",
            v->worst_reference, v->reference_tolerance);
    else if (v->compared && run->options->compute->reference)
        pp_text_add(text, "             not compared with compute cpu, which needs OpenBLAS\n");
    if (v->compared)
        pp_text_add(text, "             loss %.9g\n", v->loss);
    if (result->memory_checks)
        pp_text_add(text,
                    "             memory as predicted to the byte at %" PRIu64
                    " starts and ends of ops\n",
                    result->memory_checks);
}

/* Prints how rank time divides into busy time and idle causes, predicted and executed. */
static void print_parts(const pp_execution *x, pp_text *text)
{
    pp_ns sums[2][PP_IDLE_COUNT + 1] = { { 0 } };
    const pp_report *reports[2] = { x->prediction, x->report };
    for (int side = 0; side < 2; side++) {
        for (uint32_t r = 0; reports[side] && r < reports[side]->ranks; r++) {
            sums[side][PP_IDLE_COUNT] += reports[side]->per_rank[r].busy_ns;
            for (int c = 0; c < PP_IDLE_COUNT; c++)
                sums[side][c] += reports[side]->per_rank[r].idle_ns[c];
        }
    }
    pp_text_add(text, "\nrank time      predicted    executed\n");
    for (int c = PP_IDLE_COUNT; c >= 0; c--) {
        char cell[2][32];
        int k = c == PP_IDLE_COUNT ? c : PP_IDLE_COUNT - 1 - c;
        if (!sums[0][k] && !sums[1][k])
            continue;
        pp_text_add(text, "%-12s %11s %11s\n",
                    k == PP_IDLE_COUNT ? "busy" : pp_idle_key((pp_idle_cause)k),
                    pp_format_duration(cell[0], sizeof cell[0], sums[0][k]),
                    pp_format_duration(cell[1], sizeof cell[1], sums[1][k]));
    }
}

static void print_comparison(const pp_run_print *run, const pp_comparison *c, pp_text *text)
{
    const pp_execution *x = run->execution;
    if (!run->compare)
        return;
    print_parts(x, text);
    pp_text_add(text, "\nops took, against what was expected (median):");
    for (int k = 0; k < PP_OP_KIND_COUNT; k++) {
        if (c->op_error[k] == c->op_error[k])
            pp_text_add(text, " %c %+.2f %%", pp_op_letter((pp_op_kind)k), 100 * c->op_error[k]);
    }
    pp_text_add(text,
                "\nreplay       %+.2f %%: executed against the simulator with measured durations\n",
                100 * c->replay_error);
    if (isfinite(c->step_error))
        pp_text_add(
            text,
            "so of        %+.2f %% error, %+.2f %% came from durations, %+.2f %% from elsewhere\n",
            100 * c->step_error, 100 * c->duration_error, 100 * c->structure_error);
}

static void print_costs(const pp_run_print *run, pp_text *text)
{
    const pp_run_result *result = &run->execution->result;
    const pp_report *report = run->execution->report;
    const pp_iteration *median = &result->iteration[result->median];
    char cell[3][32];
    pp_ns busy_ns = 0;
    pp_ns host_ns = 0;
    for (uint32_t r = 0; r < report->ranks; r++) {
        busy_ns += report->per_rank[r].busy_ns;
        host_ns += report->per_rank[r].idle_ns[PP_IDLE_HOST];
    }
    pp_text_add(text, "runtime      %s of rank time between ops; %s to agree on the plan\n",
                pp_format_duration(cell[0], sizeof cell[0], host_ns),
                pp_format_duration(cell[1], sizeof cell[1], result->agreement_ns));
    pp_text_add(text, "processor    %.1f %% of the ops' time",
                busy_ns ? 100.0 * (double)median->cpu_ns / (double)busy_ns : 0.0);
    if (!run->options->compute->sleeps)
        pp_text_add(text, "; lost %" PRId64 " times to others", median->preemptions);
    pp_text_add(text, "\n");
    if (result->clock_error_ns)
        pp_text_add(text, "clocks       of the ranks agree within %s\n",
                    pp_format_duration(cell[2], sizeof cell[2], result->clock_error_ns));
}

void pp_run_text(const pp_run_print *run, const pp_comparison *comparison, pp_text *text)
{
    print_steps(run, text);
    print_prediction(run, comparison, text);
    print_verdict(run, text);
    print_costs(run, text);
    print_comparison(run, comparison, text);
    pp_text_add(text, "\n");
    pp_report_print(run->execution->report, text);
}

static void put_error(pp_json_build *build, pp_json *object, const char *key, double value)
{
    if (isfinite(value))
        pp_json_put_double(build, object, key, value);
    else
        pp_json_put_null(build, object, key);
}

static pp_json *json_comparison(const pp_comparison *c, pp_json_build *build)
{
    pp_json *object = pp_json_new_object(build);
    pp_json *ops = pp_json_new_object(build);
    put_error(build, object, "step_error", c->step_error);
    put_error(build, object, "duration_error", c->duration_error);
    put_error(build, object, "structure_error", c->structure_error);
    put_error(build, object, "replay_error", c->replay_error);
    for (int k = 0; k < PP_OP_KIND_COUNT; k++) {
        const char key[2] = { pp_op_letter((pp_op_kind)k), '\0' };
        if (c->op_error[k] == c->op_error[k])
            pp_json_put_double(build, ops, key, c->op_error[k]);
    }
    pp_json_put(build, object, "op_error", ops);
    return object;
}

static pp_json *json_verdict(const pp_run_print *run, pp_json_build *build)
{
    const pp_verdict *v = &run->execution->verdict;
    pp_json *object = pp_json_new_object(build);
    pp_json_put_int(build, object, "values", (int64_t)v->values);
    pp_json_put_int(build, object, "differing", (int64_t)v->differing);
    pp_json_put_bool(build, object, "ordered", v->ordered);
    pp_json_put_double(build, object, "worst_relative", v->worst);
    pp_json_put_int(build, object, "slopes", v->slopes);
    pp_json_put_double(build, object, "worst_slope", v->worst_slope);
    if (v->referred)
        pp_json_put_double(build, object, "worst_reference", v->worst_reference);
    pp_json_put_double(build, object, "loss", v->loss);
    return object;
}

static pp_json *json_iterations(const pp_run_result *result, pp_json_build *build)
{
    pp_json *list = pp_json_new_array(build);
    for (uint32_t k = 0; k < result->count; k++) {
        const pp_iteration *it = &result->iteration[k];
        pp_json *item = pp_json_new_object(build);
        pp_json_put_int(build, item, "step_ns", it->step_ns);
        pp_json_put_int(build, item, "makespan_ns", pp_timeline_makespan(it->timeline));
        pp_json_put_int(build, item, "cpu_ns", it->cpu_ns);
        pp_json_put_int(build, item, "preemptions", it->preemptions);
        pp_json_put_bool(build, item, "void", it->voided);
        pp_json_add(build, list, item);
    }
    return list;
}

/* Makes the object about the messages of a step. */
static pp_json *json_traffic(const pp_execution *x, pp_json_build *build)
{
    pp_json *object = pp_json_new_object(build);
    const pp_comm *comm = x->program->comm;
    int64_t tensors = 0;
    int64_t bytes = 0;
    int64_t messages = 0;
    for (size_t t = 0; t < comm->transfer_count; t++) {
        const pp_transfer *own = &comm->transfer[t];
        bool shape = pp_transfer_is_shape((pp_transfer_kind)own->kind);
        if (!pp_transfer_sends((pp_transfer_kind)own->kind))
            continue;
        messages += shape;
        tensors += !shape;
        bytes += shape ? 0 : pp_comm_bytes(comm, x->costs, own);
    }
    pp_json_put_int(build, object, "tensors", tensors);
    pp_json_put_int(build, object, "tensor_bytes", bytes);
    pp_json_put_int(build, object, "shape_messages", messages);
    return object;
}

pp_json *pp_run_json(const pp_run_print *run, const pp_comparison *comparison, pp_json_build *build)
{
    const pp_execution *x = run->execution;
    pp_json *report = pp_report_write(x->report, build);
    pp_json *object = pp_json_new_object(build);
    pp_json_put_text(build, object, "transport", run->options->transport->name);
    pp_json_put_text(build, object, "compute", run->options->compute->name);
    pp_json_put_text(build, object, "compute_settings", run->options->settings);
    pp_json_put_text(build, object, "link", link_names[run->options->link.kind]);
    pp_json_put_text(build, object, "planned_executor", run->planned_framework);
    pp_json_put_int(build, object, "warmup", run->options->warmup);
    pp_json_put(build, object, "iterations", json_iterations(&x->result, build));
    pp_json_put_int(build, object, "median_iteration", x->result.median);
    pp_json_put_int(build, object, "voided", x->result.voided);
    pp_json_put_int(build, object, "agreement_ns", x->result.agreement_ns);
    pp_json_put_int(build, object, "clock_error_ns", x->result.clock_error_ns);
    pp_json_put_int(build, object, "arena_bytes", (int64_t)x->result.arena_bytes);
    pp_json_put_int(build, object, "memory_checks", (int64_t)x->result.memory_checks);
    pp_json_put(build, object, "traffic", json_traffic(x, build));
    pp_json_put(build, object, "comparison", json_comparison(comparison, build));
    if (run->options->verify && x->verdict.compared)
        pp_json_put(build, object, "verification", json_verdict(run, build));
    if (x->serial_ns)
        pp_json_put_int(build, object, "serial_ns", x->serial_ns);
    if (x->prediction)
        pp_json_put(build, object, "prediction", pp_report_write(x->prediction, build));
    pp_json_put(build, report, "execution", object);
    return report;
}
