/* Whichever allocation fails while a plan is searched, the status reports it and nothing leaks. One
 * thread: the n-th allocation is then always the same. */
#include "planner/study/plan_search.h"
#include "sim/framework/registry.h"
#include "sim/schedule/registry.h"
#include "tests/support/stacks.h"
#include "tests/torture/torture.h"
#include "traces/read/data.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

typedef struct question {
    pp_model model;
    pp_hardware hardware;
    pp_plan_request request;
    pp_recompute recompute;
    const char *schedule; /* of the answer */
} question;

static pp_status load(question *q, pp_err *err)
{
    const pp_data_file *model = pp_data_find(PP_DATA_MODEL, "llama3-8b");
    const pp_data_file *hardware = pp_data_find(PP_DATA_HARDWARE, "h100-80g");
    pp_status status = pp_model_parse(model->text, model->bytes, "model", &q->model, err);
    if (!status)
        status = pp_hardware_parse(hardware->text, hardware->bytes, "hw", &q->hardware, err);
    q->request = (pp_plan_request){ .model = &q->model,
                                    .hardware = &q->hardware,
                                    .parallel = { .pp = 2, .tp = 4, .vpp = 1 },
                                    .seq_length = 8192,
                                    .micro_batch_size = 1,
                                    .global_batch_size = 3,
                                    .switches = { .stack = stack_named("every-schedule") } };
    return status;
}

static int answer(void *context)
{
    const question *q = context;
    pp_err err = { 0 };
    pp_search_result *choice PP_CLEANUP(pp_search_result_free) = NULL;
    pp_status status = pp_plan_search(&q->request, &choice, &err);
    if (!status && (choice->plan->recompute != q->recompute ||
                    strcmp(choice->plan->schedule, q->schedule) != 0))
        return -2; /* not what is to be tried */
    return (int)status;
}

static void try(question *q)
{
    long allocations = 0;
    int status = pp_torture_run(answer, q, PP_NOMEM, 100000, &allocations);
    ck_assert_msg(status == PP_OK, "allocation %ld: status %d", allocations, status);
    ck_assert_int_gt(allocations, 50);
}

START_TEST(recomputation_per_stage_takes_no_allocation_for_granted)
{
    question q = { .recompute = PP_RECOMPUTE_STAGES, .schedule = "1f1b" };
    pp_err err = { 0 };
    ck_assert_msg(load(&q, &err) == PP_OK, "%s", err.text);
    q.request.schedule = pp_schedule_find("1f1b");
    q.request.switches.given.recompute = true;
    q.request.switches.value.recompute = PP_RECOMPUTE_STAGES;
    q.request.memory_limit_bytes = (int64_t)22 << 30;
    try(&q);
}
END_TEST

START_TEST(recomputation_per_microbatch_takes_no_allocation_for_granted)
{
    static const int64_t lengths[] = { 3000, 8000, 300, 8192 };
    static const size_t end[] = { 1, 2, 3, 4 };
    question q = { .recompute = PP_RECOMPUTE_MICROBATCHES, .schedule = _i ? "planned" : "1f1b" };
    pp_err err = { 0 };
    ck_assert_msg(load(&q, &err) == PP_OK, "%s", err.text);
    q.request.schedule = _i ? NULL : pp_schedule_find("1f1b");
    q.request.orders = _i ? PP_ORDERS_PLANNED : PP_ORDERS_NAMED;
    q.request.max_simulations = _i ? 60 : 0;
    q.request.global_batch_size = 0;
    q.request.lengths = lengths;
    q.request.group_end = end;
    q.request.length_count = q.request.group_count = 4;
    q.request.threads = 1;
    q.request.switches.given.recompute = true;
    q.request.switches.value.recompute = PP_RECOMPUTE_MICROBATCHES;
    q.request.memory_limit_bytes = (int64_t)22 << 30;
    try(&q);
}
END_TEST

START_TEST(free_orders_take_no_allocation_for_granted)
{
    question q = { .recompute = PP_RECOMPUTE_NONE, .schedule = "planned" };
    pp_err err = { 0 };
    ck_assert_msg(load(&q, &err) == PP_OK, "%s", err.text);
    q.request.orders = PP_ORDERS_PLANNED;
    q.request.max_simulations = 40;
    q.request.threads = 1;
    q.request.switches.given.recompute = true;
    try(&q);
}
END_TEST

START_TEST(packing_takes_no_allocation_for_granted)
{
    static const bool equal[PP_PACKING_COUNT] = { [PP_PACKING_EQUAL] = true };
    static const int64_t lengths[] = { 500, 8000, 300 };
    question q = { .recompute = PP_RECOMPUTE_NONE, .schedule = "1f1b" };
    pp_err err = { 0 };
    ck_assert_msg(load(&q, &err) == PP_OK, "%s", err.text);
    q.request.schedule = pp_schedule_find("1f1b");
    q.request.switches.given.recompute = true;
    q.request.global_batch_size = 0;
    q.request.lengths = lengths;
    q.request.length_count = 3;
    q.request.packings = equal;
    q.request.max_simulations = 12;
    try(&q);
}
END_TEST

START_TEST(free_settings_take_no_allocation_for_granted)
{
    static const pp_framework *const two[] = { &pp_framework_megatron, &pp_framework_deepspeed,
                                               NULL };
    question q = { .recompute = PP_RECOMPUTE_NONE, .schedule = "1f1b" };
    pp_err err = { 0 };
    ck_assert_msg(load(&q, &err) == PP_OK, "%s", err.text);
    q.request.schedule = pp_schedule_find("1f1b");
    q.request.switches.given.recompute = true;
    q.request.free = (pp_free_settings){ .framework = true, .frameworks = two };
    try(&q);
}
END_TEST

/* Copies and how far ahead to gather are tried. */
START_TEST(sharded_parameters_take_no_allocation_for_granted)
{
    question q = { .recompute = PP_RECOMPUTE_FULL, .schedule = "interleaved" };
    pp_err err = { 0 };
    ck_assert_msg(load(&q, &err) == PP_OK, "%s", err.text);
    q.request.schedule = pp_schedule_find("interleaved");
    q.request.parallel.vpp = 4;
    q.request.parallel.dp = 4;
    q.request.global_batch_size = 16;
    q.request.framework = &pp_framework_torch_2_15;
    q.request.switches.given.zero = q.request.switches.given.recompute = true;
    q.request.switches.value.zero = 3;
    q.request.switches.value.recompute = PP_RECOMPUTE_FULL;
    try(&q);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plan torture");
    TCase *tc = tcase_create("plan");
    tcase_set_timeout(tc, 240);
    tcase_add_test(tc, recomputation_per_stage_takes_no_allocation_for_granted);
    tcase_add_loop_test(tc, recomputation_per_microbatch_takes_no_allocation_for_granted, 0, 2);
    tcase_add_test(tc, free_orders_take_no_allocation_for_granted);
    tcase_add_test(tc, free_settings_take_no_allocation_for_granted);
    tcase_add_test(tc, packing_takes_no_allocation_for_granted);
    tcase_add_test(tc, sharded_parameters_take_no_allocation_for_granted);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
