/* The engine runs orders without communication: latencies, deadlocks, limits, the step tail. */
#include "sim/order/order_check.h"
#include "sim/program/program_new.h"
#include "tests/support/step.h"

#include <inttypes.h>

/* Two stages, one microbatch: F 1, link 10, F 2, B 4, link 10, B 3 (hand-made). */
START_TEST(latency_is_between_ranks_only)
{
    const char *const rows[] = { "0F0 0B0", "1F0 1B0" };
    step s = step_of(step_order_of_rows(2, 1, rows, 2), "F=1us,B=2us,comm=10us");
    ck_assert_int_eq(s.report->makespan_ns, 26000);
    ck_assert_int_eq(s.report->per_rank[0].busy_ns, 3000);
    ck_assert_int_eq(s.report->per_rank[1].first_start_ns, 11000);
    step_free(&s);
    const char *const one[] = { "0F0 1F0 1B0 0B0" };
    s = step_of(step_order_of_rows(2, 1, one, 1), "F=1us,B=2us,comm=10us");
    ck_assert_int_eq(s.report->makespan_ns, 6000);
    step_free(&s);
}
END_TEST

START_TEST(a_split_backward_sends_its_gradient_before_w)
{
    const char *const rows[] = { "0F0 0I0 0W0", "1F0 1I0 1W0" };
    step s = step_of(step_order_of_rows(2, 1, rows, 2), "F=1us,I=2us,W=4us,comm=0");
    ck_assert_int_eq(s.report->makespan_ns, 10000); /* 1 + 1 + 2 + 2 + 4 */
    ck_assert_int_eq(s.report->per_rank[1].last_end_ns, 8000);
    step_free(&s);
}
END_TEST

static pp_status lower(pp_order *order, pp_err *err)
{
    const pp_framework *ideal = NULL;
    pp_program *program = NULL;
    pp_err ignored = { 0 };
    STEP_OK(pp_framework_get("ideal", &ideal, &ignored), ignored);
    pp_status status = ideal->lower(order, &program, err);
    pp_program_free(&program);
    pp_order_free(&order);
    return status;
}

START_TEST(a_cycle_of_waits_is_named_rank_by_rank)
{
    const char *const rows[] = { "0F0 0B0 0F1 0B1", "1F1 1B1 1F0 1B0" };
    pp_err err = { 0 };
    ck_assert_int_eq(lower(step_order_of_rows(2, 2, rows, 2), &err), PP_INFEASIBLE);
    ck_assert_str_eq(err.text, "the schedule cannot finish: rank 0 op 2 (0B0) waits for 1B0 on "
                               "rank 1; rank 1 op 1 (1F1) waits for 0F1 on rank 0");
}
END_TEST

START_TEST(a_rank_can_wait_for_itself)
{
    const char *const rows[] = { "1F0 0F0 1B0 0B0" };
    pp_err err = { 0 };
    ck_assert_int_eq(lower(step_order_of_rows(2, 1, rows, 1), &err), PP_INFEASIBLE);
    ck_assert_str_eq(err.text,
                     "the schedule cannot finish: rank 0 op 1 (1F0) waits for 0F0 on rank 0");
}
END_TEST

START_TEST(a_step_beyond_64_bits_is_refused)
{
    pp_order *order = step_order("1f1b", 16, 1, 1024, 0);
    const pp_framework *ideal = NULL;
    pp_program *program = NULL;
    pp_timeline *timeline = NULL;
    pp_costs *costs = NULL;
    const pp_uniform_costs uniform = {
        .f_ns = PP_NS_MAX, .i_ns = PP_NS_MAX, .w_ns = 0, .b_ns = -1
    };
    pp_err err = { 0 };
    STEP_OK(pp_framework_get("ideal", &ideal, &err), err);
    STEP_OK(ideal->lower(order, &program, &err), err);
    STEP_OK(pp_costs_uniform(&uniform, 16, 16, 1024, &costs, &err), err);
    ck_assert_int_eq(pp_simulate(program, costs, &timeline, &err), PP_INPUT);
    ck_assert_ptr_null(timeline);
    pp_costs_free(&costs);
    pp_program_free(&program);
    pp_order_free(&order);
}
END_TEST

START_TEST(costs_of_another_size_are_refused)
{
    pp_order *order = step_order("gpipe", 4, 1, 8, 0);
    step s = step_of(order, "F=1us,B=2us,comm=0");
    pp_costs *other = NULL;
    pp_timeline *timeline = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_costs_new(4, 4, 9, 1, &other, &err), err);
    ck_assert_int_eq(pp_simulate(s.program, other, &timeline, &err), PP_INPUT);
    pp_costs_free(&other);
    step_free(&s);
}
END_TEST

static const char *check_text(uint32_t stages, uint32_t m, const char *const rows[], uint32_t ranks,
                              pp_err *err)
{
    pp_order *order = step_order_of_rows(stages, m, rows, ranks);
    pp_status status = pp_order_check(order, "file", err);
    pp_order_free(&order);
    return status ? err->text : "ok";
}

START_TEST(incomplete_and_impossible_orders_are_named)
{
    static const struct {
        const char *rows[2];
        const char *text;
    } cases[] = {
        { { "0F0 0B0", "1F0 1B0" }, "ok" },
        { { "0F0 0B0", "1F0 1I0 1W0" }, "ok" },
        { { "0B0 0F0", "1F0 1B0" }, "0B0 has no forward before it" },
        { { "0F0 0F0 0B0", "1F0 1B0" }, "0F0 occurs twice" },
        { { "0F0 0W0 0I0", "1F0 1B0" }, "0W0 comes before its backward for input I" },
        { { "0F0 0B0 0W0", "1F0 1B0" }, "0W0 comes before its backward for input I" },
        { { "0F0 0B0 0I0", "1F0 1B0" },
          "0I0 is given in addition to a fused backward B of the same microbatch" },
        { { "0F0 0I0 0B0", "1F0 1B0" },
          "0B0 is given in addition to I or W of the same microbatch" },
        { { "0F0 1B0 0B0", "1F0" }, "1B0 belongs to another rank" },
        { { "0F0 0B0", "1F0" },
          "stage 1 microbatch 0 has no B (or I and W); every stage needs F "
          "and B, or F, I and W, of every microbatch" },
        { { "0F0 0B0", "1F0 1I0" },
          "stage 1 microbatch 0 has no W; every stage needs F and B, or "
          "F, I and W, of every microbatch" },
        { { "0F0 0B0 0F7", "1F0 1B0" }, "0F7 is outside the schedule's stages or microbatches" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        pp_err err = { 0 };
        ck_assert_str_eq(check_text(2, 1, cases[i].rows, 2, &err), cases[i].text);
    }
}
END_TEST

START_TEST(cells_are_read_strictly_and_printed_back)
{
    static const char *const good[] = {
        "0F0", "12I345", "3W7", "65534B16777215", "(1F2;0B3)OVERLAP_F_B", "(1F2;0I3)OVERLAP_F_B"
    };
    static const char *const bad[] = { "",
                                       "F0",
                                       "0F",
                                       "0f1",
                                       "00F1",
                                       "0F01",
                                       "0F1x",
                                       "0BW1",
                                       " 0F1",
                                       "0F1 ",
                                       "-1F0",
                                       "65535F0",
                                       "0F16777216",
                                       "0F99999999999",
                                       "()OVERLAP_F_B",
                                       "(1F2)OVERLAP_F_B",
                                       "(1F2;)OVERLAP_F_B",
                                       "(1F2;0B3;0B4)OVERLAP_F_B",
                                       "(1F2;0B3)",
                                       "3SEND_F7" };
    pp_order *order = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_order_new(1, 1, 1, PP_PLACE_LOOP, 2, &order, &err), err);
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        char cell[80];
        size_t n = pp_cell_parse(good[i], strlen(good[i]), order->ops);
        ck_assert_msg(n == (good[i][0] == '(' ? 2u : 1u), "%s", good[i]);
        ck_assert_uint_eq(pp_cell_print(order, 0, cell, sizeof cell), n);
        ck_assert_str_eq(cell, good[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        pp_op ops[2];
        ck_assert_msg(pp_cell_parse(bad[i], strlen(bad[i]), ops) == 0, "'%s'", bad[i]);
    }
    pp_order_free(&order);
}
END_TEST

/* F 1, F 1, B 2, B 2: rank 0 ends at 6, rank 1 at 4 us. Reduced at 6.1 and 9 us, updates 0.5 and
 * 0.02 us, 7 ns fixed. With a barrier no rank updates before 9; without one, each rank updates when
 * it is ready; a tied table of 50 ns waits for both of its holders. */
START_TEST(the_step_ends_with_or_without_a_barrier)
{
    step s = step_of(step_order("gpipe", 2, 1, 1, 0), "F=1us,B=2us,comm=0");
    const pp_ns expected[2][2] = { { 9027, 9557 }, { 9507, 9557 } }; /* [sync][tied] */
    s.costs->grad_sync_ns[0] = 100;
    s.costs->grad_sync_ns[1] = 5000;
    s.costs->optimizer_ns[0] = 500;
    s.costs->optimizer_ns[1] = 20;
    s.costs->fixed_ns = 7;
    for (int tied = 0; tied < 2; tied++) {
        s.costs->tied_ns[0] = s.costs->tied_ns[1] = tied ? 50 : 0;
        for (int sync = 0; sync < 2; sync++) {
            pp_report *report = NULL;
            pp_err err = { 0 };
            STEP_OK(pp_report_build("gpipe", &pp_framework_ideal, s.program, s.timeline, s.costs,
                                    sync, &report, &err),
                    err);
            ck_assert_int_eq(report->step_ns, expected[sync][tied]);
            ck_assert_int_eq(report->step_boundary_ns, report->step_ns - report->makespan_ns);
            pp_report_free(&report);
        }
    }
    step_free(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("engine");
    TCase *tc = tcase_create("engine");
    tcase_add_test(tc, latency_is_between_ranks_only);
    tcase_add_test(tc, a_split_backward_sends_its_gradient_before_w);
    tcase_add_test(tc, a_cycle_of_waits_is_named_rank_by_rank);
    tcase_add_test(tc, a_rank_can_wait_for_itself);
    tcase_add_test(tc, a_step_beyond_64_bits_is_refused);
    tcase_add_test(tc, costs_of_another_size_are_refused);
    tcase_add_test(tc, incomplete_and_impossible_orders_are_named);
    tcase_add_test(tc, cells_are_read_strictly_and_printed_back);
    tcase_add_test(tc, the_step_ends_with_or_without_a_barrier);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
