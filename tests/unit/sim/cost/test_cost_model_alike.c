/* Stages with the same units cost the same, unless their ranks or links differ. */
#include "sim/cost/cost_model.h"

#include "planner/bound/partition.h"
#include "tests/support/planning.h"

/* Of eight stages, six have the same units; a slow rank and a slow link change those next to them
 * alone. */
START_TEST(stages_differ_by_rank_and_links)
{
    planning p = planning_of("llama3-8b", "h100-80g");
    pp_rank_overrides slow PP_CLEANUP(pp_rank_overrides_free) = { 0 };
    const pp_parallel parallel = { .pp = 8, .tp = 1, .cp = 1, .dp = 1, .ep = 1, .vpp = 1 };
    pp_cost_context context = { .model = &p.model,
                                .hardware = &p.hardware,
                                .parallel = parallel,
                                .switches = stack_switches("every-schedule", &parallel) };
    pp_workload workload = { 0 };
    pp_costs *costs[2];
    pp_stage *stage = NULL;
    pp_err err = { 0 };
    p.hardware.host_gap_s = 0;
    context.switches.recompute = PP_RECOMPUTE_NONE;
    STEP_OK(pp_rank_overrides_parse(PP_RANK_OVERRIDE_SPEED, "", "2=0.5", &slow, &err), err);
    STEP_OK(pp_rank_overrides_parse(PP_RANK_OVERRIDE_LINK, "", "4:5=1GB/s", &slow, &err), err);
    STEP_OK(pp_workload_fixed(4, 1, 2048, &workload, &err), err);
    STEP_OK(pp_partition_uniform(p.model.layers, 0, 8, 1, &stage, &err), err);
    for (int k = 0; k < 2; k++) {
        context.overrides = k ? &slow : NULL;
        STEP_OK(pp_cost_model_tables(&context, stage, 8, &workload, 0, &costs[k], &err), err);
    }
    for (uint32_t s = 0; s < 8; s++) {
        const double slower = s == 2 ? 2 : 1;
        ck_assert_double_eq_tol((double)costs[1]->f_ns[s], slower * (double)costs[0]->f_ns[s], 2);
        ck_assert_double_eq_tol((double)costs[1]->b_ns[s], slower * (double)costs[0]->b_ns[s], 4);
        ck_assert((s == 4) == (costs[1]->send_f_ns[s] != costs[0]->send_f_ns[s]));
        ck_assert((s == 5) == (costs[1]->send_b_ns[s] != costs[0]->send_b_ns[s]));
    }
    ck_assert_int_eq(costs[0]->f_ns[1], costs[0]->f_ns[6]);
    free(stage);
    pp_costs_free(&costs[0]);
    pp_costs_free(&costs[1]);
    pp_workload_free(&workload);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cost_model_alike");
    TCase *tc = tcase_create("stages");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, stages_differ_by_rank_and_links);
    return step_run(suite);
}
