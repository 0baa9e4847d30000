/* Sends and receives find each other, however many pairs of ranks exchange tensors. */
#include "sim/program/comm.h"

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

int main(void)
{
    Suite *suite = suite_create("comm");
    TCase *tc = tcase_create("comm");
    tcase_add_loop_test(tc, every_transfer_meets_its_other_end, 0, 6);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
