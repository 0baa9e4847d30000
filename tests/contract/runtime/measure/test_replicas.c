/* Replicas that train one model together, with everything whole or in shards, end with the bits of
 * a sequential run over all of their data, and hold the memory that was predicted at every op. */
#include "runtime/compute/registry.h"
#include "runtime/measure/run_plan.h"
#include "runtime/transport/registry.h"
#include "sim/base/alloc.h"
#include "tests/support/step.h"

#include <string.h>

typedef struct executing {
    pp_plan *plan;
    pp_run_plan_options options;
    pp_execution x;
} executing;

static void executing_free(executing *e)
{
    pp_execution_free(&e->x);
    pp_plan_free(&e->plan);
}

/* One order for all replicas; with `lengths` each replica has sequences of its own. */
static void prepare(executing *e, const char *schedule, uint32_t v, uint32_t replicas, bool lengths,
                    const char *settings)
{
    const uint32_t p = 2, m = 4;
    pp_err err = { 0 };
    *e = (executing){ 0 };
    STEP_OK(pp_plan_new(&e->plan, &err), err);
    e->plan->order = pp_alloc_array(1, sizeof *e->plan->order);
    e->plan->costs = pp_alloc_array(replicas, sizeof *e->plan->costs);
    ck_assert(e->plan->order && e->plan->costs);
    e->plan->order[0] = step_order(schedule, p, v, m, 0);
    e->plan->order_count = 1;
    e->plan->costs_count = lengths ? replicas : 1;
    for (uint32_t k = 0; k < e->plan->costs_count; k++)
        e->plan->costs[k] = step_costs("F=20us,I=20us,W=10us", p, v, m);
    int64_t length[64];
    for (uint32_t j = 0; j < 2 * m * replicas; j++)
        length[j] = 3 + j * 7 % 11;
    if (lengths)
        STEP_OK(pp_workload_pack(length, 2 * (size_t)m * replicas, 40, replicas, 1, m,
                                 &e->plan->workload, &err),
                err);
    e->options = (pp_run_plan_options){ .settings = settings,
                                        .payload_bytes = -1,
                                        .iterations = 2,
                                        .verify = true,
                                        .replicas = replicas,
                                        .deadline_ns = (pp_ns)20 * 1000000000 * step_patience() };
    STEP_OK(pp_transport_get("threads", &e->options.transport, &err), err);
    STEP_OK(pp_compute_get("cpu", &e->options.compute, &err), err);
}

static const struct {
    const char *schedule;
    uint32_t chunks;
} schedules[] = {
    { "1f1b", 1 },
    { "interleaved", 4 }, /* more stages than stay gathered: they are freed and gathered again */
    { "zbv", 2 },
    { "gpipe", 1 },
};

START_TEST(shards_train_to_the_bits_of_a_sequential_run)
{
    static const char *const settings[] = { "hidden=16,heads=2,mlp=24,tokens=10,vocab=13",
                                            "hidden=16,heads=2,mlp=24,vocab=13,dtype=float" };
    for (uint32_t replicas = 1; replicas <= 3; replicas++) {
        for (int zero = 0; zero <= 3; zero++) {
            executing e PP_CLEANUP(executing_free);
            pp_err err = { 0 };
            const bool lengths = ((uint32_t)zero + replicas) % 2;
            prepare(&e, schedules[_i].schedule, schedules[_i].chunks, replicas, lengths,
                    settings[lengths]);
            e.options.zero = zero;
            const pp_status status = pp_run_plan(e.plan, NULL, &e.options, &e.x, &err);
            ck_assert_msg(status == PP_OK, "%s, ZeRO %d, %u replicas: %s", schedules[_i].schedule,
                          zero, replicas, err.text);
            ck_assert(e.x.verdict.compared && e.x.verdict.ordered);
            ck_assert_uint_eq(e.x.verdict.differing, 0);
            ck_assert_uint_gt(e.x.verdict.values, 0);
            ck_assert_uint_eq(e.x.result.memory_checks, (uint64_t)2 * 2 * e.x.program->count);
        }
    }
}
END_TEST

/* Messages about sizes are posted where their receivers need them, around gathers and reductions.
 */
START_TEST(sizes_travel_beside_gathers)
{
    static const pp_size_protocol_kind kinds[] = { PP_SIZES_MESSAGE, PP_SIZES_CACHED };
    for (int k = 0; k < 2; k++) {
        executing e PP_CLEANUP(executing_free);
        pp_err err = { 0 };
        prepare(&e, "interleaved", 4, 2, true, "hidden=16,heads=2,mlp=24");
        e.plan->sizes.kind = kinds[k];
        e.plan->has_sizes = true;
        e.options.zero = 3;
        STEP_OK(pp_run_plan(e.plan, NULL, &e.options, &e.x, &err), err);
        ck_assert_uint_eq(e.x.verdict.differing, 0);
        ck_assert_uint_gt(e.x.result.memory_checks, 0);
    }
}
END_TEST

/* What a rank holds of parameters and gradients at its peak, the first backward, with 2 replicas
 * and 2 stages per rank. ZeRO 3 holds a half and both stages gathered, ZeRO 2 and 3 the gradients
 * of the second stage alone. */
START_TEST(shards_hold_what_they_say)
{
    int64_t parameters[4], gradients[4];
    for (int zero = 0; zero <= 3; zero++) {
        executing e PP_CLEANUP(executing_free);
        pp_err err = { 0 };
        prepare(&e, "looped-bfs", 2, 2, false, "hidden=16,heads=2,mlp=24,tokens=10");
        e.options.zero = zero;
        STEP_OK(pp_run_plan(e.plan, NULL, &e.options, &e.x, &err), err);
        const pp_memory_peak *peak = &e.x.report->per_rank[0].memory;
        parameters[zero] = peak->bytes[PP_MEMORY_PARAMETERS];
        gradients[zero] = peak->bytes[PP_MEMORY_GRADIENTS];
    }
    ck_assert_int_eq(parameters[1], parameters[0]);
    ck_assert_int_eq(parameters[2], parameters[0]);
    ck_assert_int_eq(parameters[3], parameters[0] / 2 + parameters[0]);
    ck_assert_int_eq(gradients[1], gradients[0]);
    ck_assert_int_eq(gradients[2], gradients[0] / 2);
    ck_assert_int_eq(gradients[3], gradients[2]);
}
END_TEST

/* An op of a replica that fails ends all replicas, with its own message. */
static const pp_compute *cpu;

static pp_status failing_run(void *worker, pp_op op, const pp_op_tensors *tensors, pp_err *err)
{
    if (op.kind == PP_OP_B && op.microbatch == 3 && op.stage == 0)
        return pp_err_set(err, PP_INPUT, NULL, "this op fails on purpose");
    return cpu->run(worker, op, tensors, err);
}

START_TEST(one_failure_ends_all_replicas)
{
    executing e PP_CLEANUP(executing_free);
    pp_err err = { 0 };
    prepare(&e, "1f1b", 1, 3, false, "hidden=16,heads=2,mlp=24,tokens=10");
    cpu = e.options.compute;
    pp_compute failing = *cpu;
    failing.run = failing_run;
    e.options.compute = &failing;
    e.options.zero = 3;
    ck_assert_int_eq(pp_run_plan(e.plan, NULL, &e.options, &e.x, &err), PP_INPUT);
    ck_assert_msg(strstr(err.text, "on purpose"), "%s", err.text);
}
END_TEST

/* A sum in another order, a part left out, or a block that is not whole would show. */
static void wrong_add(void *worker, size_t bytes, const void *other, void *sum)
{
    cpu->add(worker, bytes - sizeof(double), other, sum);
}

START_TEST(a_part_left_out_is_found)
{
    for (int zero = 0; zero <= 3; zero++) {
        executing e PP_CLEANUP(executing_free);
        pp_err err = { 0 };
        prepare(&e, "1f1b", 1, 3, false, "hidden=15,heads=3,mlp=25,tokens=10");
        cpu = e.options.compute;
        pp_compute wrong = *cpu;
        wrong.add = wrong_add;
        e.options.compute = &wrong;
        e.options.zero = zero;
        ck_assert_int_eq(pp_run_plan(e.plan, NULL, &e.options, &e.x, &err), PP_INFEASIBLE);
        ck_assert_msg(strstr(err.text, "verification failed"), "%s", err.text);
    }
}
END_TEST

/* Replicas whose orders gather stages in different orders would wait for each other. */
START_TEST(orders_that_do_not_meet_are_refused)
{
    executing e PP_CLEANUP(executing_free);
    pp_err err = { 0 };
    prepare(&e, "interleaved", 4, 2, false, "hidden=16,heads=2,mlp=24,tokens=10");
    pp_order **both = pp_alloc_array(2, sizeof *both);
    both[0] = e.plan->order[0];
    both[1] = step_order("looped-bfs", 2, 4, 4, 0);
    free(e.plan->order);
    e.plan->order = both;
    e.plan->order_count = 2;
    e.options.zero = 1;
    STEP_OK(pp_run_plan(e.plan, NULL, &e.options, &e.x, &err), err);
    pp_execution_free(&e.x);
    e.options.zero = 3;
    ck_assert_int_eq(pp_run_plan(e.plan, NULL, &e.options, &e.x, &err), PP_INFEASIBLE);
    ck_assert_msg(strstr(err.text, "wait for each other"), "%s", err.text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("replicas");
    TCase *tc = tcase_create("replicas");
    tcase_set_timeout(tc, 120 * (double)step_patience());
    tcase_add_loop_test(tc, shards_train_to_the_bits_of_a_sequential_run, 0,
                        sizeof schedules / sizeof schedules[0]);
    tcase_add_test(tc, sizes_travel_beside_gathers);
    tcase_add_test(tc, shards_hold_what_they_say);
    tcase_add_test(tc, one_failure_ends_all_replicas);
    tcase_add_test(tc, a_part_left_out_is_found);
    tcase_add_test(tc, orders_that_do_not_meet_are_refused);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
