/* Frameworks in which even and odd ranks issue transfers in different orders. */
#include "sim/program/program_new.h"
#include "tests/support/executors.h"

static pp_program *lowered(const char *framework, const pp_order *order)
{
    pp_program *program = NULL;
    pp_err err = { 0 };
    STEP_OK(lower_with(framework, order, &program, &err), err);
    return program;
}

/* megatron/core/pipeline_parallel/p2p_communication.py, _p2p_ops: even ranks send_next, recv_prev,
 * send_prev, recv_next; odd ranks recv_prev, send_next, recv_next, send_prev. */
static const pp_transfer_kind unbatched[2][4] = {
    { PP_SEND_F, PP_RECV_F, PP_SEND_B, PP_RECV_B },
    { PP_RECV_F, PP_SEND_F, PP_RECV_B, PP_SEND_B },
};

static int place_of(uint32_t rank, pp_transfer_kind kind)
{
    int k = 0;
    while (unbatched[rank % 2][k] != kind)
        k++;
    return k;
}

/* One transfer per post; the posts of a call are consecutive. */
START_TEST(megatron_posts_by_parity)
{
    pp_order *order PP_CLEANUP(pp_order_free) = step_order("interleaved", 4, 2, 8, 4);
    pp_program *program PP_CLEANUP(pp_program_free) = lowered("megatron-unbatched", order);
    const pp_comm *comm = program->comm;
    size_t mirrored_from = 0; /* places that only the parity explains */
    for (uint32_t r = 0; r < 4; r++) {
        for (size_t s = comm->step_begin[r] + 1; s < comm->step_begin[r + 1]; s++) {
            if (comm->step[s - 1].kind != PP_COMM_STEP_POST ||
                comm->step[s].kind != PP_COMM_STEP_POST)
                continue;
            const pp_group *a = &comm->group[comm->step[s - 1].index];
            const pp_group *b = &comm->group[comm->step[s].index];
            pp_transfer_kind first = (pp_transfer_kind)comm->transfer[a->first].kind;
            pp_transfer_kind second = (pp_transfer_kind)comm->transfer[b->first].kind;
            ck_assert_uint_eq(a->count, 1);
            ck_assert_int_lt(place_of(r, first), place_of(r, second));
            mirrored_from += place_of(r + 1, first) > place_of(r + 1, second);
        }
    }
    ck_assert_uint_gt(mirrored_from, 50);
}
END_TEST

/* On one queue, no rank sends before its neighbour has posted the receive: odd ranks receive
 * first. */
START_TEST(parity_keeps_one_queue_from_hanging)
{
    static const uint32_t ranks[] = { 2, 3, 4, 8 };
    pp_err err = { 0 };
    uint32_t p = ranks[_i];
    step s PP_CLEANUP(step_free) = { .order = step_order("interleaved", p, 2, 2 * p, p) };
    s.program = lowered("megatron-unbatched", s.order);
    s.program->comm->semantics.lanes = PP_LANES_SINGLE;
    s.costs = step_costs("F=10ns,B=20ns,comm=5ns", p, 2, 2 * p);
    STEP_OK(pp_simulate(s.program, s.costs, &s.timeline, &err), err);
}
END_TEST

/* colossalai/pipeline/p2p.py and schedule/one_f_one_b.py: send_first on even ranks. */
START_TEST(colossalai_sends_first_on_even_ranks)
{
    pp_order *order PP_CLEANUP(pp_order_free) = step_order("1f1b", 4, 1, 8, 0);
    pp_program *program PP_CLEANUP(pp_program_free) = lowered("colossalai", order);
    size_t both = 0;
    for (size_t g = 0; g < program->comm->group_count; g++) {
        const pp_group *group = &program->comm->group[g];
        const pp_transfer *t = &program->comm->transfer[group->first];
        if (group->count < 2)
            continue;
        ck_assert_uint_eq(group->count, 2);
        ck_assert(pp_transfer_sends((pp_transfer_kind)t[0].kind) == (group->rank % 2 == 0));
        ck_assert(pp_transfer_sends((pp_transfer_kind)t[1].kind) == (group->rank % 2 == 1));
        both++;
    }
    ck_assert_uint_gt(both, 20);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("parity");
    TCase *tc = tcase_create("parity");
    tcase_add_test(tc, megatron_posts_by_parity);
    tcase_add_loop_test(tc, parity_keeps_one_queue_from_hanging, 0, 4);
    tcase_add_test(tc, colossalai_sends_first_on_even_ranks);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
