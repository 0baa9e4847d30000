/* Microbatches are numbered by the forwards of the last stage. */
#include "planner/order/renumber.h"
#include "tests/support/step.h"

/* One stage, which computes microbatch 2 first, then 0, then 1: these become 0, 1 and 2. */
START_TEST(imbalances_go_with_their_microbatch)
{
    static const uint32_t computed[] = { 2, 0, 1 };
    double imbalances[] = { 1, 2, 3 };
    pp_microbatch data[] = { { .tokens = 10 }, { .tokens = 20 }, { .tokens = 30 } };
    pp_workload workload = { .replicas = 1, .microbatches = 3, .microbatch = data };
    pp_workload *const workloads[] = { &workload };
    pp_order *order PP_CLEANUP(pp_order_free) = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_order_new(1, 1, 3, PP_PLACE_LOOP, 3, &order, &err), err);
    for (uint32_t j = 0; j < 3; j++)
        pp_order_add(order, 0, PP_OP_F, 0, computed[j]);
    pp_order_end(order);
    STEP_OK(pp_renumber_microbatches(&order, 1, workloads, 1, NULL, imbalances, &err), err);
    for (uint32_t j = 0; j < 3; j++) {
        ck_assert_uint_eq(order->ops[j].microbatch, j);
        ck_assert_double_eq(imbalances[j], computed[j] + 1);
        ck_assert_int_eq(data[j].tokens, 10 * (computed[j] + 1));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("renumber");
    TCase *tc = tcase_create("renumber");
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, imbalances_go_with_their_microbatch);
    return step_run(suite);
}
