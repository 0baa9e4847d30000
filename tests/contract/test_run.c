/* Every schedule is executed as it was simulated. */
#include "tests/contract/run.h"

/* Bytes that differ by stage, so that a mix-up shows. */
static void give_bytes(pp_costs *costs)
{
    costs->has_memory = true;
    for (uint32_t s = 0; s < costs->stages; s++) {
        costs->message_bytes[s] = s + 1 < costs->stages ? 256 + 64 * s : 0;
        costs->stash_bytes[s] = 512 + s;
        costs->activation_bytes[s] = 4096 + 16 * s;
        costs->temporary_bytes[s] = 128 + s;
        costs->recompute_bytes[s] = 300 + s;
        costs->logits_bytes[s] = s + 1 == costs->stages ? 777 : 0;
    }
    for (uint32_t r = 0; r < costs->ranks; r++)
        costs->parameter_bytes[r] = 100000 + r;
}

static uint32_t chunks_of(const pp_schedule *schedule)
{
    return schedule->chunks ? schedule->chunks : 2;
}

/* Runs it, and compares every byte at every op with the simulator's account. */
static void runs(const pp_schedule *schedule, uint32_t p, uint32_t m, const char *comm)
{
    uint32_t v = chunks_of(schedule);
    const pp_shape shape = { .ranks = p, .chunks = v, .microbatches = m };
    pp_err err = { 0 };
    pp_order *order = NULL;
    running r PP_CLEANUP(running_free) = { 0 };
    if (schedule->simulate_only || pp_schedule_build(schedule, &shape, &order, &err))
        return;
    pp_costs *costs = step_costs("F=20us,I=20us,W=10us,comm=5us", p, v, m);
    give_bytes(costs);
    running_new(&r, order, costs, comm);
    r.options.iterations = 2;
    pp_status status = running_go(&r);
    ck_assert_msg(status == PP_OK, "%s p=%u m=%u %s: %s", schedule->name, p, m, comm, r.err.text);
    ck_assert_uint_eq(r.result.count, 2);
    ck_assert_uint_eq(r.result.memory_checks, 2 * 2 * r.program->count);
}

START_TEST(every_schedule_runs_and_holds_what_was_predicted)
{
    const pp_schedule *schedule = pp_schedule_at((size_t)_i);
    runs(schedule, 2, 4, "rendezvous");
    runs(schedule, 4, 8, "rendezvous");
    runs(schedule, 4, 8, "eager:1GB");
    runs(schedule, 4, 12, "eager:300B"); /* some are, some are not */
}
END_TEST

/* Far more ranks than processors. */
START_TEST(many_ranks_on_few_processors)
{
    runs(pp_schedule_find("1f1b"), 64, 128, "rendezvous");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("run");
    TCase *tc = tcase_create("schedules");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, every_schedule_runs_and_holds_what_was_predicted, 0,
                        (int)pp_schedule_count());
    tcase_add_test(tc, many_ranks_on_few_processors);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
