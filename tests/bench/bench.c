/* Speed of each step from a schedule's name to a report, per op, against the bare longest-path
 * loop over the same ops in the same run. Prints a table, or JSON with --json.
 *
 * The bare loop is the floor: the graph in a known order, two predecessors, one maximum and two
 * additions per op; no lookup of costs, no memory account, no discovery of the order. */
#include "planner/robustness/jitter_run.h"
#include "planner/robustness/jitter_spec.h"
#include "runtime/core/clock.h"
#include "sim/analysis/report.h"
#include "sim/base/alloc.h"
#include "sim/engine/engine.h"
#include "sim/framework/registry.h"
#include "sim/program/comm.h"
#include "sim/program/program_new.h"
#include "sim/program/transfer_costs.h"
#include "sim/schedule/registry.h"
#include "sim/schedule/schedule.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STEP_GENERATE,
    STEP_LOWER,
    STEP_ENGINE,
    STEP_REPORT,
    STEP_BARE,
    STEP_TORCH_LOWER, /* per instruction, sends and receives counted */
    STEP_TORCH_ENGINE,
    STEP_COUNT
};

static const char *const step_names[STEP_COUNT] = { "generate", "lower",       "engine",   "report",
                                                    "bare",     "torch-lower", "torch-run" };

typedef struct size {
    uint32_t ranks, microbatches;
} size;

static const size sizes[] = { { 4, 16 }, { 8, 64 }, { 16, 256 }, { 32, 1024 }, { 64, 4096 } };

typedef struct result {
    size size;
    size_t ops;
    double ns[STEP_COUNT]; /* per op, best of the runs */
    pp_ns makespan_ns;
} result;

static void die(const pp_err *err)
{
    fprintf(stderr, "bench: %s\n", err->text);
    exit(EXIT_FAILURE);
}

/* An explicit graph in a legal order, which the bare loop follows. */
typedef struct bare {
    uint32_t *first, *second; /* predecessors: index into end, 0 is a dummy that ends at 0 */
    int32_t *duration_ns, *latency_ns;
    pp_ns *end;
    size_t count;
} bare;

static void bare_free(bare *b)
{
    free(b->first);
    free(b->second);
    free(b->duration_ns);
    free(b->latency_ns);
    free(b->end);
}

typedef struct start_key {
    pp_ns start_ns;
    uint32_t index;
} start_key;

static int by_start(const void *a, const void *b)
{
    const start_key *x = a;
    const start_key *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Sorted by start, so that all predecessors come first (no op is empty here). */
static bool bare_build(const pp_program *program, const pp_timeline *timeline,
                       const pp_costs *costs, bare *out)
{
    size_t n = program->count;
    start_key *keys = pp_alloc_array(n, sizeof *keys);
    uint32_t *place = pp_alloc_array(n, sizeof *place);
    *out = (bare){ pp_alloc_array(n + 1, 4),
                   pp_alloc_array(n + 1, 4),
                   pp_alloc_array(n + 1, 4),
                   pp_alloc_array(n + 1, 4),
                   pp_alloc_array(n + 1, sizeof(pp_ns)),
                   n };
    if (!keys || !place || !out->first || !out->second || !out->duration_ns || !out->latency_ns ||
        !out->end)
        return false;
    for (size_t i = 0; i < n; i++)
        keys[i] = (start_key){ timeline->start_ns[i], (uint32_t)i };
    qsort(keys, n, sizeof *keys, by_start);
    for (size_t k = 0; k < n; k++)
        place[keys[k].index] = (uint32_t)k + 1;
    for (uint32_t r = 0; r < program->ranks; r++) {
        for (size_t i = program->rank_begin[r]; i < program->rank_begin[r + 1]; i++) {
            uint32_t at = place[i];
            uint32_t source = program->source[i];
            out->first[at] = i > program->rank_begin[r] ? place[i - 1] : 0;
            out->second[at] = source == PP_NO_SOURCE ? 0 : place[source];
            out->duration_ns[at] = (int32_t)(timeline->end_ns[i] - timeline->start_ns[i]);
            out->latency_ns[at] = (int32_t)pp_edge_latency(program, costs, i);
        }
    }
    free(keys);
    free(place);
    return true;
}

static pp_ns bare_run(bare *b)
{
    pp_ns last = 0;
    b->end[0] = 0;
    for (size_t i = 1; i <= b->count; i++) {
        pp_ns own = b->end[b->first[i]];
        pp_ns arrived = b->end[b->second[i]] + b->latency_ns[i];
        pp_ns end = (own > arrived ? own : arrived) + b->duration_ns[i];
        b->end[i] = end;
        last = end > last ? end : last;
    }
    return last;
}

static void keep_best(double *best, int64_t begin_ns, int64_t end_ns, size_t ops)
{
    double per_op = (double)(end_ns - begin_ns) / (double)ops;
    if (*best == 0 || per_op < *best)
        *best = per_op;
}

/* The same order with sends and receives, as framework torch lowers it; ns per instruction. */
static void run_torch(const pp_order *order, const pp_costs *costs, result *out)
{
    pp_err err = { 0 };
    const pp_framework *framework;
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
    int64_t t[3];
    if (pp_framework_get("torch", &framework, &err))
        die(&err);
    t[0] = pp_clock_now_ns();
    if (framework->lower(order, &program, &err))
        die(&err);
    t[1] = pp_clock_now_ns();
    if (pp_simulate(program, costs, &timeline, &err))
        die(&err);
    t[2] = pp_clock_now_ns();
    size_t instructions = program->count + program->comm->transfer_count;
    keep_best(&out->ns[STEP_TORCH_LOWER], t[0], t[1], instructions);
    keep_best(&out->ns[STEP_TORCH_ENGINE], t[1], t[2], instructions);
}

static void run_once(const pp_schedule *schedule, size s, const pp_costs *costs, result *out)
{
    pp_err err = { 0 };
    const pp_framework *framework;
    pp_order *order PP_CLEANUP(pp_order_free) = NULL;
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
    pp_report *report PP_CLEANUP(pp_report_free) = NULL;
    bare graph PP_CLEANUP(bare_free) = { 0 };
    const pp_schedule_params shape = { .ranks = s.ranks,
                                       .chunks = 1,
                                       .microbatches = s.microbatches };
    int64_t t[STEP_COUNT + 2];
    int64_t lowered_ns;
    t[0] = pp_clock_now_ns();
    if (pp_schedule_build(schedule, &shape, &order, &err))
        die(&err);
    t[1] = pp_clock_now_ns();
    if (pp_framework_get("ideal", &framework, &err) || framework->lower(order, &program, &err))
        die(&err);
    lowered_ns = pp_clock_now_ns();
    if (pp_simulate(program, costs, &timeline, &err)) /* this touches the pages of the timeline */
        die(&err);
    t[2] = pp_clock_now_ns();
    if (pp_simulate_into(program, costs, timeline, &err))
        die(&err);
    t[3] = pp_clock_now_ns();
    if (pp_report_build("1f1b", &pp_framework_ideal, program, timeline, costs, true, &report, &err))
        die(&err);
    t[4] = pp_clock_now_ns();
    out->ops = program->count;
    for (int step = STEP_GENERATE; step <= STEP_REPORT; step++)
        keep_best(&out->ns[step], t[step], step == STEP_LOWER ? lowered_ns : t[step + 1],
                  program->count);
    run_torch(order, costs, out);
    if (!bare_build(program, timeline, costs, &graph))
        die(&err);
    out->makespan_ns = bare_run(&graph); /* this warms the caches, since those of the steps above
                                            are warm */
    t[0] = pp_clock_now_ns();
    pp_ns again = bare_run(&graph);
    t[1] = pp_clock_now_ns();
    keep_best(&out->ns[STEP_BARE], t[0], t[1], program->count);
    if (again != report->makespan_ns) {
        fprintf(stderr,
                "bench: the bare loop and the engine disagree: %" PRId64 " and %" PRId64 "\n",
                again, report->makespan_ns);
        exit(EXIT_FAILURE);
    }
}

/* Monte Carlo of 1000 scenarios against 1000 single simulations of the same program. */
typedef struct monte_carlo {
    double jitter_ms, single_ms; /* best of the runs; one thread */
} monte_carlo;

enum { SCENARIOS = 1000 };

static monte_carlo run_jitter(const pp_schedule *schedule, size s, const pp_costs *costs)
{
    static const char spec_text[] = "compute=0.02,comm=0.1,scenarios=1000";
    pp_err err = { 0 };
    pp_jitter_spec spec;
    const pp_framework *ideal;
    const pp_schedule_params shape = { .ranks = s.ranks,
                                       .chunks = 1,
                                       .microbatches = s.microbatches };
    pp_order *order PP_CLEANUP(pp_order_free) = NULL;
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
    monte_carlo best = { 0, 0 };
    pp_ns step_ns[SCENARIOS];
    if (pp_jitter_parse(spec_text, &spec, &err) ||
        pp_schedule_build(schedule, &shape, &order, &err) ||
        pp_framework_get("ideal", &ideal, &err) || ideal->lower(order, &program, &err) ||
        pp_simulate(program, costs, &timeline, &err))
        die(&err);
    const pp_jitter_subject subject = {
        .program = program, .timeline = timeline, .costs = costs, .step_sync = true
    };
    for (int k = 0; k < 9; k++) {
        int64_t t[3] = { pp_clock_now_ns(), 0, 0 };
        if (pp_jitter_run(&subject, &spec, (uint64_t)k, 1, step_ns, &err))
            die(&err);
        t[1] = pp_clock_now_ns();
        for (int i = 0; i < SCENARIOS; i++) {
            if (pp_simulate_into(program, costs, timeline, &err))
                die(&err);
        }
        t[2] = pp_clock_now_ns();
        keep_best(&best.jitter_ms, t[0], t[1], 1000000);
        keep_best(&best.single_ms, t[1], t[2], 1000000);
    }
    return best;
}

/* One framework on the first of these schedules that it runs, 16 x 256; ns per instruction. */
typedef struct setting {
    const char *schedule;
    double lower_ns, run_ns;
} setting;

static bool try_setting(const pp_framework *framework, const char *name, uint32_t chunks,
                        setting *out)
{
    static const pp_uniform_costs uniform = {
        .f_ns = 1000, .i_ns = 1000, .w_ns = 1000, .b_ns = -1, .comm_ns = 100
    };
    const pp_schedule_params shape = { .ranks = 16, .chunks = chunks, .microbatches = 256 };
    pp_err err = { 0 };
    pp_order *order PP_CLEANUP(pp_order_free) = NULL;
    pp_costs *costs PP_CLEANUP(pp_costs_free) = NULL;
    if (pp_schedule_build(pp_schedule_find(name), &shape, &order, &err) ||
        pp_costs_uniform(&uniform, 16, 16 * chunks, 256, &costs, &err))
        die(&err);
    *out = (setting){ .schedule = name };
    for (int k = 0; k < 30; k++) {
        pp_program *program PP_CLEANUP(pp_program_free) = NULL;
        pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
        int64_t t[3] = { pp_clock_now_ns(), 0, 0 };
        if (pp_framework_lower(framework, order, costs, NULL, &program, &err))
            return false;
        t[1] = pp_clock_now_ns();
        if (pp_simulate(program, costs, &timeline, &err))
            die(&err);
        t[2] = pp_clock_now_ns();
        size_t instructions = program->count + (program->comm ? program->comm->transfer_count : 0);
        keep_best(&out->lower_ns, t[0], t[1], instructions);
        keep_best(&out->run_ns, t[1], t[2], instructions);
    }
    return true;
}

static setting run_setting(const pp_framework *framework)
{
    setting found = { NULL, 0, 0 };
    if (!try_setting(framework, "1f1b", 1, &found) &&
        !try_setting(framework, "interleaved", 2, &found) &&
        !try_setting(framework, "dualpipev", 2, &found))
        found.schedule = "none of 1f1b, interleaved, dualpipev";
    return found;
}

static void print_settings(bool json)
{
    printf(json ? " \"executors\": [\n" : "\n%-24s %-12s %11s %11s\n", "executor, 16x256",
           "schedule", "lower", "run");
    for (size_t e = 0; e < pp_framework_count(); e++) {
        const pp_framework *framework = pp_framework_at(e);
        const setting h = run_setting(framework);
        printf(json ? "  {\"executor\": \"%s\", \"schedule\": \"%s\", "
                      "\"lower_ns_per_instruction\": %.4f, \"run_ns_per_instruction\": %.4f}%s\n"
                    : "%-24s %-12s %11.2f %11.2f%s\n",
               framework->name, h.schedule, h.lower_ns, h.run_ns,
               json && e + 1 < pp_framework_count() ? "," : "");
    }
    if (json)
        printf(" ],\n");
}

static void print_json(const result *results, size_t count, monte_carlo jitter)
{
    printf("{\n \"format\": \"ppsim.bench\",\n \"results\": [\n");
    for (size_t i = 0; i < count; i++) {
        const result *r = &results[i];
        printf(
            "  {\"bare_ns_per_op\": %.4f, \"engine_ns_per_op\": %.4f, \"engine_over_bare\": "
            "%.4f, \"generate_ns_per_op\": %.4f, \"lower_ns_per_instruction\": %.4f, "
            "\"makespan_ns\": %" PRId64 ", \"microbatches\": %" PRIu32 ", \"ops\": %zu, "
            "\"ranks\": %" PRIu32 ", \"report_ns_per_op\": %.4f, "
            "\"torch_lower_ns_per_instruction\": %.4f, \"torch_run_ns_per_instruction\": %.4f}%s\n",
            r->ns[STEP_BARE], r->ns[STEP_ENGINE], r->ns[STEP_ENGINE] / r->ns[STEP_BARE],
            r->ns[STEP_GENERATE], r->ns[STEP_LOWER], r->makespan_ns, r->size.microbatches, r->ops,
            r->size.ranks, r->ns[STEP_REPORT], r->ns[STEP_TORCH_LOWER], r->ns[STEP_TORCH_ENGINE],
            i + 1 < count ? "," : "");
    }
    printf(" ],\n");
    print_settings(true);
    printf(" \"jitter\": {\"jitter_ms\": %.4f, \"single_ms\": %.4f, "
           "\"jitter_over_single\": %.4f},\n \"version\": 1\n}\n",
           jitter.jitter_ms, jitter.single_ms, jitter.jitter_ms / jitter.single_ms);
}

static void print_table(const result *results, size_t count, monte_carlo jitter)
{
    printf(
        "1f1b, ns per op (torch: per instruction, sends and receives counted), best of the runs;\n"
        "engine/bare: ratio in the same run\n\n"
        "     size      ops");
    for (int step = 0; step < STEP_COUNT; step++)
        printf(" %11s", step_names[step]);
    printf("  engine/bare\n");
    for (size_t i = 0; i < count; i++) {
        const result *r = &results[i];
        char name[32];
        snprintf(name, sizeof name, "%" PRIu32 "x%" PRIu32, r->size.ranks, r->size.microbatches);
        printf("%9s %8zu", name, r->ops);
        for (int step = 0; step < STEP_COUNT; step++)
            printf(" %11.2f", r->ns[step]);
        printf(" %12.2f\n", r->ns[STEP_ENGINE] / r->ns[STEP_BARE]);
    }
    printf("\njitter, %d scenarios of 16x256 on one thread: %.1f ms; %d single runs: %.1f ms; "
           "ratio %.3f\n",
           SCENARIOS, jitter.jitter_ms, SCENARIOS, jitter.single_ms,
           jitter.jitter_ms / jitter.single_ms);
    print_settings(false);
}

int main(int argc, char **argv)
{
    bool json = argc == 2 && strcmp(argv[1], "--json") == 0;
    if (argc > 1 && !json) {
        fprintf(stderr, "usage: bench [--json]\n");
        return 2;
    }
    pp_alloc_keep_freed(); /* as the program does */
    enum { COUNT = sizeof sizes / sizeof sizes[0] };
    result results[COUNT] = { 0 };
    monte_carlo jitter = { 0, 0 };
    const pp_schedule *schedule = pp_schedule_find("1f1b");
    const pp_uniform_costs uniform = {
        .f_ns = 1000, .i_ns = 1000, .w_ns = 1000, .b_ns = -1, .comm_ns = 100
    };
    for (size_t i = 0; i < COUNT; i++) {
        pp_err err = { 0 };
        pp_costs *costs PP_CLEANUP(pp_costs_free) = NULL;
        results[i].size = sizes[i];
        if (pp_costs_uniform(&uniform, sizes[i].ranks, sizes[i].ranks, sizes[i].microbatches,
                             &costs, &err))
            die(&err);
        int runs = sizes[i].ranks >= 32 ? 7 : 50;
        for (int k = 0; k < runs; k++)
            run_once(schedule, sizes[i], costs, &results[i]);
        if (sizes[i].ranks == 16)
            jitter = run_jitter(schedule, sizes[i], costs);
    }
    if (json)
        print_json(results, COUNT, jitter);
    else
        print_table(results, COUNT, jitter);
    return EXIT_SUCCESS;
}
