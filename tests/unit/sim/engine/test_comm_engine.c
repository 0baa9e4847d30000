/* Programs that communicate: which rank waits for which, and for how long. Cases made by hand. */
#include "sim/engine/replicas.h"
#include "sim/program/comm.h"
#include "sim/program/program_new.h"
#include "tests/support/semantics.h"
#include "tests/support/step.h"
#include "traces/read/comm_rows.h"

static pp_program *program_of(const char *rows, pp_rows_grouping grouping, bool partial)
{
    pp_program *program = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_comm_rows_read(rows, strlen(rows), "rows", grouping, partial, NULL, &program, &err),
            err);
    return program;
}

/* Status of running `rows` with F = 1 us, B = 2 us and 10 us per transfer. */
static pp_status run_rows(const char *rows, pp_rows_grouping grouping, bool partial,
                          const char *comm, const char *lanes, pp_report **report_out, pp_err *err)
{
    static const pp_uniform_costs uniform = { 1000, 1000, 1000, -1, 10000, 0 };
    pp_program *program PP_CLEANUP(pp_program_free) = program_of(rows, grouping, partial);
    pp_costs *costs PP_CLEANUP(pp_costs_free) = NULL;
    pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
    pp_err own = { 0 };
    STEP_OK(pp_costs_uniform(&uniform, program->ranks, program->stages, program->microbatches,
                             &costs, &own),
            own);
    STEP_OK(parse_semantics(comm, lanes, &program->comm->semantics, &own), own);
    pp_status status = pp_simulate(program, costs, &timeline, err);
    if (!status && report_out)
        STEP_OK(pp_report_build("rows", NULL, program, timeline, costs, true, report_out, &own),
                own);
    return status;
}

static const char simple[] = "0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n";

/* F 1, transfer 10, F 1, B 2, transfer 10, B 2. Rank 1 waits 1 for data and 10 for the link. Rank 0
 * waits from 1 on: its gradient's sender posts at 14, so 13 are for data, then 10 for the link. */
START_TEST(waiting_is_split_into_data_and_link)
{
    pp_report *report = NULL;
    pp_err err = { 0 };
    STEP_OK(run_rows(simple, PP_ROWS_SINGLE, false, "", "", &report, &err), err);
    ck_assert_int_eq(report->makespan_ns, 26000);
    ck_assert_int_eq(report->per_rank[0].idle_ns[PP_IDLE_DATA], 13000);
    ck_assert_int_eq(report->per_rank[0].idle_ns[PP_IDLE_LINK], 10000);
    ck_assert_int_eq(report->per_rank[1].idle_ns[PP_IDLE_LINK], 10000);
    ck_assert_int_eq(report->per_rank[1].idle_ns[PP_IDLE_DATA], 1000 + 12000); /* + the tail */
    pp_report_free(&report);
}
END_TEST

/* A receive before a send of the same lane holds it back (head-of-line blocking). */
static const char blocked[] = "0RECV_B0,0F0,0SEND_F0,0B0\n1RECV_F0,1F0,1B0,1SEND_B0\n";

START_TEST(a_lane_keeps_its_order)
{
    pp_report *report = NULL;
    pp_err err = { 0 };
    ck_assert_int_eq(run_rows(blocked, PP_ROWS_SINGLE, false, "", "single", NULL, &err),
                     PP_INFEASIBLE);
    ck_assert_msg(strstr(err.text, "0SEND_F0 is behind 0RECV_B0") != NULL, "%s", err.text);
    err = (pp_err){ 0 };
    STEP_OK(run_rows(blocked, PP_ROWS_SINGLE, false, "", "per-direction", &report, &err), err);
    ck_assert_int_eq(report->makespan_ns, 26000);
    pp_report_free(&report);
    STEP_OK(run_rows(blocked, PP_ROWS_SINGLE, false, "", "per-peer", &report, &err), err);
    ck_assert_int_eq(report->makespan_ns, 26000);
    pp_report_free(&report);
}
END_TEST

/* pytorch#172668, both excerpts: they hang when a send needs its receive, and finish when one
 * message is buffered or when a rank's neighbouring ops are one group. */
START_TEST(published_hangs_depend_on_the_semantics)
{
    static const char *const excerpts[] = {
        "0SEND_F1,2RECV_F0,2F0\n1SEND_F0,1RECV_F1,1F1\n",
        "2SEND_F1,0F2,0SEND_F2,2RECV_B0,2B0\n3RECV_F1,3SEND_B0,3F1,3B1,1RECV_F2,3SEND_B1,1F2\n",
    };
    for (size_t i = 0; i < 2; i++) {
        pp_err err = { 0 };
        ck_assert_int_eq(run_rows(excerpts[i], PP_ROWS_SINGLE, true, "rendezvous", "", NULL, &err),
                         PP_INFEASIBLE);
        err = (pp_err){ 0 };
        STEP_OK(run_rows(excerpts[i], PP_ROWS_SINGLE, true, "eager:1B", "", NULL, &err), err);
        STEP_OK(run_rows(excerpts[i], PP_ROWS_BATCHED, true, "batched", "", NULL, &err), err);
    }
}
END_TEST

/* 2B0 is in the excerpt and its send is not: 1RECV_B0 counts as done, although 2B0 comes after what
 * needs 1F2. */
START_TEST(a_missing_send_counts_as_done)
{
    static const char rows[] = "1RECV_B0,1B0,1F2,1SEND_F2\n2RECV_F2,2F2,2B0\n";
    pp_err err = { 0 };
    STEP_OK(run_rows(rows, PP_ROWS_SINGLE, true, "rendezvous", "single", NULL, &err), err);
}
END_TEST

/* A message above the limit needs both ends, one at the limit does not. */
START_TEST(eager_ends_at_its_limit)
{
    static const char rows[] = "0SEND_F1,2RECV_F0,2F0\n1SEND_F0,1RECV_F1,1F1\n";
    pp_err err = { 0 };
    ck_assert_int_eq(run_rows(rows, PP_ROWS_SINGLE, true, "eager:0", "", NULL, &err),
                     PP_INFEASIBLE);
    err = (pp_err){ 0 };
    STEP_OK(run_rows(rows, PP_ROWS_SINGLE, true, "eager:1B", "", NULL, &err), err);
}
END_TEST

/* Two ranks with two stages each. Rank 0 gathers stage 0 for 5 us and then stage 2 for 30, and 0F0
 * waits for the former, 2F0, whose input is there at 27, for the latter; of stage 2 the gradients
 * are reduced from 61 on for 40 us, so that the receive of 0B0 is posted at 101 and the op starts
 * at 111. What is reduced after the last op is not in the makespan. */
START_TEST(sharded_parameters_are_gathered_and_reduced)
{
    static const char rows[] =
        "0UNSHARD,2UNSHARD,0F0,0SEND_F0,2RECV_F0,2F0,2SEND_F0,2RECV_B0,2B0,2SEND_B0,2REDUCE_GRAD,"
        "2RESHARD,0RECV_B0,0B0,0REDUCE_GRAD,0RESHARD\n"
        "1UNSHARD,3UNSHARD,1RECV_F0,1F0,1SEND_F0,3RECV_F0,3F0,3B0,3SEND_B0,3REDUCE_GRAD,"
        "3RESHARD,1RECV_B0,1B0,1SEND_B0,1REDUCE_GRAD,1RESHARD\n";
    static const pp_uniform_costs uniform = { 1000, 1000, 1000, -1, 10000, 0 };
    pp_program *program PP_CLEANUP(pp_program_free) = program_of(rows, PP_ROWS_SINGLE, false);
    pp_costs *costs PP_CLEANUP(pp_costs_free) = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_costs_uniform(&uniform, 2, 4, 1, &costs, &err), err);
    for (int sharded = 0; sharded < 2; sharded++) {
        pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
        pp_report *report PP_CLEANUP(pp_report_free) = NULL;
        costs->sharded = sharded;
        costs->unshard_ns[0] = 5000;
        costs->unshard_ns[2] = 30000;
        costs->reduce_grad_ns[0] = 900000;
        costs->reduce_grad_ns[2] = 40000;
        STEP_OK(pp_simulate(program, costs, &timeline, &err), err);
        STEP_OK(pp_report_build("rows", NULL, program, timeline, costs, true, &report, &err), err);
        ck_assert_int_eq(report->makespan_ns, sharded ? 113000 : 72000);
        if (!sharded)
            continue;
        const pp_ns *idle_ns = report->per_rank[0].idle_ns;
        /* 5 and 35 - 27 for the gathers, 40 for the reduction, and 10 for each of three receives */
        ck_assert_int_eq(idle_ns[PP_IDLE_LINK], 5000 + 8000 + 40000 + 3 * 10000);
        ck_assert_int_eq(idle_ns[PP_IDLE_LINK] + idle_ns[PP_IDLE_DATA], 113000 - 6000);
    }
    /* copies of what came follow the gather: 0F0 starts 3 us later */
    {
        pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
        costs->unshard_copy_ns[0] = 3000;
        STEP_OK(pp_simulate(program, costs, &timeline, &err), err);
        ck_assert_int_eq(timeline->start_ns[0], 8000);
        costs->unshard_copy_ns[0] = 0;
    }
    /* beside a gather compute takes twice as long: all of 0F0, and with a gather of 1 us a half */
    costs->unshard_slowdown = 2;
    for (int k = 0; k < 2; k++) {
        pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
        costs->unshard_ns[2] = k ? 1000 : 30000;
        STEP_OK(pp_simulate(program, costs, &timeline, &err), err);
        ck_assert_int_eq(timeline->start_ns[0], 5000);
        ck_assert_int_eq(timeline->end_ns[0], k ? 6500 : 7000);
    }
    /* and beside compute a gather: in the 2 us of 0F0 only 1.333 of 30 are done, and 28.667 follow
     * at full speed while the rank waits; at the start nothing computes, and 5 us are 5 */
    {
        pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
        costs->gather_slowdown = 1.5;
        costs->unshard_ns[2] = 30000;
        STEP_OK(pp_simulate(program, costs, &timeline, &err), err);
        ck_assert_int_eq(timeline->end_ns[0], 7000);
        ck_assert_int_eq(timeline->start_ns[1], 7000 + 28667);
        const pp_sharding_span *span = timeline->comm->sharding;
        for (; span->rank != 0 || span->stage != 2 || span->reduces; span++)
            ck_assert_ptr_ne(span, timeline->comm->sharding + timeline->comm->sharding_count);
        ck_assert_int_eq(span->start_ns, 5000);
        ck_assert_int_eq(span->end_ns, 7000 + 28667);
    }
}
END_TEST

/* A forward frees the parameters, and the next F or B of the stage gathers them in 5 us: F with 1
 * us of them exposed, B with 3, and both with 0.5 of copies. A backward frees nothing. */
START_TEST(parameters_are_gathered_again_after_a_forward)
{
    static const char rows[] = "0UNSHARD,0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
                               "1UNSHARD,1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n";
    static const pp_ns takes_ns[] = { 1000, 5500, 5500, 2000, 1000, 5500, 1000, 5500 };
    static const pp_uniform_costs uniform = { 1000, 1000, 1000, -1, 10000, 0 };
    pp_program *program PP_CLEANUP(pp_program_free) = program_of(rows, PP_ROWS_SINGLE, false);
    pp_costs *costs PP_CLEANUP(pp_costs_free) = NULL;
    pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_costs_uniform(&uniform, 2, 2, 2, &costs, &err), err);
    costs->sharded = costs->regathers = true;
    for (int s = 0; s < 2; s++) {
        costs->unshard_copy_ns[s] = 500;
        costs->regather_ns[s] = 5000;
        costs->regather_first_ns[s] = 1000;
        costs->regather_last_ns[s] = 3000;
    }
    STEP_OK(pp_simulate(program, costs, &timeline, &err), err);
    for (size_t i = 0; i < 8; i++)
        ck_assert_int_eq(timeline->end_ns[i] - timeline->start_ns[i], takes_ns[i]);
    /* UNSHARD brings them, too, and a longer compute hides all but what is exposed */
    costs->f_ns[0] = 9000;
    pp_timeline_free(&timeline);
    STEP_OK(pp_simulate(program, costs, &timeline, &err), err);
    ck_assert_int_eq(timeline->end_ns[0] - timeline->start_ns[0], 9000);
    ck_assert_int_eq(timeline->end_ns[1] - timeline->start_ns[1], 10500);
    /* at half its speed beside compute a gather of 2 us does one in the 2 us of 1B0, and the other
     * one after them; beside 9 us of 0F1 one of 4 is done, as before */
    costs->gather_slowdown = 2;
    pp_timeline_free(&timeline);
    STEP_OK(pp_simulate(program, costs, &timeline, &err), err);
    ck_assert_int_eq(timeline->end_ns[1] - timeline->start_ns[1], 10500);
    ck_assert_int_eq(timeline->end_ns[6] - timeline->start_ns[6], 1000);
    ck_assert_int_eq(timeline->end_ns[5] - timeline->start_ns[5], 3000 + 2000 + 1000 + 500);
}
END_TEST

/* Every op gathers for 5 us, of which F waits for 1 and B for 3; the first op of a stage gathers 4
 * us before that. A backward also reduces for 2.5, of which 0.5 follow its compute. */
START_TEST(every_op_gathers_and_backwards_reduce)
{
    static const char rows[] = "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
                               "1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1B1,1SEND_B1\n";
    static const pp_ns takes_ns[] = { 9000, 5000, 7500, 7500, 9000, 7500, 5000, 7500 };
    static const pp_ns longer_ns[] = { 15000, 11000, 23500, 23500 };
    static const pp_uniform_costs uniform = { 1000, 1000, 1000, -1, 10000, 0 };
    pp_program *program PP_CLEANUP(pp_program_free) = program_of(rows, PP_ROWS_SINGLE, false);
    pp_costs *costs PP_CLEANUP(pp_costs_free) = NULL;
    pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_costs_uniform(&uniform, 2, 2, 2, &costs, &err), err);
    costs->sharded = costs->shards_ops = true;
    for (int s = 0; s < 2; s++) {
        costs->unshard_ns[s] = 4000;
        costs->regather_ns[s] = 5000;
        costs->regather_first_ns[s] = 1000;
        costs->regather_last_ns[s] = 3000;
        costs->reduce_grad_ns[s] = 2500;
        costs->reduce_last_ns[s] = 500;
    }
    STEP_OK(pp_simulate(program, costs, &timeline, &err), err);
    for (size_t i = 0; i < 8; i++)
        ck_assert_int_eq(timeline->end_ns[i] - timeline->start_ns[i], takes_ns[i]);
    const pp_comm_timeline *comm = timeline->comm;
    pp_ns reduces_ns = 0;
    for (size_t k = 0; k < comm->sharding_count; k++)
        reduces_ns +=
            comm->sharding[k].reduces ? comm->sharding[k].end_ns - comm->sharding[k].start_ns : 0;
    ck_assert_int_eq(reduces_ns, 4 * 2500);
    ck_assert_uint_eq(comm->sharding_count, 8 + 2 * 4); /* beside the compute, and after it */
    /* a longer compute hides all but what is exposed */
    costs->f_ns[0] = 10000;
    costs->b_ns[0] = 20000;
    pp_timeline_free(&timeline);
    STEP_OK(pp_simulate(program, costs, &timeline, &err), err);
    for (size_t i = 0; i < 4; i++)
        ck_assert_int_eq(timeline->end_ns[i] - timeline->start_ns[i], longer_ns[i]);
}
END_TEST

/* Both have one communicator: the reduction of stage 2 begins at 66, when stage 0 has been gathered
 * again, and the rank waits for it until 106. */
START_TEST(a_reduction_queues_behind_a_gather)
{
    static const char rows[] =
        "0UNSHARD,2UNSHARD,0F0,0SEND_F0,2RECV_F0,2F0,2SEND_F0,2RECV_B0,2B0,2SEND_B0,0RESHARD,"
        "0UNSHARD,2REDUCE_GRAD,2RESHARD,0RECV_B0,0B0,0REDUCE_GRAD,0RESHARD\n"
        "1UNSHARD,3UNSHARD,1RECV_F0,1F0,1SEND_F0,3RECV_F0,3F0,3B0,3SEND_B0,3REDUCE_GRAD,"
        "3RESHARD,1RECV_B0,1B0,1SEND_B0,1REDUCE_GRAD,1RESHARD\n";
    static const pp_uniform_costs uniform = { 1000, 1000, 1000, -1, 10000, 0 };
    pp_program *program PP_CLEANUP(pp_program_free) = program_of(rows, PP_ROWS_SINGLE, false);
    pp_costs *costs PP_CLEANUP(pp_costs_free) = NULL;
    pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_costs_uniform(&uniform, 2, 4, 1, &costs, &err), err);
    costs->sharded = true;
    costs->unshard_ns[0] = 5000;
    costs->unshard_ns[2] = 30000;
    costs->reduce_grad_ns[2] = 40000;
    STEP_OK(pp_simulate(program, costs, &timeline, &err), err);
    const pp_sharding_span *last = &timeline->comm->sharding[timeline->comm->sharding_count - 1];
    ck_assert(last->reduces);
    ck_assert_int_eq(last->start_ns, 66000);
    ck_assert_int_eq(last->end_ns, 106000);
    ck_assert_int_eq(timeline->start_ns[3], 116000); /* 0B0, after a transfer of 10 us */
}
END_TEST

/* Two replicas of two ranks with a stage each. Alike they meet. If one gathers and the other
 * reduces, they do not; nor if rank 1 gathers after rank 0 in one replica, and before it in the
 * other: each waits for an op that comes after the gather of the other. */
START_TEST(replicas_meet_or_wait_forever)
{
    static const char alike[] =
        "0UNSHARD,0F0,0SEND_F0,0RECV_B0,0B0,0REDUCE_GRAD\n1UNSHARD,1RECV_F0,1F0,1B0,1SEND_B0\n";
    static const char reduces[] =
        "0REDUCE_GRAD,0F0,0SEND_F0,0RECV_B0,0B0,0UNSHARD\n1UNSHARD,1RECV_F0,1F0,1B0,1SEND_B0\n";
    static const char fewer[] =
        "0UNSHARD,0F0,0SEND_F0,0RECV_B0,0B0\n1UNSHARD,1RECV_F0,1F0,1B0,1SEND_B0\n";
    static const char downward[] =
        "0UNSHARD,0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1UNSHARD,1B0,1SEND_B0\n";
    static const char upward[] =
        "0F0,0SEND_F0,0RECV_B0,0B0,0UNSHARD\n1UNSHARD,1RECV_F0,1F0,1B0,1SEND_B0\n";
    static const struct {
        const char *rows[2];
        const char *words; /* NULL: they meet */
    } tried[] = {
        { { alike, alike }, NULL },
        { { alike, reduces }, "is at 0UNSHARD, and that of replica 1 at 0REDUCE_GRAD" },
        { { alike, fewer }, "at the end of the step" },
        { { downward, downward }, NULL },
        { { upward, upward }, NULL },
        { { downward, upward }, "cannot get there, because its 0B0" },
    };
    for (size_t i = 0; i < sizeof tried / sizeof tried[0]; i++) {
        pp_program *program[2];
        pp_err err = { 0 };
        for (int k = 0; k < 2; k++)
            program[k] = program_of(tried[i].rows[k], PP_ROWS_SINGLE, false);
        const pp_status status = pp_replicas_meet((const pp_program *const *)program, 2, &err);
        ck_assert_int_eq(status, tried[i].words ? PP_INFEASIBLE : PP_OK);
        ck_assert_msg(!tried[i].words || strstr(err.text, tried[i].words), "%s", err.text);
        for (int k = 0; k < 2; k++)
            pp_program_free(&program[k]);
    }
}
END_TEST

static void refused_part(const char *rows, bool partial, pp_status expected, const char *words)
{
    pp_program *program PP_CLEANUP(pp_program_free) = NULL;
    pp_err err = { 0 };
    ck_assert_msg(pp_comm_rows_read(rows, strlen(rows), "rows", PP_ROWS_SINGLE, partial, NULL,
                                    &program, &err) == expected,
                  "%s was not refused so: %s", rows, err.text);
    ck_assert_msg(strstr(err.text, words) != NULL, "'%s' lacks '%s'", err.text, words);
}

static void refused(const char *rows, pp_status expected, const char *words)
{
    refused_part(rows, false, expected, words);
}

START_TEST(rows_that_do_not_pair_up_are_refused)
{
    refused("0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1B0\n", PP_INFEASIBLE, "never meets a send");
    refused("0F0,0F1,0SEND_F1,0SEND_F0,0RECV_B0,0B0,0RECV_B1,0B1\n"
            "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n",
            PP_INFEASIBLE, "wrong tensor");
    refused("0F0,0SEND_F0,0RECV_B0,0B0\n1F0,1RECV_F0,1B0,1SEND_B0,1XY\n", PP_INPUT, "not a token");
    refused("0F0,0SEND_F0,0RECV_B0\n1RECV_F0,1F0,1B0,1SEND_B0\n", PP_INFEASIBLE, "has no B");
    refused("0F0,0SEND_F0,0B0\n1RECV_F0,1F0,1B0\n", PP_INFEASIBLE, "never receives");
    refused("", PP_INPUT, "no compute op");
}
END_TEST

START_TEST(a_send_follows_the_op_that_makes_its_tensor)
{
    static const char *const before[] = {
        "0SEND_F0,0F0,0RECV_B0,0B0\n1RECV_F0,1F0,1SEND_B0,1B0\n",
        "0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1F0,1SEND_B0,1I0,1W0\n",
        "0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1SEND_B0,1F0,1B0\n",
    };
    for (size_t i = 0; i < sizeof before / sizeof before[0]; i++) {
        refused(before[i], PP_INFEASIBLE, "comes before");
        refused_part(before[i], true, PP_INFEASIBLE, "comes before");
    }
    /* W needs no message, and in an excerpt an op of another part may have made the tensor. */
    pp_program *program = program_of(
        "0F0,0SEND_F0,0RECV_B0,0I0,0W0\n1RECV_F0,1F0,1I0,1SEND_B0,1W0\n", PP_ROWS_SINGLE, false);
    pp_program_free(&program);
    program = program_of("0SEND_F0,0F1,0SEND_F1\n1RECV_F0,1F0\n", PP_ROWS_SINGLE, true);
    pp_program_free(&program);
}
END_TEST

START_TEST(a_tensor_is_sent_and_received_once)
{
    refused("0F0,0SEND_F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,1RECV_F0,1F0,1B0,1SEND_B0\n",
            PP_INFEASIBLE, "0SEND_F0 of rank 0 is there twice");
    refused_part("0RECV_B0,0B0,0RECV_B0\n1B0,1SEND_B0\n", true, PP_INFEASIBLE,
                 "0RECV_B0 of rank 0 is there twice");
}
END_TEST

START_TEST(an_excerpt_keeps_the_order_of_its_ops)
{
    refused_part("0F0,0F0\n", true, PP_INFEASIBLE, "occurs twice");
    refused_part("0B0,0F0\n", true, PP_INFEASIBLE, "has no forward before it");
    refused_part("0W0,0I0\n", true, PP_INFEASIBLE, "comes before its backward");
}
END_TEST

/* Blocking rendezvous one by one (deepspeed): SimuMax's phases; Megatron's batched groups, both
 * with F = 1 ms, B = 2 ms, 0.1 ms per transfer. */
START_TEST(blocking_exchanges_cost_what_peers_print)
{
    static const struct {
        uint32_t p, m;
        pp_ns deepspeed_ns, megatron_ns;
    } rows[] = {
        { 4, 16, 63400000, 60500000 },
        { 8, 64, 239400000, 226900000 },
        { 16, 256, 917800000, 866900000 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        static const char *const names[] = { "deepspeed", "megatron" };
        for (int k = 0; k < 2; k++) {
            const pp_framework *framework = NULL;
            step s = { .order = step_order("1f1b", rows[i].p, 1, rows[i].m, 0) };
            const pp_uniform_costs uniform = { 1000000, 1000000, 1000000, -1, 100000, 0 };
            pp_err err = { 0 };
            STEP_OK(pp_framework_get(names[k], &framework, &err), err);
            STEP_OK(framework->lower(s.order, &s.program, &err), err);
            STEP_OK(pp_costs_uniform(&uniform, rows[i].p, rows[i].p, rows[i].m, &s.costs, &err),
                    err);
            STEP_OK(pp_simulate(s.program, s.costs, &s.timeline, &err), err);
            ck_assert_int_eq(pp_timeline_makespan(s.timeline),
                             k ? rows[i].megatron_ns : rows[i].deepspeed_ns);
            step_free(&s);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("comm");
    TCase *tc = tcase_create("comm");
    tcase_add_test(tc, waiting_is_split_into_data_and_link);
    tcase_add_test(tc, a_lane_keeps_its_order);
    tcase_add_test(tc, published_hangs_depend_on_the_semantics);
    tcase_add_test(tc, a_missing_send_counts_as_done);
    tcase_add_test(tc, eager_ends_at_its_limit);
    tcase_add_test(tc, sharded_parameters_are_gathered_and_reduced);
    tcase_add_test(tc, parameters_are_gathered_again_after_a_forward);
    tcase_add_test(tc, every_op_gathers_and_backwards_reduce);
    tcase_add_test(tc, a_reduction_queues_behind_a_gather);
    tcase_add_test(tc, replicas_meet_or_wait_forever);
    tcase_add_test(tc, rows_that_do_not_pair_up_are_refused);
    tcase_add_test(tc, a_send_follows_the_op_that_makes_its_tensor);
    tcase_add_test(tc, a_tensor_is_sent_and_received_once);
    tcase_add_test(tc, an_excerpt_keeps_the_order_of_its_ops);
    tcase_add_test(tc, blocking_exchanges_cost_what_peers_print);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
