/* Whichever allocation of a run fails, the status reports it, nothing leaks and nothing hangs. One
 * rank: the n-th allocation is then always the same. With more ranks it is another one each time,
 * but the run must still end. */
#include "runtime/compute/registry.h"
#include "runtime/measure/compare.h"
#include "runtime/transport/registry.h"
#include "sim/base/alloc.h"
#include "sim/schedule/registry.h"
#include "sim/schedule/schedule.h"
#include "tests/torture/torture.h"

#include <check.h>
#include <stdlib.h>

static pp_status make_plan(uint32_t ranks, pp_plan **plan_out, pp_err *err)
{
    static const pp_uniform_costs uniform = {
        .f_ns = 1000, .i_ns = 1000, .w_ns = 1000, .b_ns = -1
    };
    const pp_schedule_params shape = { .ranks = ranks, .chunks = 2, .microbatches = 2 * ranks };
    pp_plan *plan PP_CLEANUP(pp_plan_free) = NULL;
    pp_status status = pp_plan_new(&plan, err);
    if (status)
        return status;
    plan->order = pp_alloc_array(1, sizeof *plan->order);
    plan->costs = pp_alloc_array(1, sizeof *plan->costs);
    if (!plan->order || !plan->costs)
        return pp_err_nomem(err);
    if ((status = pp_schedule_build(pp_schedule_find("zbv"), &shape, &plan->order[0], err)))
        return status;
    plan->order_count = 1;
    if ((status = pp_costs_uniform(&uniform, ranks, 2 * ranks, 2 * ranks, &plan->costs[0], err)))
        return status;
    plan->costs_count = 1;
    plan->costs[0]->has_memory = true;
    for (uint32_t s = 0; s < 2 * ranks; s++) {
        plan->costs[0]->activation_bytes[s] = 256;
        plan->costs[0]->message_bytes[s] = s + 1 < 2 * ranks ? 64 : 0;
    }
    *plan_out = plan;
    plan = NULL;
    return PP_OK;
}

static int execute(void *ranks)
{
    pp_err err = { 0 };
    pp_plan *plan PP_CLEANUP(pp_plan_free) = NULL;
    pp_execution x PP_CLEANUP(pp_execution_free) = { 0 };
    pp_comparison comparison;
    pp_run_plan_options o = { .settings = "",
                              .payload_bytes = 64,
                              .link = { .kind = PP_LINK_PLAN },
                              .iterations = 1,
                              .verify = true };
    pp_status status = make_plan(*(uint32_t *)ranks, &plan, &err);
    if (!status)
        status = pp_transport_get("threads", &o.transport, &err);
    if (!status)
        status = pp_compute_get("spin", &o.compute, &err);
    if (!status)
        status = pp_run_plan(plan, NULL, &o, &x, &err);
    if (!status)
        status = pp_execution_compare(&x, &comparison, &err);
    return (int)status;
}

START_TEST(no_allocation_is_taken_for_granted)
{
    uint32_t ranks = 1;
    long allocations = 0;
    int status = pp_torture_run(execute, &ranks, PP_NOMEM, 100000, &allocations);
    ck_assert_msg(status == PP_OK, "allocation %ld: status %d", allocations, status);
    ck_assert_int_gt(allocations, 50);
}
END_TEST

START_TEST(several_ranks_end_too)
{
    uint32_t ranks = 3;
    for (long n = 1; n < 200; n++) {
        pp_torture_arm(n);
        int status = execute(&ranks);
        pp_torture_disarm();
        ck_assert_msg(status == PP_OK || status == PP_NOMEM, "allocation %ld: status %d", n,
                      status);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("run torture");
    TCase *tc = tcase_create("run");
    tcase_set_timeout(tc, 240);
    tcase_add_test(tc, no_allocation_is_taken_for_granted);
    tcase_add_test(tc, several_ranks_end_too);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
