/* What a run that failed says, from what its ranks ended with. */
#include "runtime/run_int.h"
#include "tests/contract/step.h"

enum { RANKS = 3 };

static void abort_nothing(pp_world *world)
{
    (void)world;
}

static void fails(pp_hand *hand, pp_crew *crew, const char *text, pp_ns failed_ns)
{
    hand->crew = crew;
    hand->status = PP_INPUT;
    hand->failed_ns = failed_ns;
    snprintf(hand->err.text, sizeof hand->err.text, "%s", text);
    pp_progress_init(&hand->progress);
    pp_progress_set(&hand->progress, PP_DOING_FAILED, 0, failed_ns);
}

/* The earliest that has words of its own: later ones, and those that were stopped, follow from it.
 */
START_TEST(the_first_failure_with_words_is_told)
{
    const pp_transport transport = { .abort = abort_nothing };
    const pp_run_job job = { .transport = &transport };
    const pp_run_options options = { .deadline_ns = 1000000000 };
    pp_ns begin_ns[RANKS] = { 0 };
    pp_hand hand[RANKS] = { 0 };
    pp_run_result result = { 0 };
    bool given_up = true;
    pp_err err = { 0 };
    pp_crew crew = { .job = &job,
                     .options = &options,
                     .hand = hand,
                     .count = RANKS,
                     .running = RANKS,
                     .finished = RANKS,
                     .record = { .begin_ns = begin_ns },
                     .result = &result };
    pthread_mutex_init(&crew.lock, NULL);
    pthread_cond_init(&crew.changed, NULL);
    fails(&hand[0], &crew, "stopped", 1000);
    fails(&hand[1], &crew, "a consequence", 3000);
    fails(&hand[2], &crew, "the cause", 2000);
    ck_assert_int_eq(pp_crew_watch(&crew, &given_up, &err), PP_INPUT);
    ck_assert_str_eq(err.text, "the cause");
    ck_assert(!given_up);
    ck_assert_ptr_nonnull(result.flight);
    free(result.flight);
    pthread_cond_destroy(&crew.changed);
    pthread_mutex_destroy(&crew.lock);
    for (int r = 0; r < RANKS; r++)
        pp_progress_destroy(&hand[r].progress);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("watch");
    TCase *tc = tcase_create("watch");
    tcase_add_test(tc, the_first_failure_with_words_is_told);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
