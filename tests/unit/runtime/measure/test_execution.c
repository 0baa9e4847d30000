/* How an execution ends. */
#include "runtime/measure/execution.h"
#include "sim/base/alloc.h"
#include "tests/support/step.h"

static const pp_execution *ends;
static uint32_t worlds_closed, workers_closed;

static void close_world(pp_world *world)
{
    (void)world;
    ck_assert_ptr_nonnull(ends->result.flight);
    ck_assert_uint_eq(workers_closed, 0);
    worlds_closed++;
}

static void close_worker(void *worker)
{
    (void)worker;
    ck_assert_ptr_null(ends->result.flight);
    ck_assert_uint_eq(worlds_closed, 1);
    workers_closed++;
}

/* While the world is closed, messages of a failed run may still arrive in its result, which uses
 * the workers until it is freed. */
START_TEST(the_world_is_closed_first_and_the_workers_last)
{
    enum { RANKS = 3 };
    const pp_transport transport = { .name = "closing", .close = close_world };
    const pp_compute compute = { .name = "closing", .close = close_worker };
    pp_execution x = { .work.ranks = RANKS };
    x.job.transport = &transport;
    x.job.compute = &compute;
    x.job.worker = pp_alloc_array(RANKS, sizeof *x.job.worker);
    x.result.flight = pp_alloc_array(1, 1);
    ck_assert(x.job.worker && x.result.flight);
    ends = &x;
    pp_execution_free(&x);
    ck_assert_uint_eq(worlds_closed, 1);
    ck_assert_uint_eq(workers_closed, RANKS);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("execution");
    TCase *tc = tcase_create("execution");
    tcase_add_test(tc, the_world_is_closed_first_and_the_workers_last);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
