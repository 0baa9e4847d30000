/* The effect of NICs and slow-downs on whole steps, for every schedule under every framework. */
#include "tests/support/executors.h"
#include "tests/support/semantics.h"

#include "sim/program/program_new.h"
#include "traces/read/comm_rows.h"

static const pp_sharing neutral = { .ranks_per_nic = PP_RANKS_MAX };

/* pairs: overlapped pairs have a duration of their own. */
static pp_costs *costs_of(const pp_order *order, bool pairs)
{
    const pp_uniform_costs uniform = { 1000, 900, 1300, -1, 170, 0 };
    pp_costs *costs = NULL;
    pp_err err = { 0 };
    STEP_OK(
        pp_costs_uniform(&uniform, order->ranks, order->stages, order->microbatches, &costs, &err),
        err);
    for (uint32_t s = 0; s < costs->stages; s++) { /* no two stages are equal */
        costs->f_ns[s] += 37 * s;
        costs->b_ns[s] += 11 * s;
        costs->send_f_ns[s] += 7 * s;
        costs->pair_ns[s] = costs->f_ns[s] + costs->b_ns[s] - 300;
    }
    costs->has_pairs = pairs;
    return costs;
}

/* Timeline and report of `program`, which must finish. */
static void run(const pp_program *program, const pp_costs *costs, pp_timeline **timeline_out,
                pp_report **report_out)
{
    pp_err err = { 0 };
    STEP_OK(pp_simulate(program, costs, timeline_out, &err), err);
    STEP_OK(pp_report_build("test", NULL, program, *timeline_out, costs, true, report_out, &err),
            err);
}

static void idle_is_conserved(const pp_report *report)
{
    for (uint32_t r = 0; r < report->ranks; r++) {
        pp_ns sum = report->per_rank[r].busy_ns;
        for (int c = 0; c < PP_IDLE_COUNT; c++) {
            ck_assert_int_ge(report->per_rank[r].idle_ns[c], 0);
            sum += report->per_rank[r].idle_ns[c];
        }
        ck_assert_int_eq(sum, report->makespan_ns);
    }
}

static void equal_timelines(const pp_program *program, const pp_timeline *a, const pp_timeline *b,
                            const char *name)
{
    size_t transfers = program->comm->transfer_count * sizeof(pp_ns);
    size_t idle = (size_t)program->ranks * PP_IDLE_COUNT * sizeof(pp_ns);
    ck_assert_msg(memcmp(a->start_ns, b->start_ns, program->count * sizeof(pp_ns)) == 0 &&
                      memcmp(a->end_ns, b->end_ns, program->count * sizeof(pp_ns)) == 0 &&
                      memcmp(a->comm->start_ns, b->comm->start_ns, transfers) == 0 &&
                      memcmp(a->comm->end_ns, b->comm->end_ns, transfers) == 0 &&
                      memcmp(a->comm->idle_ns, b->comm->idle_ns, idle) == 0,
                  "%s differs", name);
}

/* Runs both engines on one program. If nothing is shared, they agree to the ns in every number;
 * with sharing, nothing ends earlier, and idle time is conserved. */
static void compare(pp_program *program, const pp_costs *costs, const char *name)
{
    pp_timeline *plain PP_CLEANUP(pp_timeline_free) = NULL;
    pp_timeline *alone PP_CLEANUP(pp_timeline_free) = NULL;
    pp_timeline *shared PP_CLEANUP(pp_timeline_free) = NULL;
    pp_report *reports[3] = { NULL };
    pp_sharing *sharing = &program->comm->semantics.sharing;
    *sharing = (pp_sharing){ 0 };
    run(program, costs, &plain, &reports[0]);
    *sharing = neutral;
    run(program, costs, &alone, &reports[1]);
    equal_timelines(program, plain, alone, name);
    *sharing = (pp_sharing){ .ranks_per_nic = 1, .compute_slowdown = 1.1, .comm_slowdown = 1.3 };
    run(program, costs, &shared, &reports[2]);
    for (int i = 0; i < 3; i++)
        idle_is_conserved(reports[i]);
    for (size_t i = 0; i < program->count; i++) {
        ck_assert_int_ge(shared->end_ns[i] - shared->start_ns[i],
                         plain->end_ns[i] - plain->start_ns[i]);
        ck_assert_int_ge(shared->end_ns[i], plain->end_ns[i]);
    }
    for (int i = 0; i < 3; i++)
        pp_report_free(&reports[i]);
}

static size_t over_semantics(const pp_framework *framework, const pp_order *order, const char *name)
{
    static const char *const comms[] = { "", "eager:1GiB" };
    static const char *const lanes[] = { "single", "per-direction", "per-peer", "per-edge" };
    size_t compared = 0;
    for (size_t i = 0; i < 16; i++) {
        pp_costs *costs PP_CLEANUP(pp_costs_free) = costs_of(order, i >= 8);
        pp_program *program PP_CLEANUP(pp_program_free) = NULL;
        pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
        pp_err err = { 0 };
        if (framework->lower(order, &program, &err) || !program->comm)
            break;
        STEP_OK(parse_semantics(comms[i / 4 % 2], lanes[i % 4], &program->comm->semantics, &err),
                err);
        pp_status status = pp_simulate(program, costs, &timeline, &err);
        if (status == PP_OK) {
            compare(program, costs, name);
            compared++;
            continue;
        }
        ck_assert_int_eq(status, PP_INFEASIBLE); /* it hangs, with and without sharing */
        pp_err other = { 0 };
        program->comm->semantics.sharing = neutral;
        ck_assert_int_eq(pp_simulate(program, costs, &timeline, &other), PP_INFEASIBLE);
    }
    return compared;
}

START_TEST(without_sharing_both_engines_agree)
{
    const pp_framework *framework = pp_framework_at((size_t)_i);
    size_t compared = 0;
    for (size_t s = 0; s < pp_schedule_count(); s++) {
        const pp_schedule *schedule = pp_schedule_at(s);
        for (uint32_t p = 2; p <= 4; p++) {
            const pp_schedule_params shape = { .ranks = p,
                                               .chunks = schedule->chunks ? schedule->chunks : 2,
                                               .microbatches = 3 * p,
                                               .group_size = schedule->grouped ? p : 0 };
            pp_order *order PP_CLEANUP(pp_order_free) = NULL;
            pp_err err = { 0 };
            if (!pp_schedule_build(schedule, &shape, &order, &err))
                compared += over_semantics(framework, order, schedule->name);
        }
    }
    if (strcmp(framework->name, "ideal") != 0)
        ck_assert_msg(compared >= 4, "%s: %zu", framework->name, compared);
}
END_TEST

static pp_ns makespan_with(const char *schedule, const char *framework, const char *costs,
                           pp_sharing sharing)
{
    step s = { .order = step_order(schedule, 4, 1, 8, 0) };
    pp_err err = { 0 };
    s.costs = step_costs(costs, 4, 1, 8);
    STEP_OK(lower_with(framework, s.order, &s.program, &err), err);
    s.program->comm->semantics.sharing = sharing;
    run(s.program, s.costs, &s.timeline, &s.report);
    pp_ns makespan_ns = s.report->makespan_ns;
    step_free(&s);
    return makespan_ns;
}

/* 1F1B sends one message in each direction at a time: with a full-duplex NIC of its own, no rank is
 * slowed down. */
START_TEST(one_rank_per_nic_does_not_hinder_1f1b)
{
    static const char *const frameworks[] = { "megatron", "deepspeed" };
    static const char costs[] = "F=1ms,I=1ms,W=1ms,comm=300us";
    for (size_t i = 0; i < 2; i++) {
        pp_ns plain_ns = makespan_with("1f1b", frameworks[i], costs, (pp_sharing){ 0 });
        ck_assert_int_eq(
            makespan_with("1f1b", frameworks[i], costs, (pp_sharing){ .ranks_per_nic = 1 }),
            plain_ns);
    }
}
END_TEST

/* Excerpts with F = 5 us and 10 us per transfer. Returns the makespan in us. */
static pp_ns excerpt(const char *rows, const char *comm, bool collective, pp_sharing sharing,
                     pp_report **report_out)
{
    static const pp_uniform_costs uniform = { 5000, 1000, 1000, -1, 10000, 0 };
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    pp_costs *costs PP_CLEANUP(pp_costs_free) = NULL;
    pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
    pp_report *report PP_CLEANUP(pp_report_free) = NULL;
    pp_err err = { 0 };
    STEP_OK(
        pp_comm_rows_read(rows, strlen(rows), "rows", PP_ROWS_BATCHED, true, NULL, &program, &err),
        err);
    STEP_OK(pp_costs_uniform(&uniform, program->ranks, program->stages, program->microbatches,
                             &costs, &err),
            err);
    program->comm->semantics.sharing = sharing;
    program->comm->collective = collective;
    STEP_OK(parse_semantics(comm, "", &program->comm->semantics, &err), err);
    run(program, costs, &timeline, &report);
    idle_is_conserved(report);
    pp_ns makespan_ns = report->makespan_ns;
    ck_assert_int_eq(makespan_ns % 1000, 0);
    if (report_out) {
        *report_out = report;
        report = NULL;
    }
    return makespan_ns / 1000;
}

/* Ranks 0 and 1 send to 2 and 3: 20 us each when both start at once; 15 and 20 when the second
 * starts 5 us later. */
START_TEST(ranks_of_a_node_share_its_nic)
{
    static const char together[] = "0SEND_F0\n2SEND_F0\n1RECV_F0,1F0\n3RECV_F0,3F0\n";
    static const char apart[] = "0SEND_F0\n2F0,2SEND_F0\n1RECV_F0,1F0\n3RECV_F0,3F0\n";
    static const char *const comms[] = { "rendezvous", "eager:1B" };
    const pp_sharing nic = { .ranks_per_nic = 2 };
    for (size_t i = 0; i < 2; i++) {
        pp_report *report = NULL;
        ck_assert_int_eq(excerpt(together, comms[i], false, (pp_sharing){ 0 }, NULL), 15);
        ck_assert_int_eq(excerpt(together, comms[i], false, nic, NULL), 25);
        ck_assert_int_eq(excerpt(apart, comms[i], false, nic, &report), 25);
        ck_assert_int_eq(report->per_rank[2].first_start_ns, 15000);
        ck_assert_int_eq(report->per_rank[3].first_start_ns, 20000);
        ck_assert_int_eq(report->per_rank[2].idle_ns[PP_IDLE_LINK], 15000);
        ck_assert_int_eq(report->per_rank[3].idle_ns[PP_IDLE_LINK], i ? 20000 - 5000 : 15000);
        pp_report_free(&report);
    }
}
END_TEST

/* The second forward of rank 0 overlaps with its send from 5 us on: it takes 10 us instead of 5, in
 * which the transfer does 8 of its 10 us; the last 2 run at full speed. The receiver starts at 17
 * and ends at 22. */
START_TEST(compute_during_a_transfer_is_slower)
{
    static const char rows[] = "0F0,0SEND_F0,0F1\n1RECV_F0,1F0\n";
    static const char *const comms[] = { "rendezvous", "eager:1B" };
    const pp_sharing slow = { .compute_slowdown = 2, .comm_slowdown = 1.25 };
    for (size_t i = 0; i < 2; i++) {
        pp_report *report = NULL;
        ck_assert_int_eq(excerpt(rows, comms[i], false, (pp_sharing){ 0 }, NULL), 20);
        ck_assert_int_eq(excerpt(rows, comms[i], false, slow, &report), 22);
        ck_assert_int_eq(report->per_rank[0].busy_ns, 15000); /* longer compute is busy time */
        ck_assert_int_eq(report->per_rank[1].busy_ns, 5000);
        pp_report_free(&report);
    }
}
END_TEST

/* 0 -> 1 and 1 -> 2 use the two directions of rank 1's NIC; as collectives of two ranks they move
 * bytes both ways and collide there. */
START_TEST(a_collective_uses_both_directions)
{
    static const char rows[] = "0SEND_F0\n1RECV_F0,1SEND_F1,1F0\n2RECV_F1,2F1\n";
    const pp_sharing nic = { .ranks_per_nic = 1 };
    ck_assert_int_eq(excerpt(rows, "", false, nic, NULL), 15);
    ck_assert_int_eq(excerpt(rows, "", true, (pp_sharing){ 0 }, NULL), 15);
    ck_assert_int_eq(excerpt(rows, "", true, nic, NULL), 25);
}
END_TEST

/* A communicator per edge is one queue for both directions: a receive before a send to the same
 * rank holds it back, one from another rank does not. */
START_TEST(an_edge_is_one_queue)
{
    static const char *const rows[] = {
        "0RECV_B0,0F0,0SEND_F0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n",
        "1RECV_B0,1SEND_B1\n0RECV_B1,0F0\n2F0,2SEND_B0\n",
    };
    static const struct {
        const char *lanes;
        pp_status expected[2];
    } cases[] = { { "single", { PP_INFEASIBLE, PP_OK } },
                  { "per-edge", { PP_INFEASIBLE, PP_OK } },
                  { "per-peer", { PP_OK, PP_OK } } };
    static const pp_ns second_us[] = { 20, 10, 10 };
    for (size_t i = 0; i < 6; i++) {
        static const pp_uniform_costs uniform = { 5000, 5000, 5000, -1, 10000, 0 };
        pp_program *program PP_CLEANUP(pp_program_free) = NULL;
        pp_costs *costs PP_CLEANUP(pp_costs_free) = NULL;
        pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
        pp_err err = { 0 };
        STEP_OK(pp_comm_rows_read(rows[i % 2], strlen(rows[i % 2]), "rows", PP_ROWS_SINGLE, true,
                                  NULL, &program, &err),
                err);
        STEP_OK(pp_costs_uniform(&uniform, program->ranks, program->stages, program->microbatches,
                                 &costs, &err),
                err);
        STEP_OK(parse_semantics("", cases[i / 2].lanes, &program->comm->semantics, &err), err);
        ck_assert_int_eq(pp_simulate(program, costs, &timeline, &err),
                         cases[i / 2].expected[i % 2]);
        if (i % 2 == 0)
            continue;
        pp_ns last_ns = 0; /* 1SEND_B1 waits 15 us in its queue, or starts at once */
        for (size_t t = 0; t < program->comm->transfer_count; t++) {
            const pp_transfer *transfer = &program->comm->transfer[t];
            if (transfer->stage == 1 && transfer->kind == PP_SEND_B)
                last_ns = timeline->comm->end_ns[t];
        }
        ck_assert_int_eq(last_ns, second_us[i / 2] * 1000 + (i / 2 == 0 ? 5000 : 0));
    }
}
END_TEST

/* Sums that doubles cannot hold are refused. */
START_TEST(too_long_a_step_is_refused)
{
    step s = { .order = step_order("1f1b", 2, 1, 2, 0),
               .costs = step_costs("F=100000s,B=1s", 2, 1, 2) };
    pp_err err = { 0 };
    STEP_OK(lower_with("megatron", s.order, &s.program, &err), err);
    s.program->comm->semantics.sharing = neutral;
    ck_assert_int_eq(pp_simulate(s.program, s.costs, &s.timeline, &err), PP_INPUT);
    ck_assert_ptr_nonnull(strstr(err.text, "too long for ranks_per_nic"));
    step_free(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sharing");
    TCase *tc = tcase_create("sharing");
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, without_sharing_both_engines_agree, 0, (int)pp_framework_count());
    tcase_add_test(tc, one_rank_per_nic_does_not_hinder_1f1b);
    tcase_add_test(tc, ranks_of_a_node_share_its_nic);
    tcase_add_test(tc, compute_during_a_transfer_is_slower);
    tcase_add_test(tc, a_collective_uses_both_directions);
    tcase_add_test(tc, an_edge_is_one_queue);
    tcase_add_test(tc, too_long_a_step_is_refused);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
