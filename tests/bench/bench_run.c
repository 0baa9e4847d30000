/* Measures the overhead of executing plans and how well they were predicted. Its figures depend on
 * the machine and on what else runs there.
 *
 * usage: bench_run [RUNS [PART]]    (each case is executed RUNS times, 5; one part alone) */
#include "runtime/compute/registry.h"
#include "runtime/measure/compare.h"
#include "runtime/transport/registry.h"
#include "sim/base/alloc.h"
#include "sim/base/processors.h"
#include "sim/schedule/registry.h"
#include "sim/schedule/schedule.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct scene {
    const char *schedule;
    uint32_t p, v, m;
    const char *costs;
    const char *comm; /* as --comm */
    const char *shapes;
    int64_t bytes; /* of a tensor between stages; 0: no memory is described */
    bool uneven;   /* stage s takes 1 + s / S times as long */
    pp_run_plan_options options;
} scene;

static void fail(const pp_err *err)
{
    fprintf(stderr, "bench_run: %s: %s\n", err->where, err->text);
    exit(1);
}

static pp_plan *plan_of(const scene *s)
{
    pp_err err = { 0 };
    pp_plan *plan = NULL;
    pp_uniform_costs uniform;
    if (pp_plan_new(&plan, &err) || pp_uniform_costs_parse(s->costs, &uniform, &err))
        fail(&err);
    plan->order = pp_alloc_array(1, sizeof *plan->order);
    plan->costs = pp_alloc_array(1, sizeof *plan->costs);
    plan->step_sync = true;
    plan->order_count = plan->costs_count = 1;
    snprintf(plan->schedule, sizeof plan->schedule, "%s", s->schedule);
    if (pp_comm_settings_parse(s->comm, NULL, &plan->comm, &err) ||
        pp_size_protocol_parse(s->shapes, &plan->sizes, &err))
        fail(&err);
    if (pp_costs_uniform(&uniform, s->p, s->p * s->v, s->m, &plan->costs[0], &err))
        fail(&err);
    pp_costs *costs = plan->costs[0];
    const pp_schedule_params shape = {
        .ranks = s->p, .chunks = s->v, .microbatches = s->m, .costs = costs
    };
    if (pp_schedule_build(pp_schedule_find(s->schedule), &shape, &plan->order[0], &err))
        fail(&err);
    for (uint32_t k = 0; k < costs->stages; k++) {
        costs->has_memory = s->bytes > 0;
        costs->message_bytes[k] = k + 1 < costs->stages ? s->bytes : 0;
        costs->activation_bytes[k] = 2 * s->bytes;
        pp_ns *table[] = { costs->f_ns, costs->i_ns, costs->w_ns, costs->b_ns };
        for (int t = 0; t < 4 && s->uneven; t++)
            table[t][k] += table[t][k] * (pp_ns)k / costs->stages;
    }
    return plan;
}

static int compare_doubles(const void *left, const void *right)
{
    const double *a = left;
    const double *b = right;
    return *a < *b ? -1 : *a > *b;
}

typedef struct middle {
    double median, low, high;
} middle;

static middle middle_of(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    return (middle){ values[count / 2], values[0], values[count - 1] };
}

/* One number of an execution, of which several are compared. */
typedef double (*probe)(const pp_execution *x);

static middle repeat(const scene *s, int runs, probe read)
{
    double *values = calloc((size_t)runs, sizeof *values);
    for (int n = 0; n < runs; n++) {
        pp_err err = { 0 };
        pp_execution x PP_CLEANUP(pp_execution_free) = { 0 };
        pp_plan *plan PP_CLEANUP(pp_plan_free) = plan_of(s);
        if (pp_run_plan(plan, NULL, &s->options, &x, &err))
            fail(&err);
        values[n] = read(&x);
    }
    middle m = middle_of(values, runs);
    free(values);
    return m;
}

static pp_comparison comparison_of(const pp_execution *x)
{
    pp_err err = { 0 };
    pp_comparison c;
    if (pp_execution_compare(x, &c, &err))
        fail(&err);
    return c;
}

static double step_error(const pp_execution *x)
{
    return 100 * comparison_of(x).step_error;
}

static double replay_error(const pp_execution *x)
{
    return 100 * comparison_of(x).replay_error;
}

/* Processor time per instruction, in microseconds. An instruction is an op, or a message at one of
 * its ends. */
static double overhead_us(const pp_execution *x)
{
    size_t instructions = x->program->count + x->program->comm->transfer_count;
    double processors = pp_processors();
    double busy = x->program->ranks < processors ? x->program->ranks : processors;
    return (double)x->report->makespan_ns * 1e-3 * busy / (double)instructions;
}

static double makespan_ms(const pp_execution *x)
{
    return (double)x->report->makespan_ns * 1e-6;
}

static double predicted_ms(const pp_execution *x)
{
    return (double)x->prediction->makespan_ns * 1e-6;
}

static pp_run_plan_options spin_options(uint32_t iterations)
{
    pp_run_plan_options o = { .settings = "",
                              .payload_bytes = 4096,
                              .link = { .kind = PP_LINK_PLAN },
                              .warmup = 1,
                              .iterations = iterations };
    pp_err err = { 0 };
    if (pp_transport_get("threads", &o.transport, &err) || pp_compute_get("spin", &o.compute, &err))
        fail(&err);
    return o;
}

static void print_overhead(int runs)
{
    static const struct {
        const char *schedule;
        uint32_t p, v, m;
    } cases[] = {
        { "1f1b", 1, 1, 512 },  { "1f1b", 2, 1, 256 },  { "gpipe", 2, 1, 256 },
        { "1f1b", 4, 1, 256 },  { "gpipe", 4, 1, 256 }, { "zbv", 4, 2, 64 },
        { "1f1b", 64, 1, 128 },
    };
    printf(
        "overhead, threads, empty ops and links: us of a processor per instruction, median (lowest "
        "to highest) of %d\n",
        runs);
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        scene s = { .schedule = cases[k].schedule,
                    .p = cases[k].p,
                    .v = cases[k].v,
                    .m = cases[k].m,
                    .costs = "F=0,B=0",
                    .comm = "rendezvous",
                    .shapes = "",
                    .options = spin_options(9) };
        middle m = repeat(&s, runs, overhead_us);
        printf("  %-12s p=%-3" PRIu32 " m=%-4" PRIu32 "  %6.2f (%.2f to %.2f)\n", s.schedule, s.p,
               s.m, m.median, m.low, m.high);
    }
}

static void print_prediction(int runs)
{
    static const struct {
        const char *schedule;
        uint32_t v;
        bool uneven;
    } cases[] = {
        { "1f1b", 1, false },      { "interleaved", 2, false }, { "zbv", 2, false },
        { "dualpipev", 2, false }, { "zbv-auto", 2, true },
    };
    printf("\nspin, threads, p=4 m=12, ops of 2 ms and more: executed over predicted makespan, and "
           "over the replay, %%\n");
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        scene s = { .schedule = cases[k].schedule,
                    .p = 4,
                    .v = cases[k].v,
                    .m = 12,
                    .costs = "F=2ms,I=2ms,W=2ms,comm=0.2ms",
                    .comm = "rendezvous",
                    .shapes = "",
                    .uneven = cases[k].uneven,
                    .options = spin_options(3) };
        middle step = repeat(&s, runs, step_error);
        middle replay = repeat(&s, runs, replay_error);
        printf("  %-12s %s  %+.3f (%+.3f to %+.3f)   %+.3f (%+.3f to %+.3f)\n", s.schedule,
               s.uneven ? "uneven" : "even  ", step.median, step.low, step.high, replay.median,
               replay.low, replay.high);
    }
}

/* Alpha and the rate, from the times of transfers of two sizes. */
static double transfer_us(const pp_execution *x)
{
    const pp_timeline *t = x->result.iteration[x->result.median].timeline;
    double *took = calloc(x->program->comm->transfer_count, sizeof *took);
    size_t count = 0;
    for (size_t k = 0; k < x->program->comm->transfer_count; k++) {
        if (!pp_transfer_sends((pp_transfer_kind)x->program->comm->transfer[k].kind))
            took[count++] = (double)(t->comm->end_ns[k] - t->comm->start_ns[k]) * 1e-3;
    }
    middle m = middle_of(took, (int)count);
    free(took);
    return m.median;
}

static void print_link(int runs)
{
    const double alpha_us = 150;
    const double rate = 1e9;
    double took[2];
    const int64_t bytes[2] = { 100000, 4000000 };
    for (int k = 0; k < 2; k++) {
        scene s = { .schedule = "1f1b",
                    .p = 4,
                    .v = 1,
                    .m = 12,
                    .costs = "F=6ms,I=6ms,W=6ms,comm=0",
                    .comm = "rendezvous",
                    .shapes = "",
                    .bytes = bytes[k],
                    .options = spin_options(3) };
        s.options.link = (pp_link){ PP_LINK_THROTTLE, (pp_ns)(alpha_us * 1e3), rate };
        took[k] = repeat(&s, runs, transfer_us).median;
    }
    double slope = (took[1] - took[0]) / (double)(bytes[1] - bytes[0]); /* us per byte */
    double found_us = took[0] - slope * (double)bytes[0];
    printf(
        "\nthrottled link of 150 us + bytes / 1 GB/s, from the measured timeline: %.1f us (%+.1f "
        "%%), %.3f GB/s (%+.1f %%)\n",
        found_us, 100 * (found_us / alpha_us - 1), 1e-3 / slope, 100 * (1e-3 / slope - 1));
}

static void print_rendezvous(int runs)
{
    double executed[2];
    double predicted[2];
    const char *const comm[2] = { "rendezvous", "eager:1GB" };
    for (int k = 0; k < 2; k++) {
        scene s = { .schedule = "1f1b",
                    .p = 4,
                    .v = 1,
                    .m = 12,
                    .costs = "F=3ms,I=3ms,W=2ms,comm=1ms",
                    .comm = comm[k],
                    .shapes = "message", /* so that receives come late */
                    .bytes = 1000000,
                    .options = spin_options(3) };
        executed[k] = repeat(&s, runs, makespan_ms).median;
        predicted[k] = repeat(&s, 1, predicted_ms).median;
    }
    printf("rendezvous over eager, 1f1b p=4 m=12, shapes message, links of 1 ms: executed %.4f, "
           "simulated %.4f "
           "(%+.2f %%)\n",
           executed[0] / executed[1], predicted[0] / predicted[1],
           100 * (executed[0] / executed[1] / (predicted[0] / predicted[1]) - 1));
}

static void print_cpu(int runs)
{
    scene s = { .schedule = "1f1b",
                .p = 2,
                .v = 1,
                .m = 16,
                .costs = "F=1ms,B=2ms",
                .comm = "rendezvous",
                .shapes = "",
                .options = spin_options(9) };
    pp_err err = { 0 };
    s.options.payload_bytes = -1;
    s.options.link.kind = PP_LINK_FREE;
    s.options.measure_ops = true;
    s.options.settings = "hidden=128,heads=4,mlp=512,tokens=256";
    if (pp_compute_get("cpu", &s.options.compute, &err))
        fail(&err);
    double *error[2] = { calloc((size_t)runs, sizeof(double)),
                         calloc((size_t)runs, sizeof(double)) };
    for (int n = 0; n < runs; n++) {
        pp_execution x PP_CLEANUP(pp_execution_free) = { 0 };
        pp_plan *plan PP_CLEANUP(pp_plan_free) = plan_of(&s);
        if (pp_run_plan(plan, NULL, &s.options, &x, &err))
            fail(&err);
        error[0][n] = step_error(&x);
        error[1][n] = replay_error(&x);
    }
    middle step = middle_of(error[0], runs);
    middle replay = middle_of(error[1], runs);
    printf("\ncpu, threads, 1f1b p=2 m=16, ops measured before each of %d runs: executed over "
           "predicted %+.2f %% (%+.2f to %+.2f), over the replay %+.2f %% (%+.2f to %+.2f)\n",
           runs, step.median, step.low, step.high, replay.median, replay.low, replay.high);
    free(error[0]);
    free(error[1]);
}

static const struct {
    const char *name;
    void (*print)(int runs);
} parts[] = {
    { "overhead", print_overhead },     { "spin", print_prediction }, { "link", print_link },
    { "rendezvous", print_rendezvous }, { "cpu", print_cpu },
};

int main(int argc, char **argv)
{
    const size_t count = sizeof parts / sizeof parts[0];
    int runs = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 5;
    bool known = argc < 3;
    for (size_t k = 0; k < count && !known; k++)
        known = strcmp(argv[2], parts[k].name) == 0;
    if (runs < 1 || runs > 1000 || !known || argc > 3) {
        fprintf(
            stderr,
            "usage: bench_run [RUNS [overhead|spin|link|rendezvous|cpu]]    (RUNS: 1 to 1000)\n");
        return 2;
    }
    for (size_t k = 0; k < count; k++) {
        if (argc < 3 || strcmp(argv[2], parts[k].name) == 0)
            parts[k].print(runs);
    }
    return 0;
}
