/* Hangs: the shortest cycle, and repairs that were run. Cases made by hand. */
#include "sim/analysis/repair.h"
#include "sim/engine/deadlock.h"
#include "sim/program/program_new.h"
#include "tests/support/step.h"
#include "traces/read/comm_rows.h"

typedef struct stuck {
    pp_program *program;
    pp_costs *costs;
    pp_timeline *timeline;
} stuck;

static void stuck_free(stuck *s)
{
    pp_timeline_free(&s->timeline);
    pp_costs_free(&s->costs);
    pp_program_free(&s->program);
}

/* An excerpt that hangs. */
static stuck stuck_of(const char *rows, pp_lanes lanes)
{
    static const pp_uniform_costs uniform = { 1000, 1000, 1000, -1, 1000, 0 };
    stuck s = { 0 };
    pp_err err = { 0 };
    STEP_OK(
        pp_comm_rows_read(rows, strlen(rows), "rows", PP_ROWS_SINGLE, true, NULL, &s.program, &err),
        err);
    s.program->comm->semantics.lanes = lanes;
    STEP_OK(pp_costs_uniform(&uniform, s.program->ranks, s.program->stages, s.program->microbatches,
                             &s.costs, &err),
            err);
    STEP_OK(pp_timeline_new_comm(s.program, &s.timeline, &err), err);
    ck_assert_int_eq(pp_simulate_into(s.program, s.costs, s.timeline, &err), PP_INFEASIBLE);
    return s;
}

static void expect_circle(const stuck *s, const char *const lines[], size_t count)
{
    const pp_circle *circle = &s->timeline->comm->circle;
    char one[160];
    ck_assert_uint_eq(circle->count, count);
    for (size_t i = 0; i < count; i++) {
        ck_assert_str_eq(pp_circle_print(s->program, &circle->member[i], one, sizeof one),
                         lines[i]);
        ck_assert_uint_eq(circle->member[i].waits_for, circle->member[(i + 1) % count].transfer);
    }
}

static pp_repair repair_of(const stuck *s)
{
    pp_repair repair = { 0 };
    pp_err err = { 0 };
    STEP_OK(pp_repair_find(s->program, s->costs, true, &repair, &err), err);
    return repair;
}

static void expect(const stuck *s, pp_repair_kind kind, uint32_t rank, const char *first,
                   const char *second)
{
    char a[40];
    char b[40];
    const pp_repair repair = repair_of(s);
    const pp_transfer *transfer = s->program->comm->transfer;
    ck_assert_int_eq(repair.kind, kind);
    ck_assert_uint_eq(repair.rank, rank);
    ck_assert_str_eq(pp_transfer_print(&transfer[repair.first], a, sizeof a), first);
    ck_assert_str_eq(pp_transfer_print(&transfer[repair.second], b, sizeof b), second);
}

/* pytorch#172668, both excerpts. */
START_TEST(published_hangs_get_a_swap)
{
    stuck a PP_CLEANUP(stuck_free) =
        stuck_of("0SEND_F1,2RECV_F0,2F0\n1SEND_F0,1RECV_F1,1F1\n", PP_LANES_SINGLE);
    stuck b PP_CLEANUP(stuck_free) = stuck_of("2SEND_F1,0F2,0SEND_F2,2RECV_B0,2B0\n"
                                              "3RECV_F1,3SEND_B0,3F1,3B1,1RECV_F2,3SEND_B1,1F2\n",
                                              PP_LANES_SINGLE);
    static const char *const circle[] = {
        "rank 0: 0SEND_F2 needs 1RECV_F2 of rank 1",
        "rank 1: 1RECV_F2 is behind 3SEND_B0",
        "rank 1: 3SEND_B0 needs 2RECV_B0 of rank 0",
        "rank 0: 2RECV_B0 is behind 0SEND_F2",
    };
    expect(&a, PP_REPAIR_SWAP, 0, "0SEND_F1", "2RECV_F0");
    expect_circle(&b, circle, 4);
    expect(&b, PP_REPAIR_SWAP, 0, "0SEND_F2", "2RECV_B0");
}
END_TEST

/* Ranks 0 to 3 wait in a cycle of eight, ranks 4 and 5 in one of four. */
START_TEST(the_shortest_cycle_is_reported)
{
    stuck s PP_CLEANUP(stuck_free) = stuck_of("0SEND_F0,4RECV_F1,4F1\n"
                                              "1SEND_F1,1RECV_F0\n"
                                              "2SEND_F1,2RECV_F1\n"
                                              "3SEND_F1,3RECV_F1\n"
                                              "5SEND_F1,7RECV_F0,7F0\n"
                                              "6SEND_F0,6RECV_F1,6F1\n",
                                              PP_LANES_SINGLE);
    static const char *const circle[] = {
        "rank 4: 5SEND_F1 needs 6RECV_F1 of rank 5",
        "rank 5: 6RECV_F1 is behind 6SEND_F0",
        "rank 5: 6SEND_F0 needs 7RECV_F0 of rank 4",
        "rank 4: 7RECV_F0 is behind 5SEND_F1",
    };
    expect_circle(&s, circle, 4);
    /* one change cannot repair both; queues of their own can */
    const pp_repair repair = repair_of(&s);
    ck_assert_int_eq(repair.kind, PP_REPAIR_LANES);
    ck_assert_int_eq(repair.lanes, PP_LANES_PER_DIRECTION);
}
END_TEST

/* A transfer far back in a lane waits directly for the front of the lane. */
START_TEST(a_cycle_skips_what_is_between)
{
    stuck s PP_CLEANUP(stuck_free) = stuck_of("0SEND_F1,0SEND_F2,0SEND_F3,2RECV_F0,2F0\n"
                                              "1SEND_F0,1RECV_F1,1RECV_F2,1RECV_F3,1F1\n",
                                              PP_LANES_SINGLE);
    static const char *const circle[] = {
        "rank 0: 0SEND_F1 needs 1RECV_F1 of rank 1",
        "rank 1: 1RECV_F1 is behind 1SEND_F0",
        "rank 1: 1SEND_F0 needs 2RECV_F0 of rank 0",
        "rank 0: 2RECV_F0 is behind 0SEND_F1",
    };
    expect_circle(&s, circle, 4);
    expect(&s, PP_REPAIR_GROUP, 0, "0SEND_F1", "2RECV_F0"); /* no swap moves an op past three
                                                               sends */
}
END_TEST

/* An op that needs a transfer which its rank posts after it. */
START_TEST(a_rank_that_waits_for_itself_is_no_order_of_transfers)
{
    stuck s PP_CLEANUP(stuck_free) =
        stuck_of("0F0,0SEND_F0\n1F0,1RECV_F0,1SEND_F0\n2RECV_F0,2F0\n", PP_LANES_SINGLE);
    static const char *const circle[] = {
        "rank 1 needs 1RECV_F0 earlier than its place in the order"
    };
    expect_circle(&s, circle, 1);
    const pp_repair repair = repair_of(&s);
    ck_assert_int_eq(repair.kind, PP_REPAIR_NONE);
    ck_assert(!repair.gave_up);
}
END_TEST

/* A swap that would transfer the wrong tensor is not a repair: rank 0 would send F1 before F0. */
START_TEST(a_repair_keeps_the_tensors)
{
    pp_repair wrong = { .kind = PP_REPAIR_SWAP, .rank = 0, .first = 0, .second = 1 };
    stuck s PP_CLEANUP(stuck_free) = stuck_of(
        "0SEND_F0,0SEND_F1,2RECV_F0,2F0\n1SEND_F0,1RECV_F0,1RECV_F1,1F1\n", PP_LANES_SINGLE);
    pp_repaired copy PP_CLEANUP(pp_repaired_free) = { 0 };
    pp_err err = { 0 };
    ck_assert_int_eq(pp_repair_apply(s.program, &wrong, true, &copy, &err), PP_INFEASIBLE);
    ck_assert_msg(strstr(err.text, "wrong tensor") != NULL, "%s", err.text);
    expect(&s, PP_REPAIR_GROUP, 0, "0SEND_F0", "2RECV_F0");
}
END_TEST

/* Each rank has computed before it posts its receive, so that no two transfers are neighbours; the
 * receive may be posted together with the send. */
START_TEST(a_receive_may_be_posted_earlier)
{
    static const char rows[] = "0SEND_F1,0F2,2RECV_F0,2F0\n1SEND_F0,1F2,1RECV_F1,1F1\n";
    stuck s PP_CLEANUP(stuck_free) = stuck_of(rows, PP_LANES_SINGLE);
    const pp_repair repair = repair_of(&s);
    pp_repaired copy PP_CLEANUP(pp_repaired_free) = { 0 };
    pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
    pp_err err = { 0 };
    ck_assert_int_eq(repair.kind, PP_REPAIR_GROUP);
    ck_assert_uint_eq(repair.rank, 0);
    STEP_OK(pp_repair_apply(s.program, &repair, true, &copy, &err), err);
    STEP_OK(pp_simulate(&copy.program, s.costs, &timeline, &err), err);
    /* 2F0 waits for 2RECV_F0, which is at another place now */
    const pp_transfer *needed = &copy.comm.transfer[copy.comm.needs[1]];
    ck_assert_int_eq(needed->kind, PP_RECV_F);
    ck_assert_uint_eq(needed->stage, 2);
    ck_assert_uint_eq(copy.comm.group[needed->group].count, 2);
    ck_assert_uint_eq(s.program->comm->group[0].count, 1); /* the original is untouched */
}
END_TEST

/* A send must stay after the op that computes its tensor. */
START_TEST(sends_are_not_posted_earlier)
{
    stuck s PP_CLEANUP(stuck_free) = stuck_of("2RECV_F0,0F1,0SEND_F1,2F0\n"
                                              "1RECV_F1,1F0,1SEND_F0,1F1\n",
                                              PP_LANES_SINGLE);
    const pp_repair repair = repair_of(&s);
    ck_assert_int_eq(repair.kind, PP_REPAIR_LANES);
    ck_assert_int_eq(repair.lanes, PP_LANES_PER_DIRECTION);
}
END_TEST

/* Members that were apart: the receive that an op needs is found at its new place. */
START_TEST(needs_follow_their_receive)
{
    stuck s PP_CLEANUP(stuck_free) = stuck_of(
        "0SEND_F0,0SEND_F1,2RECV_F0,2F0\n1SEND_F0,1RECV_F0,1RECV_F1,1F1\n", PP_LANES_SINGLE);
    const pp_repair repair = repair_of(&s);
    pp_repaired copy PP_CLEANUP(pp_repaired_free) = { 0 };
    pp_err err = { 0 };
    STEP_OK(pp_repair_apply(s.program, &repair, true, &copy, &err), err);
    ck_assert_uint_ne(copy.comm.needs[0], s.program->comm->needs[0]);
    for (size_t i = 0; i < copy.program.count; i++) {
        const pp_transfer *receive = &copy.comm.transfer[copy.comm.needs[i]];
        ck_assert_int_eq(receive->kind, PP_RECV_F);
        ck_assert_uint_eq(receive->stage, copy.program.op[i].stage);
        ck_assert_uint_eq(receive->microbatch, copy.program.op[i].microbatch);
    }
}
END_TEST

static uint32_t open(pp_comm_builder *b, uint32_t rank, pp_transfer_kind kind)
{
    uint32_t group = pp_comm_open(b, rank);
    pp_comm_add(b, group, kind, rank, 0);
    return group;
}

/* The waits of a group that joined another become waits for that one: the end of the send, which
 * takes 10 us, is waited for together with the gradient's. */
START_TEST(waits_follow_their_group)
{
    static const pp_comm_step expected[] = { { 0, PP_COMM_STEP_RUN, 0 },
                                             { 0, PP_COMM_STEP_POST, 0 },
                                             { 0, PP_COMM_STEP_WAIT, 0 },
                                             { 1, PP_COMM_STEP_RUN, 0 },
                                             { 0, PP_COMM_STEP_WAIT, 0 } };
    const pp_repair join = { .kind = PP_REPAIR_GROUP, .rank = 0, .first = 0, .second = 1 };
    step s PP_CLEANUP(step_free) = { .order = step_order("gpipe", 2, 1, 1, 0) };
    pp_comm_builder *b PP_CLEANUP(pp_comm_builder_free) = NULL;
    pp_repaired copy PP_CLEANUP(pp_repaired_free) = { 0 };
    pp_err err = { 0 };
    s.costs = step_costs("F=1us,B=2us,comm=10us", 2, 1, 1);
    STEP_OK(pp_program_from_order(s.order, &s.program, &err), err);
    STEP_OK(pp_comm_builder_new(s.program, &b, &err), err);
    pp_comm_run(b, 0, 0);
    pp_comm_post(b, open(b, 0, PP_SEND_F));
    pp_comm_exchange(b, open(b, 0, PP_RECV_B));
    pp_comm_run(b, 0, 1);
    pp_comm_exchange(b, open(b, 1, PP_RECV_F));
    pp_comm_run(b, 1, 2);
    pp_comm_run(b, 1, 3);
    pp_comm_exchange(b, open(b, 1, PP_SEND_B));
    STEP_OK(pp_comm_finish(b, false, s.program, &err), err);
    STEP_OK(pp_repair_apply(s.program, &join, false, &copy, &err), err);
    for (size_t k = 0; k < sizeof expected / sizeof expected[0]; k++) {
        ck_assert_uint_eq(copy.comm.step[k].kind, expected[k].kind);
        ck_assert_uint_eq(copy.comm.step[k].index, expected[k].index);
    }
    STEP_OK(pp_simulate(&copy.program, s.costs, &s.timeline, &err), err);
    ck_assert_int_eq(pp_timeline_makespan(s.timeline), 26000);
}
END_TEST

/* Rank 1's pairs are swapped, each once; ranks 0 and 2 and the order of each kind stay the same. */
START_TEST(odd_ranks_take_turns)
{
    static const char rows[] = "0F0,0SEND_F0,0F1,0SEND_F1\n"
                               "1F0,1SEND_F0,1RECV_F0,1SEND_F1,1RECV_F1,1F2\n"
                               "2RECV_F0,2RECV_F1,2F1\n";
    static const char *const expected[] = { "1RECV_F0", "1SEND_F0", "1RECV_F1", "1SEND_F1" };
    const pp_repair parity = { .kind = PP_REPAIR_PARITY };
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    pp_repaired copy PP_CLEANUP(pp_repaired_free) = { 0 };
    pp_err err = { 0 };
    STEP_OK(
        pp_comm_rows_read(rows, strlen(rows), "rows", PP_ROWS_SINGLE, true, NULL, &program, &err),
        err);
    STEP_OK(pp_repair_apply(program, &parity, true, &copy, &err), err);
    const pp_comm *comm = &copy.comm;
    for (size_t s = 0; s < comm->step_count; s++) {
        char token[40];
        size_t k = s - comm->step_begin[1] - 1;
        if (s > comm->step_begin[1] && k < 4)
            ck_assert_str_eq(
                pp_transfer_print(&comm->transfer[comm->group[comm->step[s].index].first], token,
                                  sizeof token),
                expected[k]);
        else
            ck_assert_mem_eq(&comm->step[s], &program->comm->step[s], sizeof comm->step[s]);
    }
}
END_TEST

START_TEST(what_does_not_hang_needs_no_repair)
{
    static const char rows[] = "0SEND_F1,2RECV_F0,2F0\n1RECV_F1,1SEND_F0,1F1\n";
    static const pp_uniform_costs uniform = { 1000, 1000, 1000, -1, 1000, 0 };
    pp_repair repair = { .kind = PP_REPAIR_SWAP };
    stuck s PP_CLEANUP(stuck_free) = { 0 };
    pp_err err = { 0 };
    STEP_OK(
        pp_comm_rows_read(rows, strlen(rows), "rows", PP_ROWS_SINGLE, true, NULL, &s.program, &err),
        err);
    STEP_OK(pp_costs_uniform(&uniform, s.program->ranks, s.program->stages, s.program->microbatches,
                             &s.costs, &err),
            err);
    STEP_OK(pp_repair_find(s.program, s.costs, true, &repair, &err), err);
    ck_assert_int_eq(repair.kind, PP_REPAIR_NONE);
    ck_assert_uint_eq(repair.tried, 0);
}
END_TEST

START_TEST(cells_are_found_in_the_file)
{
    static const char rows[] = "0F0, 0SEND_F0,,0RECV_B0\r\n\n1RECV_F0,1F0,1SEND_B00 ,1SEND_B0";
    uint32_t line = 0;
    uint32_t cell = 0;
    ck_assert(pp_comm_rows_locate(rows, strlen(rows), 0, "0SEND_F0", &line, &cell));
    ck_assert(line == 1 && cell == 2);
    ck_assert(pp_comm_rows_locate(rows, strlen(rows), 0, "0RECV_B0", &line, &cell));
    ck_assert(line == 1 && cell == 4);
    ck_assert(pp_comm_rows_locate(rows, strlen(rows), 2, "1SEND_B0", &line, &cell));
    ck_assert(line == 3 && cell == 4);
    ck_assert(!pp_comm_rows_locate(rows, strlen(rows), 1, "1RECV_F0", &line, &cell));
    ck_assert(!pp_comm_rows_locate(rows, strlen(rows), 9, "1RECV_F0", &line, &cell));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("comm_repair");
    TCase *tc = tcase_create("repair");
    tcase_add_test(tc, published_hangs_get_a_swap);
    tcase_add_test(tc, the_shortest_cycle_is_reported);
    tcase_add_test(tc, a_cycle_skips_what_is_between);
    tcase_add_test(tc, a_rank_that_waits_for_itself_is_no_order_of_transfers);
    tcase_add_test(tc, a_repair_keeps_the_tensors);
    tcase_add_test(tc, a_receive_may_be_posted_earlier);
    tcase_add_test(tc, sends_are_not_posted_earlier);
    tcase_add_test(tc, needs_follow_their_receive);
    tcase_add_test(tc, waits_follow_their_group);
    tcase_add_test(tc, odd_ranks_take_turns);
    tcase_add_test(tc, what_does_not_hang_needs_no_repair);
    tcase_add_test(tc, cells_are_found_in_the_file);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
