/* Prints a report for people: the step time and its parts first, then one line per rank. */
#include "tools/ppsim/report/report_print.h"

#include "tools/ppsim/base/colour.h"
#include "tools/ppsim/base/words.h"
#include "tools/ppsim/report/answer.h"
#include "tools/ppsim/report/op_words.h"
#include "tools/ppsim/report/robustness.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define RANKS_SHOWN 64u

static void print_bubble(const pp_report *report, pp_text *text)
{
    pp_text_add(text, "bubble       %.2f %% of all rank time (ranks x makespan) is idle\n",
                100.0 * report->bubble_fraction);
    pp_text_add(text, "             %.2f %% of the longest time from first to last op of a rank\n",
                100.0 * report->bubble_rate);
}

static void print_bound(const pp_report *report, pp_text *text)
{
    char bound[32];
    if (!report->has_bound || report->lower_bound_ns <= 0)
        return;
    /* "load of rank 3 (any order of these ops)" */
    const int name = (int)strcspn(report->bound_name, "(") - 1;
    pp_print_line(text, "lower bound",
                  "%s (bound: %.*s): no order of these ops has a shorter makespan; this one is "
                  "%.2f %% above it",
                  pp_format_duration(bound, sizeof bound, report->lower_bound_ns), name,
                  report->bound_name,
                  100 * ((double)report->makespan_ns / (double)report->lower_bound_ns - 1));
}

void pp_graphs_print(const pp_report *report, pp_text *text)
{
    char compile[32];
    pp_text words PP_CLEANUP(pp_text_free) = { 0 };
    if (!report->graphs)
        return;
    pp_text_add(&words, "%" PRIu32 " distinct on the rank with most of them", report->graphs);
    if (report->compile_ns)
        pp_text_add(&words, ", compiled in %s before the first step",
                    pp_format_duration(compile, sizeof compile, report->compile_ns));
    pp_print_labelled(text, "graphs", &words);
}

#define VALUE_COLUMN 13

/* Writes up to six components of a peak, the largest first, without those of at most 1 %. */
static void print_components(const pp_memory_peak *peak, pp_text *text)
{
    bool done[PP_MEMORY_COUNT] = { false };
    char size[32];
    pp_text line PP_CLEANUP(pp_text_free) = { 0 };
    for (int shown = 0; shown < 6; shown++) {
        int most = -1;
        for (int c = 0; c < PP_MEMORY_COUNT; c++) {
            if (!done[c] && (most < 0 || peak->bytes[c] > peak->bytes[most]))
                most = c;
        }
        if (most < 0 || peak->bytes[most] <= peak->total_bytes / 100)
            break;
        done[most] = true;
        pp_text_add(&line, "%s%s %s", shown ? ", " : "", pp_memory_key((pp_memory_component)most),
                    pp_format_bytes(size, sizeof size, peak->bytes[most]));
    }
    pp_text_add(text, "%*s", VALUE_COLUMN, "");
    pp_print_words(text, line.data ? line.data : "", VALUE_COLUMN, VALUE_COLUMN);
    text->failed |= line.failed;
}

/* Returns the bytes that a rank holds during the whole step, unless its parameters are sharded. */
static int64_t static_bytes(const pp_memory_peak *peak)
{
    int64_t sum = 0;
    for (int c = 0; c < PP_MEMORY_COUNT; c++)
        sum += pp_memory_is_static((pp_memory_component)c) ? peak->bytes[c] : 0;
    return sum;
}

void pp_over_limit_print(const pp_report *report, pp_text *text)
{
    char cell[2][32];
    char limit[64];
    char op[PP_OP_WORDS_BYTES];
    uint32_t r = 0;
    const pp_rank_report *rank = pp_report_first_over(report, &r);
    if (!rank)
        return;
    const int64_t limit_bytes =
        rank->memory_limit_bytes ? rank->memory_limit_bytes : report->memory_limit_bytes;
    pp_format_limit(limit, sizeof limit, limit_bytes);
    if (!report->sharded && static_bytes(&rank->memory) > limit_bytes)
        pp_print_line(text, "over limit",
                      "%srank %" PRIu32 " before any op: weights, gradients, optimizer and "
                      "libraries are %s of %s%s",
                      pp_colour_begin(PP_COLOUR_BAD), r,
                      pp_format_bytes(cell[1], sizeof cell[1], static_bytes(&rank->memory)), limit,
                      pp_colour_end(PP_COLOUR_BAD));
    else
        pp_print_line(text, "over limit",
                      "%sfirst by rank %" PRIu32 " at %s, during %s: %s of %s%s",
                      pp_colour_begin(PP_COLOUR_BAD), r,
                      pp_format_duration(cell[0], sizeof cell[0], rank->over_at_ns),
                      pp_op_words(rank->over_op, op),
                      pp_format_bytes(cell[1], sizeof cell[1], rank->over_bytes), limit,
                      pp_colour_end(PP_COLOUR_BAD));
}

static void print_memory(const pp_report *report, pp_text *text)
{
    char peak[32];
    char limit[64];
    char op[PP_OP_WORDS_BYTES];
    pp_text words PP_CLEANUP(pp_text_free) = { 0 };
    if (!report->has_memory)
        return;
    const pp_rank_report *rank = &report->per_rank[report->peak_memory_rank];
    pp_text_add(&words, "%s on rank %" PRIu32 ", during %s",
                pp_format_bytes(peak, sizeof peak, report->peak_memory_bytes),
                report->peak_memory_rank, pp_op_words(rank->peak_op, op));
    if (report->memory_replica != report->replica)
        pp_text_add(&words, " of replica %" PRIu32, report->memory_replica);
    if (report->memory_limit_bytes)
        pp_text_add(&words, "; the limit is %s",
                    pp_format_limit(limit, sizeof limit, report->memory_limit_bytes));
    pp_print_labelled(text, "peak memory", &words);
    print_components(&rank->memory, text);
    pp_over_limit_print(report, text);
}

/* Writes the causes of the idle time of all ranks, unless data is the only one. */
static void print_idle(const pp_report *report, pp_text *text)
{
    pp_ns sum[PP_IDLE_COUNT] = { 0 };
    double all = 0;
    pp_text words PP_CLEANUP(pp_text_free) = { 0 };
    for (uint32_t r = 0; r < report->ranks; r++) {
        for (int c = 0; c < PP_IDLE_COUNT; c++) {
            sum[c] += report->per_rank[r].idle_ns[c];
            all += (double)report->per_rank[r].idle_ns[c];
        }
    }
    if ((double)sum[PP_IDLE_DATA] >= all)
        return;
    for (int c = 0; c < PP_IDLE_COUNT; c++) {
        if (sum[c])
            pp_text_add(&words, "%s%s %.1f %%", words.bytes ? ", " : "",
                        pp_idle_key((pp_idle_cause)c), 100.0 * (double)sum[c] / all);
    }
    pp_text_add(&words, " of all idle rank time");
    pp_print_labelled(text, "idle", &words);
}

static void print_ranks(const pp_report *report, pp_text *text)
{
    pp_text_add(text, "\nrank        busy        idle       start         end  live%s\n",
                report->has_memory ? "  peak memory" : "");
    for (uint32_t r = 0; r < report->ranks && r < RANKS_SHOWN; r++) {
        const pp_rank_report *rank = &report->per_rank[r];
        char cell[5][32];
        pp_ns idle = 0;
        for (int c = 0; c < PP_IDLE_COUNT; c++)
            idle += rank->idle_ns[c];
        pp_text_add(text, "%4" PRIu32 " %11s %11s %11s %11s %5" PRIu32, r,
                    pp_format_duration(cell[0], sizeof cell[0], rank->busy_ns),
                    pp_format_duration(cell[1], sizeof cell[1], idle),
                    pp_format_duration(cell[2], sizeof cell[2], rank->first_start_ns),
                    pp_format_duration(cell[3], sizeof cell[3], rank->last_end_ns),
                    rank->peak_live_activations);
        if (report->has_memory)
            pp_text_add(text, " %12s",
                        pp_format_bytes(cell[4], sizeof cell[4], rank->memory.total_bytes));
        pp_text_add(text, "\n");
    }
    if (report->ranks > RANKS_SHOWN)
        pp_text_add(text, "... %" PRIu32 " more ranks; --json has them all\n",
                    report->ranks - RANKS_SHOWN);
    pp_text_add(text, "live: most (stage, microbatch) pairs between the start of their forward and "
                      "the\nend of their backward\n");
}

void pp_period_print(const pp_report *report, pp_text *text)
{
    char cell[32];
    if (report->has_period)
        pp_print_line(text, "period", "%s per step when steps follow each other without a barrier",
                      pp_format_duration(cell, sizeof cell, report->period_ns));
}

static void print_boundary(const pp_report *report, pp_text *text)
{
    const pp_step_tail *b = &report->boundary;
    char cell[4][32];
    pp_period_print(report, text);
    if (!report->step_boundary_ns)
        return;
    pp_print_line(text, "end of step",
                  "gradient sync %s, tied embedding %s, optimizer %s, fixed %s",
                  pp_format_duration(cell[0], sizeof cell[0], b->grad_sync_ns),
                  pp_format_duration(cell[1], sizeof cell[1], b->tied_ns),
                  pp_format_duration(cell[2], sizeof cell[2], b->optimizer_ns),
                  pp_format_duration(cell[3], sizeof cell[3], b->fixed_ns));
}

void pp_waits_print(const pp_report *report, pp_text *text)
{
    if (!report->worst.count)
        return;
    pp_text_add(text, "\nrank        op       waits        from  cause   blocked by\n");
    for (size_t i = 0; i < report->worst.count; i++) {
        const pp_blocked *one = &report->worst.item[i];
        char cell[2][32];
        pp_text_add(text, "%4" PRIu32 " %9s %11s %11s  %-6s", one->rank, one->op,
                    pp_format_duration(cell[0], sizeof cell[0], one->waits_ns),
                    pp_format_duration(cell[1], sizeof cell[1], one->at_ns),
                    pp_idle_key(one->cause));
        if (one->by[0])
            pp_text_add(text, "  %s of rank %" PRIu32, one->by, one->by_rank);
        pp_text_add(text, "\n");
    }
    pp_text_add(text, PP_OP_LEGEND);
}

static double percent(pp_ns part_ns, pp_ns step_ns)
{
    return step_ns > 0 ? 100 * (double)part_ns / (double)step_ns : 0;
}

static void print_why_row(const char *what, pp_ns mean_ns, pp_ns slowest_ns, pp_ns step_ns,
                          pp_text *text)
{
    char cell[2][32];
    if (mean_ns || slowest_ns)
        pp_text_add(text, "  %-26s %12s %6.2f %%  %12s %6.2f %%\n", what,
                    pp_format_duration(cell[0], sizeof cell[0], mean_ns), percent(mean_ns, step_ns),
                    pp_format_duration(cell[1], sizeof cell[1], slowest_ns),
                    percent(slowest_ns, step_ns));
}

void pp_why_print(const pp_why *why, pp_ns step_ns, pp_text *text)
{
    static const char *const groups[PP_EXCHANGE_KINDS] = { [PP_EXCHANGE_TP] = "tp exchange in ops",
                                                           [PP_EXCHANGE_CP] = "cp exchange in ops",
                                                           [PP_EXCHANGE_EP] =
                                                               "ep exchange in ops" };
    pp_text_add(text,
                "\nwhere the step goes            mean over the ranks     rank %" PRIu32
                ", the busiest\n",
                why->slowest);
    for (int c = 0; c < PP_WHY_COUNT; c++) {
        if (c != PP_WHY_COLLECTIVES)
            print_why_row(pp_why_text((pp_why_part)c), why->mean_ns[c], why->slowest_ns[c], step_ns,
                          text);
        for (int k = 0; c == PP_WHY_COLLECTIVES && k < PP_EXCHANGE_KINDS; k++)
            print_why_row(groups[k], why->exchange_mean_ns[k], why->exchange_slowest_ns[k], step_ns,
                          text);
    }
}

void pp_report_print(const pp_report *report, pp_text *text)
{
    char step[32];
    char makespan[32];
    char boundary[32];
    pp_text_add(text, "step         %s = makespan %s + end of step %s\n",
                pp_format_duration(step, sizeof step, report->step_ns),
                pp_format_duration(makespan, sizeof makespan, report->makespan_ns),
                pp_format_duration(boundary, sizeof boundary, report->step_boundary_ns));
    if (report->uncertainty.step_ns) {
        pp_text words PP_CLEANUP(pp_text_free) = { 0 };
        pp_answer_uncertainty(&report->uncertainty, &words);
        pp_print_labelled(text, "how sure", &words);
    }
    print_boundary(report, text);
    pp_print_line(text, "schedule",
                  "%s on %" PRIu32 " ranks, %" PRIu32 " stages, %" PRIu32
                  " microbatches, executor %s",
                  report->schedule, report->ranks, report->stages, report->microbatches,
                  pp_report_framework_name(report));
    if (report->tokens_per_s > 0)
        pp_text_add(text, "throughput   %.0f tokens/s\n", report->tokens_per_s);
    if (report->model_flops_utilization > 0)
        pp_text_add(text,
                    "MFU          %.1f %% of dense peak (model FLOPs, attention counted "
                    "in full)\n",
                    100.0 * report->model_flops_utilization);
    print_bubble(report, text);
    print_bound(report, text);
    print_idle(report, text);
    print_memory(report, text);
    pp_graphs_print(report, text);
    if (report->has_why)
        pp_why_print(&report->why, report->step_ns, text);
    print_ranks(report, text);
    pp_waits_print(report, text);
    pp_robustness_print(&report->robustness, text);
}
