/* Speed of the cpu backend's ops: two layers between two empty stages, one sequence, thread CPU
 * time, best of the runs. GFLOP/s count products and the visible half of the attention. */
#include "runtime/core/compute.h"
#include "runtime/cpu/matmul.h"
#include "sim/base/alloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern const pp_compute pp_compute_cpu;

enum { TOKENS = 512, HIDDEN = 256, MLP = 1024, LAYERS = 2, RUNS = 15 };

static void die(const pp_err *err)
{
    fprintf(stderr, "bench_cpu: %s\n", err->text);
    exit(EXIT_FAILURE);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A bare product of the MLP's size. */
static double product(void)
{
    pp_err err = { 0 };
    pp_cpu_blas blas;
    if (pp_cpu_blas_open(&blas, &err))
        die(&err);
    pp_real *all =
        pp_alloc_array((size_t)TOKENS * HIDDEN + HIDDEN * MLP + TOKENS * MLP, sizeof *all);
    double best = 1e9;
    if (!all)
        exit(EXIT_FAILURE);
    for (int i = 0; i < RUNS; i++) {
        double begin = seconds();
        pp_cpu_mul(&blas, TOKENS, MLP, HIDDEN, (pp_cpu_in){ all, HIDDEN },
                   (pp_cpu_in){ all + TOKENS * HIDDEN, MLP },
                   (pp_cpu_out){ all + TOKENS * HIDDEN + HIDDEN * MLP, MLP, false });
        double took = seconds() - begin;
        best = took < best ? took : best;
    }
    free(all);
    return 2.0 * TOKENS * HIDDEN * MLP / best;
}

static void *take(int64_t bytes)
{
    void *block = aligned_alloc(64, (size_t)bytes);
    if (!block)
        exit(EXIT_FAILURE);
    memset(block, 0, (size_t)bytes);
    return block;
}

/* Measures F, I and W, and B, which runs the first three one after the other. */
static void measure(void *worker, const pp_costs *costs, double best[PP_OP_KIND_COUNT])
{
    static const pp_op_kind kinds[] = { PP_OP_F, PP_OP_I, PP_OP_W, PP_OP_F, PP_OP_B };
    pp_err err = { 0 };
    int64_t message = costs->message_bytes[0];
    const pp_op_tensors t = { .activation_in = take(message),
                              .activation_out = take(message),
                              .gradient_in = take(message),
                              .gradient_out = take(message),
                              .saved = take(costs->activation_bytes[1]),
                              .stash = take(costs->stash_bytes[1]),
                              .scratch = take(costs->temporary_bytes[1]) };
    const pp_op_tensors first = { .activation_out = (void *)t.activation_in };
    if (pp_compute_cpu.run(worker, (pp_op){ .kind = PP_OP_F }, &first, &err))
        die(&err);
    memcpy((void *)t.gradient_in, t.activation_in, (size_t)message);
    for (int i = 0; i < RUNS * 5; i++) {
        const pp_op op = { .kind = (uint8_t)kinds[i % 5], .stage = 1 };
        double begin = seconds();
        if (pp_compute_cpu.run(worker, op, &t, &err))
            die(&err);
        double took = seconds() - begin;
        best[op.kind] = took < best[op.kind] ? took : best[op.kind];
    }
    void *const blocks[] = { (void *)t.activation_in,
                             t.activation_out,
                             (void *)t.gradient_in,
                             t.gradient_out,
                             t.saved,
                             t.stash,
                             t.scratch };
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++)
        free(blocks[i]);
}

static void bench(const char *dtype)
{
    static const uint32_t ranks[3] = { 0, 1, 2 };
    static const bool holds[3] = { true, true, true };
    static const pp_stage parts[3] = { { 0 }, { .layers = LAYERS }, { 0 } };
    char settings[80];
    snprintf(settings, sizeof settings, "hidden=%d,mlp=%d,tokens=%d,dtype=%s", HIDDEN, MLP, TOKENS,
             dtype);
    const pp_compute_work work = { .ranks = 3,
                                   .stages = 3,
                                   .microbatches = 1,
                                   .stage_rank = ranks,
                                   .partition = parts,
                                   .settings = settings };
    pp_costs *costs PP_CLEANUP(pp_costs_free) = NULL;
    pp_err err = { 0 };
    void *worker = NULL;
    if (pp_costs_new(3, 3, 1, 1, &costs, &err) || pp_compute_cpu.describe(&work, costs, &err) ||
        pp_compute_cpu.open(&work, holds, &worker, &err) || pp_compute_cpu.begin(worker, 0, &err))
        die(&err);
    double best[PP_OP_KIND_COUNT] = { 1e9, 1e9, 1e9, 1e9 };
    measure(worker, costs, best);
    pp_compute_cpu.close(worker);
    const double products = 2.0 * LAYERS * TOKENS * (4.0 * HIDDEN * HIDDEN + 2.0 * HIDDEN * MLP);
    const double attention = 2.0 * LAYERS * TOKENS * TOKENS * HIDDEN;
    const double flops[PP_OP_KIND_COUNT] = { [PP_OP_F] = products + attention,
                                             [PP_OP_I] = products + 2 * attention,
                                             [PP_OP_W] = products,
                                             [PP_OP_B] = 2 * products + 2 * attention };
    printf("%-7s", dtype);
    for (int k = 0; k < PP_OP_KIND_COUNT; k++)
        printf("  %c %6.2f ms %5.1f GFLOP/s", pp_op_letter((pp_op_kind)k), 1e3 * best[k],
               1e-9 * flops[k] / best[k]);
    printf("\n");
}

int main(void)
{
    printf("a product alone, double: %.1f GFLOP/s\n", 1e-9 * product());
    bench("double");
    bench("float");
    return EXIT_SUCCESS;
}
