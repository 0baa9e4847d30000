/* Merges the records of all ranks into a timeline, and checks what the ranks must agree on before a
 * step. */
#include "runtime/compute/registry.h"
#include "runtime/core/agreement.h"
#include "runtime/core/iteration.h"
#include "runtime/core/measured_timeline.h"
#include "sim/framework/lowering/lower.h"
#include "sim/program/program_new.h"
#include "tests/support/semantics.h"
#include "tests/support/step.h"

typedef struct recorded {
    pp_order *order;
    pp_program *program;
    pp_costs *costs;
    pp_record record;
} recorded;

static void recorded_free(recorded *r)
{
    pp_record_free(&r->record);
    pp_costs_free(&r->costs);
    pp_program_free(&r->program);
    pp_order_free(&r->order);
}

static void prepare_by(recorded *r, const char *name, const char *schedule, uint32_t m)
{
    const pp_framework *framework;
    pp_err err = { 0 };
    *r = (recorded){ 0 };
    r->order = step_order(schedule, 2, 1, m, 0);
    r->costs = step_costs("F=100ns,B=100ns,comm=30ns", 2, 1, m);
    STEP_OK(pp_framework_get(name, &framework, &err), err);
    STEP_OK(pp_framework_lower(framework, r->order, r->costs, NULL, &r->program, &err), err);
    STEP_OK(pp_record_new(r->program, true, &r->record, &err), err);
}

static void prepare(recorded *r, const char *schedule, uint32_t m)
{
    prepare_by(r, "ppsim", schedule, m);
}

/* A clock that is ahead shows later times than rank 0's; durations and counts are not adjusted. */
START_TEST(rows_travel_and_clocks_are_set)
{
    recorded r PP_CLEANUP(recorded_free);
    recorded other PP_CLEANUP(recorded_free);
    prepare(&r, "1f1b", 3);
    prepare(&other, "1f1b", 3);
    size_t begin = r.program->rank_begin[1];
    for (size_t i = begin; i < r.program->rank_begin[2]; i++) {
        r.record.start_ns[i] = 5000 + (pp_ns)i;
        r.record.end_ns[i] = 6000 + (pp_ns)i;
        r.record.cpu_ns[i] = 70 + (pp_ns)i;
        r.record.bytes[i][1][PP_MEMORY_LOGITS] = 80 + (int64_t)i;
    }
    r.record.begin_ns[1] = 4000;
    r.record.over_ns[1] = 9000;
    r.record.preemptions[1] = 3;
    r.record.live[1] = 2;
    char *packed = malloc(pp_record_bytes(r.program, &r.record));
    ck_assert_ptr_nonnull(packed);
    pp_record_pack(r.program, &r.record, 1, packed);
    pp_record_unpack(other.program, &other.record, 1, packed, 1000);
    free(packed);
    for (size_t i = begin; i < r.program->rank_begin[2]; i++) {
        ck_assert_int_eq(other.record.start_ns[i], 4000 + (pp_ns)i);
        ck_assert_int_eq(other.record.end_ns[i], 5000 + (pp_ns)i);
        ck_assert_int_eq(other.record.cpu_ns[i], 70 + (pp_ns)i);
        ck_assert_int_eq(other.record.bytes[i][1][PP_MEMORY_LOGITS], 80 + (int64_t)i);
    }
    ck_assert_int_eq(other.record.begin_ns[1], 3000);
    ck_assert_int_eq(other.record.over_ns[1], 8000);
    ck_assert_int_eq(other.record.preemptions[1], 3);
    ck_assert_uint_eq(other.record.live[1], 2);
    ck_assert_int_eq(other.record.start_ns[0], 0); /* rank 0's rows stay the same */
}
END_TEST

/* F0 0-100, transfer 100-130, F1 140-240: 100 ns without data, 30 on the link, 10 in between. */
START_TEST(idle_time_has_its_cause)
{
    pp_err err = { 0 };
    pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
    recorded r PP_CLEANUP(recorded_free);
    prepare(&r, "gpipe", 1);
    const pp_comm *c = r.program->comm;
    for (size_t i = 0; i < r.program->count; i++) {
        pp_op op = r.program->op[i];
        bool forward = op.kind == PP_OP_F;
        r.record.start_ns[i] = 7000 + (!forward ? 300 : op.stage ? 140 : 0);
        r.record.end_ns[i] = r.record.start_ns[i] + 100;
    }
    for (size_t t = 0; t < c->transfer_count; t++) {
        bool forward = c->transfer[t].kind == PP_SEND_F || c->transfer[t].kind == PP_RECV_F;
        bool sends = pp_transfer_sends((pp_transfer_kind)c->transfer[t].kind);
        r.record.post_ns[t] = 7000 + (!forward ? 290 : sends ? 100 : 10);
        r.record.done_ns[t] = 7000 + (forward ? 130 : 290);
    }
    r.record.begin_ns[0] = r.record.begin_ns[1] = 7000;
    STEP_OK(pp_record_timeline(r.program, r.costs, &r.record, &timeline, &err), err);
    const pp_ns *idle_ns = &timeline->comm->idle_ns[PP_IDLE_COUNT];
    ck_assert_int_eq(idle_ns[PP_IDLE_DATA], 100);
    ck_assert_int_eq(idle_ns[PP_IDLE_LINK], 30);
    ck_assert_int_eq(idle_ns[PP_IDLE_BUFFER], 0);
    ck_assert_int_eq(idle_ns[PP_IDLE_HOST], 10 + 60);
    for (size_t t = 0; t < c->transfer_count; t++) {
        if (c->transfer[t].kind == PP_SEND_F || c->transfer[t].kind == PP_RECV_F)
            ck_assert_int_eq(timeline->comm->start_ns[t], 100);
    }
}
END_TEST

/* Times count from the first rank that began. The second message of an edge begins when the first
 * one is complete or, if buffered, when it is posted and the link is free, and never after its end.
 * posted_ns: its receive. */
static void two_messages(const char *semantics, pp_ns second_ns, pp_ns posted_ns, pp_ns done_ns)
{
    pp_err err = { 0 };
    pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
    recorded r PP_CLEANUP(recorded_free);
    prepare(&r, "gpipe", 2);
    const pp_comm *c = r.program->comm;
    STEP_OK(parse_semantics(semantics, "", &r.program->comm->semantics, &err), err);
    for (size_t i = 0; i < r.program->count; i++) {
        r.record.start_ns[i] = 1000 + 10 * (pp_ns)i;
        r.record.end_ns[i] = 1005 + 10 * (pp_ns)i;
    }
    for (size_t t = 0; t < c->transfer_count; t++) {
        bool sends = pp_transfer_sends((pp_transfer_kind)c->transfer[t].kind);
        bool first = c->transfer[t].microbatch == 0;
        r.record.post_ns[t] = sends ? (first ? 1100 : 1110) : (first ? 1105 : posted_ns);
        r.record.done_ns[t] = (first ? 1150 : done_ns) + (sends ? 0 : 20);
    }
    r.record.begin_ns[0] = 1000;
    r.record.begin_ns[1] = 990;
    STEP_OK(pp_record_timeline(r.program, r.costs, &r.record, &timeline, &err), err);
    for (size_t i = 0; i < r.program->count; i++) {
        ck_assert_int_eq(timeline->start_ns[i], 10 + 10 * (pp_ns)i);
        ck_assert_int_eq(timeline->end_ns[i], 15 + 10 * (pp_ns)i);
    }
    for (size_t t = 0; t < c->transfer_count; t++) {
        pp_ns end_ns = r.record.done_ns[t];
        pp_ns start_ns = strcmp(semantics, "eager:1GB") ? 1105 : 1100;
        if (c->transfer[t].microbatch > 0)
            start_ns = second_ns < end_ns ? second_ns : end_ns;
        ck_assert_int_eq(timeline->comm->start_ns[t] + 990, start_ns);
    }
}

START_TEST(messages_of_an_edge_follow_each_other)
{
    two_messages("rendezvous", 1170, 1120, 1400); /* the first one is complete at both ends */
    two_messages("rendezvous", 1200, 1200, 1400); /* and its receiver waits for it then */
    two_messages("eager:1GB", 1150, 1200, 1400);  /* no rank needs to */
    two_messages("rendezvous", 1170, 1120, 1140);
}
END_TEST

/* A rank that waits for its send: until the receiver posts it waits for a buffer, then for the
 * link. */
static void wait_for_send(pp_ns takes_ns, pp_ns link_ns, pp_ns host_ns)
{
    pp_err err = { 0 };
    pp_timeline *timeline PP_CLEANUP(pp_timeline_free) = NULL;
    recorded r PP_CLEANUP(recorded_free);
    prepare_by(&r, "colossalai", "1f1b", 2);
    const pp_comm *c = r.program->comm;
    size_t waits = 0;
    uint32_t group = UINT32_MAX;
    for (size_t s = c->step_begin[0]; s < c->step_begin[1]; s++) {
        if (c->step[s].kind == PP_COMM_STEP_WAIT && waits++ == 0)
            group = c->step[s].index;
    }
    ck_assert_uint_gt(waits, 0);
    size_t before = 0;
    for (size_t s = c->step_begin[0]; s < c->step_begin[1]; s++) {
        if (c->step[s].kind == PP_COMM_STEP_WAIT && c->step[s].index == group)
            break;
        before += c->step[s].kind == PP_COMM_STEP_RUN;
    }
    /* ops before the wait take 100 ns each, the next one starts 1000 ns later */
    for (size_t i = 0; i < r.program->count; i++) {
        size_t own = i - r.program->rank_begin[i >= r.program->rank_begin[1]];
        r.record.start_ns[i] = 100 * (pp_ns)own + (own >= before ? 1000 : 0);
        r.record.end_ns[i] = r.record.start_ns[i] + 100;
    }
    pp_ns end_ns = 100 * (pp_ns)before;
    uint32_t sent = c->group[group].first;
    ck_assert(pp_transfer_sends((pp_transfer_kind)c->transfer[sent].kind));
    r.record.post_ns[sent] = end_ns;
    r.record.post_ns[c->transfer[sent].match] = end_ns + 600;
    r.record.done_ns[sent] = r.record.done_ns[c->transfer[sent].match] = end_ns + takes_ns;
    STEP_OK(pp_record_timeline(r.program, r.costs, &r.record, &timeline, &err), err);
    const pp_ns *idle_ns = timeline->comm->idle_ns;
    ck_assert_int_eq(idle_ns[PP_IDLE_BUFFER], 600);
    ck_assert_int_eq(idle_ns[PP_IDLE_LINK], link_ns);
    ck_assert_int_eq(idle_ns[PP_IDLE_HOST], host_ns);
}

START_TEST(waits_for_sends_are_idle_time)
{
    wait_for_send(900, 300, 100);
    wait_for_send(1200, 400, 0); /* it continues before the send ends */
}
END_TEST

/* Steps in which ranks were preempted do not count, unless there are no others. */
START_TEST(the_median_is_of_steps_that_are_not_void)
{
    static const struct {
        pp_ns step_ns[5];
        const char *voids; /* v: void */
        uint32_t median, voided;
    } rows[] = {
        { { 10, 20, 30, 40, 50 }, "-----", 2, 0 }, { { 50, 30, 10, 40, 20 }, "-----", 1, 0 },
        { { 10, 20, 30, 40, 50 }, "v-v-v", 1, 3 }, { { 90, 20, 99, 40, 30 }, "v-v--", 4, 2 },
        { { 1, 2, 3, 40, 30 }, "vvv--", 4, 3 },    { { 10, 50, 30, 40, 20 }, "vvvvv", 2, 5 },
        { { 20, 40, 60, 30, 25 }, "---vv", 1, 2 }, { { 7, 7, 7, 7, 7 }, "-----", 2, 0 }
    };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        pp_iteration iteration[5] = { 0 };
        pp_run_result result = { .iteration = iteration, .count = 5, .median = 9 };
        for (int i = 0; i < 5; i++)
            iteration[i] =
                (pp_iteration){ .step_ns = rows[k].step_ns[i], .voided = rows[k].voids[i] == 'v' };
        pp_run_choose_median(&result);
        ck_assert_msg(result.median == rows[k].median, "row %zu: %u", k, result.median);
        ck_assert_uint_eq(result.voided, rows[k].voided);
    }
}
END_TEST

static void disagree(size_t field, uint32_t rank, const char *words)
{
    pp_agreement all[4];
    char text[64];
    pp_err err = { 0 };
    for (int r = 0; r < 4; r++)
        all[r] = (pp_agreement){ 1, 2, 3, 4, 5, 6, 7 };
    STEP_OK(pp_agreement_check(all, 4, &err), err);
    ((uint64_t *)(void *)&all[rank])[field]++;
    ck_assert_int_eq(pp_agreement_check(all, 4, &err), PP_INPUT);
    snprintf(text, sizeof text, "rank %u has %s", rank, words);
    ck_assert_msg(strstr(err.text, text) && !strstr(err.text, ", rank"), "%s", err.text);
}

/* The ranks that differ from most are named, even if that is rank 0. */
START_TEST(a_rank_that_differs_is_named_with_the_difference)
{
    static const char *const words[] = {
        "another order of ops or messages",
        "another version of ppsim",
        "another compute",
        "another number of steps",
        "another number of microbatches",
        "another number of ops",
        "other tensor sizes",
    };
    ck_assert_uint_eq(sizeof(pp_agreement), sizeof words / sizeof words[0] * sizeof(uint64_t));
    for (size_t field = 0; field < sizeof words / sizeof words[0]; field++) {
        disagree(field, 2, words[field]);
        disagree(field, 0, words[field]);
    }
}
END_TEST

/* If many differ, four are named. */
START_TEST(no_more_than_four_are_named)
{
    pp_agreement all[11];
    pp_err err = { 0 };
    for (uint64_t r = 0; r < 11; r++)
        all[r] = (pp_agreement){ .work = r < 6 ? 1 : r };
    ck_assert_int_eq(pp_agreement_check(all, 11, &err), PP_INPUT);
    ck_assert_msg(strstr(err.text, "rank 9 has") && strstr(err.text, ", and more") &&
                      !strstr(err.text, "rank 10 has"),
                  "%s", err.text);
}
END_TEST

START_TEST(seeds_and_ways_to_run_must_agree)
{
    recorded r PP_CLEANUP(recorded_free);
    prepare(&r, "1f1b", 3);
    pp_err err = { 0 };
    pp_compute_work work = { .settings = "" };
    pp_interpreter in = { .program = r.program, .costs = r.costs, .work = &work };
    pp_run_options options = { .iterations = 2 };
    STEP_OK(pp_compute_get("spin", &in.compute, &err), err);
    const pp_agreement own = pp_agreement_of(&in, &options);
    options.check_memory = true;
    ck_assert_uint_ne(pp_agreement_of(&in, &options).how, own.how);
    options = (pp_run_options){ .iterations = 2, .poison = true };
    ck_assert_uint_ne(pp_agreement_of(&in, &options).how, own.how);
    options = (pp_run_options){ .iterations = 2, .check_messages = true };
    ck_assert_uint_ne(pp_agreement_of(&in, &options).how, own.how);
    options.check_messages = false;
    ck_assert_uint_eq(pp_agreement_of(&in, &options).how, own.how);
    work.seed = 1;
    ck_assert_uint_ne(pp_agreement_of(&in, &options).work, own.work);
}
END_TEST

START_TEST(the_hash_distinguishes_orders_and_sizes)
{
    recorded r PP_CLEANUP(recorded_free);
    prepare(&r, "1f1b", 3);
    const uint64_t hash = pp_program_hash(r.program, r.costs);
    ck_assert_uint_eq(pp_program_hash(r.program, r.costs), hash);
    pp_comm_step first = r.program->comm->step[0];
    r.program->comm->step[0] = r.program->comm->step[1];
    r.program->comm->step[1] = first;
    ck_assert_uint_ne(pp_program_hash(r.program, r.costs), hash);
    r.program->comm->step[1] = r.program->comm->step[0];
    r.program->comm->step[0] = first;
    ck_assert_uint_eq(pp_program_hash(r.program, r.costs), hash);
    r.costs->has_memory = true;
    r.costs->message_bytes[0] = 64;
    ck_assert_uint_ne(pp_program_hash(r.program, r.costs), hash);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("measure");
    TCase *tc = tcase_create("measure");
    tcase_add_test(tc, rows_travel_and_clocks_are_set);
    tcase_add_test(tc, idle_time_has_its_cause);
    tcase_add_test(tc, messages_of_an_edge_follow_each_other);
    tcase_add_test(tc, waits_for_sends_are_idle_time);
    tcase_add_test(tc, the_median_is_of_steps_that_are_not_void);
    tcase_add_test(tc, a_rank_that_differs_is_named_with_the_difference);
    tcase_add_test(tc, no_more_than_four_are_named);
    tcase_add_test(tc, seeds_and_ways_to_run_must_agree);
    tcase_add_test(tc, the_hash_distinguishes_orders_and_sizes);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
