/* Whatever goes wrong ends the run soon, with a message of its own, and leaves no thread behind. */
#include "runtime/core/clock.h"
#include "sim/base/random.h"
#include "sim/program/program_new.h"
#include "tests/support/run.h"
#include "tests/support/semantics.h"
#include "traces/read/comm_rows.h"

#include <dirent.h>

#define SECOND_NS ((pp_ns)1000 * 1000 * 1000)
#define DEADLINE_NS (10 * SECOND_NS * step_patience())
#define SOON_NS (2 * SECOND_NS) /* with transports that are waited for */

/* A joined thread disappears from the list of its process only a moment later. */
static unsigned threads_of_this_process(void)
{
    DIR *tasks = opendir("/proc/self/task");
    unsigned count = 0;
    if (!tasks)
        return 0;
    for (const struct dirent *entry; (entry = readdir(tasks));)
        count += entry->d_name[0] != '.';
    closedir(tasks);
    return count;
}

/* 1F1B with tensors of 64 B, which are transferred in full. */
static void prepare(running *r, const char *schedule, uint32_t p, uint32_t v, uint32_t m)
{
    pp_costs *costs = step_costs("F=50us,I=50us,W=50us", p, v, m);
    costs->has_memory = true;
    for (uint32_t s = 0; s + 1 < costs->stages; s++)
        costs->message_bytes[s] = 64;
    for (uint32_t s = 0; s < costs->stages; s++)
        costs->activation_bytes[s] = 128;
    running_new(r, step_order(schedule, p, v, m, 0), costs, "rendezvous");
    r->options.deadline_ns = DEADLINE_NS;
    r->options.check_memory = false;
    r->options.iterations = 3;
}

static unsigned alone = 1; /* threads before any run */

static void *do_nothing(void *argument)
{
    return argument;
}

/* A sanitizer starts a thread of its own when the first of ours starts. */
static void count_alone(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, do_nothing, NULL) == 0)
        pthread_join(thread, NULL);
    pp_clock_sleep_until(pp_clock_now_ns() + 100000000);
    alone = threads_of_this_process();
}

static void wait_until_alone(void)
{
    pp_ns until_ns = pp_clock_now_ns() + 60 * SECOND_NS * step_patience();
    while (threads_of_this_process() > alone && pp_clock_now_ns() < until_ns)
        pp_clock_sleep_until(pp_clock_now_ns() + 1000000);
    ck_assert_uint_eq(threads_of_this_process(), alone);
}

static pp_status suffer(running *r, pp_faults *faults)
{
    r->world.faults = faults;
    r->options.faults = faults;
    pp_ns begin_ns = pp_clock_now_ns();
    pp_status status = running_go(r);
    pp_ns took_ns = pp_clock_now_ns() - begin_ns;
    running_close(r);
    ck_assert_msg(took_ns < 60 * SECOND_NS * step_patience(), "took %lld ns", (long long)took_ns);
    wait_until_alone();
    return status;
}

typedef struct expectation {
    const char *fault;
    pp_status status;
    const char *words; /* NULL: the run succeeds */
} expectation;

static const expectation expectations[] = {
    { "drop,rank=1,at=3,step=1", PP_INPUT, "a message was lost or overtaken" },
    { "drop,rank=0,at=7", PP_INFEASIBLE, "was sent and did not arrive: it is lost" },
    { "delay,rank=1,at=3,time=20ms", PP_OK, NULL },
    { "delay,rank=1,at=3,time=100s", PP_INFEASIBLE, "the message is in transit" },
    { "duplicate,rank=1,at=3", PP_INPUT, "a message arrived twice or late" },
    { "duplicate,rank=0,at=7", PP_INPUT, "a message was left over" },
    { "truncate,rank=2,at=3", PP_INPUT, "it is incomplete" },
    { "reorder,rank=1,at=2", PP_INPUT, "a message was lost or overtaken" },
    { "tag,rank=2,at=2", PP_INPUT, "it has the tag of another tensor" },
    { "death,rank=2,at=4,step=2", PP_INFEASIBLE, "rank 2 died before" },
    { "stall,rank=2,at=4,time=20ms", PP_OK, NULL },
    { "stall,rank=2,at=4,time=100s", PP_INFEASIBLE, "it is slow, or its op does not end" },
    { "plan,rank=3", PP_INPUT, "rank 3 has another order of ops or messages" },
};

START_TEST(each_fault_has_its_own_message)
{
    const expectation *e = &expectations[_i];
    running r PP_CLEANUP(running_free) = { 0 };
    pp_faults faults = { 0 };
    pp_err err = { 0 };
    prepare(&r, "1f1b", 4, 1, 8);
    r.options.deadline_ns = e->status == PP_INFEASIBLE ? SOON_NS : DEADLINE_NS;
    STEP_OK(pp_faults_add(e->fault, &faults, &err), err);
    pp_status status = suffer(&r, &faults);
    ck_assert_msg(status == e->status, "%s: %s", e->fault, r.err.text);
    if (!e->words)
        return;
    ck_assert_msg(strstr(r.err.text, e->words), "%s: %s", e->fault, r.err.text);
    ck_assert_ptr_nonnull(r.result.flight); /* the last actions of the ranks are recorded */
    ck_assert_ptr_nonnull(strstr(r.result.flight, "ppsim.flight"));
}
END_TEST

/* The failed rank reports itself, since there is no other rank. */
START_TEST(a_rank_that_is_alone_dies_with_words)
{
    running r PP_CLEANUP(running_free) = { 0 };
    pp_faults faults = { 0 };
    pp_err err = { 0 };
    prepare(&r, "1f1b", 1, 1, 8);
    STEP_OK(pp_faults_add("death,rank=0,at=4", &faults, &err), err);
    ck_assert_int_eq(suffer(&r, &faults), PP_INFEASIBLE);
    ck_assert_msg(strstr(r.err.text, "rank 0 died before"), "%s", r.err.text);
}
END_TEST

/* Wherever a fault hits, the run ends well or with a message. */
START_TEST(random_faults_never_hang)
{
    static const char *const schedules[] = { "1f1b", "zbv", "interleaved", "gpipe", "dualpipev" };
    uint64_t state = (uint64_t)_i + 1;
    running r PP_CLEANUP(running_free) = { 0 };
    const char *name = schedules[pp_random_next(&state) % 5];
    uint32_t v = pp_schedule_find(name)->chunks;
    prepare(&r, name, 4, v ? v : 2, 8);
    r.options.deadline_ns = (pp_ns)40 * 1000 * 1000;
    pp_faults faults = { .count = 1 + pp_random_next(&state) % 2 };
    for (size_t k = 0; k < faults.count; k++) {
        faults.fault[k] =
            (pp_fault){ .kind = (pp_fault_kind)(pp_random_next(&state) % PP_FAULT_KIND_COUNT),
                        .rank = (uint32_t)(pp_random_next(&state) % 4),
                        .at = (uint32_t)(pp_random_next(&state) % 24),
                        .step = (uint32_t)(pp_random_next(&state) % 3),
                        .time_ns = (pp_ns)(pp_random_next(&state) % 80000000) };
    }
    pp_status status = suffer(&r, &faults);
    ck_assert_msg(!status || r.err.text[0], "no words");
    ck_assert_msg(strcmp(r.err.text, "stopped") != 0, "not the cause");
}
END_TEST

/* Both ranks send before they receive (hang A of the checker's tests). */
static const char hanging[] = "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
                              "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n";

static void prepare_written(running *r, const char *comm)
{
    pp_err err = { 0 };
    pp_order *order = NULL;
    pp_program *program = NULL;
    STEP_OK(pp_comm_rows_read(hanging, sizeof hanging - 1, "hang", PP_ROWS_SINGLE, false, &order,
                              &program, &err),
            err);
    running_new(r, order, step_costs("F=50us,B=50us", 2, 1, 2), comm);
    pp_program_free(&r->program);
    r->program = program;
    r->job.program = program;
    STEP_OK(parse_semantics(comm, "single", &program->comm->semantics, &err), err);
    r->options.deadline_ns = DEADLINE_NS;
}

START_TEST(a_hang_is_reported_with_its_cycle)
{
    running r PP_CLEANUP(running_free) = { 0 };
    prepare_written(&r, "rendezvous");
    r.options.deadline_ns = SOON_NS;
    ck_assert_int_eq(suffer(&r, NULL), PP_INFEASIBLE);
    ck_assert_msg(strstr(r.err.text, "wait for each other in a cycle") &&
                      strstr(r.err.text, "rank 0 has been waiting for 0SEND_F1 to rank 1") &&
                      strstr(r.err.text, "rank 1 has been waiting for 1SEND_B0 to rank 0"),
                  "%s", r.err.text);
}
END_TEST

START_TEST(the_same_with_buffers_runs)
{
    running r PP_CLEANUP(running_free) = { 0 };
    prepare_written(&r, "eager:1MB");
    ck_assert_msg(suffer(&r, NULL) == PP_OK, "%s", r.err.text);
}
END_TEST

/* A flag that another thread raises. */
static volatile sig_atomic_t raised = 1;

START_TEST(a_stop_flag_ends_the_run)
{
    running r PP_CLEANUP(running_free) = { 0 };
    prepare(&r, "1f1b", 4, 1, 8);
    r.options.stop = &raised;
    r.options.iterations = 1000;
    ck_assert_int_eq(suffer(&r, NULL), PP_INFEASIBLE);
    ck_assert_ptr_nonnull(strstr(r.err.text, "interrupted"));
}
END_TEST

START_TEST(faults_are_read_strictly)
{
    static const char *const wrong[] = { "",
                                         "dorp",
                                         "drop,rank",
                                         "drop,rank=x",
                                         "drop,rank=-1",
                                         "drop,when=3",
                                         "drop,time=3s",
                                         "stall,rank=1",
                                         "delay,time=3" };
    for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++) {
        pp_faults faults = { 0 };
        pp_err err = { 0 };
        ck_assert_msg(pp_faults_add(wrong[k], &faults, &err) == PP_USAGE, "%s", wrong[k]);
        ck_assert_uint_eq(faults.count, 0);
        ck_assert(err.text[0]);
    }
}
END_TEST

START_TEST(a_message_of_garbage_is_reported)
{
    const pp_message expected = { .kind = PP_SEND_F };
    pp_message came;
    pp_err err = { 0 };
    memset(&came, 0xA5, sizeof came); /* kind: no entry of the table */
    ck_assert_int_eq(pp_message_check(&expected, &came, &err), PP_INPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "received something that is not a message of ppsim"));
}
END_TEST

/* A thousand faults take half a minute, and longer on a busy machine: PPSIM_RANDOM_FAULTS=1000. */
static int random_faults(void)
{
    const char *text = getenv("PPSIM_RANDOM_FAULTS");
    return text ? (int)strtol(text, NULL, 10) : 250;
}

int main(void)
{
    count_alone();
    Suite *suite = suite_create("run faults");
    TCase *tc = tcase_create("faults");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, each_fault_has_its_own_message, 0,
                        sizeof expectations / sizeof expectations[0]);
    tcase_add_loop_test(tc, random_faults_never_hang, 0, random_faults());
    tcase_add_test(tc, a_rank_that_is_alone_dies_with_words);
    tcase_add_test(tc, a_hang_is_reported_with_its_cycle);
    tcase_add_test(tc, the_same_with_buffers_runs);
    tcase_add_test(tc, a_stop_flag_ends_the_run);
    tcase_add_test(tc, faults_are_read_strictly);
    tcase_add_test(tc, a_message_of_garbage_is_reported);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
