/* Measures what the library adds to a step whose callbacks do nothing: making the plan, threads,
 * memory and agreement, and the time per op. Prints a table of medians. */
#include "runtime/core/clock.h"
#include "runtime/library/pp_runtime.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 101 };

static int nothing(void *user, const pp_runtime_op *op)
{
    (void)user;
    (void)op;
    return 0;
}

static void sizes(void *context, uint32_t stage, uint32_t microbatch, pp_runtime_sizes *out)
{
    const size_t *bytes = context;
    (void)stage;
    out->message_bytes = *bytes + 64 * (microbatch % 7);
    out->stash_bytes = 2 * *bytes;
    out->saved_bytes = *bytes;
}

static void die(const pp_runtime_error *error)
{
    fprintf(stderr, "bench_library: %s\n", error->text);
    exit(EXIT_FAILURE);
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static double median_us(int64_t *ns)
{
    qsort(ns, STEPS, sizeof *ns, compare);
    return (double)ns[STEPS / 2] / 1000;
}

static void measure(const char *schedule, uint32_t ranks, uint32_t microbatches, size_t bytes)
{
    static int64_t plan_ns[STEPS], total_ns[STEPS], agreement_ns[STEPS], makespan_ns[STEPS];
    const pp_runtime_options options = { .ranks = ranks };
    const pp_runtime_callbacks callbacks = { .forward = nothing,
                                             .backward_input = nothing,
                                             .backward_weight = nothing };
    const pp_runtime_plan_spec spec = { .schedule = schedule,
                                        .ranks = ranks,
                                        .microbatches = microbatches,
                                        .sizes = sizes,
                                        .context = &bytes };
    pp_runtime_error error;
    pp_runtime *runtime = NULL;
    size_t ops = 0;
    if (pp_runtime_open(&options, &runtime, &error))
        die(&error);
    for (int k = 0; k < STEPS; k++) {
        pp_runtime_plan *plan = NULL;
        pp_runtime_stats stats;
        int64_t begin_ns = pp_clock_now_ns();
        if (pp_runtime_plan_new(&spec, &plan, &error))
            die(&error);
        plan_ns[k] = pp_clock_now_ns() - begin_ns;
        if (pp_runtime_step(runtime, plan, &callbacks, NULL, &stats, &error))
            die(&error);
        total_ns[k] = stats.total_ns;
        agreement_ns[k] = stats.agreement_ns;
        makespan_ns[k] = stats.makespan_ns;
        ops = pp_runtime_plan_op_count(plan, 0);
        pp_runtime_plan_free(plan);
    }
    pp_runtime_close(runtime);
    double makespan_us = median_us(makespan_ns);
    printf("%-12s %5" PRIu32 " %12" PRIu32 " %9zu %9.0f %9.0f %9.0f %9.0f %9.2f\n", schedule, ranks,
           microbatches, bytes, median_us(plan_ns), median_us(total_ns), median_us(agreement_ns),
           makespan_us, makespan_us / (double)ops);
}

int main(void)
{
    printf("%-12s %5s %12s %9s %9s %9s %9s %9s %9s\n", "schedule", "ranks", "microbatches", "bytes",
           "plan us", "step us", "agree us", "ops us", "us per op");
    measure("1f1b", 4, 32, 1024);
    measure("zbv", 4, 32, 1024);
    measure("zbv", 4, 32, 1 << 20);
    measure("zbv", 8, 64, 1024);
    return EXIT_SUCCESS;
}
