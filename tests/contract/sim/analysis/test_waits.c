/* Idle time, wait by wait: every schedule under every framework, and cases worked out by hand. */
#include "sim/analysis/waits.h"
#include "sim/framework/sizes/size_protocol.h"
#include "sim/program/program_new.h"
#include "tests/support/executors.h"
#include "tests/support/semantics.h"
#include "traces/read/comm_rows.h"

static pp_blocked_list all_waits(const pp_program *program, const pp_timeline *timeline)
{
    pp_blocked_list list = { 0 };
    pp_err err = { 0 };
    STEP_OK(pp_blocked_find(program, timeline, SIZE_MAX, &list, &err), err);
    return list;
}

/* The longest waits are the first of all of them. */
static void check_longest(const pp_program *program, const pp_timeline *timeline)
{
    static const size_t most[] = { 0, 1, 2, 5, 17 };
    pp_blocked_list all = all_waits(program, timeline);
    for (size_t k = 0; k < sizeof most / sizeof *most; k++) {
        pp_blocked_list some = { 0 };
        pp_err err = { 0 };
        STEP_OK(pp_blocked_find(program, timeline, most[k], &some, &err), err);
        ck_assert_uint_eq(some.count, most[k] < all.count ? most[k] : all.count);
        for (size_t i = 0; i < some.count; i++) {
            ck_assert_int_eq(some.item[i].waits_ns, all.item[i].waits_ns);
            ck_assert_int_eq(some.item[i].at_ns, all.item[i].at_ns);
            ck_assert_uint_eq(some.item[i].rank, all.item[i].rank);
            ck_assert_str_eq(some.item[i].by, all.item[i].by);
        }
        pp_blocked_free(&some);
    }
    pp_blocked_free(&all);
}

/* Waits of a rank until its last op are its idle time until then, cause by cause; none overlap. */
static void check_sums(const pp_program *program, const pp_timeline *timeline,
                       const pp_report *report, const char *what)
{
    pp_blocked_list list = all_waits(program, timeline);
    for (size_t i = 1; i < list.count; i++)
        ck_assert_int_ge(list.item[i - 1].waits_ns, list.item[i].waits_ns);
    for (uint32_t r = 0; r < program->ranks; r++) {
        const pp_rank_report *rank = &report->per_rank[r];
        pp_ns cause_ns[PP_IDLE_COUNT] = { 0 };
        pp_ns before_ns = 0;
        pp_ns all_ns = rank->busy_ns;
        for (size_t i = 0; i < list.count; i++) {
            const pp_blocked *one = &list.item[i];
            if (one->rank != r)
                continue;
            ck_assert_int_gt(one->waits_ns, 0);
            ck_assert_msg(one->by[0] && one->op[0], "%s: a wait without a reason", what);
            cause_ns[one->cause] += one->waits_ns;
            if (one->at_ns < rank->last_end_ns)
                before_ns += one->waits_ns;
        }
        ck_assert_msg(before_ns == rank->last_end_ns - rank->busy_ns,
                      "%s rank %u: waits of %lld before its last op, idle %lld", what, r,
                      (long long)before_ns, (long long)(rank->last_end_ns - rank->busy_ns));
        for (int c = 0; c < PP_IDLE_COUNT; c++) {
            all_ns += rank->idle_ns[c];
            if (c != PP_IDLE_DATA) /* this one also contains the end */
                ck_assert_int_eq(cause_ns[c], rank->idle_ns[c]);
        }
        ck_assert_int_eq(all_ns, report->makespan_ns);
    }
    pp_blocked_free(&list);
}

static const char *const semantics[][2] = { { "rendezvous", "single" },
                                            { "rendezvous", "per-peer" },
                                            { "eager:1MB", "per-direction" } };

static void run_schedule(const pp_framework *framework, const pp_schedule *schedule, size_t k,
                         int *done)
{
    const pp_schedule_params shape = { .ranks = 4,
                                       .chunks = schedule->chunks ? schedule->chunks : 2,
                                       .microbatches = 8 };
    pp_order *order = NULL;
    pp_err err = { 0 };
    if (pp_schedule_build(schedule, &shape, &order, &err))
        return;
    step s PP_CLEANUP(step_free) = { .order = order };
    if (framework->lower(order, &s.program, &err))
        return;
    s.costs = step_costs("F=1ms,I=1.1ms,W=0.8ms,comm=0.3ms", 4, shape.chunks, 8);
    if (s.program->comm)
        STEP_OK(
            parse_semantics(semantics[k][0], semantics[k][1], &s.program->comm->semantics, &err),
            err);
    if (pp_simulate(s.program, s.costs, &s.timeline, &err))
        return; /* it hangs with these settings */
    STEP_OK(pp_report_build("", framework, s.program, s.timeline, s.costs, true, &s.report, &err),
            err);
    check_sums(s.program, s.timeline, s.report, schedule->name);
    check_longest(s.program, s.timeline);
    (*done)++;
}

START_TEST(waits_sum_to_the_idle_time)
{
    const pp_framework *framework = pp_framework_at((size_t)_i);
    int done = 0;
    for (size_t s = 0; s < pp_schedule_count(); s++) {
        for (size_t k = 0; k < sizeof semantics / sizeof semantics[0]; k++)
            run_schedule(framework, pp_schedule_at(s), k, &done);
    }
    ck_assert_int_ge(done, 2);
}
END_TEST

typedef struct expected {
    uint32_t rank;
    const char *op;
    pp_ns at_ns, waits_ns;
    pp_idle_cause cause;
    const char *by;
    uint32_t by_rank;
} expected;

static void run_and_compare(step *s, const expected *list, size_t count)
{
    pp_err err = { 0 };
    STEP_OK(pp_simulate(s->program, s->costs, &s->timeline, &err), err);
    STEP_OK(pp_simulate_into(s->program, s->costs, s->timeline, &err), err); /* afresh */
    pp_blocked_list found = all_waits(s->program, s->timeline);
    for (size_t i = 0; i < count && i < found.count; i++) {
        const pp_blocked *one = &found.item[i];
        ck_assert_str_eq(one->op, list[i].op);
        ck_assert_uint_eq(one->rank, list[i].rank);
        ck_assert_int_eq(one->at_ns, list[i].at_ns);
        ck_assert_int_eq(one->waits_ns, list[i].waits_ns);
        ck_assert_str_eq(pp_idle_key(one->cause), pp_idle_key(list[i].cause));
        ck_assert_str_eq(one->by, list[i].by);
        ck_assert_uint_eq(one->by_rank, list[i].by_rank);
    }
    ck_assert_uint_eq(found.count, count);
    pp_blocked_free(&found);
}

/* F 1 us, B 2 us, transfers 10 us. */
static void expect(const char *rows, const char *comm, const char *lanes, const expected *list,
                   size_t count)
{
    static const pp_uniform_costs uniform = { 1000, 1000, 1000, -1, 10000, 0 };
    step s PP_CLEANUP(step_free) = { 0 };
    pp_err err = { 0 };
    STEP_OK(
        pp_comm_rows_read(rows, strlen(rows), "rows", PP_ROWS_SINGLE, true, NULL, &s.program, &err),
        err);
    STEP_OK(pp_costs_uniform(&uniform, s.program->ranks, s.program->stages, s.program->microbatches,
                             &s.costs, &err),
            err);
    STEP_OK(parse_semantics(comm, lanes, &s.program->comm->semantics, &err), err);
    run_and_compare(&s, list, count);
}
/* The cases of unit.comm: rank 0's gradient is posted at 14 us and arrives at 24 us. */
START_TEST(data_then_link)
{
    static const expected list[] = {
        { 0, "0B0", 1000, 13000, PP_IDLE_DATA, "1B0", 1 },
        { 1, "1F0", 1000, 10000, PP_IDLE_LINK, "1RECV_F0", 1 },
        { 0, "0B0", 14000, 10000, PP_IDLE_LINK, "0RECV_B0", 0 },
        { 1, "1F0", 0, 1000, PP_IDLE_DATA, "0F0", 0 },
    };
    expect("0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n", "rendezvous", "single", list,
           4);
}
END_TEST

/* Rank 1 needs the second output first; one lane carries it after the other one, from 11 to 21
 * us. */
START_TEST(a_lane_blocks_what_is_behind)
{
    static const expected list[] = {
        { 1, "1F1", 2000, 19000, PP_IDLE_LINK, "1RECV_F0", 1 },
        { 1, "1F1", 0, 2000, PP_IDLE_DATA, "0F1", 0 },
    };
    expect("0F0,0SEND_F0,0F1,0SEND_F1\n1RECV_F0,1RECV_F1,1F1,1F0\n", "rendezvous", "single", list,
           2);
}
END_TEST

static void exchange(pp_comm_builder *b, uint32_t rank, pp_transfer_kind kind, uint32_t microbatch)
{
    uint32_t group = pp_comm_open(b, rank);
    pp_comm_add(b, group, kind, rank, microbatch);
    pp_comm_exchange(b, group);
}

/* Every transfer is waited for; rank 1 sends its gradients last. At 12 us rank 0's second output
 * finds no receive until 14; at 24 it waits for a gradient that was computed at 14 and sent at
 * 27. */
START_TEST(a_send_waits_for_its_receive)
{
    static const expected list[] = {
        { 0, "0F1", 1000, 10000, PP_IDLE_LINK, "0SEND_F0", 0 },
        { 1, "1F0", 1000, 10000, PP_IDLE_LINK, "1RECV_F0", 1 },
        { 0, "0B0", 14000, 10000, PP_IDLE_LINK, "0SEND_F1", 0 },
        { 1, "1F1", 14000, 10000, PP_IDLE_LINK, "1RECV_F1", 1 },
        { 0, "0B0", 27000, 10000, PP_IDLE_LINK, "0RECV_B0", 0 },
        { 1, "1SEND_B0", 27000, 10000, PP_IDLE_LINK, "1SEND_B0", 1 },
        { 0, "0B1", 39000, 10000, PP_IDLE_LINK, "0RECV_B1", 0 },
        { 1, "1SEND_B1", 39000, 10000, PP_IDLE_LINK, "1SEND_B1", 1 },
        { 0, "0B0", 24000, 3000, PP_IDLE_DATA, "1SEND_B0", 1 },
        { 0, "0B0", 12000, 2000, PP_IDLE_BUFFER, "1RECV_F1", 1 },
        { 1, "1SEND_B1", 37000, 2000, PP_IDLE_BUFFER, "0RECV_B1", 0 },
        { 1, "1F0", 0, 1000, PP_IDLE_DATA, "0F0", 0 },
    };
    step s PP_CLEANUP(step_free) = { .order = step_order("1f1b", 2, 1, 2, 0) };
    pp_comm_builder *b PP_CLEANUP(pp_comm_builder_free) = NULL;
    pp_err err = { 0 };
    s.costs = step_costs("F=1us,B=2us,comm=10us", 2, 1, 2);
    STEP_OK(pp_program_from_order(s.order, &s.program, &err), err);
    STEP_OK(pp_comm_builder_new(s.program, &b, &err), err);
    for (uint32_t j = 0; j < 2; j++) {
        pp_comm_run(b, 0, j);
        exchange(b, 0, PP_SEND_F, j);
        exchange(b, 1, PP_RECV_F, j);
        pp_comm_run(b, 1, 4 + 2 * j);
        pp_comm_run(b, 1, 5 + 2 * j);
    }
    for (uint32_t j = 0; j < 2; j++) {
        exchange(b, 0, PP_RECV_B, j);
        pp_comm_run(b, 0, 2 + j);
        exchange(b, 1, PP_SEND_B, j);
    }
    STEP_OK(pp_comm_finish(b, false, s.program, &err), err);
    run_and_compare(&s, list, sizeof list / sizeof list[0]);
}
END_TEST

/* xla moves two tensors one after the other. The op that delayed both is blamed for the first one
 * too. */
START_TEST(the_first_of_two_tensors_is_late_by_its_op)
{
    static const expected list[] = {
        { 0, "0B0", 1000, 5000, PP_IDLE_LINK, "0SEND_F0", 0 },
        { 1, "1F0", 1000, 5000, PP_IDLE_LINK, "1RECV_F0", 1 },
        { 0, "0B0", 6000, 5000, PP_IDLE_LINK, "0SEND_F0", 0 },
        { 1, "1F0", 6000, 5000, PP_IDLE_LINK, "1RECV_F0", 1 },
        { 0, "0B0", 14000, 5000, PP_IDLE_LINK, "0RECV_B0", 0 },
        { 1, "1SEND_B0", 14000, 5000, PP_IDLE_LINK, "1SEND_B0", 1 },
        { 0, "0B0", 19000, 5000, PP_IDLE_LINK, "0RECV_B0", 0 },
        { 1, "1SEND_B0", 19000, 5000, PP_IDLE_LINK, "1SEND_B0", 1 },
        { 0, "0B0", 11000, 3000, PP_IDLE_DATA, "1B0", 1 },
        { 1, "1F0", 0, 1000, PP_IDLE_DATA, "0F0", 0 },
    };
    const pp_framework *framework = NULL;
    const pp_exchange_options exchange = { .tensors = 2 };
    step s PP_CLEANUP(step_free) = { .order = step_order("1f1b", 2, 1, 1, 0) };
    pp_err err = { 0 };
    s.costs = step_costs("F=1us,B=2us,comm=10us", 2, 1, 1);
    STEP_OK(pp_framework_get("xla", &framework, &err), err);
    STEP_OK(lower_with("xla", s.order, &s.program, &err), err);
    STEP_OK(pp_exchange_lower(framework, &exchange, s.costs, s.program, &err), err);
    run_and_compare(&s, list, sizeof list / sizeof list[0]);
}
END_TEST

/* Rank 1's host takes 5 us for each of receive, F, B and send. After the last op, only the send is
 * left to name what the host delays. */
START_TEST(a_late_host_behind_the_last_op_has_a_name)
{
    step s PP_CLEANUP(step_free) = { .order = step_order("1f1b", 2, 1, 1, 0) };
    pp_err err = { 0 };
    s.costs = step_costs("F=1us,B=2us,comm=0", 2, 1, 1);
    STEP_OK(lower_with("deepspeed", s.order, &s.program, &err), err);
    s.program->comm->semantics.host.launch_ns = 5000;
    STEP_OK(pp_simulate(s.program, s.costs, &s.timeline, &err), err);
    pp_blocked_list list = all_waits(s.program, s.timeline);
    int found = 0;
    for (size_t i = 0; i < list.count; i++) {
        const pp_blocked *one = &list.item[i];
        if (one->rank != 1 || one->at_ns < s.timeline->end_ns[s.program->count - 1])
            continue;
        ck_assert_str_eq(one->op, "1SEND_B0");
        ck_assert_str_eq(pp_idle_key(one->cause), "host");
        ck_assert_int_eq(one->waits_ns, 3000);
        ck_assert_str_eq(one->by, "");
        found++;
    }
    ck_assert_int_eq(found, 1);
    pp_blocked_free(&list);
}
END_TEST

/* Waits of one length, of which the earlier ones come first, whichever rank is looked at first. The
 * ops of rank 0 take longer than those of rank 1, so that its waits are later. */
START_TEST(of_waits_of_one_length_the_earliest_are_the_longest)
{
    step s PP_CLEANUP(step_free) = step_of(step_order("gpipe", 2, 1, 8, 0), "F=1us,B=2us,comm=0");
    for (uint32_t r = 0; r < 2; r++) {
        pp_ns clock_ns = 0;
        for (size_t i = s.program->rank_begin[r]; i < s.program->rank_begin[r + 1]; i++) {
            s.timeline->start_ns[i] = clock_ns + 5;
            clock_ns = s.timeline->end_ns[i] = clock_ns + (r == 0 ? 25 : 15);
        }
    }
    check_longest(s.program, s.timeline);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("blocked");
    TCase *tc = tcase_create("blocked");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, waits_sum_to_the_idle_time, 0, (int)pp_framework_count());
    tcase_add_test(tc, data_then_link);
    tcase_add_test(tc, a_lane_blocks_what_is_behind);
    tcase_add_test(tc, a_send_waits_for_its_receive);
    tcase_add_test(tc, the_first_of_two_tensors_is_late_by_its_op);
    tcase_add_test(tc, a_late_host_behind_the_last_op_has_a_name);
    tcase_add_test(tc, of_waits_of_one_length_the_earliest_are_the_longest);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
