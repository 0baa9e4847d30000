/* The partition and the order of a step of the cpu backend do not change what it computes. */
#include "tests/support/cpu_rig.h"

#include <pthread.h>
#include <stdio.h>

static const int64_t lengths[] = { 5, 7, 0, 13, 0, 1, 9, 3, 0 };

static const char *const models[] = {
    "hidden=24,heads=3,mlp=40",
    "hidden=24,heads=3,mlp=40,vocab=17",
    "hidden=24,heads=3,mlp=40,vocab=17,tied=on",
    "hidden=24,heads=3,mlp=40,vocab=17,tied=on,dtype=float",
};

enum { MODELS = sizeof models / sizeof models[0] };

static rig run(const char *settings, uint32_t stages, const pp_stage *partition,
               const pp_workload *workload, rig_order order)
{
    rig r;
    rig_open(&r, (pp_compute_work){ .stages = stages,
                                    .microbatches = workload->microbatches,
                                    .workload = workload,
                                    .partition = partition,
                                    .settings = settings });
    rig_step(&r, order);
    return r;
}

static void expect_equal(const rig *a, const rig *b, double tolerance)
{
    double gradients = rig_compare(a, b, PP_VALUES_GRADIENTS);
    double parameters = rig_compare(a, b, PP_VALUES_PARAMETERS);
    ck_assert_msg(gradients <= tolerance, "gradients differ by %g", gradients);
    ck_assert_msg(parameters <= tolerance, "parameters differ by %g", parameters);
}

START_TEST(split_backward_in_any_order_gives_the_bits_of_the_fused_one)
{
    pp_workload workload PP_CLEANUP(pp_workload_free) = rig_workload(lengths, 3);
    pp_err err = { 0 };
    rig fused = run(models[_i], 3, NULL, &workload, RIG_B);
    rig_tie(&fused);
    RIG_OK(pp_compute_cpu.end(fused.worker, &err), err);
    for (int order = RIG_I_W; order < RIG_ORDERS; order++) {
        rig split = run(models[_i], 3, NULL, &workload, (rig_order)order);
        rig_tie(&split);
        RIG_OK(pp_compute_cpu.end(split.worker, &err), err);
        expect_equal(&fused, &split, 0);
        ck_assert(rig_compare(&fused, &split, PP_VALUES_LOSSES) == 0);
        rig_close(&split);
    }
    rig_close(&fused);
}
END_TEST

START_TEST(cutting_into_stages_changes_no_bit)
{
    static const pp_stage one[] = { { .layers = 4, .embedding = true, .loss = true } };
    static const pp_stage two[] = { { .layers = 1, .embedding = true },
                                    { .first_layer = 1, .layers = 3, .loss = true } };
    static const pp_stage four[] = { { .layers = 2, .embedding = true },
                                     { .first_layer = 2 },
                                     { .first_layer = 2, .layers = 1, .mtp = 1 },
                                     { .first_layer = 3, .loss = true } };
    static const char *const settings[] = { "hidden=24,heads=3,mlp=40",
                                            "hidden=24,heads=3,mlp=40,vocab=17" };
    pp_workload workload PP_CLEANUP(pp_workload_free) = rig_workload(lengths, 3);
    rig whole = run(settings[_i], 1, one, &workload, RIG_B);
    rig halves = run(settings[_i], 2, two, &workload, RIG_LATE);
    rig quarters = run(settings[_i], 4, four, &workload, RIG_I_W);
    expect_equal(&whole, &halves, 0);
    expect_equal(&whole, &quarters, 0);
    ck_assert(rig_compare(&whole, &halves, PP_VALUES_LOSSES) == 0);
    ck_assert(rig_compare(&whole, &quarters, PP_VALUES_LOSSES) == 0);
    rig_close(&whole);
    rig_close(&halves);
    rig_close(&quarters);
}
END_TEST

/* What is computed again has the bits that it had, and takes the memory of one block and of the
 * inputs of all. */
START_TEST(recomputation_changes_no_bit)
{
    static const pp_stage partition[] = { { .layers = 1, .embedding = true },
                                          { .first_layer = 1, .layers = 3 },
                                          { .first_layer = 4, .layers = 2, .loss = true } };
    char settings[128];
    pp_err err = { 0 };
    pp_workload workload PP_CLEANUP(pp_workload_free) = rig_workload(lengths, 3);
    snprintf(settings, sizeof settings, "%s,recompute=on", models[_i]);
    rig kept = run(models[_i], 3, partition, &workload, RIG_B);
    rig again = run(settings, 3, partition, &workload, RIG_B);
    rig_tie(&kept);
    rig_tie(&again);
    RIG_OK(pp_compute_cpu.end(kept.worker, &err), err);
    RIG_OK(pp_compute_cpu.end(again.worker, &err), err);
    expect_equal(&kept, &again, 0);
    ck_assert(rig_compare(&kept, &again, PP_VALUES_LOSSES) == 0);
    for (uint32_t j = 0; j < 3; j++) {
        const size_t row = pp_cost_index(kept.costs, 1, j);
        const int64_t input = kept.costs->message_bytes[row]; /* 64 bytes are its unit */
        const int64_t block = (kept.costs->activation_bytes[row] - input) / 3;
        ck_assert_int_eq(again.costs->activation_bytes[row], input + block + 3 * input);
        ck_assert_int_eq(again.costs->temporary_bytes[row],
                         kept.costs->temporary_bytes[row] + input);
    }
    rig_close(&kept);
    rig_close(&again);
}
END_TEST

/* Attention, tokens and targets depend on sequences, not on microbatches. */
START_TEST(packed_sequences_do_not_see_each_other)
{
    static const int64_t packed[] = { 5, 7, 0 };
    static const int64_t apart[] = { 5, 0, 7, 0 };
    pp_workload one PP_CLEANUP(pp_workload_free) = rig_workload(packed, 1);
    pp_workload two PP_CLEANUP(pp_workload_free) = rig_workload(apart, 2);
    rig a = run(models[_i], 2, NULL, &one, RIG_B);
    rig b = run(models[_i], 2, NULL, &two, RIG_B);
    double tolerance = a.real_is_float ? 1e-5 : 1e-12;
    expect_equal(&a, &b, tolerance);
    ck_assert(fabs(rig_loss(&a) - rig_loss(&b)) <= tolerance * rig_loss(&a));
    rig_close(&a);
    rig_close(&b);
}
END_TEST

START_TEST(padding_counts_nothing)
{
    static const int64_t padded[] = { 5, 16, 0, 21, 0 };
    static const int64_t real[] = { 5, 7, 0, 21, 0 };
    pp_workload long_ PP_CLEANUP(pp_workload_free) = rig_workload(padded, 2);
    pp_workload data PP_CLEANUP(pp_workload_free) = rig_workload(real, 2);
    rig plain = run(models[_i], 2, NULL, &data, RIG_B);
    rig r;
    rig_open(&r, (pp_compute_work){ .stages = 2,
                                    .microbatches = 2,
                                    .workload = &long_,
                                    .data = &data,
                                    .settings = models[_i] });
    double tolerance = r.real_is_float ? 1e-5 : 1e-12;
    rig_forwards(&r, 0);
    rig_op(&r, PP_OP_I, 1, 0);
    size_t row = r.real_is_float ? 24 * sizeof(float) : 24 * sizeof(double);
    const rig_buffer *sent = &r.kept[1][0].gradient;
    for (size_t i = 12 * row; i < sent->bytes; i++)
        RIG_CHECK((sent->data[i] & 0x7f) == 0, "gradient of a padded token"); /* -0 is fine */
    rig_op(&r, PP_OP_W, 1, 0);
    rig_op(&r, PP_OP_B, 0, 0);
    rig_forwards(&r, 1);
    rig_backwards(&r, PP_OP_B, 1);
    expect_equal(&plain, &r, tolerance);
    ck_assert(rig_compare(&plain, &r, PP_VALUES_LOSSES) <= tolerance);
    rig_close(&plain);
    rig_close(&r);
}
END_TEST

/* First and last stage on separate workers end with the same bits as one worker that holds both. */
START_TEST(tied_weights_stay_equal_wherever_they_live)
{
    pp_workload workload PP_CLEANUP(pp_workload_free) = rig_workload(lengths, 3);
    pp_err err = { 0 };
    rig both = run(models[2], 2, NULL, &workload, RIG_B);
    rig apart = run(models[2], 2, NULL, &workload, RIG_B);
    size_t bytes = pp_compute_cpu.tied_bytes(both.worker);
    ck_assert_uint_eq(bytes, 17 * 24 * 8);
    double *first = malloc(bytes), *last = malloc(bytes);
    pp_compute_cpu.tied_get(apart.worker, 0, first);
    pp_compute_cpu.tied_get(apart.worker, 1, last);
    ck_assert(memcmp(first, last, bytes) != 0);
    rig_tie(&both);
    size_t n;
    double *sums = rig_read(&both, PP_VALUES_GRADIENTS, &n);
    for (size_t i = 0; i < bytes / 8; i++) {
        ck_assert(sums[i] == first[i] + last[i]);
        ck_assert(sums[n - bytes / 8 + i] == first[i] + last[i]);
    }
    RIG_OK(pp_compute_cpu.end(both.worker, &err), err);
    double *weights = rig_read(&both, PP_VALUES_PARAMETERS, &n);
    ck_assert(memcmp(weights, weights + n - bytes / 8, bytes) == 0);
    free(first);
    free(last);
    free(sums);
    free(weights);
    rig_close(&both);
    rig_close(&apart);
}
END_TEST

START_TEST(float_follows_double)
{
    pp_workload workload PP_CLEANUP(pp_workload_free) = rig_workload(lengths, 3);
    rig wide = run(models[2], 2, NULL, &workload, RIG_B);
    rig narrow = run(models[3], 2, NULL, &workload, RIG_B);
    ck_assert(narrow.real_is_float && !wide.real_is_float);
    expect_equal(&wide, &narrow, 1e-4);
    ck_assert(rig_compare(&wide, &narrow, PP_VALUES_LOSSES) <= 1e-4);
    ck_assert(rig_compare(&wide, &narrow, PP_VALUES_LOSSES) > 0);
    rig_close(&wide);
    rig_close(&narrow);
}
END_TEST

START_TEST(loss_falls_over_twenty_steps)
{
    char settings[160];
    snprintf(settings, sizeof settings, "%s,lr=0.03", models[_i]);
    pp_workload workload PP_CLEANUP(pp_workload_free) = rig_workload(lengths, 3);
    pp_err err = { 0 };
    rig r = run(settings, 2, NULL, &workload, RIG_B);
    double before = rig_loss(&r);
    const double begin = before;
    for (uint32_t step = 1; step <= 20; step++) {
        rig_tie(&r);
        RIG_OK(pp_compute_cpu.end(r.worker, &err), err);
        RIG_OK(pp_compute_cpu.begin(r.worker, step, &err), err);
        rig_step(&r, RIG_I_W);
        ck_assert_msg(rig_loss(&r) < before, "step %u: %g after %g", step, rig_loss(&r), before);
        before = rig_loss(&r);
    }
    ck_assert_msg(before < 0.9 * begin, "from %g to %g only", begin, before);
    rig_close(&r);
}
END_TEST

/* Evaluation has the same losses, keeps one block and makes no gradients. */
START_TEST(evaluation_keeps_one_block)
{
    static const pp_stage parts[] = { { .layers = 3, .embedding = true },
                                      { .first_layer = 3, .layers = 3, .loss = true } };
    pp_workload workload PP_CLEANUP(pp_workload_free) = rig_workload(lengths, 3);
    rig train = run(models[_i], 2, parts, &workload, RIG_B);
    rig r;
    rig_open(&r, (pp_compute_work){ .stages = 2,
                                    .microbatches = 3,
                                    .workload = &workload,
                                    .partition = parts,
                                    .settings = models[_i],
                                    .forward_only = true });
    for (uint32_t j = 0; j < 3; j++) {
        rig_forwards(&r, j);
        for (uint32_t s = 0; s < 2; s++) {
            rig_kept *k = &r.kept[s][j];
            rig_give_back(&k->output, s == 0);
            rig_give_back(&k->saved, true);
            rig_give_back(&k->stash, false);
            ck_assert_int_lt(2 * r.costs->stash_bytes[j * 2 + s],
                             train.costs->stash_bytes[j * 2 + s]);
        }
    }
    ck_assert(rig_compare(&train, &r, PP_VALUES_LOSSES) == 0);
    ck_assert_uint_eq(pp_compute_cpu.value_count(r.worker, 0, PP_VALUES_GRADIENTS), 0);
    ck_assert_uint_eq(pp_compute_cpu.tied_bytes(r.worker), 0);
    ck_assert_int_eq(r.costs->gradient_bytes[0], 0);
    rig_close(&train);
    rig_close(&r);
}
END_TEST

static void *run_alone(void *rig_)
{
    rig *r = rig_;
    for (uint32_t j = 0; j < 3; j++) {
        rig_forwards(r, j);
        rig_backwards(r, PP_OP_B, j);
    }
    return NULL;
}

/* Workers of other threads do not change a worker's bits. The sizes are large enough for blocked
 * products. */
START_TEST(threads_do_not_disturb_each_other)
{
    static const int64_t long_lengths[] = { 50, 70, 0, 130, 0, 10, 90, 0 };
    pp_workload workload PP_CLEANUP(pp_workload_free) = rig_workload(long_lengths, 3);
    const char *settings = "hidden=96,heads=2,mlp=200,vocab=50";
    rig alone = run(settings, 2, NULL, &workload, RIG_B);
    rig r[2];
    pthread_t thread[2];
    for (int i = 0; i < 2; i++)
        rig_open(&r[i], alone.work);
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_create(&thread[i], NULL, run_alone, &r[i]), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < 2; i++) {
        expect_equal(&alone, &r[i], 0);
        rig_close(&r[i]);
    }
    rig_close(&alone);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_loop_test(tc, split_backward_in_any_order_gives_the_bits_of_the_fused_one, 0, MODELS);
    tcase_add_loop_test(tc, cutting_into_stages_changes_no_bit, 0, 2);
    tcase_add_loop_test(tc, recomputation_changes_no_bit, 0, MODELS);
    tcase_add_loop_test(tc, packed_sequences_do_not_see_each_other, 0, MODELS);
    tcase_add_loop_test(tc, padding_counts_nothing, 0, MODELS);
    tcase_add_test(tc, tied_weights_stay_equal_wherever_they_live);
    tcase_add_test(tc, float_follows_double);
    tcase_add_loop_test(tc, loss_falls_over_twenty_steps, 0, MODELS);
    tcase_add_loop_test(tc, evaluation_keeps_one_block, 0, MODELS);
    tcase_add_test(tc, threads_do_not_disturb_each_other);
}

int main(void)
{
    return rig_main("cpu stack", add);
}
