/* Distinct graphs of a compiling runtime: counted by hand on 1F1B, 2 ranks, 4 microbatches.
 * Rank 0 runs F0 F1 B0 F2 B1 F3 B2 B3, rank 1 F0 B0 F1 B1 F2 B2 F3 B3. */
#include "sim/framework/lowering/graphs.h"
#include "tests/support/executors.h"

/* shapes: 1, or 2 alternately. */
static uint32_t count(const char *framework, uint32_t shapes, pp_graphs graphs)
{
    uint32_t most = 0;
    pp_err err = { 0 };
    step s PP_CLEANUP(step_free) = { .order = step_order("1f1b", 2, 1, 4, 0) };
    STEP_OK(pp_costs_new(2, 2, 4, shapes, &s.costs, &err), err);
    for (uint32_t j = 0; j < 4; j++)
        s.costs->class_of[j] = j % shapes;
    STEP_OK(lower_with(framework, s.order, &s.program, &err), err);
    STEP_OK(pp_graphs_count(s.program, s.costs, graphs, &most, &err), err);
    return most;
}

START_TEST(a_task_is_a_graph_per_shape)
{
    ck_assert_uint_eq(count("xla", 1, PP_GRAPHS_PER_TASK), 4); /* F, B, a send, a receive */
    ck_assert_uint_eq(count("xla", 2, PP_GRAPHS_PER_TASK), 8);
    ck_assert_uint_eq(count("ideal", 2, PP_GRAPHS_PER_TASK), 4); /* no transfers */
    ck_assert_uint_eq(count("ideal", 2, PP_GRAPHS_NONE), 0);
}
END_TEST

/* Rank 0: F | F B | F B | F B B. */
START_TEST(a_cycle_is_a_forward_and_the_backwards_after_it)
{
    ck_assert_uint_eq(count("xla-fused", 1, PP_GRAPHS_PER_CYCLE), 3);
    ck_assert_uint_eq(count("xla-fused", 2, PP_GRAPHS_PER_CYCLE), 4);
}
END_TEST

/* Which framework compiles what (pytorch/xla#6347; neuronx-distributed: a graph per task). */
START_TEST(executors_compile_in_their_own_way)
{
    static const struct {
        const char *framework;
        uint32_t graphs;
    } truths[] = { { "neuronx", 4 }, { "xla", 4 }, { "xla-fused", 3 }, { "torch", 0 } };
    for (size_t k = 0; k < sizeof truths / sizeof truths[0]; k++) {
        const pp_framework *framework = NULL;
        pp_err err = { 0 };
        STEP_OK(pp_framework_get(truths[k].framework, &framework, &err), err);
        ck_assert_uint_eq(count(framework->name, 1, framework->graphs), truths[k].graphs);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("graphs");
    TCase *tc = tcase_create("count");
    tcase_add_test(tc, a_task_is_a_graph_per_shape);
    tcase_add_test(tc, a_cycle_is_a_forward_and_the_backwards_after_it);
    tcase_add_test(tc, executors_compile_in_their_own_way);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
