/* Whichever allocation of a plan, a runtime and a step fails, the status reports it and nothing
 * leaks. One rank: the n-th allocation is then always the same. */
#include "runtime/library/pp_runtime.h"
#include "tests/torture/torture.h"

#include <check.h>
#include <stdlib.h>

static int nothing(void *user, const pp_runtime_op *op)
{
    (void)user;
    (void)op;
    return 0;
}

static void sizes(void *context, uint32_t stage, uint32_t microbatch, pp_runtime_sizes *out)
{
    (void)context;
    out->message_bytes = 64;
    out->saved_bytes = 32 * (stage + microbatch);
    out->stash_bytes = 100;
}

/* Two steps: the second needs more memory for tensors. */
static int train(void *context)
{
    const pp_runtime_options options = { .ranks = 1, .poison = *(int *)context };
    const pp_runtime_callbacks callbacks = { .forward = nothing,
                                             .backward_input = nothing,
                                             .backward_weight = nothing };
    pp_runtime *runtime = NULL;
    pp_runtime_error error = { 0 };
    pp_runtime_status status = pp_runtime_open(&options, &runtime, &error);
    for (uint32_t step = 0; step < 2 && !status; step++) {
        const pp_runtime_plan_spec spec = {
            .schedule = "zbv", .ranks = 1, .microbatches = 2 + 6 * step, .sizes = sizes
        };
        pp_runtime_plan *plan = NULL;
        status = pp_runtime_plan_new(&spec, &plan, &error);
        if (!status)
            status = pp_runtime_step(runtime, plan, &callbacks, NULL, NULL, &error);
        pp_runtime_plan_free(plan);
    }
    pp_runtime_close(runtime);
    return (int)status;
}

START_TEST(no_allocation_is_taken_for_granted)
{
    int poison = _i;
    long allocations = 0;
    int status = pp_torture_run(train, &poison, PP_RUNTIME_NOMEM, 100000, &allocations);
    ck_assert_msg(status == 0, "allocation %ld: status %d", allocations, status);
    ck_assert_int_gt(allocations, 50);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("library torture");
    TCase *tc = tcase_create("library");
    tcase_set_timeout(tc, 240);
    tcase_add_loop_test(tc, no_allocation_is_taken_for_granted, 0, 2);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
