/* The table of comparisons with published steps, one line per hardware, stack and width of the
 * GEMMs, and the interval of a step. The method is nearest neighbour: the interval of the line that
 * is most like the job, widened by what differs, each part independent of the others. Sources and
 * the single errors: docs/explanation/cost-model.md, sections 8 and 9, and docs/accuracy.md. */
#include "sim/cost/step_interval.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define BF16 (1U << PP_PRECISION_BF16)
#define FP8 (1U << PP_PRECISION_FP8)
#define FP8_CURRENT (1U << PP_PRECISION_FP8_CURRENT | 1U << PP_PRECISION_FP8_CURRENT_ALL)
#define MX_AND_NV (1U << PP_PRECISION_MXFP8 | 1U << PP_PRECISION_NVFP4)

/* The numbers are those of docs/accuracy.md, which tests/accuracy.py compares; A100's are of
 * tests/contract/sim/cost/test_accuracy.c. */
static const pp_published_steps table[] = {
    { "a100-80g", "ampere", NULL, BF16, false, false, 19, 2, 5, 3.6 },
    { "h100-80g", "hopper", "nemo-2025", BF16, false, true, 11, 1, 1, 1.0 },
    { "h100-80g", "hopper", "nemo-2025", FP8, false, true, 17, 7, 10, 9.5 },
    { "h100-80g", "hopper", "nemo-2025", BF16, true, true, 8, 3, 12, 4.3 },
    { "h100-80g", "hopper", "megatron-bridge-2026", FP8_CURRENT, false, false, 2, 1, 1, 2.0 },
    { "h100-80g", "hopper", "megatron-bridge-2026", FP8_CURRENT, true, false, 3, 8, 12, 11.0 },
    { "h100-80g", "hopper", "megatron-2025", BF16, true, false, 2, 7, 14, 10.5 },
    { "gb200-nvl72", "blackwell", "nemo-2025", BF16, false, false, 6, 1, 1, 1.3 },
    { "gb200-nvl72", "blackwell", "nemo-2025", FP8, false, false, 6, 1, 3, 4.4 },
    { "gb200-nvl72", "blackwell", "megatron-bridge-2026", MX_AND_NV, false, false, 2, 1, 1, 2.0 },
    { "gb200-nvl72", "blackwell", "megatron-bridge-2026", BF16, true, false, 2, 1, 3, 4.2 },
    { "gb200-nvl72", "blackwell", "megatron-bridge-2026", MX_AND_NV, true, false, 7, 7, 11, 10.7 },
    { "gb300-nvl72", "blackwell-ultra", "megatron-bridge-2026", MX_AND_NV, false, false, 2, 2, 2,
      11.2 },
    { "b200-180g", "blackwell", "megatron-2025", BF16, false, true, 17, 2, 6, 4.2 },
    { "b200-180g", "blackwell", "megatron-2025", BF16, true, false, 6, 2, 7, 4.2 },
    { "b200-180g", "blackwell", "megatron-bridge-2026", MX_AND_NV, true, false, 7, 9, 12, 13.1 },
};

/* What another stack adds: the fitted speeds of two stacks on one architecture differ by 5 % in 16
 * bits, of which 80 % of errors make 7, and by 11 and 14 % in fewer (traces/data/stacks). */
#define OTHER_STACK 0.07
#define OTHER_STACK_LOW 0.14
/* What another architecture adds: those of one stack on two differ by 8, 9, 12 and 19 %. */
#define OTHER_ARCHITECTURE 0.13
/* What another GPU of an architecture adds: the mean error of its GEMMs (section 8: 5 to 9 %). */
#define OTHER_GPU 0.07
/* What a GPU adds whose kernels nobody measured: they are taken to run at 0.7 of the peak, where
 * measured ones reach 0.55 to 0.85 (traces/data/hardware, e1 and e2). */
#define NO_KERNELS 0.2
/* Errors of exchange: of measured collectives (section 8: 2 to 8 %), and the doubt of a latency and
 * a bandwidth of a data sheet (section 10: 20 % of ib). */
#define MEASURED_LINK 0.07
#define COMPUTED_LINK 0.2
/* What context parallelism or packed sequences add where the published steps have none: the errors
 * of the shapes of one group lie 5 % apart (docs/accuracy.md: B200, cp 8 and tp 8). */
#define OTHER_SHAPE 0.05

/* Mean errors of the GEMMs of a format, section 8. mxfp8 has no samples of its own. */
static const double format_error[PP_PRECISIONS] = {
    [PP_PRECISION_BF16] = 0.07,        [PP_PRECISION_FP8] = 0.09,
    [PP_PRECISION_FP8_CURRENT] = 0.09, [PP_PRECISION_FP8_CURRENT_ALL] = 0.09,
    [PP_PRECISION_FP8_BLOCK] = 0.14,   [PP_PRECISION_MXFP8] = 0.14,
    [PP_PRECISION_NVFP4] = 0.06,
};

static bool is_low(const pp_published_steps *row)
{
    return !(row->precisions & BF16);
}

/* The stacks of the papers are those of their years. */
static bool is_stack(const pp_published_steps *row, const char *stack)
{
    return row->stack ? strcmp(row->stack, stack) == 0
                      : strcmp(stack, "megatron-2021") == 0 || strcmp(stack, "megatron-2022") == 0;
}

const pp_published_steps *pp_published_steps_of(const char *hardware, const char *stack, bool low,
                                                bool experts)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        const pp_published_steps *row = &table[i];
        if (strcmp(row->hardware, hardware) == 0 && is_stack(row, stack) && is_low(row) == low &&
            row->experts == experts)
            return row;
    }
    return NULL;
}

/* How unlike a job and a line are: first the kind of model, then the width of the GEMMs, the
 * architecture, the stack and the GPU. */
static int distance(const pp_published_steps *row, const pp_interval_question *q)
{
    const bool low = q->precision != PP_PRECISION_BF16;
    return 16 * (row->experts != (q->model->experts > 0)) + 8 * (is_low(row) != low) +
           4 * (strcmp(row->architecture, q->hardware->architecture) != 0) +
           2 * !is_stack(row, q->stack) + (strcmp(row->hardware, q->hardware_name) != 0);
}

static const pp_published_steps *find_nearest(const pp_interval_question *q)
{
    const pp_published_steps *nearest = &table[0];
    for (size_t i = 1; i < sizeof table / sizeof table[0]; i++) {
        if (distance(&table[i], q) < distance(nearest, q))
            nearest = &table[i];
    }
    return nearest;
}

static double kernel_part(const pp_published_steps *row, const pp_interval_question *q)
{
    const bool same_gpu = strcmp(row->hardware, q->hardware_name) == 0;
    double part = 0;
    if (strcmp(row->architecture, q->hardware->architecture) != 0)
        part = hypot(part, OTHER_ARCHITECTURE);
    if (!same_gpu && !pp_hardware_is_measured(q->hardware, PP_PART_GEMM))
        part = hypot(part, NO_KERNELS);
    else if (!same_gpu)
        part = hypot(part, OTHER_GPU);
    if (!(row->precisions & 1U << q->precision))
        part = hypot(part, format_error[q->precision]);
    return part;
}

static double link_part(const pp_published_steps *row, const pp_interval_question *q)
{
    if (strcmp(row->hardware, q->hardware_name) == 0)
        return 0;
    return q->exchange * (pp_hardware_is_measured(q->hardware, PP_PART_COLLECTIVES)
                              ? MEASURED_LINK
                              : COMPUTED_LINK);
}

pp_step_interval pp_step_interval_of(const pp_interval_question *q)
{
    const pp_published_steps *row = find_nearest(q);
    const double other_stack = q->precision == PP_PRECISION_BF16 ? OTHER_STACK : OTHER_STACK_LOW;
    pp_step_interval interval = { .nearest = row, .own = distance(row, q) == 0 };
    interval.part[PP_INTERVAL_STACK] =
        hypot(row->half_percent / 100, is_stack(row, q->stack) ? 0 : other_stack);
    interval.part[PP_INTERVAL_KERNEL] = kernel_part(row, q);
    interval.part[PP_INTERVAL_LINK] = link_part(row, q);
    if (q->parallel.cp > 1 && !row->cp)
        interval.part[PP_INTERVAL_SHAPE] = OTHER_SHAPE;
    if (q->lengths)
        interval.part[PP_INTERVAL_SHAPE] = hypot(interval.part[PP_INTERVAL_SHAPE], OTHER_SHAPE);
    for (int k = 0; k < PP_INTERVAL_PARTS; k++)
        interval.half = hypot(interval.half, interval.part[k]);
    return interval;
}

const char *pp_interval_part_name(pp_interval_part part)
{
    static const char *const names[PP_INTERVAL_PARTS] = { "stack", "kernels", "links", "shape" };
    return names[part];
}
