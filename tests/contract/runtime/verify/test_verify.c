/* Every schedule trains a real model to the same bits as a sequential run, with the bytes
 * predicted. */
#include "runtime/compute/registry.h"
#include "runtime/verify/verify.h"
#include "tests/support/run.h"

#include <math.h>
#include <stdio.h>

static const struct {
    const char *settings;
    bool lengths; /* every microbatch has sequences of its own */
} models[] = {
    { "hidden=16,heads=2,mlp=24,tokens=10", false },
    { "hidden=16,heads=2,mlp=24,tokens=10,vocab=13,tied=on", false },
    { "hidden=16,heads=2,mlp=24,vocab=13,tied=on", true },
    { "hidden=16,heads=2,mlp=24,vocab=13,dtype=float", true },
};

enum { MODELS = sizeof models / sizeof models[0], STEPS = 2 };

static pp_workload packed(uint32_t microbatches)
{
    int64_t lengths[3 * 12];
    pp_workload workload = { 0 };
    pp_err err = { 0 };
    ck_assert_uint_le(microbatches, 12);
    for (uint32_t j = 0; j < 3 * microbatches; j++)
        lengths[j] = 3 + j * 7 % 11;
    STEP_OK(pp_workload_pack(lengths, 3 * (size_t)microbatches, 40, 1, 1, microbatches, &workload,
                             &err),
            err);
    return workload;
}

static void trains(const pp_schedule *schedule, const pp_compute *compute, int model, uint32_t p,
                   uint32_t m)
{
    uint32_t v = schedule->chunks ? schedule->chunks : 2;
    const pp_schedule_params shape = { .ranks = p, .chunks = v, .microbatches = m };
    pp_err err = { 0 };
    pp_order *order = NULL;
    running r PP_CLEANUP(running_free) = { 0 };
    pp_workload workload PP_CLEANUP(pp_workload_free) = { 0 };
    if (schedule->simulate_only)
        return;
    STEP_OK(pp_schedule_build(schedule, &shape, &order, &err), err);
    if (models[model].lengths)
        workload = packed(m);
    m = models[model].lengths ? workload.microbatches : m;
    ck_assert_uint_eq(m, order->microbatches);
    pp_costs *alike PP_CLEANUP(pp_costs_free) =
        step_costs("F=20us,I=20us,W=10us,comm=5us", p, v, m);
    pp_costs *costs = NULL;
    STEP_OK(pp_costs_spread(alike, &costs, &err), err);
    pp_compute_work work = { .ranks = p,
                             .stages = p * v,
                             .microbatches = m,
                             .stage_rank = order->stage_rank,
                             .workload = models[model].lengths ? &workload : NULL,
                             .settings = models[model].settings };
    STEP_OK(compute->describe(&work, costs, &err), err);
    running_new(&r, order, costs, "rendezvous");
    work.costs = costs;
    r.work = work;
    r.job.compute = compute;
    r.options.iterations = STEPS;
    r.options.limit_bytes = -1; /* whole tensors */
    r.options.poison = true;
    pp_status status = running_go(&r);
    ck_assert_msg(status == PP_OK, "%s %s: %s", schedule->name, work.settings, r.err.text);
    pp_verdict verdict = { 0 };
    status = pp_verify(&r.job, STEPS, NULL, &verdict, &r.err);
    ck_assert_msg(status == PP_OK, "%s %s: %s", schedule->name, work.settings, r.err.text);
    ck_assert(verdict.compared && verdict.values > 0);
    if (strstr(work.settings, "dtype=float") == NULL)
        ck_assert_msg(verdict.slopes >= 8 && verdict.worst_slope <= PP_VERIFY_TOLERANCE_SLOPE,
                      "%s: %u slopes, off by %g", schedule->name, verdict.slopes,
                      verdict.worst_slope);
    ck_assert(verdict.ordered);
    ck_assert_uint_eq(verdict.differing, 0);
    ck_assert_uint_gt(r.result.memory_checks, 0);
}

START_TEST(every_schedule_trains_to_the_bits_of_a_sequential_run)
{
    const pp_compute *compute = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_compute_get("cpu", &compute, &err), err);
    for (int model = 0; model < MODELS; model++) {
        trains(pp_schedule_at((size_t)_i), compute, model, 2, 4);
        trains(pp_schedule_at((size_t)_i), compute, model, 4, 8);
    }
}
END_TEST

/* A loss that is NaN equals itself, whatever the schedule did. */
START_TEST(what_is_no_number_verifies_nothing)
{
    const pp_compute *compute = NULL;
    running r PP_CLEANUP(running_free) = { 0 };
    pp_verdict verdict = { 0 };
    pp_err err = { 0 };
    STEP_OK(pp_compute_get("cpu", &compute, &err), err);
    pp_order *order = step_order("1f1b", 2, 1, 4, 0);
    pp_costs *costs = step_costs("F=20us,I=20us,W=10us", 2, 1, 4);
    pp_compute_work work = { .ranks = 2,
                             .stages = 2,
                             .microbatches = 4,
                             .stage_rank = order->stage_rank,
                             .settings = "hidden=8,heads=2,mlp=8,tokens=4,lr=1e200" };
    STEP_OK(compute->describe(&work, costs, &err), err);
    running_new(&r, order, costs, "rendezvous");
    work.costs = costs;
    r.work = work;
    r.job.compute = compute;
    r.options.limit_bytes = -1;
    r.options.iterations = 3;
    STEP_OK(running_go(&r), r.err);
    ck_assert_int_eq(pp_verify(&r.job, 3, NULL, &verdict, &r.err), PP_INFEASIBLE);
    ck_assert_msg(strstr(r.err.text, "nothing was verified"), "%s", r.err.text);
}
END_TEST

/* Compute cpu; an interrupt is requested during the `raise_at`-th op. */
static const pp_compute *cpu;
static volatile sig_atomic_t raised;
static uint32_t ops_run, raise_at;

static pp_status raising_run(void *worker, pp_op op, const pp_op_tensors *tensors, pp_err *err)
{
    raised = ++ops_run == raise_at;
    return cpu->run(worker, op, tensors, err);
}

/* The effect of a wrong transport, and of a wrong backward. */
static const void *wronged; /* worker */

static void wrong_read(const void *worker, uint32_t stage, pp_values which, void *out)
{
    cpu->value_read(worker, stage, which, out);
    if (worker == wronged && which == PP_VALUES_PARAMETERS)
        ((double *)out)[3] *= 1 + 1e-15;
}

static void wrong_nudge(void *worker, uint32_t stage, size_t index, double by)
{
    cpu->value_nudge(worker, stage, index, 1.01 * by);
}

/* A step of compute cpu with full transfers. Takes ownership of order and costs. */
static void run_on_cpu(running *r, pp_order *order, pp_costs *costs, const char *settings)
{
    STEP_OK(pp_compute_get("cpu", &cpu, &r->err), r->err);
    pp_compute_work work = { .ranks = order->ranks,
                             .stages = order->stages,
                             .microbatches = order->microbatches,
                             .stage_rank = order->stage_rank,
                             .settings = settings };
    STEP_OK(cpu->describe(&work, costs, &r->err), r->err);
    running_new(r, order, costs, "rendezvous");
    work.costs = costs;
    r->work = work;
    r->job.compute = cpu;
    r->options.limit_bytes = -1;
    STEP_OK(running_go(r), r->err);
}

START_TEST(one_wrong_bit_or_slope_is_found)
{
    running r PP_CLEANUP(running_free) = { 0 };
    pp_verdict verdict = { 0 };
    run_on_cpu(&r, step_order("1f1b", 2, 1, 4, 0), step_costs("F=20us,B=30us", 2, 1, 4),
               "hidden=8,heads=2,mlp=8,tokens=4");
    pp_compute wrong = *cpu;
    r.job.compute = &wrong;
    STEP_OK(pp_verify(&r.job, 1, NULL, &verdict, &r.err), r.err);
    wrong.value_read = wrong_read;
    wronged = r.job.worker[1];
    ck_assert_int_eq(pp_verify(&r.job, 1, NULL, &verdict, &r.err), PP_INFEASIBLE);
    ck_assert_msg(strstr(r.err.text, "verification failed: 1 of ") &&
                      strstr(r.err.text, "parameters of stage 1"),
                  "%s", r.err.text);
    wrong = *cpu;
    wrong.value_nudge = wrong_nudge;
    r.err = (pp_err){ 0 };
    ck_assert_int_eq(pp_verify(&r.job, 1, NULL, &verdict, &r.err), PP_INFEASIBLE);
    ck_assert_msg(strstr(r.err.text, "does not match its forward"), "%s", r.err.text);
    r.job.compute = cpu;
}
END_TEST

/* The value that a rank would hold if its own were off by this factor, or NaN. */
static double factor;

static void scaled_read(const void *worker, uint32_t stage, pp_values which, void *out)
{
    cpu->value_read(worker, stage, which, out);
    if (worker == wronged && which == PP_VALUES_PARAMETERS)
        ((double *)out)[3] *= factor;
}

/* Parameter 3 of a stage divided by its largest one. */
static double share_of_one(uint32_t stage)
{
    size_t count = cpu->value_count(wronged, stage, PP_VALUES_PARAMETERS);
    double *values = calloc(count, sizeof *values);
    double largest = 0;
    ck_assert_ptr_nonnull(values);
    cpu->value_read(wronged, stage, PP_VALUES_PARAMETERS, values);
    for (size_t i = 0; i < count; i++)
        largest = fmax(largest, fabs(values[i]));
    double share = fabs(values[3]) / largest;
    free(values);
    return share;
}

/* Weights' gradients are summed in the order of W; 3 microbatches, so that the order shows. */
#define ROWS(first, second) \
    "0F0,0F1,0F2,0I0,0I1,0I2," first "\n1F0,1F1,1F2,1I0,1I1,1I2," second "\n"

static const struct {
    const char *rows;
    bool ordered;
} turns[] = {
    { ROWS("0W0,0W1,0W2", "1W0,1W1,1W2"), true },
    { ROWS("0W2,0W0,0W1", "1W2,1W0,1W1"), true },
    { ROWS("0W0,0W1,0W2", "1W2,1W1,1W0"), false },
    { ROWS("0W2,0W1,0W0", "1W0,1W1,1W2"), false },
};

/* If all stages sum in the same order, the sequential run does too, and the results are equal bit
 * for bit. Otherwise they may differ by rounding errors only. */
START_TEST(sums_in_another_order_are_equal_but_for_rounding)
{
    running r PP_CLEANUP(running_free) = { 0 };
    pp_verdict verdict = { 0 };
    pp_order *order = NULL;
    STEP_OK(pp_format_read(turns[_i].rows, strlen(turns[_i].rows), "rows", &order, &r.err), r.err);
    run_on_cpu(&r, order, step_costs("F=20us,I=20us,W=10us", 2, 1, 3),
               "hidden=16,heads=2,mlp=24,tokens=10");
    STEP_OK(pp_verify(&r.job, 1, NULL, &verdict, &r.err), r.err);
    ck_assert(verdict.ordered == turns[_i].ordered);
    ck_assert(verdict.ordered ? verdict.differing == 0 : verdict.differing > 0);
    ck_assert(verdict.tolerance == (verdict.ordered ? 0 : PP_VERIFY_TOLERANCE_DOUBLE));
    pp_compute wrong = *cpu;
    wrong.value_read = scaled_read;
    wronged = r.job.worker[1];
    static const double factors[] = { 1 + 1e-9, (double)NAN };
    r.job.compute = &wrong;
    for (int k = 0; k < 2; k++) {
        factor = factors[k];
        ck_assert_int_eq(pp_verify(&r.job, 1, NULL, &verdict, &r.err), PP_INFEASIBLE);
        ck_assert_msg(strstr(r.err.text, "verification failed: "), "%s", r.err.text);
        ck_assert(k == 0 ? fabs(verdict.worst / (1e-9 * share_of_one(r.work.stages - 1)) - 1) < 0.01
                         : isinf(verdict.worst));
    }
    r.job.compute = cpu;
}
END_TEST

/* The flag is raised in the comparison of slopes, which comes first, and in the sequential steps:
 * both end with the next op. */
START_TEST(a_raised_flag_ends_the_verification)
{
    running r PP_CLEANUP(running_free) = { 0 };
    pp_verdict verdict = { 0 };
    run_on_cpu(&r, step_order("1f1b", 2, 1, 4, 0), step_costs("F=20us,B=30us", 2, 1, 4),
               "hidden=8,heads=2,mlp=8,tokens=4");
    pp_compute raising = *cpu;
    raising.run = raising_run;
    r.job.compute = &raising;
    STEP_OK(pp_verify(&r.job, 1, &raised, &verdict, &r.err), r.err);
    const uint32_t all = ops_run;
    const uint32_t of_a_step =
        4 * 2 * 2; /* a forward and a backward of every microbatch and stage */
    ck_assert_uint_gt(all, 2 * of_a_step);
    const uint32_t places[] = { 1, 5, all - of_a_step + 1, all - 1 };
    for (size_t k = 0; k < sizeof places / sizeof places[0]; k++) {
        ops_run = 0;
        raised = 0;
        raise_at = places[k];
        ck_assert_int_eq(pp_verify(&r.job, 1, &raised, &verdict, &r.err), PP_INFEASIBLE);
        ck_assert_str_eq(r.err.text, "interrupted; nothing was written");
        ck_assert_uint_eq(ops_run, raise_at);
    }
    r.job.compute = cpu; /* the compute to which these workers belong */
}
END_TEST

int main(void)
{
    const pp_compute *compute = NULL;
    const pp_compute_work work = { .settings = "" };
    pp_err err = { 0 };
    void *worker = NULL;
    if (pp_compute_get("cpu", &compute, &err))
        return EXIT_FAILURE;
    if (compute->open(&work, NULL, &worker, &err) == PP_UNAVAILABLE) {
        puts("skipped: built without OpenBLAS");
        return 77;
    }
    compute->close(worker);
    Suite *suite = suite_create("run cpu");
    TCase *tc = tcase_create("schedules");
    tcase_set_timeout(tc, 100);
    tcase_add_loop_test(tc, every_schedule_trains_to_the_bits_of_a_sequential_run, 0,
                        (int)pp_schedule_count());
    tcase_add_test(tc, what_is_no_number_verifies_nothing);
    tcase_add_test(tc, one_wrong_bit_or_slope_is_found);
    tcase_add_loop_test(tc, sums_in_another_order_are_equal_but_for_rounding, 0,
                        sizeof turns / sizeof turns[0]);
    tcase_add_test(tc, a_raised_flag_ends_the_verification);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
