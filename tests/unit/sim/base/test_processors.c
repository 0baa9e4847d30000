/* The processors that may be used, not those that exist. */
#define _GNU_SOURCE /* sched_setaffinity */
#include "runtime/core/clock.h"
#include "sim/base/processors.h"
#include "tests/support/run.h"

#include <pthread.h>
#include <sched.h>

enum { MESSAGES = 101 };

/* Restricts the calling thread to one processor: the first of those it had. */
static void take_one(cpu_set_t *had)
{
    cpu_set_t one;
    size_t first = 0;
    ck_assert_int_eq(sched_getaffinity(0, sizeof *had, had), 0);
    while (!CPU_ISSET(first, had))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
}

static void give_back(const cpu_set_t *had)
{
    ck_assert_int_eq(sched_setaffinity(0, sizeof *had, had), 0);
}

START_TEST(the_affinity_mask_counts)
{
    cpu_set_t had;
    take_one(&had);
    ck_assert_uint_eq(pp_processors(), 1);
    give_back(&had);
    ck_assert_int_eq((int)pp_processors(), CPU_COUNT(&had));
}
END_TEST

/* Two pairs of ranks: one shares a processor, the other believes that it does not. */
enum { SHARE, SPARE, PAIRS };

typedef struct sending {
    running r[PAIRS];
    uint32_t send[MESSAGES];
} sending;

static pp_post post_of(uint32_t transfer)
{
    return (pp_post){ .transfer = transfer };
}

/* Rank 0 of both pairs sends one message after the other, each when rank 1 waits for it. */
static void *send_slowly(void *argument)
{
    sending *s = argument;
    pp_err err = { 0 };
    for (uint32_t k = 0; k < PAIRS * MESSAGES; k++) {
        const pp_run_job *job = &s->r[k % PAIRS].job;
        const pp_post post = post_of(s->send[k / PAIRS]);
        pp_ns done_ns;
        pp_clock_sleep_until(pp_clock_now_ns() + 300000);
        if (job->transport->post(job->world, 0, &post, &err) ||
            job->transport->wait(job->world, 0, post.transfer, &done_ns, &err))
            return s; /* a failure */
    }
    return NULL;
}

static void open_pair(running *r)
{
    pp_err err = { 0 };
    STEP_OK(r->job.transport->open(&r->world, &r->job.world, &err), err);
    STEP_OK(r->job.transport->load(r->job.world, r->program, NULL, &err), err);
    STEP_OK(r->job.transport->begin(r->job.world, 0, &err), err);
    STEP_OK(r->job.transport->begin(r->job.world, 1, &err), err);
}

static int compare_ns(const void *left, const void *right)
{
    const pp_ns *a = left;
    const pp_ns *b = right;
    return *a < *b ? -1 : *a > *b;
}

/* A rank that shares its processor must sleep at once: polling (for 30 us) would keep away the
 * thread that it waits for. Its processor time is compared with that of a rank that polls in
 * vain. */
START_TEST(ranks_that_share_a_processor_do_not_poll)
{
    cpu_set_t had;
    sending s = { 0 };
    pthread_t sender;
    void *failed = NULL;
    pp_err err = { 0 };
    pp_ns took_ns[PAIRS][MESSAGES] = { 0 };
    if (pp_processors() < PAIRS)
        return; /* all share */
    for (int i = 0; i < PAIRS; i++)
        running_new(&s.r[i], step_order("gpipe", 2, 1, MESSAGES, 0),
                    step_costs("F=1us,B=1us,comm=0", 2, 1, MESSAGES), "rendezvous");
    open_pair(&s.r[SPARE]);
    take_one(&had);
    open_pair(&s.r[SHARE]);
    const pp_comm *comm = s.r[SHARE].program->comm;
    for (uint32_t t = 0, k = 0; t < comm->transfer_count; t++) {
        if (comm->transfer[t].kind == PP_SEND_F)
            s.send[k++] = t;
    }
    ck_assert_int_eq(pthread_create(&sender, NULL, send_slowly, &s), 0);
    for (uint32_t k = 0; k < PAIRS * MESSAGES; k++) {
        const pp_run_job *job = &s.r[k % PAIRS].job;
        const pp_post post = post_of(comm->transfer[s.send[k / PAIRS]].match);
        pp_ns done_ns;
        STEP_OK(job->transport->post(job->world, 1, &post, &err), err);
        pp_ns before_ns = pp_clock_thread_ns();
        STEP_OK(job->transport->wait(job->world, 1, post.transfer, &done_ns, &err), err);
        took_ns[k % PAIRS][k / PAIRS] = pp_clock_thread_ns() - before_ns;
    }
    pthread_join(sender, &failed);
    ck_assert_ptr_null(failed);
    give_back(&had);
    for (int i = 0; i < PAIRS; i++) {
        running_free(&s.r[i]);
        qsort(took_ns[i], MESSAGES, sizeof took_ns[i][0], compare_ns);
    }
    ck_assert_msg(took_ns[SHARE][MESSAGES / 2] + 15000 < took_ns[SPARE][MESSAGES / 2],
                  "waiting took %lld ns of its processor, looking out %lld ns",
                  (long long)took_ns[SHARE][MESSAGES / 2], (long long)took_ns[SPARE][MESSAGES / 2]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("processors");
    TCase *tc = tcase_create("processors");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, the_affinity_mask_counts);
    tcase_add_test(tc, ranks_that_share_a_processor_do_not_poll);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
