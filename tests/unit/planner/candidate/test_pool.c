/* What a candidate gets from its setup. */
#include "planner/candidate/pool.h"

#include "sim/schedule/registry.h"
#include "tests/support/step.h"

/* A rank with a limit of its own lacks memory beyond that limit, not beyond the common one. */
START_TEST(a_shortage_is_beyond_the_ranks_own_limit)
{
    pp_rank_override own = { .kind = PP_RANK_OVERRIDE_MEMORY, .rank = 1, .bytes = 30 };
    const pp_rank_overrides overrides = { .item = &own, .count = 1 };
    const pp_plan_request request = { .seed = 0 };
    const pp_plan_problem problem = { .request = &request, .memory_limit_bytes = 76 };
    pp_err err = { 0 };
    for (uint32_t rank = 0; rank < 2; rank++) {
        pp_pool pool PP_CLEANUP(pp_pool_free) = { 0 };
        const pp_setup setup = { .context = { .overrides = &overrides, .parallel = { .pp = 2 } },
                                 .legal = true,
                                 .unseen = true,
                                 .short_bytes = 5,
                                 .short_rank = rank };
        STEP_OK(pp_pool_append_setup(&pool, setup, &err), err);
        STEP_OK(pp_pool_add_candidate(&pool, &problem, pp_schedule_find("1f1b"), 0, &err), err);
        ck_assert_int_eq(pool.candidate[0].peak_bytes, rank ? 35 : 81);
        ck_assert_int_eq(pool.candidate[0].short_bytes, 5);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pool");
    TCase *tc = tcase_create("pool");
    tcase_add_test(tc, a_shortage_is_beyond_the_ranks_own_limit);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
