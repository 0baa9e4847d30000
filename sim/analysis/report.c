/* Computes the numbers of a report in one pass over the ops of a timeline and, when the costs have
 * sizes, one replay of the memory of every rank. */
#include "sim/analysis/report.h"

#include "sim/analysis/memory_ceiling.h"
#include "sim/base/alloc.h"
#include "sim/base/minmax.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

pp_status pp_notes_add(pp_notes *notes, pp_err *err, const char *key, const char *format, ...)
{
    char value[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(value, sizeof value, format, args);
    va_end(args);
    void *grown = notes->note;
    pp_status status =
        pp_grow(&grown, &notes->capacity, notes->count + 1, sizeof *notes->note, err);
    if (status)
        return status;
    notes->note = grown;
    pp_note *note = &notes->note[notes->count];
    note->value = pp_copy_text(value);
    if (!note->value)
        return pp_err_nomem(err);
    snprintf(note->key, sizeof note->key, "%s", key);
    notes->count++;
    return PP_OK;
}

pp_status pp_notes_copy(const pp_notes *from, pp_notes *to, pp_err *err)
{
    for (size_t i = 0; i < from->count; i++) {
        pp_status status = pp_notes_add(to, err, from->note[i].key, "%s", from->note[i].value);
        if (status)
            return status;
    }
    return PP_OK;
}

void pp_notes_drop(pp_notes *notes, const char *key)
{
    size_t kept = 0;
    for (size_t i = 0; i < notes->count; i++) {
        if (strcmp(notes->note[i].key, key) == 0)
            free(notes->note[i].value);
        else
            notes->note[kept++] = notes->note[i];
    }
    notes->count = kept;
}

void pp_notes_free(pp_notes *notes)
{
    for (size_t i = 0; i < notes->count; i++)
        free(notes->note[i].value);
    free(notes->note);
    *notes = (pp_notes){ 0 };
}

void pp_report_free(pp_report **report)
{
    if (!*report)
        return;
    pp_notes_free(&(*report)->assumptions);
    pp_robustness_free(&(*report)->robustness);
    pp_uncertainty_free(&(*report)->uncertainty);
    free((*report)->per_rank);
    pp_blocked_free(&(*report)->worst);
    free(*report);
    *report = NULL;
}

pp_status pp_report_add_worst(pp_report *report, const pp_program *program,
                              const pp_timeline *timeline, size_t most, pp_err *err)
{
    pp_blocked_list worst = { 0 };
    pp_status status = pp_blocked_find(program, timeline, most, &worst, err);
    if (status)
        return status;
    pp_blocked_free(&report->worst);
    report->worst = worst;
    report->has_worst = true;
    return PP_OK;
}

/* Counts the ops of a rank, and returns the last of their ends. */
static pp_ns count_rank(const pp_program *program, const pp_timeline *timeline, uint32_t rank,
                        pp_rank_report *out)
{
    const size_t begin = program->rank_begin[rank], end = program->rank_begin[rank + 1];
    const bool frees[PP_OP_KIND_COUNT] = {
        [PP_OP_F] = program->forward_only, [PP_OP_W] = true, [PP_OP_B] = true
    };
    const pp_op *op = program->op;
    const pp_ns *start_ns = timeline->start_ns, *end_ns = timeline->end_ns;
    pp_ns busy_ns = 0, latest_ns = 0;
    uint32_t live = 0, most = 0;
    for (size_t i = begin; i < end; i++) {
        busy_ns += end_ns[i] - start_ns[i];
        latest_ns = pp_max(latest_ns, end_ns[i]);
        live += op[i].kind == PP_OP_F;
        most = live > most ? live : most;
        live -= frees[op[i].kind];
    }
    out->busy_ns = busy_ns;
    out->peak_live_activations = most;
    if (begin < end) {
        out->first_start_ns = start_ns[begin];
        out->last_end_ns = end_ns[end - 1];
    }
    return latest_ns;
}

static pp_status account_rank(const pp_program *program, const pp_timeline *timeline,
                              const pp_costs *costs, uint32_t r, pp_report *report, pp_err *err)
{
    pp_rank_report *rank = &report->per_rank[r];
    pp_status status =
        pp_memory_replay(program, timeline, costs, r, NULL, NULL, &rank->memory, err);
    if (status)
        return status;
    rank->memory_limit_bytes = costs->limit_bytes[r];
    rank->peak_op = program->op[rank->memory.instruction];
    rank->peak_recv_bytes = rank->memory.recv_bytes;
    rank->peak_send_bytes = rank->memory.send_bytes;
    const int64_t more = rank->memory.total_bytes - report->peak_memory_bytes;
    if (!report->has_memory || more > 0 || (more == 0 && r < report->peak_memory_rank)) {
        report->peak_memory_bytes = rank->memory.total_bytes;
        report->peak_memory_rank = r;
    }
    report->has_memory = true;
    return PP_OK;
}

static bool limits_differ(const pp_costs *costs, uint32_t ranks)
{
    for (uint32_t r = 1; r < ranks; r++) {
        if (costs->limit_bytes[r] != costs->limit_bytes[0])
            return true;
    }
    return false;
}

/* Accounts for ranks as long as one may need more than those before it: the one with the highest
 * ceiling first. */
static pp_status account_peak(const pp_program *program, const pp_timeline *timeline,
                              const pp_costs *costs, pp_report *report, pp_err *err)
{
    int64_t *ceiling PP_CLEANUP(pp_free_array) = pp_alloc_array(report->ranks, sizeof *ceiling);
    pp_status status = ceiling ? PP_OK : pp_err_nomem(err);
    uint32_t highest = 0;
    for (uint32_t r = 0; r < report->ranks && !status; r++) {
        report->per_rank[r].memory_limit_bytes = costs->limit_bytes[r];
        ceiling[r] = pp_memory_ceiling(program, timeline, costs, r);
        highest = ceiling[r] > ceiling[highest] ? r : highest;
    }
    if (!status)
        status = account_rank(program, timeline, costs, highest, report, err);
    for (uint32_t r = 0; r < report->ranks && !status; r++) {
        if (r != highest && ceiling[r] >= report->peak_memory_bytes)
            status = account_rank(program, timeline, costs, r, report, err);
    }
    return status;
}

static pp_status account_memory(const pp_program *program, const pp_timeline *timeline,
                                const pp_costs *costs, bool peak_only, pp_report *report,
                                pp_err *err)
{
    pp_status status = PP_OK;
    report->sharded = costs->sharded;
    if (peak_only && program->comm && !limits_differ(costs, report->ranks))
        return account_peak(program, timeline, costs, report, err);
    for (uint32_t r = 0; r < report->ranks && !status; r++)
        status = account_rank(program, timeline, costs, r, report, err);
    return status;
}

int64_t pp_report_excess(const pp_report *report, int64_t limit_bytes, uint32_t *rank_out)
{
    int64_t most = INT64_MIN;
    for (uint32_t r = 0; r < report->ranks; r++) {
        const pp_rank_report *rank = &report->per_rank[r];
        int64_t limit = rank->memory_limit_bytes ? rank->memory_limit_bytes : limit_bytes;
        int64_t beyond = rank->memory.total_bytes - (limit ? limit : INT64_MAX);
        if (beyond > most) {
            most = beyond;
            *rank_out = r;
        }
    }
    return most;
}

void pp_report_take_memory(pp_report *report, const pp_report *other)
{
    uint32_t rank = 0;
    if (!other->has_memory || pp_report_excess(other, other->memory_limit_bytes, &rank) <=
                                  pp_report_excess(report, report->memory_limit_bytes, &rank))
        return;
    report->memory_replica = other->memory_replica;
    report->peak_memory_bytes = other->peak_memory_bytes;
    report->peak_memory_rank = other->peak_memory_rank;
    for (uint32_t r = 0; r < report->ranks; r++) {
        pp_rank_report *to = &report->per_rank[r];
        const pp_rank_report *from = &other->per_rank[r];
        to->peak_live_activations = from->peak_live_activations;
        to->memory = from->memory;
        to->peak_op = from->peak_op;
        to->peak_recv_bytes = from->peak_recv_bytes;
        to->peak_send_bytes = from->peak_send_bytes;
        to->over_bytes = from->over_bytes;
        to->over_at_ns = from->over_at_ns;
        to->over_op = from->over_op;
    }
}

pp_status pp_report_set_limit(pp_report *report, const pp_program *program,
                              const pp_timeline *timeline, const pp_costs *costs,
                              int64_t limit_bytes, pp_err *err)
{
    report->memory_limit_bytes = limit_bytes;
    for (uint32_t r = 0; r < report->ranks && report->has_memory; r++) {
        pp_rank_report *rank = &report->per_rank[r];
        const int64_t limit = pp_costs_limit(costs, r, limit_bytes);
        pp_memory_peak first;
        rank->over_bytes = 0;
        if (!limit || rank->memory.total_bytes <= limit)
            continue;
        pp_status status = pp_memory_first_over(program, timeline, costs, r, limit, &first, err);
        if (status)
            return status;
        rank->over_bytes = first.total_bytes;
        rank->over_at_ns = first.at_ns;
        rank->over_op = program->op[first.instruction];
    }
    return PP_OK;
}

const pp_rank_report *pp_report_first_over(const pp_report *report, uint32_t *rank_out)
{
    const pp_rank_report *first = NULL;
    for (uint32_t r = 0; r < report->ranks; r++) {
        const pp_rank_report *rank = &report->per_rank[r];
        if (rank->over_bytes && (!first || rank->over_at_ns < first->over_at_ns)) {
            first = rank;
            *rank_out = r;
        }
    }
    return first;
}

/* Adds what follows the last op of each rank, and the end of the step. */
static pp_status add_boundary(const pp_costs *costs, bool step_sync, pp_report *report, pp_err *err)
{
    pp_ns *last_end_ns = pp_alloc_array(report->ranks, sizeof *last_end_ns);
    if (!last_end_ns)
        return pp_err_nomem(err);
    for (uint32_t r = 0; r < report->ranks; r++)
        last_end_ns[r] = report->per_rank[r].last_end_ns;
    const pp_step_tail b = pp_step_tail_of(costs, last_end_ns, report->makespan_ns, step_sync,
                                           !step_sync && pp_step_tail_chained(report->framework));
    free(last_end_ns);
    report->boundary = b;
    report->step_boundary_ns = b.grad_sync_ns + b.tied_ns + b.optimizer_ns + b.fixed_ns;
    report->step_ns = report->makespan_ns + report->step_boundary_ns;
    return PP_OK;
}

static void summarise(const pp_timeline *timeline, pp_report *report)
{
    double idle = 0;
    pp_ns busy_of_longest = 0;
    for (uint32_t r = 0; r < report->ranks; r++) {
        pp_rank_report *rank = &report->per_rank[r];
        pp_ns named = 0; /* without communication, all idle time is a wait for data */
        for (int c = 0; timeline->comm && c < PP_IDLE_COUNT; c++) {
            rank->idle_ns[c] = timeline->comm->idle_ns[r * PP_IDLE_COUNT + (size_t)c];
            named += rank->idle_ns[c];
        }
        rank->idle_ns[PP_IDLE_DATA] += report->makespan_ns - rank->busy_ns - named;
        idle += (double)(report->makespan_ns - rank->busy_ns);
        pp_ns span = rank->last_end_ns - rank->first_start_ns;
        if (r == 0 || span > report->span_ns) {
            report->span_ns = span;
            busy_of_longest = rank->busy_ns;
        }
    }
    if (report->makespan_ns)
        report->bubble_fraction = idle / ((double)report->ranks * (double)report->makespan_ns);
    if (report->span_ns)
        report->bubble_rate = (double)(report->span_ns - busy_of_longest) / (double)report->span_ns;
}

const char *pp_report_framework_name(const pp_report *report)
{
    return report->framework ? report->framework->name : "as written";
}

static pp_status build(const char *schedule, const pp_framework *framework,
                       const pp_program *program, const pp_timeline *timeline,
                       const pp_costs *costs, bool step_sync, bool peak_only,
                       pp_report **report_out, pp_err *err)
{
    pp_report *report PP_CLEANUP(pp_report_free) = pp_alloc_array(1, sizeof *report);
    if (report)
        report->per_rank = pp_alloc_array(program->ranks, sizeof *report->per_rank);
    if (!report || !report->per_rank)
        return pp_err_nomem(err);
    snprintf(report->schedule, sizeof report->schedule, "%s", schedule);
    report->framework = framework;
    report->ranks = program->ranks;
    report->stages = program->stages;
    report->microbatches = program->microbatches;
    for (uint32_t r = 0; r < report->ranks; r++)
        report->makespan_ns =
            pp_max(report->makespan_ns, count_rank(program, timeline, r, &report->per_rank[r]));
    summarise(timeline, report);
    report->step_ns = report->makespan_ns;
    pp_status status = PP_OK;
    if (!program->forward_only) /* an evaluation ends with its last op */
        status = add_boundary(costs, step_sync, report, err);
    if (!status && costs->has_memory)
        status = account_memory(program, timeline, costs, peak_only, report, err);
    if (status)
        return status;
    double step_s = (double)report->step_ns * 1e-9;
    if (costs->tokens > 0 && step_s > 0)
        report->tokens_per_s = costs->tokens / step_s;
    if (costs->model_flops > 0 && costs->peak_flops_per_s > 0 && step_s > 0)
        report->model_flops_utilization = (program->forward_only ? 1.0 / 3 : 1) *
                                          costs->model_flops / (costs->peak_flops_per_s * step_s);
    *report_out = report;
    report = NULL; /* the caller's now */
    return PP_OK;
}

pp_status pp_report_build(const char *schedule, const pp_framework *framework,
                          const pp_program *program, const pp_timeline *timeline,
                          const pp_costs *costs, bool step_sync, pp_report **report_out,
                          pp_err *err)
{
    return build(schedule, framework, program, timeline, costs, step_sync, false, report_out, err);
}

pp_status pp_report_build_peak(const char *schedule, const pp_framework *framework,
                               const pp_program *program, const pp_timeline *timeline,
                               const pp_costs *costs, bool step_sync, pp_report **report_out,
                               pp_err *err)
{
    return build(schedule, framework, program, timeline, costs, step_sync, true, report_out, err);
}
