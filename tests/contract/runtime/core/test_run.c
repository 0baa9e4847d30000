/* Every schedule is executed as it was simulated. */
#include "runtime/core/clock.h"
#include "tests/support/run.h"

#include <stdatomic.h>

/* Bytes that differ by stage, so that a mix-up shows. */
static void give_bytes(pp_costs *costs)
{
    costs->has_memory = true;
    for (uint32_t s = 0; s < costs->stages; s++) {
        costs->message_bytes[s] = s + 1 < costs->stages ? 256 + 64 * s : 0;
        costs->stash_bytes[s] = 512 + s;
        costs->activation_bytes[s] = 4096 + 16 * s;
        costs->temporary_bytes[s] = 128 + s;
        costs->recompute_bytes[s] = 300 + s;
        costs->logits_bytes[s] = s + 1 == costs->stages ? 777 : 0;
    }
    for (uint32_t r = 0; r < costs->ranks; r++)
        costs->parameter_bytes[r] = 100000 + r;
}

static uint32_t chunks_of(const pp_schedule *schedule)
{
    return schedule->chunks ? schedule->chunks : 2;
}

/* Runs it, and compares every byte at every op with the simulator's memory replay. */
static void runs(const pp_schedule *schedule, uint32_t p, uint32_t m, const char *comm)
{
    uint32_t v = chunks_of(schedule);
    const pp_schedule_params shape = { .ranks = p, .chunks = v, .microbatches = m };
    pp_err err = { 0 };
    pp_order *order = NULL;
    running r PP_CLEANUP(running_free) = { 0 };
    if (schedule->simulate_only || pp_schedule_build(schedule, &shape, &order, &err))
        return;
    pp_costs *costs = step_costs("F=20us,I=20us,W=10us,comm=5us", p, v, m);
    give_bytes(costs);
    running_new(&r, order, costs, comm);
    r.options.iterations = 2;
    pp_status status = running_go(&r);
    ck_assert_msg(status == PP_OK, "%s p=%u m=%u %s: %s", schedule->name, p, m, comm, r.err.text);
    ck_assert_uint_eq(r.result.count, 2);
    ck_assert_uint_eq(r.result.memory_checks, 2 * 2 * r.program->count);
}

START_TEST(every_schedule_runs_and_holds_what_was_predicted)
{
    const pp_schedule *schedule = pp_schedule_at((size_t)_i);
    runs(schedule, 2, 4, "rendezvous");
    runs(schedule, 4, 8, "rendezvous");
    runs(schedule, 4, 8, "eager:1GB");
    runs(schedule, 4, 12, "eager:300B"); /* some messages are eager, some are not */
}
END_TEST

/* Far more ranks than processors. */
START_TEST(many_ranks_on_few_processors)
{
    runs(pp_schedule_find("1f1b"), 64, 128, "rendezvous");
}
END_TEST

static const pp_transport *threads;
static const pp_compute *spin;
static atomic_uint begun; /* steps, as bits, of rank 0 */

static pp_status odd_clocks(pp_world *world, uint32_t rank, pp_ns *ahead_ns, pp_ns *error_ns,
                            pp_err *err)
{
    static const pp_ns errors_ns[] = { 5, 30, 20, 0 };
    pp_status status = threads->clock_ahead(world, rank, ahead_ns, error_ns, err);
    *error_ns = errors_ns[rank];
    return status;
}

static pp_status note_begin(void *worker, uint32_t number, pp_err *err)
{
    atomic_fetch_add(&begun, 1u << (4 * number));
    return spin->begin(worker, number, err);
}

/* Steps of the warm-up are executed but not reported; the worst clock error is reported. */
START_TEST(a_warm_up_is_run_and_left_out)
{
    running r PP_CLEANUP(running_free) = { 0 };
    pp_costs *costs = step_costs("F=20us,B=20us", 4, 1, 4);
    running_new(&r, step_order("1f1b", 4, 1, 4, 0), costs, "rendezvous");
    threads = r.job.transport;
    spin = r.job.compute;
    pp_transport transport = *threads;
    pp_compute compute = *spin;
    transport.clock_ahead = odd_clocks;
    compute.begin = note_begin;
    r.job.transport = &transport;
    r.job.compute = &compute;
    r.options.warmup = 2;
    r.options.iterations = 3;
    atomic_store(&begun, 0);
    STEP_OK(running_go(&r), r.err);
    ck_assert_uint_eq(r.result.count, 3);
    for (uint32_t k = 0; k < 3; k++)
        ck_assert_ptr_nonnull(r.result.iteration[k].timeline);
    ck_assert_uint_eq(atomic_load(&begun), 0x44444); /* 5 steps, each by 4 ranks */
    ck_assert_int_eq(r.result.clock_error_ns, 30);
    r.job.transport = threads;
    r.job.compute = spin;
}
END_TEST

/* One message from rank 0 to rank 1, and the state at either end. */
typedef struct message {
    running r;
    pp_post send, receive;
    char sent[8], came[8];
} message;

static void message_open(message *m)
{
    *m = (message){ 0 };
    running *r = &m->r;
    size_t bytes[64];
    for (size_t t = 0; t < 64; t++)
        bytes[t] = sizeof m->sent;
    running_new(r, step_order("gpipe", 2, 1, 1, 0), step_costs("F=20us,B=20us", 2, 1, 1),
                "eager:1GB");
    const pp_comm *comm = r->program->comm;
    ck_assert_uint_lt(comm->transfer_count, 64);
    STEP_OK(r->job.transport->open(&r->world, &r->job.world, &r->err), r->err);
    STEP_OK(r->job.transport->load(r->job.world, r->program, bytes, &r->err), r->err);
    for (uint32_t rank = 0; rank < 2; rank++)
        STEP_OK(r->job.transport->begin(r->job.world, rank, &r->err), r->err);
    for (uint32_t t = 0; t < comm->transfer_count; t++) {
        if (comm->transfer[t].kind != PP_SEND_F)
            continue;
        m->send =
            (pp_post){ .transfer = t, .buffered = true, .payload = m->sent, .payload_bytes = 8 };
        m->receive = (pp_post){ .transfer = comm->transfer[t].match,
                                .payload = m->came,
                                .payload_bytes = 8 };
    }
}

/* A buffered send ends before its receive is posted, and its memory is free. The receive ends no
 * sooner than it was posted, and no sooner than the link delivers the message. */
START_TEST(a_buffered_send_does_not_wait)
{
    message m;
    message_open(&m);
    running *r = &m.r;
    const pp_transport *t = r->job.transport;
    bool done = false;
    pp_ns sent_ns = 0;
    pp_ns came_ns = 0;
    memcpy(m.sent, "tensor", 7);
    m.send.takes_ns = 50000000;
    pp_ns before_ns = pp_clock_now_ns();
    STEP_OK(t->post(r->job.world, 0, &m.send, &r->err), r->err);
    pp_ns posted_ns = pp_clock_now_ns();
    STEP_OK(t->poll(r->job.world, 0, m.send.transfer, posted_ns, &done, &sent_ns, &r->err), r->err);
    ck_assert(done);
    ck_assert(before_ns <= sent_ns && sent_ns <= posted_ns);
    memset(m.sent, 0, sizeof m.sent);
    STEP_OK(t->poll(r->job.world, 1, m.receive.transfer, posted_ns, &done, &came_ns, &r->err),
            r->err);
    ck_assert(!done); /* no receive was posted */
    pp_clock_sleep_until(posted_ns + 2000000);
    STEP_OK(t->post(r->job.world, 1, &m.receive, &r->err), r->err);
    STEP_OK(t->wait(r->job.world, 1, m.receive.transfer, &came_ns, &r->err), r->err);
    ck_assert_int_ge(came_ns, posted_ns + 2000000);
    ck_assert_int_ge(came_ns, sent_ns + m.send.takes_ns);
    ck_assert_str_eq(m.came, "tensor");
    STEP_OK(t->wait(r->job.world, 0, m.send.transfer, &came_ns, &r->err), r->err);
    ck_assert_int_eq(came_ns, sent_ns); /* its end stays the same */
    running_free(r);
}
END_TEST

/* A send that is not buffered ends with its receive. */
START_TEST(a_rendezvous_ends_at_both_ends)
{
    message m;
    message_open(&m);
    running *r = &m.r;
    const pp_transport *t = r->job.transport;
    bool done = true;
    pp_ns sent_ns = 0;
    pp_ns came_ns = 0;
    m.send.buffered = false;
    m.send.takes_ns = 1000000;
    STEP_OK(t->post(r->job.world, 0, &m.send, &r->err), r->err);
    pp_ns now_ns = pp_clock_now_ns();
    STEP_OK(t->poll(r->job.world, 0, m.send.transfer, now_ns, &done, &sent_ns, &r->err), r->err);
    ck_assert(!done);
    pp_clock_sleep_until(now_ns + 2000000);
    STEP_OK(t->post(r->job.world, 1, &m.receive, &r->err), r->err);
    STEP_OK(t->wait(r->job.world, 0, m.send.transfer, &sent_ns, &r->err), r->err);
    STEP_OK(t->wait(r->job.world, 1, m.receive.transfer, &came_ns, &r->err), r->err);
    ck_assert_int_ge(sent_ns, now_ns + 3000000);
    ck_assert_int_eq(came_ns, sent_ns);
    running_free(r);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("run");
    TCase *tc = tcase_create("schedules");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, every_schedule_runs_and_holds_what_was_predicted, 0,
                        (int)pp_schedule_count());
    tcase_add_test(tc, many_ranks_on_few_processors);
    tcase_add_test(tc, a_warm_up_is_run_and_left_out);
    tcase_add_test(tc, a_buffered_send_does_not_wait);
    tcase_add_test(tc, a_rendezvous_ends_at_both_ends);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
