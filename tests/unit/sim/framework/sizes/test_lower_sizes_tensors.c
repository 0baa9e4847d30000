/* Several tensors per boundary (--tensors-per-boundary) under every way to communicate. */
#include "sim/framework/sizes/size_protocol.h"
#include "tests/support/semantics.h"
#include "tests/support/step.h"

/* One microbatch on two ranks, 1001 B in four tensors of 251, 250, 250, 250 in each direction: F 1
 * us, transfer 10 us, F 1, B 2, transfer 10, B 2. */
static pp_ns makespan_of(const char *framework_name, const char *comm, pp_ns fixed_ns)
{
    const pp_exchange_options exchange = { .tensors = 4, .shape_message_ns = fixed_ns };
    const pp_framework *framework = NULL;
    step s PP_CLEANUP(step_free) = { .order = step_order("1f1b", 2, 1, 1, 0) };
    pp_err err = { 0 };
    s.costs = step_costs("F=1us,B=2us,comm=10us", 2, 1, 1);
    s.costs->has_memory = true;
    s.costs->message_bytes[0] = 1001;
    STEP_OK(pp_framework_get(framework_name, &framework, &err), err);
    STEP_OK(framework->lower(s.order, &s.program, &err), err);
    STEP_OK(pp_exchange_lower(framework, &exchange, s.costs, s.program, &err), err);
    STEP_OK(parse_semantics(comm, "", &s.program->comm->semantics, &err), err);
    STEP_OK(pp_simulate(s.program, s.costs, &s.timeline, &err), err);
    return pp_timeline_makespan(s.timeline);
}

/* Buffered tensors are sent at once, and the link carries them one after the other. With eager:250B
 * the first one is not buffered: one by one (deepspeed), the others follow when its time is over;
 * in a group (ppsim), which ends as a unit, none is buffered then. Each of four tensors pays a
 * fixed part, and a group pays it once. */
START_TEST(tensors_of_a_boundary_count_once)
{
    static const char *const comms[] = { "rendezvous", "eager:250B", "eager:251B", "batched" };
    for (size_t c = 0; c < sizeof comms / sizeof comms[0]; c++) {
        ck_assert_int_eq(makespan_of("deepspeed", comms[c], 0), 26000);
        ck_assert_int_eq(makespan_of("deepspeed", comms[c], 1000), 32000);
        ck_assert_int_eq(makespan_of("ppsim", comms[c], 0), 26000);
        ck_assert_int_eq(makespan_of("ppsim", comms[c], 1000), 26000);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tensors");
    TCase *tc = tcase_create("tensors");
    tcase_add_test(tc, tensors_of_a_boundary_count_once);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
