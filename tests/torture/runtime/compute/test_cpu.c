/* Whichever allocation fails, the cpu backend reports it and leaks nothing. */
#include "runtime/core/compute.h"
#include "runtime/cpu/matmul.h"
#include "tests/torture/torture.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

extern const pp_compute pp_compute_cpu;

static int open_one(void *unused)
{
    static const uint32_t ranks[2] = { 0, 1 };
    static const bool holds[2] = { true, true };
    (void)unused;
    pp_err err = { 0 };
    void *worker = NULL;
    pp_costs *costs PP_CLEANUP(pp_costs_free) = NULL;
    const pp_compute_work work = { .ranks = 2,
                                   .stages = 2,
                                   .microbatches = 3,
                                   .stage_rank = ranks,
                                   .settings = "hidden=8,heads=2,mlp=8,vocab=5" };
    pp_status status = pp_costs_new(2, 2, 3, 1, &costs, &err);
    if (!status)
        status = pp_compute_cpu.describe(&work, costs, &err);
    if (!status)
        status = pp_compute_cpu.open(&work, holds, &worker, &err);
    if (!status)
        pp_compute_cpu.close(worker);
    return (int)status;
}

START_TEST(no_allocation_is_taken_for_granted)
{
    long allocations = 0;
    int status = pp_torture_run(open_one, NULL, PP_NOMEM, 1000, &allocations);
    ck_assert_msg(status == PP_OK, "allocation %ld: status %d", allocations, status);
    ck_assert_int_gt(allocations, 10);
}
END_TEST

int main(void)
{
    pp_err err = { 0 };
    pp_cpu_blas blas;
    if (pp_cpu_blas_open(&blas, &err)) {
        puts("skipped: built without OpenBLAS");
        return 77;
    }
    Suite *suite = suite_create("cpu torture");
    TCase *tc = tcase_create("cpu");
    tcase_add_test(tc, no_allocation_is_taken_for_granted);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
