/* Proofs in which an allocation fails: nothing is proved that does not hold. */
#include "planner/order/problem_read.h"
#include "planner/order/prove.h"
#include "tests/support/step.h"
#include "tests/torture/torture.h"

#include <check.h>
#include <stdlib.h>

enum { OPS = 30, OPTIMUM = 1063003, WRONG = 1000 };

/* From an order that is no use on, so that orders are found and the limit is lowered many times. */
static int prove(void *problem)
{
    const pp_order_problem *x = problem;
    uint32_t ops[OPS], count = 0;
    pp_err err = { 0 };
    pp_proved known = { .makespan = 3 * (int64_t)OPTIMUM, .ops = ops };
    for (uint32_t r = 0; r < x->ranks; r++) {
        for (uint32_t op = 0; op < x->ops; op++) {
            if (x->task[op].rank == r)
                ops[count++] = op;
        }
    }
    const pp_prove_budget budget = { .work = 1000000000 };
    pp_status status = pp_prove_shortest(x, &budget, &known, &err);
    if (!status)
        status = pp_prove_bound(x, &budget, &known, &err);
    return known.bound > OPTIMUM || known.makespan < OPTIMUM ? WRONG : (int)status;
}

START_TEST(no_allocation_makes_a_proof)
{
    pp_json *json PP_CLEANUP(pp_json_free) = NULL;
    pp_order_problem *x PP_CLEANUP(pp_order_problem_free) = NULL;
    const char *path = PPSIM_SOURCE_DIR "/tests/data/instances/s04_var_p2_m5.json";
    pp_err err = { 0 };
    ck_assert_msg(pp_json_load(path, &json, &err) == PP_OK, "%s", err.text);
    const pp_json_at root = pp_json_root(json, path);
    ck_assert_msg(pp_order_problem_read(&root, &x, &err) == PP_OK, "%s", err.text);
    ck_assert_uint_eq(x->ops, OPS);
    long allocations = 0;
    ck_assert_int_eq(pp_torture_run(prove, x, PP_NOMEM, 2000, &allocations), 0);
    ck_assert_int_gt(allocations, 50);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("prove");
    TCase *tc = tcase_create("prove");
    tcase_set_timeout(tc, 300);
    tcase_add_test(tc, no_allocation_makes_a_proof);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
