/* Threads that run requests at the same time do not meet: each gets what one alone gets. */
#include "tests/support/step.h"
#include "tools/library/ppsim.h"

#include <check.h>
#include <pthread.h>
#include <string.h>

static void *run(void *out)
{
    static const char *const options[][2] = { { "model", "gpt1.7b" },
                                              { "pp", "4" },
                                              { "global-batch-size", "16" },
                                              { "budget", "20it" },
                                              { "seq-length", "4096" } };
    ppsim_request *request = NULL;
    ppsim_error error;
    ppsim_status status = ppsim_request_new("plan", &request, &error);
    for (size_t i = 0; i < sizeof options / sizeof *options && !status; i++)
        status = ppsim_request_set(request, options[i][0], options[i][1], &error);
    if (!status)
        status = ppsim_run(request, out, &error);
    ck_assert_msg(status == PPSIM_OK, "%s: %s", error.field, error.reason);
    ppsim_request_free(request);
    return NULL;
}

START_TEST(threads_do_not_meet)
{
    enum { THREADS = 4 };
    pthread_t thread[THREADS];
    ppsim_result *result[THREADS];
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&thread[i], NULL, run, &result[i]), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    ck_assert_ptr_nonnull(
        strstr(ppsim_result_remarks(result[0], NULL), "--seq-length 4096 exceeds"));
    for (int i = 0; i < THREADS; i++) {
        ck_assert_str_eq(ppsim_result_json(result[i], NULL), ppsim_result_json(result[0], NULL));
        ck_assert_str_eq(ppsim_result_text(result[i], NULL), ppsim_result_text(result[0], NULL));
        ck_assert_str_eq(ppsim_result_remarks(result[i], NULL),
                         ppsim_result_remarks(result[0], NULL));
    }
    for (int i = 0; i < THREADS; i++)
        ppsim_result_free(result[i]);
}
END_TEST

static void *run_shared(void *request)
{
    ppsim_result *result = NULL;
    ck_assert_int_eq(ppsim_run(request, &result, NULL), PPSIM_OK);
    return result;
}

/* Each thread has its own result of a request that all of them run, with a file in memory. */
START_TEST(threads_share_a_request)
{
    enum { THREADS = 4 };
    static const char order[] = "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n";
    ppsim_request *request = NULL;
    pthread_t thread[THREADS];
    void *result[THREADS];
    ck_assert_int_eq(ppsim_request_new("simulate", &request, NULL), PPSIM_OK);
    ck_assert_int_eq(ppsim_request_word(request, "order.csv", NULL), PPSIM_OK);
    ck_assert_int_eq(ppsim_request_set(request, "costs", "F=1ms,B=2ms", NULL), PPSIM_OK);
    ck_assert_int_eq(ppsim_request_input(request, "order.csv", order, sizeof order - 1, NULL),
                     PPSIM_OK);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&thread[i], NULL, run_shared, request), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], &result[i]);
    ppsim_request_free(request);
    ck_assert_ptr_nonnull(strstr(ppsim_result_text(result[0], NULL), "order.csv on 2 ranks"));
    for (int i = 0; i < THREADS; i++) {
        ck_assert_str_eq(ppsim_result_json(result[i], NULL), ppsim_result_json(result[0], NULL));
        ck_assert_str_eq(ppsim_result_text(result[i], NULL), ppsim_result_text(result[0], NULL));
    }
    for (int i = 0; i < THREADS; i++)
        ppsim_result_free(result[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("result threads");
    TCase *tc = tcase_create("threads");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, threads_do_not_meet);
    tcase_add_test(tc, threads_share_a_request);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
