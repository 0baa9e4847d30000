/* Whichever allocation fails in a jitter or sensitivity study, the status reports it and nothing
 * leaks. One thread: the n-th allocation is then always the same. */
#include "planner/robustness/jitter.h"
#include "planner/robustness/jitter_spec.h"
#include "planner/robustness/sensitivity.h"
#include "sim/analysis/robustness_json.h"
#include "sim/base/alloc.h"
#include "sim/engine/engine.h"
#include "sim/framework/registry.h"
#include "sim/program/program_new.h"
#include "sim/schedule/registry.h"
#include "sim/schedule/schedule.h"
#include "tests/torture/torture.h"

#include <check.h>
#include <stdlib.h>

static int study(void *framework_name)
{
    static const pp_uniform_costs uniform = {
        .f_ns = 1000, .i_ns = 1000, .w_ns = 1000, .b_ns = -1, .comm_ns = 10
    };
    const pp_schedule_params shape = { .ranks = 3, .chunks = 1, .microbatches = 4 };
    pp_err err = { 0 };
    pp_json_build build = { 0 };
    pp_order *order PP_CLEANUP(pp_order_free) = NULL;
    pp_costs *costs PP_CLEANUP(pp_costs_free) = NULL;
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
    pp_robustness out PP_CLEANUP(pp_robustness_free) = { 0 };
    const pp_framework *framework = NULL;
    pp_jitter_spec spec;
    pp_status status = pp_framework_get(framework_name, &framework, &err);
    if (status || (status = pp_schedule_build(pp_schedule_find("1f1b"), &shape, &order, &err)) ||
        (status = pp_costs_uniform(&uniform, 3, 3, 4, &costs, &err)) ||
        (status = framework->lower(order, &program, &err)) ||
        (status = pp_simulate(program, costs, &timeline, &err)))
        return (int)status;
    const pp_jitter_subject subject = {
        .program = program, .timeline = timeline, .costs = costs, .step_sync = true
    };
    if ((status =
             pp_jitter_parse("F=0.1,B=0.2,comm=0.3,slow-rank=any:2,scenarios=3", &spec, &err)) ||
        (status = pp_jitter_study(&subject, &spec, 1, 1, &out.jitter, &err)) ||
        (status = pp_sensitivity_study(&subject, &out.sensitivity, &err)))
        return (int)status;
    out.has_jitter = true;
    char *text PP_CLEANUP(pp_free_text) = NULL;
    size_t bytes = 0;
    pp_json *json PP_CLEANUP(pp_json_free) = pp_json_new_object(&build);
    pp_robustness_put(&out, json, &build);
    return (int)pp_json_print(&build, json, &text, &bytes, &err);
}

START_TEST(no_allocation_is_taken_for_granted)
{
    static char names[][8] = { "ideal", "torch" };
    long allocations = 0;
    int status = pp_torture_run(study, names[_i], PP_NOMEM, 100000, &allocations);
    ck_assert_msg(status == PP_OK, "allocation %ld: status %d", allocations, status);
    ck_assert_int_gt(allocations, 50);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("jitter torture");
    TCase *tc = tcase_create("jitter");
    tcase_set_timeout(tc, 240);
    tcase_add_loop_test(tc, no_allocation_is_taken_for_granted, 0, 2);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
