/* Prints what ppsim run measured: as text, and as a report with the key "execution". */
#include "tools/ppsim/run/print.h"

#include "sim/analysis/report_json.h"
#include "sim/program/transfer_costs.h"
#include "tools/ppsim/base/colour.h"
#include "tools/ppsim/base/words.h"
#include "tools/ppsim/report/report_print.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define SHARE_ENOUGH 0.9 /* of the ops' time with a processor */

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
    pp_print_line(text, "executed",
                  "%s by compute %s, transport %s, %" PRIu32 " rank%s, %" PRIu32 " microbatch%s",
                  report->schedule[0] ? report->schedule : "the plan", run->options->compute->name,
                  run->options->transport->name, report->ranks, report->ranks == 1 ? "" : "s",
                  report->microbatches, report->microbatches == 1 ? "" : "es");
    if (run->options->replicas)
        pp_print_line(
            text, "", "%" PRIu32 " replica%s, ZeRO %d; the figures are those of the first one",
            run->options->replicas, run->options->replicas == 1 ? "" : "s", run->options->zero);
    pp_print_line(text, "step", "%s%s%s, median of %" PRIu32 " (%s to %s)",
                  pp_colour_begin(PP_COLOUR_ANSWER),
                  pp_format_duration(cell[0], sizeof cell[0], report->step_ns),
                  pp_colour_end(PP_COLOUR_ANSWER), result->count,
                  pp_format_duration(cell[1], sizeof cell[1], s.low_ns),
                  pp_format_duration(cell[2], sizeof cell[2], s.high_ns));
    if (result->voided == result->count)
        pp_print_line(text, "", "void: other processes took the processors in every step");
    else if (result->voided)
        pp_print_line(text, "", "%" PRIu32 " of them void: other processes took the processors",
                      result->voided);
}

static void print_prediction(const pp_run_print *run, const pp_comparison *c, pp_text *text)
{
    const pp_execution *x = run->execution;
    char cell[2][32];
    pp_text words PP_CLEANUP(pp_text_free) = { 0 };
    pp_text_add(&words, "%s", pp_format_duration(cell[0], sizeof cell[0], x->report->makespan_ns));
    if (x->prediction)
        pp_text_add(&words, ", predicted %s",
                    pp_format_duration(cell[1], sizeof cell[1], x->prediction->makespan_ns));
    if (isfinite(c->step_error))
        pp_text_add(&words, " (%+.2f %%)", 100 * c->step_error);
    pp_print_labelled(text, "makespan", &words);
    if (run->planned_framework && run->is_predicted)
        pp_print_line(text, "",
                      "the plan was predicted with executor %s; this is compared with a new "
                      "prediction for executor %s",
                      run->planned_framework, pp_report_framework_name(x->report));
    if (x->serial_ns) {
        char gpu[48] = "the GPU";
        if (x->gpus > 1)
            snprintf(gpu, sizeof gpu, "the busiest of %" PRIu32 " GPUs", x->gpus);
        pp_print_line(text, "serialized", "%s computes for %s (makespan %+.2f %%)", gpu,
                      pp_format_duration(cell[0], sizeof cell[0], x->serial_ns),
                      100 * ((double)x->report->makespan_ns / (double)x->serial_ns - 1));
    }
    if (x->prediction)
        pp_print_line(text, "bubble", "%.2f %% of all rank time, predicted %.2f %%",
                      100 * x->report->bubble_fraction, 100 * x->prediction->bubble_fraction);
}

static void print_values(const pp_run_print *run, pp_text *text)
{
    const pp_verdict *v = &run->execution->verdict;
    pp_text words PP_CLEANUP(pp_text_free) = { 0 };
    if (v->differing)
        pp_text_add(&words, "within %.g relative of a sequential run: ", v->tolerance);
    else
        pp_text_add(&words, "bit for bit equal to a sequential run: ");
    pp_text_add(&words, "%" PRIu64 " gradients, parameters and losses", v->values);
    pp_text_add(&words, "; loss %.9g", v->loss);
    pp_print_labelled(text, "verified", &words);
    if (v->slopes)
        pp_print_line(text, "",
                      "%" PRIu32
                      " random gradients equal central differences (off by %.1g at most)",
                      v->slopes, v->worst_slope);
    if (v->referred)
        pp_print_line(text, "", "near compute cpu in double (off by %.1g at most, %.g is allowed)",
                      v->worst_reference, v->reference_tolerance);
    else if (run->options->compute->reference)
        pp_print_line(text, "", "not compared with compute cpu, which needs OpenBLAS");
}

static void print_verdict(const pp_run_print *run, pp_text *text)
{
    const pp_run_result *result = &run->execution->result;
    if (!run->options->verify)
        pp_print_line(text, "verified", "nothing; --verify compares values and memory");
    else if (run->execution->verdict.compared)
        print_values(run, text);
    else
        pp_print_line(text, "verified", "no values, since compute %s computes none",
                      run->options->compute->name);
    if (run->options->verify && result->memory_checks)
        pp_print_line(text, "",
                      "memory as predicted to the byte at %" PRIu64 " starts and ends of ops",
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
    pp_text words PP_CLEANUP(pp_text_free) = { 0 };
    if (!run->compare)
        return;
    print_parts(x, text);
    pp_text_add(text, "\n");
    for (int k = 0; k < PP_OP_KIND_COUNT; k++) {
        if (c->op_error[k] == c->op_error[k])
            pp_text_add(&words, "%s%c %+.2f %%", words.bytes ? ", " : "",
                        pp_op_letter((pp_op_kind)k), 100 * c->op_error[k]);
    }
    pp_text_add(&words, " against expected (median)");
    pp_print_labelled(text, "ops", &words);
    pp_print_line(text, "replay",
                  "%+.2f %%: executed against the simulator with measured durations",
                  100 * c->replay_error);
    if (isfinite(c->step_error))
        pp_print_line(text, "error",
                      "%+.2f %%: %+.2f %% from durations, %+.2f %% from "
                      "elsewhere",
                      100 * c->step_error, 100 * c->duration_error, 100 * c->structure_error);
}

/* Prints the time that the runtime itself took, and how much of the ops' time had a processor. Of
 * these, the answer has only a lack of processors. */
static void print_costs(const pp_run_print *run, pp_text *text)
{
    const pp_run_result *result = &run->execution->result;
    const pp_report *report = run->execution->report;
    const pp_iteration *median = &result->iteration[result->median];
    const bool sleeps = run->options->compute->sleeps;
    char cell[3][32];
    pp_ns busy_ns = 0;
    pp_ns host_ns = 0;
    for (uint32_t r = 0; r < report->ranks; r++) {
        busy_ns += report->per_rank[r].busy_ns;
        host_ns += report->per_rank[r].idle_ns[PP_IDLE_HOST];
    }
    const double share = busy_ns ? (double)median->cpu_ns / (double)busy_ns : 0;
    if (run->verbose || (!sleeps && share < SHARE_ENOUGH)) {
        pp_text words PP_CLEANUP(pp_text_free) = { 0 };
        pp_text_add(&words, "the ops had one for %.1f %% of their time", 100 * share);
        if (!sleeps)
            pp_text_add(&words, ", and lost it %" PRId64 " times", median->preemptions);
        else
            pp_text_add(&words, "; compute %s needs none", run->options->compute->name);
        pp_print_labelled(text, "processor", &words);
    }
    if (!run->verbose)
        return;
    pp_print_line(text, "runtime", "%s of rank time between ops; %s to agree on the plan",
                  pp_format_duration(cell[0], sizeof cell[0], host_ns),
                  pp_format_duration(cell[1], sizeof cell[1], result->agreement_ns));
    if (result->clock_error_ns)
        pp_print_line(text, "clocks", "of the ranks agree within %s",
                      pp_format_duration(cell[2], sizeof cell[2], result->clock_error_ns));
}

void pp_run_text(const pp_run_print *run, const pp_comparison *comparison, pp_text *text)
{
    print_steps(run, text);
    print_prediction(run, comparison, text);
    print_verdict(run, text);
    print_costs(run, text);
    if (!run->verbose)
        pp_print_line(text, "next", "--verbose: the measured step in detail%s",
                      run->compare ? "" : "; --compare: why it differs");
    print_comparison(run, comparison, text);
    if (!run->verbose)
        return;
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
    if (run->options->replicas) {
        pp_json_put_int(build, object, "replicas", run->options->replicas);
        pp_json_put_int(build, object, "zero", run->options->zero);
    }
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
