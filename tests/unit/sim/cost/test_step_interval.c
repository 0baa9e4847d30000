/* The interval of a step: that of the most similar published steps, wider for every thing that sets
 * the job apart from them. */
#include "sim/cost/step_interval.h"

#include "tests/support/published.h"

#include <math.h>

static pp_hardware hardware;
static pp_model model;

static pp_interval_question ask(const char *gpu, const char *stack, const char *of)
{
    hardware = run_hardware(gpu);
    model = run_model(of);
    return (pp_interval_question){ .hardware = &hardware,
                                   .hardware_name = gpu,
                                   .stack = stack,
                                   .model = &model,
                                   .parallel = {
                                       .pp = 4, .tp = 4, .cp = 1, .dp = 2, .ep = 1, .vpp = 1 } };
}

/* A job like published ones has their errors, and nothing is added. */
START_TEST(a_job_like_published_ones_has_their_errors)
{
    const pp_interval_question q = ask("h100-80g", "nemo-2025", "llama3-70b");
    const pp_step_interval got = pp_step_interval_of(&q);
    const pp_published_steps *known = pp_published_steps_of("h100-80g", "nemo-2025", false, false);
    ck_assert(got.own && got.nearest == known);
    ck_assert_double_eq_tol(got.half, known->half_percent / 100, 1e-12);
    ck_assert_double_eq(
        got.part[PP_INTERVAL_KERNEL] + got.part[PP_INTERVAL_LINK] + got.part[PP_INTERVAL_SHAPE], 0);
}
END_TEST

/* Of all lines the same kind of model counts most, then the width of the GEMMs, the architecture,
 * the stack and the GPU. */
START_TEST(the_nearest_steps_are_found)
{
    static const struct {
        const char *gpu, *stack, *model;
        pp_precision precision;
        const char *nearest_gpu, *nearest_stack;
        bool own;
    } rows[] = {
        { "h100-80g", "nemo-2025", "llama3-70b", PP_PRECISION_FP8, "h100-80g", "nemo-2025", true },
        { "h100-80g", "megatron-bridge-2026", "llama3-70b", PP_PRECISION_BF16, "h100-80g",
          "nemo-2025", false },
        { "h200-141g", "nemo-2025", "llama3-70b", PP_PRECISION_BF16, "h100-80g", "nemo-2025",
          false },
        { "b200-180g", "nemo-2025", "llama3-70b", PP_PRECISION_BF16, "gb200-nvl72", "nemo-2025",
          false },
        { "b200-180g", "torchtitan-2025", "llama3-70b", PP_PRECISION_BF16, "b200-180g",
          "megatron-2025", false },
        { "h100-80g", "nemo-2025", "mixtral-8x7b", PP_PRECISION_BF16, "h100-80g", "nemo-2025",
          true },
        { "h100-80g", "nemo-2025", "mixtral-8x7b", PP_PRECISION_FP8, "h100-80g",
          "megatron-bridge-2026", false },
        { "mi300x-192g", "nemo-2025", "llama3-70b", PP_PRECISION_BF16, "h100-80g", "nemo-2025",
          false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        pp_interval_question q = ask(rows[i].gpu, rows[i].stack, rows[i].model);
        q.precision = rows[i].precision;
        const pp_step_interval got = pp_step_interval_of(&q);
        ck_assert_str_eq(got.nearest->hardware, rows[i].nearest_gpu);
        ck_assert_str_eq(got.nearest->stack, rows[i].nearest_stack);
        ck_assert_int_eq(got.own, rows[i].own);
        ck_assert_int_eq(got.nearest->experts, model.experts > 0);
    }
}
END_TEST

/* The squares of the parts add up, and each difference widens its own part. */
START_TEST(what_differs_widens)
{
    pp_interval_question q = ask("h100-80g", "nemo-2025", "llama3-70b");
    const double like = pp_step_interval_of(&q).half;
    q.lengths = true;
    ck_assert_double_eq_tol(pp_step_interval_of(&q).part[PP_INTERVAL_SHAPE], 0.05, 1e-12);
    q.stack = "torchtitan-2025";
    ck_assert_double_eq_tol(pp_step_interval_of(&q).part[PP_INTERVAL_STACK], hypot(like, 0.07),
                            1e-12);
    q.precision = PP_PRECISION_FP8_BLOCK;
    ck_assert_double_eq_tol(pp_step_interval_of(&q).part[PP_INTERVAL_KERNEL], 0.14, 1e-12);
    ck_assert_double_gt(pp_step_interval_of(&q).part[PP_INTERVAL_STACK], 0.14);
    q = ask("mi300x-192g", "nemo-2025", "llama3-70b");
    q.exchange = 0.1;
    const pp_step_interval other = pp_step_interval_of(&q);
    ck_assert_double_eq_tol(other.part[PP_INTERVAL_KERNEL], hypot(0.13, 0.07), 1e-12);
    ck_assert_double_eq_tol(other.part[PP_INTERVAL_LINK], 0.02, 1e-12);
    double squares = 0;
    for (int k = 0; k < PP_INTERVAL_PARTS; k++)
        squares += other.part[k] * other.part[k];
    ck_assert_double_eq_tol(other.half, sqrt(squares), 1e-12);
    q = ask("trn2", "nemo-2025", "llama3-70b");
    ck_assert_double_eq_tol(pp_step_interval_of(&q).part[PP_INTERVAL_KERNEL], hypot(0.13, 0.2),
                            1e-12);
    q = ask("gb200-nvl72", "nemo-2025", "llama3-70b");
    q.parallel.cp = 2; /* none of its published steps has it */
    ck_assert_double_eq_tol(pp_step_interval_of(&q).part[PP_INTERVAL_SHAPE], 0.05, 1e-12);
    q.hardware_name = ""; /* a file of the user, whatever its name */
    ck_assert(!pp_step_interval_of(&q).own);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("step_interval");
    TCase *tc = tcase_create("interval");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, a_job_like_published_ones_has_their_errors);
    tcase_add_test(tc, the_nearest_steps_are_found);
    tcase_add_test(tc, what_differs_widens);
    return step_run(suite);
}
