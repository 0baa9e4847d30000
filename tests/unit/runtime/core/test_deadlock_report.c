/* Messages about ranks that make no progress, composed from what each of them is doing. */
#include "runtime/core/deadlock_report.h"
#include "sim/program/program_new.h"
#include "tests/support/step.h"

enum { RANKS = 3, NOW_NS = 10000000 };

typedef struct standing {
    pp_order *order;
    pp_program *program;
    pp_costs *costs;
    pp_moment now[RANKS];
    bool known[RANKS];
    bool *matched;
    pp_err err;
} standing;

static void standing_free(standing *s)
{
    free(s->matched);
    pp_costs_free(&s->costs);
    pp_program_free(&s->program);
    pp_order_free(&s->order);
}

/* Every rank computes its first op. */
static void prepare(standing *s)
{
    const pp_framework *framework;
    *s = (standing){ .order = step_order("1f1b", RANKS, 1, 2, 0) };
    s->costs = step_costs("F=1us,B=1us,comm=0", RANKS, 1, 2);
    STEP_OK(pp_framework_get("ppsim", &framework, &s->err), s->err);
    STEP_OK(pp_framework_lower(framework, s->order, s->costs, NULL, &s->program, &s->err), s->err);
    s->matched = calloc(s->program->comm->transfer_count, sizeof *s->matched);
    ck_assert_ptr_nonnull(s->matched);
    for (uint32_t r = 0; r < RANKS; r++) {
        s->now[r] = (pp_moment){ .doing = PP_DOING_COMPUTING,
                                 .what = (uint32_t)s->program->rank_begin[r],
                                 .since_ns = NOW_NS - 2000000 };
        s->known[r] = true;
    }
}

static uint32_t transfer_of(const standing *s, pp_transfer_kind kind, uint32_t rank, uint32_t j)
{
    const pp_comm *comm = s->program->comm;
    uint32_t t = 0;
    while (comm->transfer[t].kind != kind || comm->transfer[t].rank != rank ||
           comm->transfer[t].microbatch != j)
        t++;
    return t;
}

static uint32_t awaits(standing *s, uint32_t rank, pp_transfer_kind kind, uint32_t j, pp_ns since)
{
    uint32_t t = transfer_of(s, kind, rank, j);
    s->now[rank] = (pp_moment){ .doing = PP_DOING_WAITING, .what = t, .since_ns = since };
    return t;
}

static void has_posted_all(standing *s, uint32_t rank)
{
    const size_t *begin = s->program->comm->step_begin;
    s->now[rank].steps_taken = (uint32_t)(begin[rank + 1] - begin[rank]);
}

static void says(standing *s, bool knows_matches, const char *wanted)
{
    s->err = (pp_err){ 0 };
    ck_assert_int_eq(pp_deadlock_report(s->program, s->now, s->known,
                                        knows_matches ? s->matched : NULL, false, NOW_NS, &s->err),
                     PP_INFEASIBLE);
    ck_assert_str_eq(s->err.text, wanted);
}

#define WAITING \
    "the run makes no progress: rank 1 has been waiting for 1RECV_F0 from rank 0 for 4.000 ms"

/* A transport that cannot match messages cannot distinguish a message that is on its way from a
 * lost one. */
START_TEST(a_message_is_lost_where_that_is_known)
{
    standing s PP_CLEANUP(standing_free);
    prepare(&s);
    uint32_t t = awaits(&s, 1, PP_RECV_F, 0, NOW_NS - 4000000);
    has_posted_all(&s, 0);
    says(&s, true, WAITING ": the message was sent and did not arrive: it is lost");
    says(&s, false, WAITING ": the message was sent and has not arrived: it is in transit or lost");
    s.matched[t] = true;
    says(&s, true, WAITING ": the message is in transit");
    has_posted_all(&s, 1); /* which does not state what it waits for */
    says(&s, true, WAITING ": the message is in transit");
}
END_TEST

START_TEST(the_root_of_a_chain_is_named_with_what_it_does)
{
    standing s PP_CLEANUP(standing_free);
    prepare(&s);
    awaits(&s, 1, PP_RECV_F, 0, NOW_NS - 4000000);
    says(&s, true,
         WAITING
         "; rank 0 has been computing 0F0 for 2.000 ms: it is slow, or its op does not end");
    awaits(&s, 2, PP_RECV_F, 0, NOW_NS - 3000000); /* not as long */
    says(&s, true,
         WAITING
         "; rank 0 has been computing 0F0 for 2.000 ms: it is slow, or its op does not end");
    awaits(&s, 2, PP_RECV_F, 0, NOW_NS - 5000000);
    says(&s, true,
         "the run makes no progress: rank 2 has been waiting for 2RECV_F0 from rank 1 for 5.000 "
         "ms; rank 1 has been waiting for 1RECV_F0 from rank 0 for 4.000 ms; rank 0 has been "
         "computing 0F0 for 2.000 ms: it is slow, or its op does not end");
}
END_TEST

START_TEST(the_computing_rank_is_blamed_for_ranks_waiting_for_a_turn)
{
    standing s PP_CLEANUP(standing_free);
    prepare(&s);
    s.now[0].doing = PP_DOING_TURN;
    s.now[1].doing = PP_DOING_TURN;
    s.now[1].since_ns = NOW_NS - 3000000;
    says(&s, true,
         "the run makes no progress: rank 1 has been waiting for its turn on the GPU for 3.000 "
         "ms; rank 2 has been computing 2F0 for 2.000 ms: it is slow, or its op does not end");
    awaits(&s, 0, PP_RECV_B, 0, NOW_NS - 9000000); /* a wait of rank 1 that is longer */
    says(&s, true,
         "the run makes no progress: rank 1 has been waiting for its turn on the GPU for 3.000 "
         "ms; rank 2 has been computing 2F0 for 2.000 ms: it is slow, or its op does not end");
    s.now[2].doing = PP_DOING_MEETING;
    says(&s, true,
         "the run makes no progress: rank 1 has been waiting for its turn on the GPU for 3.000 "
         "ms: no rank computes");
}
END_TEST

START_TEST(failed_ranks_come_first)
{
    standing s PP_CLEANUP(standing_free);
    prepare(&s);
    awaits(&s, 1, PP_RECV_F, 0, NOW_NS - 4000000);
    awaits(&s, 2, PP_RECV_F, 0, NOW_NS - 5000000);
    s.known[0] = false;
    says(&s, true, WAITING "; rank 0 does not answer: its process hangs or has ended");
    s.known[0] = true;
    s.now[0].doing = PP_DOING_DEAD;
    says(&s, true, WAITING "; rank 0 died before 0F0: all other ranks wait for it");
    s.now[1].doing = PP_DOING_MEETING; /* and no rank waits for the dead one */
    s.now[2].doing = PP_DOING_MEETING;
    says(&s, true,
         "the run makes no progress: rank 0 died before 0F0: all other ranks wait for it");
}
END_TEST

START_TEST(a_receive_without_a_send_is_reported)
{
    standing s PP_CLEANUP(standing_free);
    prepare(&s);
    awaits(&s, 1, PP_RECV_F, 0, NOW_NS - 4000000);
    s.now[0].doing = PP_DOING_FINISHED;
    says(&s, true,
         WAITING "; rank 0 has finished its program: its program does not contain that message");
    s.now[0].doing = PP_DOING_FAILED;
    says(&s, true, WAITING "; rank 0 has failed: all other ranks wait for it");
    s.now[0].doing = PP_DOING_POSTING;
    says(&s, true,
         WAITING "; rank 0 has been posting a message for 2.000 ms: all other ranks wait for it");
}
END_TEST

START_TEST(absent_ranks_are_reported)
{
    standing s PP_CLEANUP(standing_free);
    prepare(&s);
    s.now[0].doing = s.now[2].doing = PP_DOING_MEETING;
    says(&s, true,
         "the run makes no progress: rank 1 has been computing 1F0 for 2.000 ms: it is slow, or "
         "its op does not end");
    s.now[1].doing = PP_DOING_MEETING;
    says(&s, true,
         "the run makes no progress: rank 0 has been waiting for all other ranks for 2.000 ms: "
         "all other ranks wait for it");
}
END_TEST

/* Rank 0 waits for a gradient of rank 1, which waits for rank 0; rank 2 waits for one of them but
 * is not part of the cycle. The cycle is printed from its lowest rank, whichever rank waits
 * longest. */
START_TEST(a_cycle_is_reported_without_ranks_that_wait_for_it)
{
    for (int longest = 0; longest < 3; longest++) {
        standing s PP_CLEANUP(standing_free);
        prepare(&s);
        awaits(&s, 0, PP_RECV_B, 1, NOW_NS - (longest == 0 ? 9000000 : 1000000));
        awaits(&s, 1, PP_RECV_F, 1, NOW_NS - (longest == 1 ? 9000000 : 1000000));
        awaits(&s, 2, PP_RECV_F, 1, NOW_NS - (longest == 2 ? 9000000 : 1000000));
        ck_assert_int_eq(
            pp_deadlock_report(s.program, s.now, NULL, s.matched, false, NOW_NS, &s.err),
            PP_INFEASIBLE);
        ck_assert_msg(
            strstr(s.err.text, "in a cycle: rank 0 has been waiting for 0RECV_B1 from rank 1 ") &&
                strstr(s.err.text, "; rank 1 has been waiting for 1RECV_F1 from rank 0 ") &&
                !strstr(s.err.text, "rank 2"),
            "%s", s.err.text);
    }
}
END_TEST

/* Rank 1 waits for an activation that rank 0 has sent. If rank 1 has one queue, a gradient that
 * rank 2 has not sent is in front of it; with a queue per peer nothing is. */
START_TEST(a_queue_is_held_up_by_what_is_in_front)
{
    standing s PP_CLEANUP(standing_free);
    prepare(&s);
    awaits(&s, 1, PP_RECV_F, 1, NOW_NS - 4000000);
    has_posted_all(&s, 0);
    has_posted_all(&s, 1);
    for (int single = 0; single < 2; single++) {
        s.program->comm->semantics.lanes = single ? PP_LANES_SINGLE : PP_LANES_PER_PEER;
        s.err = (pp_err){ 0 };
        ck_assert_int_eq(pp_deadlock_report(s.program, s.now, NULL, NULL, true, NOW_NS, &s.err),
                         PP_INFEASIBLE);
        ck_assert_str_eq(
            s.err.text,
            single ? "the run makes no progress: rank 1 has been waiting for 1RECV_F1 from rank 0 "
                     "for 4.000 ms, queued behind 1RECV_B1 of rank 1; rank 2 has been computing "
                     "2F0 for 2.000 ms: it is slow, or its op does not end"
                   : "the run makes no progress: rank 1 has been waiting for 1RECV_F1 from rank 0 "
                     "for 4.000 ms: the message was sent and has not arrived: it is in transit or "
                     "lost");
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hang");
    TCase *tc = tcase_create("hang");
    tcase_add_test(tc, a_message_is_lost_where_that_is_known);
    tcase_add_test(tc, the_root_of_a_chain_is_named_with_what_it_does);
    tcase_add_test(tc, the_computing_rank_is_blamed_for_ranks_waiting_for_a_turn);
    tcase_add_test(tc, failed_ranks_come_first);
    tcase_add_test(tc, a_receive_without_a_send_is_reported);
    tcase_add_test(tc, absent_ranks_are_reported);
    tcase_add_test(tc, a_cycle_is_reported_without_ranks_that_wait_for_it);
    tcase_add_test(tc, a_queue_is_held_up_by_what_is_in_front);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
