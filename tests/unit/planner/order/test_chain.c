/* The scratch memory of a search: the microbatches sorted by their work, and how many are lighter
 * and heavier, as counted one by one, for equal, unequal, single and no microbatches. */
#include "planner/order/chain.h"
#include "tests/support/step.h"

enum { STAGES = 3, MICROBATCHES_MOST = 12, CLASSES_MOST = 13 };

static pp_order_problem *make(uint32_t microbatches, uint32_t classes)
{
    static const uint32_t loop[STAGES] = { 0, 1, 2 };
    pp_rng rng = { microbatches * 100 + classes };
    pp_order_problem *x = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_order_problem_new("made", STAGES, STAGES, microbatches, loop, &x, &err), err);
    for (uint32_t i = 0; i < microbatches; i++) {
        const uint32_t ticks = pp_rng_below(&rng, classes);
        for (uint32_t k = 0; k < 3 * STAGES; k++)
            x->task[i * 3 * STAGES + k].ticks = ticks * (k + 1);
    }
    return x;
}

START_TEST(counts_lighter_and_heavier_ones)
{
    uint32_t both = 0;
    for (uint32_t m = 0; m <= MICROBATCHES_MOST; m++) {
        for (uint32_t classes = 1; classes <= CLASSES_MOST; classes++) {
            pp_order_problem *x PP_CLEANUP(pp_order_problem_free) = make(m, classes);
            pp_search_scratch scratch PP_CLEANUP(pp_search_scratch_free) = { 0 };
            bool seen[MICROBATCHES_MOST] = { false };
            pp_err err = { 0 };
            STEP_OK(pp_search_scratch_new(x, &scratch, &err), err);
            for (uint32_t k = 0; k < m; k++) {
                const uint32_t i = scratch.by_work[k];
                const int64_t work = pp_order_problem_work_of(x, i);
                uint32_t lighter = 0, heavier = 0;
                ck_assert(i < m && !seen[i]);
                seen[i] = true;
                for (uint32_t j = 0; j < m; j++) {
                    lighter += pp_order_problem_work_of(x, j) < work;
                    heavier += pp_order_problem_work_of(x, j) > work;
                }
                ck_assert_uint_eq(scratch.lighter[i], lighter);
                ck_assert_uint_eq(scratch.heavier[i], heavier);
                ck_assert(k >= lighter && k < m - heavier);
                both += lighter && heavier;
            }
        }
    }
    ck_assert_uint_gt(both, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("chain");
    TCase *tc = tcase_create("chain");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, counts_lighter_and_heavier_ones);
    return step_run(suite);
}
