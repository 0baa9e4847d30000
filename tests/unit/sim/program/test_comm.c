/* Sends and receives find each other, however many pairs of ranks exchange tensors. */
#include "sim/program/comm.h"
#include "sim/program/program_new.h"

#include "tests/support/step.h"

/* Every transfer meets one of the same tensor on its peer, which meets it. More ranks than a table
 * of pairs has room for at first. */
START_TEST(every_transfer_meets_its_other_end)
{
    static const uint32_t ranks[] = { 2, 3, 17, 33, 70, 500 };
    const uint32_t p = ranks[_i];
    const pp_framework *torch = NULL;
    pp_err err = { 0 };
    step s PP_CLEANUP(step_free) = { .order = step_order("1f1b", p, 1, 3, 0) };
    STEP_OK(pp_framework_get("torch", &torch, &err), err);
    STEP_OK(pp_framework_lower(torch, s.order, NULL, NULL, &s.program, &err), err);
    const pp_comm *comm = s.program->comm;
    ck_assert_uint_eq(comm->transfer_count, (size_t)4 * 3 * (p - 1));
    for (uint32_t t = 0; t < comm->transfer_count; t++) {
        const pp_transfer *own = &comm->transfer[t];
        ck_assert_uint_lt(own->match, comm->transfer_count);
        const pp_transfer *other = &comm->transfer[own->match];
        ck_assert_uint_eq(other->match, t);
        ck_assert_uint_eq(other->rank, own->peer);
        ck_assert_uint_eq(other->peer, own->rank);
        ck_assert_uint_eq(other->microbatch, own->microbatch);
    }
}
END_TEST

/* Groups are numbered rank by rank in the order of their posts, and transfers lie in that of their
 * groups, whatever a framework opens first. */
START_TEST(groups_are_in_the_order_of_the_posts)
{
    static const char *const names[] = { "torch", "torch-2.6", "megatron-unbatched", "zero-bubble",
                                         "ppsim" };
    const pp_framework *framework = NULL;
    pp_err err = { 0 };
    step s PP_CLEANUP(step_free) = { .order = step_order("1f1b", 5, 1, 7, 0) };
    STEP_OK(pp_framework_get(names[_i], &framework, &err), err);
    STEP_OK(pp_framework_lower(framework, s.order, NULL, NULL, &s.program, &err), err);
    const pp_comm *comm = s.program->comm;
    uint32_t groups = 0;
    uint32_t transfers = 0;
    for (uint32_t rank = 0; rank < 5; rank++) {
        for (size_t k = comm->step_begin[rank]; k < comm->step_begin[rank + 1]; k++) {
            if (comm->step[k].kind != PP_COMM_STEP_POST)
                continue;
            ck_assert_uint_eq(comm->step[k].index, groups);
            const pp_group group = comm->group[groups];
            ck_assert_uint_eq(group.rank, rank);
            ck_assert_uint_eq(group.first, transfers);
            for (; transfers < group.first + group.count; transfers++)
                ck_assert_uint_eq(comm->transfer[transfers].group, groups);
            groups++;
        }
    }
    ck_assert_uint_eq(transfers, comm->transfer_count);
}
END_TEST

/* A rank that opens two groups, adds to both in turn and posts the second one first waits for what
 * it meant, and the transfers of a group stay in the order in which they were added. */
START_TEST(groups_overtake_each_other)
{
    pp_err err = { 0 };
    step s PP_CLEANUP(step_free) = { .order = step_order("gpipe", 2, 1, 4, 0) };
    pp_comm_builder *b PP_CLEANUP(pp_comm_builder_free) = NULL; /* refers to the program */
    STEP_OK(pp_program_from_order(s.order, &s.program, &err), err);
    STEP_OK(pp_comm_builder_new(s.program, &b, &err), err);
    const uint32_t late = pp_comm_open(b, 1);
    const uint32_t early = pp_comm_open(b, 1);
    const uint32_t empty = pp_comm_open(b, 0);
    const uint32_t sends = pp_comm_open(b, 0);
    pp_comm_add(b, late, PP_RECV_F, 1, 2);
    pp_comm_add(b, early, PP_RECV_F, 1, 1);
    pp_comm_add(b, late, PP_RECV_F, 1, 0);
    pp_comm_add(b, early, PP_RECV_F, 1, 3);
    static const uint32_t order[] = { 1, 3, 2, 0 };
    for (size_t k = 0; k < 4; k++)
        pp_comm_add(b, sends, PP_SEND_F, 0, order[k]);
    pp_comm_post(b, early);
    pp_comm_post(b, late);
    pp_comm_read(b, 1, late);
    pp_comm_read(b, 1, PP_NO_SOURCE);
    pp_comm_wait(b, late);
    pp_comm_wait(b, early);
    pp_comm_exchange(b, empty);
    pp_comm_exchange(b, sends);
    STEP_OK(pp_comm_finish(b, false, s.program, &err), err);
    const pp_comm *comm = s.program->comm;
    static const pp_comm_step steps[] = {
        { .index = 0, .kind = PP_COMM_STEP_POST },
        { .index = 0, .kind = PP_COMM_STEP_WAIT },
        { .index = 1, .kind = PP_COMM_STEP_POST },
        { .index = 2, .kind = PP_COMM_STEP_POST },
        { .index = 2, .kind = PP_COMM_STEP_READ },
        { .index = PP_NO_SOURCE, .kind = PP_COMM_STEP_READ },
        { .index = 2, .kind = PP_COMM_STEP_WAIT },
        { .index = 1, .kind = PP_COMM_STEP_WAIT },
    };
    ck_assert_uint_eq(comm->step_count, sizeof steps / sizeof *steps);
    for (size_t k = 0; k < comm->step_count; k++) {
        ck_assert_uint_eq(comm->step[k].index, steps[k].index);
        ck_assert_uint_eq(comm->step[k].kind, steps[k].kind);
    }
    ck_assert_uint_eq(comm->group_count, 4);
    ck_assert_uint_eq(comm->group[3].count, 0); /* nobody posts the empty one */
    for (uint32_t t = 0; t < 4; t++) {
        ck_assert_uint_eq(comm->transfer[t].microbatch, order[t]);
        ck_assert_uint_eq(comm->transfer[4 + t].microbatch, order[t]);
        ck_assert_uint_eq(comm->transfer[t].match, 4 + t);
        ck_assert_uint_eq(comm->transfer[4 + t].group, 1 + t / 2);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("comm");
    TCase *tc = tcase_create("comm");
    tcase_add_loop_test(tc, every_transfer_meets_its_other_end, 0, 6);
    tcase_add_loop_test(tc, groups_are_in_the_order_of_the_posts, 0, 5);
    tcase_add_test(tc, groups_overtake_each_other);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
