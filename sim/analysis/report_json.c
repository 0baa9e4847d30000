/* Writes a report as JSON. A quantity that was not requested or cannot be known is absent or null,
 * never 0. */
#include "sim/analysis/report_json.h"

#include "sim/analysis/robustness_json.h"
#include "sim/analysis/time_breakdown_json.h"
#include "sim/analysis/uncertainty_json.h"
#include "sim/analysis/waits_json.h"

static void put_positive(pp_json_build *build, pp_json *object, const char *key, double value)
{
    if (value > 0)
        pp_json_put_double(build, object, key, value);
    else
        pp_json_put_null(build, object, key);
}

static pp_json *write_rank(const pp_report *report, uint32_t r, pp_json_build *build)
{
    const pp_rank_report *rank = &report->per_rank[r];
    pp_json *object = pp_json_new_object(build);
    pp_json_put_int(build, object, "rank", r);
    pp_json_put_int(build, object, "busy_ns", rank->busy_ns);
    pp_json *idle = pp_json_new_object(build);
    for (int c = 0; c < PP_IDLE_COUNT; c++)
        pp_json_put_int(build, idle, pp_idle_key((pp_idle_cause)c), rank->idle_ns[c]);
    pp_json_put(build, object, "idle_ns", idle);
    pp_json_put_int(build, object, "first_start_ns", rank->first_start_ns);
    pp_json_put_int(build, object, "last_end_ns", rank->last_end_ns);
    pp_json_put_int(build, object, "peak_live_activations", rank->peak_live_activations);
    if (!report->has_memory) {
        pp_json_put_null(build, object, "peak_memory_bytes");
        pp_json_put_null(build, object, "peak_recv_bytes");
        pp_json_put_null(build, object, "peak_send_bytes");
        pp_json_put_null(build, object, "peak_op");
        pp_json_put_null(build, object, "peak_at_ns");
        pp_json_put_null(build, object, "memory_at_peak");
        return object;
    }
    char token[32];
    if (rank->memory_limit_bytes)
        pp_json_put_int(build, object, "memory_limit_bytes", rank->memory_limit_bytes);
    pp_json_put_int(build, object, "peak_memory_bytes", rank->memory.total_bytes);
    pp_json_put_int(build, object, "peak_recv_bytes", rank->peak_recv_bytes);
    pp_json_put_int(build, object, "peak_send_bytes", rank->peak_send_bytes);
    pp_json_put_text(build, object, "peak_op", pp_op_print(rank->peak_op, token, sizeof token));
    pp_json_put_int(build, object, "peak_at_ns", rank->memory.at_ns);
    if (rank->over_bytes) {
        pp_json_put_text(build, object, "over_limit_op",
                         pp_op_print(rank->over_op, token, sizeof token));
        pp_json_put_int(build, object, "over_limit_at_ns", rank->over_at_ns);
        pp_json_put_int(build, object, "over_limit_bytes", rank->over_bytes);
    }
    pp_json *memory = pp_json_new_object(build);
    for (int c = 0; c < PP_MEMORY_COUNT; c++)
        pp_json_put_int(build, memory, pp_memory_key((pp_memory_component)c),
                        rank->memory.bytes[c]);
    pp_json_put(build, object, "memory_at_peak", memory);
    return object;
}

static void put_boundary(const pp_step_tail *boundary, pp_json *object, pp_json_build *build)
{
    pp_json *parts = pp_json_new_object(build);
    pp_json_put_int(build, parts, "grad_sync_ns", boundary->grad_sync_ns);
    pp_json_put_int(build, parts, "tied_ns", boundary->tied_ns);
    pp_json_put_int(build, parts, "optimizer_ns", boundary->optimizer_ns);
    pp_json_put_int(build, parts, "fixed_ns", boundary->fixed_ns);
    pp_json_put(build, object, "step_boundary", parts);
}

static void put_totals(const pp_report *report, pp_json *object, pp_json_build *build)
{
    pp_json_put_int(build, object, "ranks", report->ranks);
    pp_json_put_int(build, object, "stages", report->stages);
    pp_json_put_int(build, object, "microbatches", report->microbatches);
    pp_json_put_int(build, object, "makespan_ns", report->makespan_ns);
    pp_json_put_int(build, object, "span_ns", report->span_ns);
    pp_json_put_int(build, object, "step_boundary_ns", report->step_boundary_ns);
    pp_json_put_int(build, object, "step_ns", report->step_ns);
    if (report->step_boundary_ns)
        put_boundary(&report->boundary, object, build);
    if (report->has_period)
        pp_json_put_int(build, object, "period_ns", report->period_ns);
    pp_json_put_double(build, object, "bubble_fraction", report->bubble_fraction);
    pp_json_put_double(build, object, "bubble_rate", report->bubble_rate);
    if (report->has_bound && report->lower_bound_ns > 0) {
        pp_json_put_int(build, object, "lower_bound_ns", report->lower_bound_ns);
        pp_json_put_text(build, object, "lower_bound", report->bound_name);
        pp_json_put_double(build, object, "bound_gap",
                           (double)report->makespan_ns / (double)report->lower_bound_ns - 1.0);
    } else {
        pp_json_put_null(build, object, "lower_bound_ns");
        pp_json_put_null(build, object, "lower_bound");
        pp_json_put_null(build, object, "bound_gap");
    }
    if (report->has_memory) {
        pp_json_put_int(build, object, "peak_memory_bytes", report->peak_memory_bytes);
        pp_json_put_int(build, object, "peak_memory_rank", report->peak_memory_rank);
        if (report->memory_replica != report->replica)
            pp_json_put_int(build, object, "memory_replica", report->memory_replica);
    } else {
        pp_json_put_null(build, object, "peak_memory_bytes");
        pp_json_put_null(build, object, "peak_memory_rank");
    }
    if (report->memory_limit_bytes)
        pp_json_put_int(build, object, "memory_limit_bytes", report->memory_limit_bytes);
    else
        pp_json_put_null(build, object, "memory_limit_bytes");
    if (report->graphs)
        pp_json_put_int(build, object, "graphs", report->graphs);
    if (report->compile_ns)
        pp_json_put_int(build, object, "compile_ns", report->compile_ns);
    put_positive(build, object, "tokens_per_s", report->tokens_per_s);
    put_positive(build, object, "model_flops_utilization", report->model_flops_utilization);
}

pp_json *pp_report_write(const pp_report *report, pp_json_build *build)
{
    pp_json *object = pp_json_new_object(build);
    pp_json_put_text(build, object, "format", "ppsim.report");
    pp_json_put_int(build, object, "version", 1);
    pp_json_put_text(build, object, "schedule", report->schedule);
    pp_json_put_text(build, object, "executor", pp_report_framework_name(report));
    put_totals(report, object, build);
    pp_json_put_int(build, object, "seed", (int64_t)report->seed);
    pp_json *ranks = pp_json_new_array(build);
    for (uint32_t r = 0; r < report->ranks; r++)
        pp_json_add(build, ranks, write_rank(report, r, build));
    pp_json_put(build, object, "per_rank", ranks);
    if (report->has_worst)
        pp_json_put(build, object, "worst_blocked", pp_blocked_write(&report->worst, build));
    if (report->has_why)
        pp_json_put(build, object, "why", pp_why_write(&report->why, build));
    pp_json *assumptions = pp_json_new_object(build);
    for (size_t i = 0; i < report->assumptions.count; i++)
        pp_json_put_text(build, assumptions, report->assumptions.note[i].key,
                         report->assumptions.note[i].value);
    pp_json_put(build, object, "assumptions", assumptions);
    pp_robustness_put(&report->robustness, object, build);
    pp_uncertainty_put(&report->uncertainty, object, build);
    return object;
}
