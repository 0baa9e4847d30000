/* The processors that may be used, not those that there are. */
#define _GNU_SOURCE /* sched_setaffinity */
#include "runtime/clock.h"
#include "sim/processors.h"
#include "tests/contract/run.h"

#include <pthread.h>
#include <sched.h>

enum { MESSAGES = 101 };

/* From here on the calling thread has one processor: the first of those it had. */
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

/* Rank 0 of a pair: posts one message after the other, each when rank 1 waits for it. */
typedef struct sending {
    running *r;
    uint32_t send[MESSAGES];
} sending;

static pp_post post_of(uint32_t transfer)
{
    return (pp_post){ .transfer = transfer };
}

static void *send_slowly(void *argument)
{
    sending *s = argument;
    pp_err err = { 0 };
    for (uint32_t k = 0; k < MESSAGES; k++) {
        pp_ns done_ns;
        const pp_post post = post_of(s->send[k]);
        pp_clock_sleep_until(pp_clock_now_ns() + 300000);
        if (s->r->job.transport->post(s->r->job.world, 0, &post, &err) ||
            s->r->job.transport->wait(s->r->job.world, 0, s->send[k], &done_ns, &err))
            return s; /* a failure */
    }
    return NULL;
}

static int compare_ns(const void *left, const void *right)
{
    const pp_ns *a = left;
    const pp_ns *b = right;
    return *a < *b ? -1 : *a > *b;
}

/* A rank that has to share its processor sleeps at once: looking out (30 us) would keep those away
 * that it waits for. Processor time tells. */
START_TEST(who_shares_a_processor_does_not_look_out)
{
    cpu_set_t had;
    running r PP_CLEANUP(running_free) = { 0 };
    sending s = { .r = &r };
    pthread_t sender;
    void *failed = NULL;
    pp_err err = { 0 };
    pp_ns took_ns[MESSAGES] = { 0 };
    running_new(&r, step_order("gpipe", 2, 1, MESSAGES, 0),
                step_costs("F=1us,B=1us,comm=0", 2, 1, MESSAGES), "rendezvous");
    take_one(&had);
    STEP_OK(r.job.transport->open(&r.world, &r.job.world, &err), err);
    STEP_OK(r.job.transport->load(r.job.world, r.program, NULL, &err), err);
    STEP_OK(r.job.transport->begin(r.job.world, 0, &err), err);
    STEP_OK(r.job.transport->begin(r.job.world, 1, &err), err);
    const pp_comm *comm = r.program->comm;
    for (uint32_t t = 0, k = 0; t < comm->transfer_count; t++) {
        if (comm->transfer[t].kind == PP_SEND_F)
            s.send[k++] = t;
    }
    ck_assert_int_eq(pthread_create(&sender, NULL, send_slowly, &s), 0);
    for (uint32_t k = 0; k < MESSAGES; k++) {
        pp_ns done_ns;
        const pp_post post = post_of(comm->transfer[s.send[k]].match);
        STEP_OK(r.job.transport->post(r.job.world, 1, &post, &err), err);
        pp_ns before_ns = pp_clock_thread_ns();
        STEP_OK(r.job.transport->wait(r.job.world, 1, post.transfer, &done_ns, &err), err);
        took_ns[k] = pp_clock_thread_ns() - before_ns;
    }
    pthread_join(sender, &failed);
    ck_assert_ptr_null(failed);
    give_back(&had);
    qsort(took_ns, MESSAGES, sizeof took_ns[0], compare_ns);
    ck_assert_msg(took_ns[MESSAGES / 2] < 25000, "waiting took %lld ns of its processor",
                  (long long)took_ns[MESSAGES / 2]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("processors");
    TCase *tc = tcase_create("processors");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, the_affinity_mask_counts);
    tcase_add_test(tc, who_shares_a_processor_does_not_look_out);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
