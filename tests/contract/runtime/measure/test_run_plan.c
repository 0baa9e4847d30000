/* Executes a plan: what is measured, and how it is compared with the prediction. */
#include "runtime/compute/registry.h"
#include "runtime/core/clock.h"
#include "runtime/measure/compare.h"
#include "runtime/measure/replay.h"
#include "runtime/transport/registry.h"
#include "sim/base/alloc.h"
#include "sim/program/transfer_costs.h"
#include "tests/support/step.h"

#include <math.h>
#include <stdatomic.h>

#define MS ((pp_ns)1000000)

typedef struct executing {
    pp_plan *plan;
    pp_run_plan_options options;
    pp_execution x;
} executing;

static void executing_free(executing *e)
{
    pp_execution_free(&e->x);
    pp_plan_free(&e->plan);
}

/* Boundaries of 1000 B. */
static void prepare(executing *e, const char *schedule, uint32_t p, uint32_t m, const char *costs)
{
    pp_err err = { 0 };
    *e = (executing){ 0 };
    STEP_OK(pp_plan_new(&e->plan, &err), err);
    e->plan->order = pp_alloc_array(1, sizeof *e->plan->order);
    e->plan->costs = pp_alloc_array(1, sizeof *e->plan->costs);
    ck_assert(e->plan->order && e->plan->costs);
    e->plan->order[0] = step_order(schedule, p, 1, m, 0);
    e->plan->costs[0] = step_costs(costs, p, 1, m);
    e->plan->order_count = e->plan->costs_count = 1;
    e->plan->costs[0]->has_memory = true;
    for (uint32_t s = 0; s < p; s++) {
        e->plan->costs[0]->activation_bytes[s] = 4096;
        e->plan->costs[0]->message_bytes[s] = s + 1 < p ? 1000 : 0;
    }
    e->options = (pp_run_plan_options){ .settings = "",
                                        .payload_bytes = -1,
                                        .link = { .kind = PP_LINK_PLAN },
                                        .iterations = 1,
                                        .verify = true };
    STEP_OK(pp_transport_get("threads", &e->options.transport, &err), err);
    STEP_OK(pp_compute_get("spin", &e->options.compute, &err), err);
}

static void execute(executing *e)
{
    pp_err err = { 0 };
    STEP_OK(pp_run_plan(e->plan, NULL, &e->options, &e->x, &err), err);
}

static const pp_timeline *measured(const executing *e)
{
    return e->x.result.iteration[e->x.result.median].timeline;
}

/* Tensors of a boundary share one buffer, which is not free before the last of them has been sent.
 * Together they take the time of the boundary; none counts the time of those before it. The
 * quickest boundary counts, since a busy machine only makes them slower. */
static void send_in_parts(const char *comm, pp_link link, pp_ns least_ns)
{
    executing e PP_CLEANUP(executing_free);
    prepare(&e, "1f1b", 2, 8, "F=1ms,I=1ms,W=1ms,comm=40ms");
    e.plan->tensors = 4;
    e.plan->costs[0]->message_bytes[0] = 1001; /* 251, 250, 250, 250 */
    e.options.link = link;
    pp_err err = { 0 };
    STEP_OK(pp_comm_settings_parse(comm, NULL, &e.plan->comm, &err), err);
    execute(&e);
    const pp_comm *c = e.x.program->comm;
    const pp_comm_timeline *t = measured(&e)->comm;
    pp_ns quickest_ns = INT64_MAX;
    for (size_t k = 3; k < c->transfer_count; k++) {
        if (c->transfer[k].kind != PP_RECV_F || c->transfer[k].part != 3)
            continue;
        pp_ns took_ns = t->end_ns[k] - t->start_ns[k - 3];
        quickest_ns = took_ns < quickest_ns ? took_ns : quickest_ns;
    }
    ck_assert_int_ge(quickest_ns, least_ns);
    ck_assert_int_lt(quickest_ns, 2 * least_ns); /* if each counted all before it: 2.5 times */
    ck_assert_uint_gt(e.x.result.memory_checks, 0);
}

START_TEST(tensors_of_a_boundary_are_one)
{
    const pp_link slow = { .kind = PP_LINK_THROTTLE, .latency_ns = 10 * MS, .bytes_per_s = 5e4 };
    send_in_parts("rendezvous", (pp_link){ .kind = PP_LINK_PLAN }, 40 * MS);
    send_in_parts("eager:1MB", (pp_link){ .kind = PP_LINK_PLAN }, 40 * MS);
    send_in_parts("eager:250B", (pp_link){ .kind = PP_LINK_PLAN }, 40 * MS);
    send_in_parts("rendezvous", slow, 30 * MS);
}
END_TEST

/* Otherwise the wait for earlier transfers would count as its own time, and twice in the replay. */
START_TEST(a_transfer_begins_when_the_one_before_it_is_through)
{
    executing e PP_CLEANUP(executing_free);
    prepare(&e, "gpipe", 2, 6, "F=100us,B=100us,comm=3ms");
    execute(&e);
    const pp_comm *c = e.x.program->comm;
    const pp_comm_timeline *t = measured(&e)->comm;
    size_t seen = 0;
    pp_ns before_ns = 0;
    for (size_t k = 0; k < c->transfer_count; k++) {
        if (c->transfer[k].kind != PP_SEND_F)
            continue;
        ck_assert_int_ge(t->start_ns[k], before_ns);
        ck_assert_int_ge(t->end_ns[k], t->start_ns[k] + 3 * MS);
        ck_assert_int_eq(t->start_ns[c->transfer[k].match], t->start_ns[k]);
        before_ns = t->end_ns[k];
        seen++;
    }
    ck_assert_uint_eq(seen, 6);
}
END_TEST

/* 3 us + 1000 B at 1 MB/s forth and back; sizes differ by stage, so that a mix-up shows. */
START_TEST(a_throttled_link_is_predicted_from_sizes)
{
    executing e PP_CLEANUP(executing_free);
    prepare(&e, "gpipe", 3, 1, "F=1ms,B=1ms,comm=77ms");
    e.plan->costs[0]->message_bytes[1] = 3000;
    e.options.link = (pp_link){ .kind = PP_LINK_THROTTLE, .latency_ns = 3000, .bytes_per_s = 1e6 };
    execute(&e);
    ck_assert_int_eq(e.x.costs->send_f_ns[0], 1003000);
    ck_assert_int_eq(e.x.costs->send_f_ns[1], 3003000);
    ck_assert_int_eq(e.x.costs->send_b_ns[1], 1003000);
    ck_assert_int_eq(e.x.costs->send_b_ns[2], 3003000);
    ck_assert_int_eq(pp_timeline_makespan(e.x.predicted), 2 * (1003000 + 3003000) + 6 * MS);
    ck_assert_int_ge(pp_timeline_makespan(measured(&e)), pp_timeline_makespan(e.x.predicted));
    ck_assert_int_ge(e.x.report->step_ns, e.x.report->makespan_ns);
    ck_assert_int_eq(e.x.report->step_ns, e.x.result.iteration[0].step_ns);
}
END_TEST

START_TEST(a_link_too_slow_for_the_clock_is_refused)
{
    pp_err err = { 0 };
    executing e PP_CLEANUP(executing_free);
    prepare(&e, "gpipe", 2, 1, "F=1ms,B=1ms");
    e.plan->costs[0]->message_bytes[0] = PP_BYTES_MAX;
    e.plan->costs[0]->activation_bytes[0] = e.plan->costs[0]->activation_bytes[1] = PP_BYTES_MAX;
    e.options.link = (pp_link){ .kind = PP_LINK_THROTTLE, .bytes_per_s = 1e-3 };
    e.options.payload_bytes = 0;
    ck_assert_int_eq(pp_run_plan(e.plan, NULL, &e.options, &e.x, &err), PP_INPUT);
    ck_assert_str_eq(err.where, "link");
}
END_TEST

/* Too small to contain the name of their sender. */
START_TEST(tensors_of_a_few_bytes_are_carried)
{
    executing e PP_CLEANUP(executing_free);
    prepare(&e, "1f1b", 2, 4, "F=10us,B=10us");
    e.plan->costs[0]->message_bytes[0] = 3;
    execute(&e);
    ck_assert_uint_gt(e.x.result.memory_checks, 0);
}
END_TEST

static void last_for(pp_timeline *timeline, pp_ns ns)
{
    memset(timeline->start_ns, 0, timeline->count * sizeof(pp_ns));
    memset(timeline->end_ns, 0, timeline->count * sizeof(pp_ns));
    timeline->end_ns[0] = ns;
}

/* By hand: predicted 100, with measured durations 110, executed 132. */
START_TEST(errors_are_parts_of_what_was_predicted)
{
    pp_err err = { 0 };
    pp_comparison c;
    executing e PP_CLEANUP(executing_free);
    prepare(&e, "gpipe", 2, 3, "F=100ns,B=200ns");
    execute(&e);
    pp_timeline *executed = e.x.result.iteration[e.x.result.median].timeline;
    last_for(e.x.predicted, 100);
    last_for(e.x.replayed, 110);
    last_for(executed, 132);
    STEP_OK(pp_execution_compare(&e.x, &c, &err), err);
    ck_assert_double_eq_tol(c.step_error, 0.32, 1e-12);
    ck_assert_double_eq_tol(c.duration_error, 0.10, 1e-12);
    ck_assert_double_eq_tol(c.structure_error, 0.22, 1e-12);
    ck_assert_double_eq_tol(c.replay_error, 0.2, 1e-12);
    pp_ns took_ns = 100;
    for (size_t i = 0; i < e.x.program->count; i++) { /* 110, 120, ... 160 of 100 */
        executed->start_ns[i] = 0;
        executed->end_ns[i] = e.x.program->op[i].kind == PP_OP_F ? took_ns += 10 : 100;
    }
    executed->end_ns[0] = 115;
    STEP_OK(pp_execution_compare(&e.x, &c, &err), err);
    ck_assert_double_eq_tol(c.op_error[PP_OP_F], 0.4, 1e-12); /* the upper one of 115 to 160 */
    ck_assert_double_eq_tol(c.op_error[PP_OP_B], -0.5, 1e-12);
    ck_assert(isnan(c.op_error[PP_OP_W]));
}
END_TEST

/* F0 5, over 3, F1 7, B1 11, back 2, B0 13: one after the other. */
START_TEST(the_replay_puts_measured_durations_together)
{
    pp_err err = { 0 };
    pp_timeline *replayed PP_CLEANUP(pp_timeline_free) = NULL;
    executing e PP_CLEANUP(executing_free);
    prepare(&e, "gpipe", 2, 1, "F=100ns,B=100ns,comm=50ns");
    execute(&e);
    pp_timeline *t = e.x.result.iteration[0].timeline;
    const pp_comm *c = e.x.program->comm;
    static const pp_ns took_ns[2][2] = { { 5, 7 }, { 13, 11 } };
    for (size_t i = 0; i < e.x.program->count; i++) {
        pp_op op = e.x.program->op[i];
        t->start_ns[i] = 1000;
        t->end_ns[i] = 1000 + took_ns[op.kind == PP_OP_B][op.stage];
    }
    for (size_t k = 0; k < c->transfer_count; k++) {
        bool forward = c->transfer[k].kind == PP_SEND_F || c->transfer[k].kind == PP_RECV_F;
        t->comm->post_ns[k] = 0;
        t->comm->start_ns[k] = 1000;
        t->comm->end_ns[k] = forward ? 1003 : 1002;
    }
    STEP_OK(pp_replay(e.x.program, e.x.costs, t, &replayed, &err), err);
    ck_assert_int_eq(pp_timeline_makespan(replayed), 5 + 3 + 7 + 11 + 2 + 13);
}
END_TEST

/* Does not yield its processor, so that it is preempted. */
static pp_status busy_run(void *worker, pp_op op, const pp_op_tensors *tensors, pp_err *err)
{
    volatile uint64_t sum = 0;
    (void)worker;
    (void)op;
    (void)tensors;
    (void)err;
    for (uint64_t k = 0; k < 100000; k++)
        sum = sum + k;
    return PP_OK;
}

START_TEST(the_median_is_one_of_the_steps_that_count)
{
    for (int busy = 0; busy < 2; busy++) {
        executing e PP_CLEANUP(executing_free);
        prepare(&e, "1f1b", 4, 8, "F=50us,B=50us");
        pp_compute compute = *e.options.compute;
        if (busy) {
            compute.sleeps = false;
            compute.run = busy_run;
        }
        e.options.compute = &compute;
        e.options.iterations = 8; /* the lower of the two in the middle */
        execute(&e);
        const pp_run_result *r = &e.x.result;
        const pp_iteration *median = &r->iteration[r->median];
        uint32_t voided = 0;
        uint32_t counted = 0;
        uint32_t below = 0;
        uint32_t above = 0;
        for (uint32_t k = 0; k < r->count; k++) {
            const pp_iteration *it = &r->iteration[k];
            bool often = 8 * it->preemptions > (int64_t)e.x.program->count;
            bool much = 50 * (it->busy_ns - it->cpu_ns) > it->busy_ns;
            ck_assert_int_eq(it->voided, busy && often && much);
            voided += it->voided;
        }
        for (uint32_t k = 0; k < r->count; k++) {
            const pp_iteration *it = &r->iteration[k];
            if (it->voided && voided < r->count)
                continue;
            counted++;
            below += it->step_ns < median->step_ns;
            above += it->step_ns > median->step_ns;
        }
        ck_assert_uint_eq(r->voided, voided);
        ck_assert(!median->voided || voided == r->count);
        ck_assert_uint_le(below, (counted - 1) / 2);
        ck_assert_uint_le(above, counted / 2);
    }
}
END_TEST

/* An interrupt is requested while the RAISED_AT-th op runs. */
enum { RAISED_AT = 7 };
static volatile sig_atomic_t raised;
static atomic_uint ops_run;

static pp_status raising_run(void *worker, pp_op op, const pp_op_tensors *tensors, pp_err *err)
{
    (void)worker;
    (void)op;
    (void)tensors;
    (void)err;
    if (atomic_fetch_add(&ops_run, 1) + 1 == RAISED_AT)
        raised = 1;
    return PP_OK;
}

START_TEST(a_raised_flag_ends_the_measuring_of_ops)
{
    executing e PP_CLEANUP(executing_free);
    pp_err err = { 0 };
    prepare(&e, "1f1b", 2, 8, "F=1ms,B=1ms");
    pp_compute compute = *e.options.compute;
    compute.run = raising_run;
    e.options.compute = &compute;
    e.options.measure_ops = true;
    e.options.stop = &raised;
    ck_assert_int_eq(pp_run_plan(e.plan, NULL, &e.options, &e.x, &err), PP_INFEASIBLE);
    ck_assert_str_eq(err.text, "interrupted; nothing was written");
    ck_assert_uint_le(atomic_load(&ops_run),
                      RAISED_AT + 1); /* plus one neighbour, within an op of its own */
    ck_assert_ptr_null(e.x.result.iteration);
}
END_TEST

/* One rank, four ops per step: one warm-up step and five that count; the last is slow. */
static pp_ns slept_ns[6][4];
static unsigned done;

static pp_status uneven_run(void *worker, pp_op op, const pp_op_tensors *tensors, pp_err *err)
{
    (void)worker;
    (void)op;
    (void)tensors;
    (void)err;
    const unsigned round = done / 4;
    const pp_ns begin_ns = pp_clock_now_ns();
    pp_clock_sleep_until(begin_ns + (round == 5 ? 50 * MS : MS));
    if (round < 6) /* later calls belong to the steps that are executed */
        slept_ns[round][done % 4] = pp_clock_now_ns() - begin_ns;
    done++;
    return PP_OK;
}

/* The largest amount by which the time of an op is above the mean of what it slept. */
static pp_ns above_the_mean(void)
{
    executing e PP_CLEANUP(executing_free);
    pp_ns most_ns = 0;
    prepare(&e, "1f1b", 1, 2, "F=50ms,B=50ms");
    pp_compute compute = *e.options.compute;
    done = 0;
    compute.run = uneven_run;
    e.options.compute = &compute;
    e.options.measure_ops = true;
    execute(&e);
    for (int i = 0; i < 4; i++) { /* F0 B0 F1 B1 */
        const pp_ns own_ns = i % 2 ? e.x.costs->b_ns[i / 2] : e.x.costs->f_ns[i / 2];
        pp_ns sum_ns = 0;
        for (int round = 1; round < 6; round++)
            sum_ns += slept_ns[round][i];
        ck_assert_int_ge(own_ns, sum_ns / 5);
        most_ns = own_ns - sum_ns / 5 > most_ns ? own_ns - sum_ns / 5 : most_ns;
    }
    return most_ns;
}

/* If it took the slow one, it would be 40 ms above the mean, or more. A busy machine may interrupt
 * an op before it sleeps or after that, but not every time. */
START_TEST(ops_take_the_mean_of_what_was_measured)
{
    pp_ns above_ns = 20 * MS;
    for (int tries = 0; tries < 10 && above_ns >= 20 * MS; tries++)
        above_ns = above_the_mean();
    ck_assert_int_lt(above_ns, 20 * MS);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("execute");
    TCase *tc = tcase_create("execute");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, tensors_of_a_boundary_are_one);
    tcase_add_test(tc, a_transfer_begins_when_the_one_before_it_is_through);
    tcase_add_test(tc, a_throttled_link_is_predicted_from_sizes);
    tcase_add_test(tc, a_link_too_slow_for_the_clock_is_refused);
    tcase_add_test(tc, tensors_of_a_few_bytes_are_carried);
    tcase_add_test(tc, errors_are_parts_of_what_was_predicted);
    tcase_add_test(tc, the_replay_puts_measured_durations_together);
    tcase_add_test(tc, a_raised_flag_ends_the_measuring_of_ops);
    tcase_add_test(tc, ops_take_the_mean_of_what_was_measured);
    tcase_add_test(tc, the_median_is_one_of_the_steps_that_count);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
