/* Partitions are as good as the best of all, which can be tried for small models. */
#include "planner/bound/partition.h"
#include "sim/plan/plan.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LAYERS_MAX 12

static uint64_t draw(uint64_t *state, uint64_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (*state >> 33) % below;
}

static pp_stage *balance(const pp_unit_weights *w, const pp_partition_params *split)
{
    pp_stage *stages = NULL;
    pp_err err = { 0 };
    ck_assert_msg(pp_partition_balance(w, split, &stages, &err) == PP_OK, "%s", err.text);
    return stages;
}

/* Every unit occurs once, in order, and no stage is empty. */
static void check_whole(const pp_unit_weights *w, const pp_partition_params *split,
                        const pp_stage *stages)
{
    uint32_t count = split->ranks * split->chunks;
    int64_t layers = 0;
    int64_t mtp = 0;
    for (uint32_t s = 0; s < count; s++) {
        ck_assert_int_eq(stages[s].first_layer, layers);
        layers += stages[s].layers;
        mtp += stages[s].mtp;
        ck_assert_int_eq(stages[s].embedding, s == 0);
        ck_assert_int_eq(stages[s].loss, s == count - 1);
        bool bare = split->allow_empty_end_stages && (s == 0 || s == count - 1);
        ck_assert_msg(bare || stages[s].layers + stages[s].mtp > 0, "stage %u is empty", s);
        ck_assert(layers == w->layers || stages[s].mtp == 0);
    }
    ck_assert_int_eq(layers, w->layers);
    ck_assert_int_eq(mtp, w->mtp);
}

/* All ways to cut a row of units into stages, by the simplest method. */
typedef struct brute {
    const pp_unit_weights *w;
    const pp_partition_params *split;
    pp_stage stages[LAYERS_MAX];
    pp_ns stage_ns, rank_ns; /* best: least heaviest stage, then least heaviest rank */
} brute;

static void brute_force(brute *b, uint32_t s, int64_t first)
{
    uint32_t count = b->split->ranks * b->split->chunks;
    int64_t units = b->w->layers + b->w->mtp;
    if (s == count) {
        pp_ns stage_ns;
        pp_ns rank_ns;
        pp_err err = { 0 };
        if (first < units)
            return;
        ck_assert(pp_partition_heaviest(b->w, b->split, b->stages, &stage_ns, &rank_ns, &err) ==
                  PP_OK);
        if (stage_ns < b->stage_ns || (stage_ns == b->stage_ns && rank_ns < b->rank_ns)) {
            b->stage_ns = stage_ns;
            b->rank_ns = rank_ns;
        }
        return;
    }
    bool bare = b->split->allow_empty_end_stages && (s == 0 || s == count - 1);
    for (int64_t end = first + !bare; end <= units; end++) {
        int64_t low = first < b->w->layers ? first : b->w->layers;
        int64_t high = end < b->w->layers ? end : b->w->layers;
        b->stages[s] = (pp_stage){ .first_layer = low,
                                   .layers = high - low,
                                   .mtp = (end - high) - (first - low),
                                   .embedding = s == 0,
                                   .loss = s == count - 1 };
        brute_force(b, s + 1, end);
    }
}

static brute best_of(const pp_unit_weights *w, const pp_partition_params *split)
{
    brute b = { .w = w, .split = split, .stage_ns = INT64_MAX, .rank_ns = INT64_MAX };
    brute_force(&b, 0, 0);
    return b;
}

/* L <= 12, p <= 4, v = 1: every L and p, random weights with many zeros and ties. */
START_TEST(one_stage_per_rank_is_optimal)
{
    uint64_t seed = 11;
    for (int round = 0; round < 40; round++) {
        for (int64_t layers = 1; layers <= LAYERS_MAX; layers++) {
            for (uint32_t p = 1; p <= 4; p++) {
                pp_ns layer_ns[LAYERS_MAX];
                pp_unit_weights w = { .layers = layers,
                                      .mtp = (int64_t)draw(&seed, 3),
                                      .layer_ns = layer_ns,
                                      .mtp_ns = (pp_ns)draw(&seed, 8),
                                      .embedding_ns = (pp_ns)draw(&seed, 5),
                                      .loss_ns = (pp_ns)draw(&seed, 20),
                                      .stage_ns = (pp_ns)draw(&seed, 3) };
                pp_partition_params split = { p, 1, PP_PLACE_LOOP, draw(&seed, 2) == 1, NULL };
                if (p > layers + w.mtp)
                    continue;
                for (int64_t k = 0; k < layers; k++)
                    layer_ns[k] = (pp_ns)draw(&seed, 10);
                pp_stage *stages = balance(&w, &split);
                pp_ns stage_ns;
                pp_ns rank_ns;
                pp_err err = { 0 };
                check_whole(&w, &split, stages);
                ck_assert(pp_partition_heaviest(&w, &split, stages, &stage_ns, &rank_ns, &err) ==
                          PP_OK);
                ck_assert_int_eq(stage_ns, best_of(&w, &split).stage_ns);
                free(stages);
            }
        }
    }
}
END_TEST

/* v > 1: the heaviest stage is exact; with equal layers, the heaviest rank is, too. */
START_TEST(several_stages_per_rank_are_optimal_for_equal_layers)
{
    uint64_t seed = 23;
    for (int round = 0; round < 30; round++) {
        for (int64_t layers = 4; layers <= LAYERS_MAX; layers++) {
            for (uint32_t p = 2; p <= 4; p++) {
                for (uint32_t v = 2; p * v <= (layers < 8 ? layers : 8); v++) {
                    pp_ns layer_ns[LAYERS_MAX];
                    bool equal = round % 2 == 0;
                    pp_unit_weights w = { .layers = layers,
                                          .layer_ns = layer_ns,
                                          .embedding_ns = (pp_ns)draw(&seed, 10),
                                          .loss_ns = (pp_ns)draw(&seed, 30) };
                    pp_partition_params split = { p, v, draw(&seed, 2) ? PP_PLACE_V : PP_PLACE_LOOP,
                                                  false, NULL };
                    for (int64_t k = 0; k < layers; k++)
                        layer_ns[k] = equal ? 7 : 1 + (pp_ns)draw(&seed, 10);
                    pp_stage *stages = balance(&w, &split);
                    brute best = best_of(&w, &split);
                    pp_ns stage_ns;
                    pp_ns rank_ns;
                    pp_err err = { 0 };
                    check_whole(&w, &split, stages);
                    ck_assert(pp_partition_heaviest(&w, &split, stages, &stage_ns, &rank_ns,
                                                    &err) == PP_OK);
                    ck_assert_int_eq(stage_ns, best.stage_ns);
                    if (equal)
                        ck_assert_int_eq(rank_ns, best.rank_ns);
                    ck_assert_int_ge(rank_ns, best.rank_ns);
                    free(stages);
                }
            }
        }
    }
}
END_TEST

static const char *layout_of(const pp_unit_weights *w, uint32_t p, pp_text *text)
{
    pp_partition_params split = { p, 1, PP_PLACE_LOOP, false, NULL };
    pp_stage *stages = balance(w, &split);
    pp_layout_print(stages, p, text);
    free(stages);
    return text->data;
}

/* DeepSpeed#4312: five equal layers on four ranks. [2,2,1,0] has the same heaviest stage. The
 * additional layer goes to a late stage, where fewer activations are live. */
START_TEST(no_stage_is_empty)
{
    pp_ns layer_ns[] = { 1, 1, 1, 1, 1 };
    pp_unit_weights w = { .layers = 5, .layer_ns = layer_ns };
    pp_text text = { 0 };
    ck_assert_str_eq(layout_of(&w, 4, &text), "Et|t|t|t*2L");
    pp_text_free(&text);
}
END_TEST

/* A heavy head pushes layers to earlier stages: 7 + 7 + 7 + 3 + head of 4 layers. */
START_TEST(the_head_counts)
{
    pp_ns layer_ns[24];
    for (size_t k = 0; k < 24; k++)
        layer_ns[k] = 10;
    pp_unit_weights w = { .layers = 24, .layer_ns = layer_ns, .loss_ns = 40 };
    pp_text text = { 0 };
    ck_assert_str_eq(layout_of(&w, 4, &text), "Et*7|t*7|t*7|t*3L");
    pp_text_free(&text);
}
END_TEST

/* Layers per stage that partition_uniform of ColossalAI gives
 * (colossalai/legacy/pipeline/utils.py): with k layers in a chunk, the first p - k % p ranks have k
 * / p, the others one more. */
static const struct {
    int64_t layers;
    uint32_t ranks, chunks;
    int64_t of_stage[16];
} of_colossal_ai[] = {
    { 30, 4, 1, { 7, 7, 8, 8 } },
    { 96, 10, 1, { 9, 9, 9, 9, 10, 10, 10, 10, 10, 10 } },
    { 61, 16, 1, { 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4 } },
    { 80, 7, 1, { 11, 11, 11, 11, 12, 12, 12 } },
    { 32, 3, 2, { 5, 5, 6, 5, 5, 6 } },
    { 30, 3, 2, { 5, 5, 5, 5, 5, 5 } },
    { 60, 4, 3, { 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5 } },
    { 126, 8, 2, { 7, 8, 8, 8, 8, 8, 8, 8, 7, 8, 8, 8, 8, 8, 8, 8 } },
    { 12, 5, 2, { 1, 1, 1, 1, 2, 1, 1, 1, 1, 2 } },
};

START_TEST(uniform_spreads_a_remainder_as_colossal_ai_does)
{
    const uint32_t count = of_colossal_ai[_i].ranks * of_colossal_ai[_i].chunks;
    pp_stage *stages = NULL;
    pp_err err = { 0 };
    int64_t next = 0;
    ck_assert_int_eq(pp_partition_uniform(of_colossal_ai[_i].layers, 1, of_colossal_ai[_i].ranks,
                                          of_colossal_ai[_i].chunks, &stages, &err),
                     PP_OK);
    for (uint32_t s = 0; s < count; s++) {
        ck_assert_int_eq(stages[s].layers, of_colossal_ai[_i].of_stage[s]);
        ck_assert_int_eq(stages[s].first_layer, next);
        ck_assert_int_eq(stages[s].mtp, s == count - 1);
        ck_assert_int_eq(stages[s].embedding, s == 0);
        ck_assert_int_eq(stages[s].loss, s == count - 1);
        next += stages[s].layers;
    }
    ck_assert_int_eq(next, of_colossal_ai[_i].layers);
    free(stages);
}
END_TEST

START_TEST(uniform_leaves_no_stage_empty_and_no_chunk_longer)
{
    pp_stage *stages = NULL;
    pp_err err = { 0 };
    ck_assert_int_eq(pp_partition_uniform(30, 0, 4, 4, &stages, &err), PP_USAGE);
    ck_assert_ptr_nonnull(strstr(err.text, "4 chunks per rank do not divide 30 layers"));
    err = (pp_err){ 0 };
    ck_assert_int_eq(pp_partition_uniform(30, 0, 16, 2, &stages, &err), PP_USAGE);
    ck_assert_ptr_nonnull(strstr(err.text, "choose pp x vpp <= 30"));
    ck_assert_ptr_null(stages);
}
END_TEST

START_TEST(more_stages_than_units_are_refused)
{
    pp_ns layer_ns[] = { 1, 1, 1 };
    pp_unit_weights w = { .layers = 3, .layer_ns = layer_ns };
    pp_partition_params split = { 4, 1, PP_PLACE_LOOP, false, NULL };
    pp_stage *stages = NULL;
    pp_err err = { 0 };
    ck_assert_int_eq(pp_partition_balance(&w, &split, &stages, &err), PP_USAGE);
    ck_assert_ptr_null(stages);
    split.allow_empty_end_stages = true;
    stages = balance(&w, &split);
    check_whole(&w, &split, stages);
    free(stages);
}
END_TEST

/* Rank 1 is so slow that each of its stages takes as long as can be counted: their sum is no less.
 */
START_TEST(a_rank_without_room_is_the_heaviest)
{
    static pp_ns layer_ns[24];
    static const double speed[] = { 1, 1e-18 };
    const pp_unit_weights w = { .layers = 24, .layer_ns = layer_ns };
    const pp_partition_params split = { .ranks = 2, .chunks = 6, .rank_speed = speed };
    pp_ns stage_ns = 0;
    pp_ns rank_ns = 0;
    pp_err err = { 0 };
    for (size_t k = 0; k < 24; k++)
        layer_ns[k] = 1000000;
    pp_stage *stages = balance(&w, &split);
    check_whole(&w, &split, stages);
    ck_assert_int_eq(pp_partition_heaviest(&w, &split, stages, &stage_ns, &rank_ns, &err), PP_OK);
    ck_assert_int_eq(stage_ns, INT64_MAX / 4);
    ck_assert_int_eq(rank_ns, INT64_MAX);
    free(stages);
}
END_TEST

START_TEST(too_long_times_are_refused)
{
    pp_ns layer_ns[] = { INT64_MAX / 2, INT64_MAX / 2, INT64_MAX / 2 };
    pp_unit_weights w = { .layers = 3, .layer_ns = layer_ns };
    pp_partition_params split = { 2, 1, PP_PLACE_LOOP, false, NULL };
    pp_stage *stages = NULL;
    pp_err err = { 0 };
    ck_assert_int_eq(pp_partition_balance(&w, &split, &stages, &err), PP_INPUT);
}
END_TEST

/* 1000 layers of random weight into 512 stages, and 128 into 64 of two chunks: well under a second
 * even under sanitizers (a few ms otherwise). */
START_TEST(large_models_take_little_time)
{
    uint64_t seed = 3;
    pp_ns layer_ns[1000];
    for (size_t k = 0; k < 1000; k++)
        layer_ns[k] = 1000000 + (pp_ns)draw(&seed, 1000000);
    const struct {
        int64_t layers;
        uint32_t p, v;
    } rows[] = { { 1000, 512, 1 }, { 1000, 64, 8 }, { 128, 64, 1 }, { 128, 32, 2 } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pp_unit_weights w = { .layers = rows[i].layers, .layer_ns = layer_ns, .loss_ns = 3000000 };
        pp_partition_params split = { rows[i].p, rows[i].v, PP_PLACE_LOOP, false, NULL };
        clock_t begin = clock();
        pp_stage *stages = balance(&w, &split);
        double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
        printf("%lld layers, %u x %u stages: %.1f ms\n", (long long)rows[i].layers, rows[i].p,
               rows[i].v, seconds * 1e3);
        ck_assert(seconds < 5);
        check_whole(&w, &split, stages);
        free(stages);
    }
}
END_TEST

/* A model of 16,000 layers, for which neither the table nor the local search can be finished: some
 * ms, where the whole table takes 50 and all moves seconds. */
START_TEST(huge_models_take_little_time)
{
    enum { LAYERS = 16000 };
    static pp_ns layer_ns[LAYERS];
    const struct {
        uint32_t p, v;
    } rows[] = { { 16, 1 }, { 1000, 1 }, { 16, 8 }, { 512, 8 } };
    for (size_t k = 0; k < LAYERS; k++)
        layer_ns[k] = 1000000;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pp_unit_weights w = { .layers = LAYERS, .layer_ns = layer_ns, .loss_ns = 3000000 };
        pp_partition_params split = { rows[i].p, rows[i].v, PP_PLACE_LOOP, false, NULL };
        clock_t begin = clock();
        pp_stage *stages = balance(&w, &split);
        double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
        printf("%u x %u stages: %.1f ms\n", rows[i].p, rows[i].v, seconds * 1e3);
        ck_assert(seconds < 1);
        check_whole(&w, &split, stages);
        free(stages);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("partition");
    TCase *tc = tcase_create("partition");
    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, one_stage_per_rank_is_optimal);
    tcase_add_test(tc, several_stages_per_rank_are_optimal_for_equal_layers);
    tcase_add_test(tc, no_stage_is_empty);
    tcase_add_test(tc, the_head_counts);
    tcase_add_loop_test(tc, uniform_spreads_a_remainder_as_colossal_ai_does, 0,
                        sizeof of_colossal_ai / sizeof of_colossal_ai[0]);
    tcase_add_test(tc, uniform_leaves_no_stage_empty_and_no_chunk_longer);
    tcase_add_test(tc, more_stages_than_units_are_refused);
    tcase_add_test(tc, a_rank_without_room_is_the_heaviest);
    tcase_add_test(tc, too_long_times_are_refused);
    tcase_add_test(tc, large_models_take_little_time);
    tcase_add_test(tc, huge_models_take_little_time);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
