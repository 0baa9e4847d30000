/* Whichever allocation fails on the way from a schedule's name to a plan file and back, the status
 * reports it and nothing leaks. */
#include "sim/analysis/repair.h"
#include "sim/base/alloc.h"
#include "sim/framework/registry.h"
#include "sim/plan/plan.h"
#include "sim/plan/plan_read.h"
#include "sim/plan/plan_write.h"
#include "sim/program/program_new.h"
#include "sim/schedule/registry.h"
#include "tests/torture/torture.h"
#include "traces/read/comm_rows.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* Four stages of one layer, each with what it recomputes for every microbatch. */
static pp_status add_recomputation(pp_plan *plan, pp_err *err)
{
    plan->partition = pp_alloc_array(4, sizeof *plan->partition);
    if (!plan->partition)
        return pp_err_nomem(err);
    for (int s = 0; s < 4; s++)
        plan->partition[s] =
            (pp_stage){ .first_layer = s, .layers = 1, .embedding = s == 0, .loss = s == 3 };
    plan->recompute = PP_RECOMPUTE_MICROBATCHES;
    pp_status status = pp_workload_fixed(4, 1, 8, &plan->workload, err);
    return status ? status : pp_recompute_table_new(1, 4, 4, &plan->recomputed, err);
}

/* framework: all but ideal share NICs. */
static pp_status new_study(const char *framework, pp_plan **plan_out, pp_err *err)
{
    static const pp_uniform_costs uniform = { 1000, 1000, 1000, -1, 10, 0 };
    const pp_schedule_params shape = { .ranks = 2, .chunks = 2, .microbatches = 4 };
    pp_plan *plan PP_CLEANUP(pp_plan_free) = NULL;
    pp_status status = pp_plan_new(&plan, err);
    if (status)
        return status;
    plan->parallel = (pp_parallel){ .pp = 2, .tp = 1, .cp = 1, .dp = 1, .ep = 1, .vpp = 2 };
    strcpy(plan->schedule, "interleaved");
    plan->framework = pp_framework_find(framework);
    if (strcmp(framework, "ideal") != 0) {
        plan->sharing = (pp_sharing){ 1, 1.5, 1.5, 1 };
        plan->p2p = PP_P2P_ALL_GATHER;
    }
    plan->order = pp_alloc_array(1, sizeof *plan->order);
    plan->costs = pp_alloc_array(1, sizeof *plan->costs);
    if (!plan->order || !plan->costs)
        return pp_err_nomem(err);
    if ((status = add_recomputation(plan, err)))
        return status;
    plan->order_count = 1;
    plan->costs_count = 1;
    plan->step_sync = false; /* the period as well */
    if ((status =
             pp_schedule_build(pp_schedule_find("interleaved"), &shape, &plan->order[0], err)) ||
        (status = pp_costs_uniform(&uniform, 2, 4, 4, &plan->costs[0], err)) ||
        (status = pp_notes_add(&plan->assumptions, err, "costs", "made up")) ||
        (status = pp_plan_simulate(plan, NULL, NULL, NULL, &plan->prediction, err)))
        return status;
    *plan_out = plan;
    plan = NULL; /* the caller's now */
    return PP_OK;
}

static int there_and_back(void *framework)
{
    pp_err err = { 0 };
    pp_json_build build = { 0 };
    pp_plan *plan PP_CLEANUP(pp_plan_free) = NULL;
    pp_plan *again PP_CLEANUP(pp_plan_free) = NULL;
    pp_json *read PP_CLEANUP(pp_json_free) = NULL;
    char *text PP_CLEANUP(pp_free_text) = NULL;
    size_t bytes = 0;
    pp_status status = new_study(framework, &plan, &err);
    if (status)
        return (int)status;
    pp_json *json PP_CLEANUP(pp_json_free) = pp_plan_write(plan, &build);
    if ((status = pp_json_print(&build, json, &text, &bytes, &err)) ||
        (status = pp_json_parse(text, bytes, "plan", &read, &err)))
        return (int)status;
    return (int)pp_plan_read(read, "plan", &again, &err);
}

/* Messages, syncs and reads added to a lowered program. */
static int lower_shapes(void *framework)
{
    const pp_framework *e = framework;
    const pp_schedule_params shape = { .ranks = 2, .chunks = 1, .microbatches = 3 };
    const pp_exchange_options exchange = { .shapes = { .kind = PP_SIZES_MESSAGE }, .tensors = 2 };
    pp_order *order PP_CLEANUP(pp_order_free) = NULL;
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    pp_err err = { 0 };
    pp_status status = pp_schedule_build(pp_schedule_find("1f1b"), &shape, &order, &err);
    if (status || (status = e->lower(order, &program, &err)))
        return (int)status;
    return (int)pp_exchange_lower(e, &exchange, NULL, program, &err);
}

START_TEST(a_shape_protocol_survives_any_failed_allocation)
{
    static const char *const frameworks[] = { "colossalai", "ppsim" };
    for (size_t i = 0; i < 2; i++) {
        const pp_framework *framework = NULL;
        pp_err err = { 0 };
        ck_assert_int_eq(pp_framework_get(frameworks[i], &framework, &err), PP_OK);
        pp_framework copy = *framework;
        long allocations = 0;
        int status = pp_torture_run(lower_shapes, &copy, PP_NOMEM, 1000, &allocations);
        ck_assert_msg(status == 0, "%s: status %d after allocation %ld failed", frameworks[i],
                      status, allocations);
        ck_assert_int_gt(allocations, 20);
    }
}
END_TEST

static int repeat_runs(void *framework)
{
    const pp_framework *e = framework;
    const pp_schedule_params shape = { .ranks = 2, .chunks = 1, .microbatches = 3 };
    pp_order *order PP_CLEANUP(pp_order_free) = NULL;
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    pp_err err = { 0 };
    pp_status status = pp_schedule_build(pp_schedule_find("1f1b"), &shape, &order, &err);
    if (status || (status = e->lower(order, &program, &err)))
        return (int)status;
    return (int)pp_framework_repeat(e, order, 3, &program, &err);
}

START_TEST(pipeline_runs_survive_any_failed_allocation)
{
    const pp_framework *framework = NULL;
    pp_err err = { 0 };
    ck_assert_int_eq(pp_framework_get("torch", &framework, &err), PP_OK);
    pp_framework copy = *framework;
    long allocations = 0;
    int status = pp_torture_run(repeat_runs, &copy, PP_NOMEM, 1000, &allocations);
    ck_assert_msg(status == 0, "status %d after allocation %ld failed", status, allocations);
    ck_assert_int_gt(allocations, 40);
}
END_TEST

static int build_order(void *schedule)
{
    const pp_schedule *s = schedule;
    const pp_schedule_params shape = { .ranks = 2,
                                       .chunks = s->chunks ? s->chunks : 2,
                                       .microbatches = 4 };
    pp_order *order PP_CLEANUP(pp_order_free) = NULL;
    pp_err err = { 0 };
    return (int)pp_schedule_build(s, &shape, &order, &err);
}

START_TEST(a_schedule_survives_any_failed_allocation)
{
    pp_schedule schedule = *pp_schedule_at((size_t)_i);
    long allocations = 0;
    int status = pp_torture_run(build_order, &schedule, PP_NOMEM, 1000, &allocations);
    ck_assert_msg(status == 0, "%s: status %d after allocation %ld failed", schedule.name, status,
                  allocations);
    ck_assert_int_gt(allocations, 3);
}
END_TEST

START_TEST(a_study_survives_any_failed_allocation)
{
    static char frameworks[2][16] = { "ideal", "torch" };
    long allocations = 0;
    int status = pp_torture_run(there_and_back, frameworks[_i], PP_NOMEM, 100000, &allocations);
    ck_assert_msg(status == 0, "status %d after allocation %ld failed", status, allocations);
    ck_assert_int_gt(allocations, 100);
}
END_TEST

/* Finds the cycle, then a repair. */
static int mend(void *unused)
{
    (void)unused;
    static const char rows[] = "0SEND_F1,0F2,2RECV_F0,2F0\n1SEND_F0,1F2,1RECV_F1,1F1\n";
    static const pp_uniform_costs uniform = { 1000, 1000, 1000, -1, 1000, 0 };
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    pp_costs *costs PP_CLEANUP(pp_costs_free) = NULL;
    pp_repair repair = { 0 };
    pp_err err = { 0 };
    pp_status status =
        pp_comm_rows_read(rows, strlen(rows), "rows", PP_ROWS_SINGLE, true, NULL, &program, &err);
    if (status ||
        (status = pp_costs_uniform(&uniform, program->ranks, program->stages, program->microbatches,
                                   &costs, &err)) ||
        (status = pp_repair_find(program, costs, true, &repair, &err)))
        return (int)status;
    return repair.kind == PP_REPAIR_GROUP ? 0 : -1;
}

START_TEST(a_repair_survives_any_failed_allocation)
{
    long allocations = 0;
    int status = pp_torture_run(mend, NULL, PP_NOMEM, 1000, &allocations);
    ck_assert_msg(status == 0, "status %d after allocation %ld failed", status, allocations);
    ck_assert_int_gt(allocations, 50);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("torture simulate");
    TCase *tc = tcase_create("allocations");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, a_shape_protocol_survives_any_failed_allocation);
    tcase_add_test(tc, pipeline_runs_survive_any_failed_allocation);
    tcase_add_loop_test(tc, a_study_survives_any_failed_allocation, 0, 2);
    tcase_add_test(tc, a_repair_survives_any_failed_allocation);
    tcase_add_loop_test(tc, a_schedule_survives_any_failed_allocation, 0, (int)pp_schedule_count());
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
