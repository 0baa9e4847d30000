/* Overlapped pairs with a duration of their own; all numbers by hand. */
#include "planner/bound/bound.h"
#include "sim/program/pairs.h"
#include "tests/support/executors.h"

static pp_order *read_rows(const char *rows)
{
    pp_order *order = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_format_read(rows, strlen(rows), "rows.csv", &order, &err), err);
    return order;
}

static pp_status try_rows(const char *rows, const char *costs, pp_err *err)
{
    step s PP_CLEANUP(step_free) = { .order = read_rows(rows) };
    pp_err lowering = { 0 };
    s.costs =
        step_costs(costs, s.order->ranks, s.order->stages / s.order->ranks, s.order->microbatches);
    STEP_OK(lower_with("ideal", s.order, &s.program, &lowering), lowering);
    return pp_simulate(s.program, s.costs, &s.timeline, err);
}

/* One rank: F 3, then F and B of 4 together in 6, then B of 4. */
START_TEST(a_pair_takes_its_own_time_and_counts_once)
{
    const char *const rows = "0F0,(0F1;0B0)OVERLAP_F_B,0B1\n";
    step s PP_CLEANUP(step_free) = step_of(read_rows(rows), "F=3us,B=4us,FB=6us,comm=0");
    ck_assert_int_eq(s.report->makespan_ns, 13000);
    ck_assert_int_eq(s.report->per_rank[0].busy_ns, 13000);
    ck_assert_int_eq(s.timeline->start_ns[1], 3000);
    ck_assert_int_eq(s.timeline->end_ns[1], 9000);
    ck_assert_int_eq(s.timeline->start_ns[2], 9000); /* empty, at the pair's end */
    ck_assert_int_eq(s.timeline->end_ns[2], 9000);
    step apart PP_CLEANUP(step_free) = step_of(read_rows(rows), "F=3us,B=4us,comm=0");
    ck_assert_int_eq(apart.report->makespan_ns, 14000);
    ck_assert_int_eq(apart.timeline->end_ns[1], 6000);
}
END_TEST

/* Neither the order of the halves matters, nor that a pair is slower than its halves one after the
 * other. */
START_TEST(the_forward_of_a_pair_says_how_long_it_takes)
{
    static const char *const rows[] = { "0F0,(0B0;0F1)OVERLAP_F_B,0B1\n",
                                        "0F0,(0F1;0B0)OVERLAP_F_B,0B1\n" };
    for (size_t k = 0; k < 2; k++) { /* 1 + 7 + 2; for microbatch 0 it would be 1 + 5 + 2 */
        pp_err own = { 0 };
        step one PP_CLEANUP(step_free) = { .order = read_rows(rows[k]) };
        STEP_OK(pp_costs_new(1, 1, 2, 2, &one.costs, &own), own);
        one.costs->class_of[1] = 1;
        one.costs->has_pairs = true;
        one.costs->f_ns[0] = one.costs->f_ns[1] = 1;
        one.costs->b_ns[0] = one.costs->b_ns[1] = 2;
        one.costs->pair_ns[0] = 5;
        one.costs->pair_ns[1] = 7;
        step_simulate(&one);
        ck_assert_int_eq(one.report->makespan_ns, 10);
    }
    step s PP_CLEANUP(step_free) =
        step_of(read_rows("0F0,(0B0;0F1)OVERLAP_F_B,0B1\n"), "F=3us,B=4us,FB=8us,comm=0");
    ck_assert_int_eq(s.report->makespan_ns, 15000);
    s.costs->pair_ns[0] = 5000;
    pp_err err = { 0 };
    STEP_OK(pp_simulate_into(s.program, s.costs, s.timeline, &err), err);
    ck_assert_int_eq(pp_timeline_makespan(s.timeline), 12000);
}
END_TEST

/* Two ranks, F 1, B 2, link 1. Rank 1: F0 2..3, B0 3..5; the gradient is on rank 0 at 6. There the
 * pair (0F1;0B0) starts at 6, though its forward could start at 1; its output is on rank 1 at 6 + 2
 * + 1 = 9. Without a duration the forward runs 1..2. */
START_TEST(both_halves_need_their_inputs_at_the_start_and_results_leave_at_the_end)
{
    const char *const rows = "0F0,(0F1;0B0)OVERLAP_F_B,0B1\n1F0,1B0,1F1,1B1\n";
    step s PP_CLEANUP(step_free) = step_of(read_rows(rows), "F=1us,B=2us,FB=2us,comm=1us");
    ck_assert_int_eq(s.timeline->start_ns[1], 6000);
    ck_assert_int_eq(s.timeline->start_ns[6], 9000); /* 1F1 */
    ck_assert_int_eq(s.timeline->end_ns[7], 12000);  /* 1B1 */
    ck_assert_int_eq(s.report->makespan_ns, 15000);  /* 0B1 13..15 */
    step apart PP_CLEANUP(step_free) = step_of(read_rows(rows), "F=1us,B=2us,comm=1us");
    ck_assert_int_eq(apart.timeline->start_ns[1], 1000);
    ck_assert_int_eq(apart.timeline->start_ns[6], 5000); /* its rank is busy with 1B0 until then */
}
END_TEST

/* F 3 and B 4: what the pair of two cells hides is the smaller of what they hide, and a given
 * duration comes first. */
START_TEST(a_pair_hides_what_both_halves_hide)
{
    pp_err err = { 0 };
    step s PP_CLEANUP(step_free) = { .order = read_rows("0F0,(0F1;0B0)OVERLAP_F_B,0B1\n") };
    STEP_OK(pp_costs_new(1, 1, 2, 2, &s.costs, &err), err);
    s.costs->class_of[1] = 1;
    s.costs->has_hidden = true;
    s.costs->f_ns[0] = s.costs->f_ns[1] = 3;
    s.costs->b_ns[0] = s.costs->b_ns[1] = 4;
    s.costs->hidden_ns[0] = 1;
    s.costs->hidden_ns[1] = 2;
    step_simulate(&s);
    ck_assert_int_eq(s.report->makespan_ns, 3 + (3 + 4 - 1) + 4);
    pp_bound bound;
    STEP_OK(pp_bound_order(s.costs, s.order, 0, &bound, &err), err);
    ck_assert_int_eq(bound.part_ns[PP_BOUND_LOAD], (3 - 1) + (3 - 2) + 4 + 4);
    s.program->overlaps_pairs = false;
    STEP_OK(pp_simulate_into(s.program, s.costs, s.timeline, &err), err);
    ck_assert_int_eq(pp_timeline_makespan(s.timeline), 2 * (3 + 4));
    s.costs->has_pairs = true; /* given, so that a runtime overlaps */
    s.costs->pair_ns[1] = 5;
    STEP_OK(pp_simulate_into(s.program, s.costs, s.timeline, &err), err);
    ck_assert_int_eq(pp_timeline_makespan(s.timeline), 3 + 5 + 4);
    s.costs->has_pairs = s.costs->has_hidden = false;
    STEP_OK(pp_simulate_into(s.program, s.costs, s.timeline, &err), err);
    ck_assert_int_eq(pp_timeline_makespan(s.timeline), 2 * (3 + 4));
}
END_TEST

/* The same with sends and receives: torch issues them separately, and links take no time at the
 * sender. */
START_TEST(a_program_with_communication_overlaps_alike)
{
    const char *const rows = "0F0,(0F1;0B0)OVERLAP_F_B,0B1\n1F0,1B0,1F1,1B1\n";
    pp_err err = { 0 };
    step s PP_CLEANUP(step_free) = { .order = read_rows(rows) };
    s.costs = step_costs("F=1us,B=2us,FB=2us,comm=1us", 2, 1, 2);
    STEP_OK(lower_with("torch", s.order, &s.program, &err), err);
    STEP_OK(pp_simulate(s.program, s.costs, &s.timeline, &err), err);
    ck_assert_int_eq(s.timeline->start_ns[1], 6000);
    ck_assert_int_eq(s.timeline->end_ns[1], 8000);
    ck_assert_int_eq(s.timeline->start_ns[2], 8000);
    ck_assert_int_eq(s.timeline->end_ns[2], 8000);
    ck_assert_int_eq(s.timeline->start_ns[6], 9000);
    ck_assert_int_eq(pp_timeline_makespan(s.timeline), 15000);
}
END_TEST

/* A pair with an I has no duration: F then I, as usual. */
START_TEST(a_forward_paired_with_an_i_runs_before_it)
{
    step s PP_CLEANUP(step_free) =
        step_of(read_rows("0F0,(0F1;0I0)OVERLAP_F_B,0W0,0B1\n"), "F=3us,I=2us,W=2us,FB=4us,comm=0");
    ck_assert_int_eq(s.timeline->end_ns[1], 6000);
    ck_assert_int_eq(s.timeline->end_ns[2], 8000);
    ck_assert_int_eq(s.report->makespan_ns, 14000);
}
END_TEST

START_TEST(impossible_pairs_are_refused)
{
    pp_err err = { 0 };
    ck_assert_int_eq(try_rows("(0F0;0B0)OVERLAP_F_B\n", "F=1us,B=2us,FB=2us", &err), PP_INFEASIBLE);
    ck_assert_msg(strstr(err.text, "(0F0;0B0)"), "%s", err.text);
    /* 0B0 needs 1B0, which comes after 1F1, which needs 0F1 */
    static const char rows[] = "0F0,(0F1;0B0)OVERLAP_F_B,0B1\n1F0,1F1,1B0,1B1\n";
    err = (pp_err){ 0 };
    ck_assert_int_eq(try_rows(rows, "F=1us,B=2us", &err), PP_OK);
    ck_assert_int_eq(try_rows(rows, "F=1us,B=2us,FB=2us", &err), PP_INFEASIBLE);
    ck_assert_msg(strstr(err.text, "on rank 0 the overlapped pair (0F1;0B0) needs both"), "%s",
                  err.text);
    pp_uniform_costs uniform;
    ck_assert_int_eq(pp_uniform_costs_parse("F=1us,B=3us,FB=2us", &uniform, &err), PP_USAGE);
    ck_assert_int_eq(pp_uniform_costs_parse("F=3us,B=1us,FB=2us", &uniform, &err), PP_USAGE);
    ck_assert_int_eq(pp_uniform_costs_parse("F=1us,B=3us,FB=3us", &uniform, &err), PP_OK);
    ck_assert_int_eq(pp_uniform_costs_parse("F=1us,B=3us,FB=30us", &uniform, &err), PP_OK);
}
END_TEST

/* Costs by microbatch: the backward of another one may be longer than the pair. */
START_TEST(a_pair_shorter_than_its_backward_is_refused)
{
    pp_err err = { 0 };
    step s PP_CLEANUP(step_free) = { .order = read_rows("0F0,(0F1;0B0)OVERLAP_F_B,0B1\n") };
    STEP_OK(pp_costs_new(1, 1, 2, 2, &s.costs, &err), err);
    s.costs->class_of[1] = 1;
    s.costs->has_pairs = true;
    s.costs->b_ns[0] = 50;
    s.costs->pair_ns[1] = 49;
    STEP_OK(lower_with("ideal", s.order, &s.program, &err), err);
    ck_assert_int_eq(pp_simulate(s.program, s.costs, &s.timeline, &err), PP_INPUT);
    ck_assert_msg(strstr(err.text, "(0F1;0B0) takes 49 ns"), "%s", err.text);
    s.costs->pair_ns[1] = 50;
    STEP_OK(pp_simulate(s.program, s.costs, &s.timeline, &err), err);
}
END_TEST

/* While a pair runs, its forward's activations and its backward's recomputation are held
 * together. */
START_TEST(memory_of_both_halves_is_held_together)
{
    pp_err err = { 0 };
    step s PP_CLEANUP(step_free) = { .order = read_rows("0F0,(0F1;0B0)OVERLAP_F_B,0B1\n") };
    s.costs = step_costs("F=3us,B=4us,FB=6us,comm=0", 1, 1, 2);
    s.costs->has_memory = true;
    s.costs->activation_bytes[0] = 100;
    s.costs->recompute_bytes[0] = 7;
    step_simulate(&s);
    const pp_memory_peak *peak = &s.report->per_rank[0].memory;
    ck_assert_int_eq(peak->total_bytes, 207);
    ck_assert_int_eq(peak->at_ns, 3000);
    (void)err;
}
END_TEST

/* No order of pairs is faster than its bound. */
START_TEST(the_bound_allows_for_overlap)
{
    static const char *const costs[] = { "F=1us,I=1us,W=1us,FB=2us,comm=0",
                                         "F=3us,I=1us,W=1us,FB=3us,comm=0",
                                         "F=1us,I=1us,W=1us,FB=9us,comm=1us" };
    for (size_t k = 0; k < 3; k++) {
        pp_err err = { 0 };
        pp_bound bound;
        step s PP_CLEANUP(step_free) = step_of(step_order("dualpipev", 4, 2, 16, 0), costs[k]);
        STEP_OK(pp_bound_order(s.costs, s.order, 0, &bound, &err), err);
        ck_assert_int_le(bound.ns, s.report->makespan_ns);
        ck_assert_int_gt(bound.ns, 0);
    }
}
END_TEST

START_TEST(a_step_of_long_pairs_beyond_64_bits_is_refused)
{
    pp_err err = { 0 };
    step s PP_CLEANUP(step_free) = { .order = step_order("dualpipev", 16, 2, 1024, 0) };
    s.costs = step_costs("F=1us,B=2us,FB=2us,comm=0", 16, 2, 1024);
    STEP_OK(lower_with("ideal", s.order, &s.program, &err), err);
    for (uint32_t k = 0; k < 32; k++)
        s.costs->pair_ns[k] = PP_NS_MAX;
    ck_assert_int_eq(pp_simulate(s.program, s.costs, &s.timeline, &err), PP_INPUT);
    ck_assert_msg(strstr(err.text, "does not fit 64 bits"), "%s", err.text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pairs");
    TCase *tc = tcase_create("pairs");
    tcase_add_test(tc, a_pair_hides_what_both_halves_hide);
    tcase_add_test(tc, a_pair_takes_its_own_time_and_counts_once);
    tcase_add_test(tc, the_forward_of_a_pair_says_how_long_it_takes);
    tcase_add_test(tc, both_halves_need_their_inputs_at_the_start_and_results_leave_at_the_end);
    tcase_add_test(tc, a_program_with_communication_overlaps_alike);
    tcase_add_test(tc, a_forward_paired_with_an_i_runs_before_it);
    tcase_add_test(tc, impossible_pairs_are_refused);
    tcase_add_test(tc, a_pair_shorter_than_its_backward_is_refused);
    tcase_add_test(tc, memory_of_both_halves_is_held_together);
    tcase_add_test(tc, a_step_of_long_pairs_beyond_64_bits_is_refused);
    tcase_add_test(tc, the_bound_allows_for_overlap);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
