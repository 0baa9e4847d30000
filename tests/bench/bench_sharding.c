/* Speed of lowering with sharded parameters: 64 ranks x 512 microbatches, with the gathers, frees
 * and reductions of PyTorch's pipeline runtime, per instruction (ops, transfers and these marks),
 * and over the lowering by executor ppsim without them in the same run. Best of the runs. */
#include "runtime/core/clock.h"
#include "sim/base/alloc.h"
#include "sim/framework/framework.h"
#include "sim/framework/registry.h"
#include "sim/program/comm.h"
#include "sim/program/program_new.h"
#include "sim/schedule/registry.h"

#include <stdio.h>
#include <stdlib.h>

enum { RANKS = 64, MICROBATCHES = 512, RUNS = 15 };

static void die(const pp_err *err)
{
    fprintf(stderr, "bench_sharding: %s\n", err->text);
    exit(EXIT_FAILURE);
}

static size_t marks_of(const pp_comm *comm)
{
    size_t marks = 0;
    for (size_t s = 0; s < comm->step_count; s++)
        marks += comm->step[s].kind == PP_COMM_STEP_MARK;
    return marks;
}

/* ns per instruction. */
static double lower_ns(const pp_framework *framework, const pp_order *order, const pp_costs *costs,
                       size_t *marks_out)
{
    double best = 0;
    for (int k = 0; k < RUNS; k++) {
        pp_program *program PP_CLEANUP(pp_program_free) = NULL;
        pp_err err = { 0 };
        const int64_t begin_ns = pp_clock_now_ns();
        if (pp_framework_lower(framework, order, costs, NULL, &program, &err))
            die(&err);
        const int64_t end_ns = pp_clock_now_ns();
        *marks_out = marks_of(program->comm);
        const double ns = (double)(end_ns - begin_ns) /
                          (double)(program->count + program->comm->transfer_count + *marks_out);
        best = k == 0 || ns < best ? ns : best;
    }
    return best;
}

int main(void)
{
    static const pp_framework *const frameworks[] = { &pp_framework_torch,
                                                      &pp_framework_torch_2_15 };
    static const pp_uniform_costs uniform = {
        .f_ns = 1000, .i_ns = 1000, .w_ns = 1000, .b_ns = -1, .comm_ns = 100
    };
    pp_alloc_keep_freed(); /* as the program does */
    printf("lowering %dx%d with sharded parameters, ns per instruction (ratio to ppsim without)\n\n"
           "%-12s %6s %9s %9s %17s %17s\n",
           RANKS, MICROBATCHES, "schedule", "stages", "marks", "ppsim", "torch", "torch-2.15");
    for (uint32_t chunks = 1; chunks <= 8; chunks *= 2) {
        const char *name = chunks == 1 ? "1f1b" : "interleaved";
        const pp_schedule_params params = { .ranks = RANKS,
                                            .chunks = chunks,
                                            .microbatches = MICROBATCHES };
        pp_order *order PP_CLEANUP(pp_order_free) = NULL;
        pp_costs *costs PP_CLEANUP(pp_costs_free) = NULL;
        pp_err err = { 0 };
        size_t marks;
        double ns[2];
        if (pp_schedule_build(pp_schedule_find(name), &params, &order, &err) ||
            pp_costs_uniform(&uniform, RANKS, RANKS * chunks, MICROBATCHES, &costs, &err))
            die(&err);
        const double plain = lower_ns(&pp_framework_ppsim, order, costs, &marks);
        costs->sharded = true;
        for (size_t k = 0; k < 2; k++)
            ns[k] = lower_ns(frameworks[k], order, costs, &marks);
        printf("%-12s %6u %9zu %9.2f %9.2f (%5.2f) %9.2f (%5.2f)\n", name, chunks, marks, plain,
               ns[0], ns[0] / plain, ns[1], ns[1] / plain);
    }
    return EXIT_SUCCESS;
}
