/* The rule by which one of several plans is recommended, with candidates made by hand. */
#include "planner/search/choice.h"

#include "sim/schedule/registry.h"
#include "tests/support/step.h"

/* A candidate on 8 GPUs. */
static pp_candidate plan_of(const char *schedule, int64_t vpp, pp_ns step_ns, bool roomy,
                            pp_ns p95_ns)
{
    return (pp_candidate){ .parallel = { .pp = 4, .tp = 2, .cp = 1, .dp = 1, .ep = 1, .vpp = vpp },
                           .schedule = schedule ? pp_schedule_find(schedule) : &pp_planned_schedule,
                           .status = PP_CANDIDATE_OK,
                           .legal = true,
                           .step_ns = step_ns,
                           .p95_ns = p95_ns,
                           .roomy = roomy };
}

/* Which of two is taken with a tie of 1 %; also the other way round. */
static const pp_candidate *of_two(const pp_candidate *a, const pp_candidate *b)
{
    const pp_candidate *row[] = { a, b };
    const pp_candidate *swapped[] = { b, a };
    const pp_ns least_ns = a->step_ns < b->step_ns ? a->step_ns : b->step_ns;
    const double least = pp_candidate_score(a, least_ns);
    const pp_candidate *taken = row[pp_choose(row, 2, least, 0.01)];
    ck_assert_ptr_eq(taken, swapped[pp_choose(swapped, 2, least, 0.01)]);
    return taken;
}

static void is_better(pp_candidate a, pp_candidate b, pp_choice_reason reason)
{
    ck_assert_ptr_eq(of_two(&a, &b), &a);
    ck_assert_int_eq(pp_choice_why(&a, &b), reason);
}

START_TEST(beyond_the_tie_the_faster_wins)
{
    is_better(plan_of(NULL, 4, 1000000, false, 1200000), plan_of("1f1b", 1, 1010001, true, 1050000),
              PP_CHOICE_FASTEST);
    is_better(plan_of("1f1b", 1, 1010000, true, 1050000), plan_of(NULL, 4, 1000000, false, 1200000),
              PP_CHOICE_HEADROOM);
}
END_TEST

/* Headroom first, even if the other one is steadier and simpler. */
START_TEST(headroom_decides_among_ties)
{
    is_better(plan_of(NULL, 2, 1009000, true, 1300000), plan_of("1f1b", 1, 1000000, false, 1010000),
              PP_CHOICE_HEADROOM);
}
END_TEST

/* 0.3 % of the p95 count as equal; beyond that the steadier wins, even if it is a free order. */
START_TEST(then_the_p95_then_simplicity)
{
    is_better(plan_of(NULL, 2, 1009000, true, 1050000), plan_of("1f1b", 1, 1000000, true, 1053151),
              PP_CHOICE_STEADIER);
    is_better(plan_of("1f1b", 1, 1009000, true, 1053149), plan_of(NULL, 2, 1000000, true, 1050000),
              PP_CHOICE_SIMPLER);
    is_better(plan_of("1f1b", 1, 1009000, true, 0), plan_of(NULL, 2, 1000000, true, 0),
              PP_CHOICE_SIMPLER);
}
END_TEST

/* One that was not studied does not win over one that was. */
START_TEST(what_is_not_known_does_not_win)
{
    is_better(plan_of(NULL, 2, 1000000, true, 1050000), plan_of("1f1b", 1, 1000500, true, 0),
              PP_CHOICE_FASTEST);
}
END_TEST

START_TEST(simpler_is_as_documented)
{
    pp_candidate plain = plan_of("1f1b", 1, 1000, true, 0);
    pp_candidate other = plain;
    other.schedule = &pp_planned_schedule;
    ck_assert_int_lt(pp_compare_simplicity(&plain, &other), 0);
    other = plain;
    other.parallel.vpp = 2;
    ck_assert_int_lt(pp_compare_simplicity(&plain, &other), 0);
    other = plain;
    other.parallel.cp = 2;
    other.parallel.tp = 1;
    ck_assert_int_lt(pp_compare_simplicity(&plain, &other), 0);
    other = plain;
    other.parallel.pp = 8;
    ck_assert_int_lt(pp_compare_simplicity(&plain, &other), 0);
    other = plain;
    other.recompute = PP_RECOMPUTE_FULL;
    ck_assert_int_lt(pp_compare_simplicity(&plain, &other), 0);
    ck_assert_int_gt(pp_compare_simplicity(&other, &plain), 0);
    ck_assert_int_eq(pp_compare_simplicity(&plain, &plain), 0);
}
END_TEST

/* Without a tie, the fastest. */
START_TEST(tie_zero_is_the_fastest)
{
    const pp_candidate a = plan_of("1f1b", 1, 1001, true, 0);
    const pp_candidate b = plan_of(NULL, 8, 1000, false, 9000);
    const pp_candidate *row[] = { &a, &b };
    ck_assert_uint_eq(pp_choose(row, 2, pp_candidate_score(&b, 1000), 0), 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("choice");
    TCase *tc = tcase_create("choice");
    tcase_add_test(tc, beyond_the_tie_the_faster_wins);
    tcase_add_test(tc, headroom_decides_among_ties);
    tcase_add_test(tc, then_the_p95_then_simplicity);
    tcase_add_test(tc, what_is_not_known_does_not_win);
    tcase_add_test(tc, simpler_is_as_documented);
    tcase_add_test(tc, tie_zero_is_the_fastest);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
