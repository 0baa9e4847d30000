/* The message of a run that failed, from the states in which its ranks ended. */
#include "runtime/core/clock.h"
#include "runtime/core/watchdog.h"
#include "sim/base/alloc.h"
#include "tests/support/step.h"

enum { RANKS = 3 };

static void abort_nothing(pp_world *world)
{
    (void)world;
}

static void fails(pp_worker *worker, pp_worker_group *group, const char *text, pp_ns failed_ns)
{
    worker->group = group;
    worker->status = PP_INPUT;
    worker->failed_ns = failed_ns;
    snprintf(worker->err.text, sizeof worker->err.text, "%s", text);
    pp_progress_init(&worker->progress);
    pp_progress_set(&worker->progress, PP_DOING_FAILED, 0, failed_ns);
}

/* The earliest failure with a message of its own is reported: later ones, and ranks that were
 * stopped, follow from it. */
START_TEST(the_first_failure_with_words_is_reported)
{
    const pp_transport transport = { .abort = abort_nothing };
    const pp_run_job job = { .transport = &transport };
    const pp_run_options options = { .deadline_ns = 1000000000 };
    pp_ns begin_ns[RANKS] = { 0 };
    pp_worker worker[RANKS] = { 0 };
    pp_run_result result = { 0 };
    bool given_up = true;
    pp_err err = { 0 };
    pp_worker_group group = { .job = &job,
                              .options = &options,
                              .worker = worker,
                              .count = RANKS,
                              .running = RANKS,
                              .finished = RANKS,
                              .record = { .begin_ns = begin_ns },
                              .result = &result };
    pthread_mutex_init(&group.lock, NULL);
    pthread_cond_init(&group.changed, NULL);
    fails(&worker[0], &group, "stopped", 1000);
    fails(&worker[1], &group, "a consequence", 3000);
    fails(&worker[2], &group, "the cause", 2000);
    ck_assert_int_eq(pp_worker_group_watch(&group, &given_up, &err), PP_INPUT);
    ck_assert_str_eq(err.text, "the cause");
    ck_assert(!given_up);
    ck_assert_ptr_nonnull(result.flight);
    free(result.flight);
    pthread_cond_destroy(&group.changed);
    pthread_mutex_destroy(&group.lock);
    for (int r = 0; r < RANKS; r++)
        pp_progress_destroy(&worker[r].progress);
}
END_TEST

static bool aborted;

static void note_abort(pp_world *world)
{
    (void)world;
    aborted = true;
}

/* A limit far above any delay of this machine. */
#define LIMIT_NS ((pp_ns)1000 * 1000000000)

/* Whether a rank that has been `doing` this for so many tenths of the limit ends the run. */
static const struct {
    pp_doing doing;
    int tenths;
    bool ends;
} moments[] = {
    { PP_DOING_COMPUTING, 9, false },
    { PP_DOING_COMPUTING, 11, true },
    { PP_DOING_WAITING, 9, false },
    { PP_DOING_WAITING, 11, true },
    { PP_DOING_POSTING, 11, true },
    { PP_DOING_MEETING, 19, false }, /* other ranks may wait until
                                        the time limit */
    { PP_DOING_MEETING, 21, true },
    { PP_DOING_STARTING, 50, false },
    { PP_DOING_FINISHED, 50, false },
    { PP_DOING_DEAD, 0, true },
};

START_TEST(ranks_at_one_thing_for_too_long_end_the_run)
{
    pp_transport transport = { .abort = note_abort };
    pp_run_options options = { .deadline_ns = LIMIT_NS };
    pp_ns begin_ns[2] = { 0 };
    pp_ns ahead_ns[2] = { 0 };
    pp_worker worker[2] = { 0 };
    pp_run_result result = { 0 };
    bool given_up = true;
    pp_err err = { 0 };
    step s PP_CLEANUP(step_free) = { .order = step_order("1f1b", 2, 1, 2, 0),
                                     .costs = step_costs("F=1us,B=1us", 2, 1, 2) };
    const pp_framework *framework;
    STEP_OK(pp_framework_get("ppsim", &framework, &err), err);
    STEP_OK(pp_framework_lower(framework, s.order, s.costs, NULL, &s.program, &err), err);
    const pp_run_job job = { .transport = &transport, .program = s.program };
    pp_worker_group group = { .job = &job,
                              .options = &options,
                              .worker = worker,
                              .count = 2,
                              .running = 2,
                              .finished = 2, /* it looks once, and all threads have ended */
                              .record = { .begin_ns = begin_ns },
                              .result = &result };
    pthread_mutex_init(&group.lock, NULL);
    pthread_cond_init(&group.changed, NULL);
    for (uint32_t r = 0; r < 2; r++) {
        worker[r] = (pp_worker){ .group = &group, .rank = r, .ahead_ns = ahead_ns };
        pp_progress_init(&worker[r].progress);
        pp_progress_set(&worker[r].progress, PP_DOING_FINISHED, 0, pp_clock_now_ns());
    }
    pp_progress_set(&worker[1].progress, moments[_i].doing, 0,
                    pp_clock_now_ns() - moments[_i].tenths * (LIMIT_NS / 10));
    aborted = false;
    pp_status status = pp_worker_group_watch(&group, &given_up, &err);
    ck_assert_msg(status == (moments[_i].ends ? PP_INFEASIBLE : PP_OK), "%s", err.text);
    ck_assert_int_eq(aborted, moments[_i].ends);
    ck_assert(!given_up);
    ck_assert_int_eq(result.flight != NULL, moments[_i].ends);
    free(result.flight);
    pthread_cond_destroy(&group.changed);
    pthread_mutex_destroy(&group.lock);
    for (int r = 0; r < 2; r++)
        pp_progress_destroy(&worker[r].progress);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("watch");
    TCase *tc = tcase_create("watch");
    tcase_add_test(tc, the_first_failure_with_words_is_reported);
    tcase_add_loop_test(tc, ranks_at_one_thing_for_too_long_end_the_run, 0,
                        sizeof moments / sizeof moments[0]);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
