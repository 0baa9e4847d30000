/* Whichever allocation fails while a request is made, run and read, the status reports it, the
 * result can be freed, and nothing leaks. */
#include "tests/torture/torture.h"
#include "tools/library/ppsim.h"

#include <check.h>
#include <stdlib.h>

static const char order[] = "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n";

static ppsim_status set_all(ppsim_request *request)
{
    static const char *const options[][2] = { { "costs", "F=1ms,B=2ms" },
                                              { "emit", "pytorch-csv=o.csv.gz" },
                                              { "trace", "text=-" },
                                              { "why", NULL } };
    ppsim_status status = ppsim_request_word(request, "order.csv", NULL);
    for (size_t i = 0; i < sizeof options / sizeof *options && !status; i++)
        status = ppsim_request_set(request, options[i][0], options[i][1], NULL);
    return status ? status
                  : ppsim_request_input(request, "order.csv", order, sizeof order - 1, NULL);
}

static int simulate(void *files)
{
    ppsim_request *request = NULL;
    ppsim_result *result = NULL;
    ppsim_status status = ppsim_request_new("simulate", &request, NULL);
    if (!status)
        status = set_all(request);
    if (!status) {
        ppsim_request_keep_files(request, 1);
        status = ppsim_run(request, &result, NULL);
    }
    *(int *)files = 0;
    while (!status && ppsim_result_file_name(result, (size_t) * (int *)files))
        ++*(int *)files;
    ppsim_result_free(result);
    ppsim_request_free(request);
    return (int)status;
}

START_TEST(no_allocation_is_taken_for_granted)
{
    int files = 0;
    long allocations = 0;
    const int status = pp_torture_run(simulate, &files, PPSIM_NOMEM, 100000, &allocations);
    ck_assert_msg(status == 0, "allocation %ld: status %d", allocations, status);
    ck_assert_int_gt(allocations, 50);
    ck_assert_int_eq(files, 3); /* the order, what to set for it, and the timeline */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("library torture");
    TCase *tc = tcase_create("requests");
    tcase_set_timeout(tc, 240);
    tcase_add_test(tc, no_allocation_is_taken_for_granted);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
