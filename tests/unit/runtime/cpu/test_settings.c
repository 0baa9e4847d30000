/* What the settings of the cpu backend mean, which ones it refuses, and the memory that it
 * requests. */
#include "tests/support/cpu_rig.h"

#include <stdio.h>

static const struct {
    const char *settings, *text; /* a part of the message */
} bad[] = {
    { "hiden=64", "no setting 'hiden', did you mean 'hidden'" },
    { "zzzzzzzz=1", "the settings are hidden, heads" },
    { "hidden", "'hidden' is not KEY=VALUE" },
    { "=4", "there is no setting ''" },
    { "hidden=64,", "there is nothing after the last comma" },
    { ",hidden=64", "'' is not KEY=VALUE" },
    { "hidden=64,hidden=64", "hidden is given twice" },
    { "hidden=0", "hidden=0: must be a whole number from 1 to 65536" },
    { "hidden=64x", "hidden=64x: must be a whole number" },
    { "hidden=", "hidden=: must be a whole number" },
    { "hidden= 64", "must be a whole number" },
    { "hidden=99999999999999999999", "must be a whole number" },
    { "heads=3", "hidden=64 is not a multiple of heads=3" },
    { "mlp=-1", "mlp=-1: must be" },
    { "vocab=1", "vocab=1 leaves nothing to predict" },
    { "tied=on", "vocab= is needed too" },
    { "vocab=8,tied=yes", "tied=yes: must be off or on" },
    { "tokens=0", "tokens=0: must be" },
    { "dtype=half", "dtype=half: must be double or float" },
    { "lr=0", "lr=0: must be a positive number" },
    { "lr=nan", "must be a positive number" },
    { "lr=1e999", "must be a positive number" },
    { "recompute=full", "recompute=full: must be off or on" },
    { "lr=0.1s", "lr=0.1s: must be a positive number" },
    { "dtype=111111111111111111111111111111111111111111111111111111111111111111111111111111111111"
      "1111111111111111111111111111111111111111111111111111111111111111111",
      "too long" },
};

START_TEST(wrong_settings_are_named)
{
    pp_cpu_settings s = { 0 };
    pp_err err = { 0 };
    ck_assert_int_eq(pp_cpu_settings_parse(bad[_i].settings, &s, &err), PP_USAGE);
    ck_assert_msg(strstr(err.text, bad[_i].text) != NULL, "%s", err.text);
    ck_assert_int_eq(s.hidden, 0); /* outputs are written on success only */
}
END_TEST

START_TEST(settings_are_read)
{
    pp_cpu_settings s;
    pp_err err = { 0 };
    RIG_OK(pp_cpu_settings_parse("", &s, &err), err);
    ck_assert(s.hidden == 64 && s.heads == 4 && s.mlp == 256 && s.vocab == 0 && !s.tied &&
              s.tokens == 32 && !s.single && s.lr == 0.01 && !s.recompute);
    RIG_OK(pp_cpu_settings_parse(
               "recompute=on,lr=1e-3,dtype=float,tokens=5,tied=on,vocab=9,mlp=7,heads=2,hidden=6",
               &s, &err),
           err);
    ck_assert(s.hidden == 6 && s.heads == 2 && s.mlp == 7 && s.vocab == 9 && s.tied &&
              s.tokens == 5 && s.single && s.lr == 1e-3 && s.recompute);
}
END_TEST

/* Work that cannot be done: status and a part of the message. */
static void refuse(pp_compute_work work, pp_status status, const char *text)
{
    static const uint32_t ranks[4] = { 0, 1, 2, 3 };
    static const bool holds[4] = { true, true, true, true };
    pp_costs *costs PP_CLEANUP(pp_costs_free) = NULL;
    pp_err err = { 0 };
    void *worker = NULL;
    work.ranks = work.stages;
    work.stage_rank = ranks;
    RIG_OK(
        pp_costs_new(work.stages, work.stages, work.microbatches, work.microbatches, &costs, &err),
        err);
    for (uint32_t j = 0; j < work.microbatches; j++)
        costs->class_of[j] = j;
    ck_assert_int_eq(pp_compute_cpu.describe(&work, costs, &err), status);
    ck_assert_msg(strstr(err.text, text) != NULL, "%s", err.text);
    ck_assert(!costs->has_memory);
    err = (pp_err){ 0 };
    ck_assert_int_eq(pp_compute_cpu.open(&work, holds, &worker, &err), status);
    ck_assert_msg(strstr(err.text, text) != NULL, "%s", err.text);
    ck_assert_ptr_null(worker);
}

START_TEST(work_that_does_not_fit_is_refused)
{
    static const int64_t long_lengths[] = { 5, 0, 9, 3, 0 };
    static const int64_t short_lengths[] = { 5, 0, 9, 0 };
    static const int64_t longer_lengths[] = { 6, 0, 9, 3, 0 };
    static const pp_stage bare[2] = { { .layers = 1 }, { .layers = 1 } };
    static const pp_stage huge[1] = { { .layers = (int64_t)1 << 40 } };
    pp_workload w PP_CLEANUP(pp_workload_free) = rig_workload(long_lengths, 2);
    pp_workload fewer PP_CLEANUP(pp_workload_free) = rig_workload(short_lengths, 2);
    pp_workload longer PP_CLEANUP(pp_workload_free) = rig_workload(longer_lengths, 2);
    pp_compute_work work = { .stages = 1, .microbatches = 2, .settings = "vocab=5,tied=on" };
    refuse(work, PP_USAGE, "tied=on needs at least 2 stages");
    work = (pp_compute_work){ .stages = 2, .microbatches = 2, .settings = "vocab=5" };
    work.partition = bare;
    refuse(work, PP_INPUT, "stage 0 of the partition");
    work.settings = "nonsense=5";
    refuse(work, PP_USAGE, "nonsense");
    work.settings = "recompute=on";
    work.split = true;
    refuse(work, PP_USAGE, "use a schedule with B (probe cpu-ops");
    work = (pp_compute_work){ .stages = 1, .microbatches = 2, .settings = "" };
    work.partition = huge;
    refuse(work, PP_INPUT, "too much");
    work.partition = NULL;
    work.workload = &w;
    work.data = &fewer;
    refuse(work, PP_INPUT, "microbatch 1 has 2 sequences, but its data have 1");
    work.data = &longer;
    refuse(work, PP_INPUT, "sequence 0 of microbatch 0 has 5 tokens, but its data have 6");
    work.data = NULL;
    work.microbatches = 3;
    refuse(work, PP_INPUT, "sequences for 2 microbatches instead of 3");
}
END_TEST

START_TEST(microbatches_that_share_a_class_must_be_alike)
{
    static const int64_t lengths[] = { 5, 7, 0, 7, 5, 0, 7, 5, 0 };
    static const uint32_t ranks[2] = { 0, 1 };
    pp_workload w PP_CLEANUP(pp_workload_free) = rig_workload(lengths, 3);
    pp_costs *costs PP_CLEANUP(pp_costs_free) = NULL;
    pp_costs *spread PP_CLEANUP(pp_costs_free) = NULL;
    pp_err err = { 0 };
    const pp_compute_work work = { .ranks = 2,
                                   .stages = 2,
                                   .microbatches = 3,
                                   .stage_rank = ranks,
                                   .workload = &w,
                                   .settings = "" };
    RIG_OK(pp_costs_new(2, 2, 3, 2, &costs, &err), err);
    ck_assert_int_eq(pp_compute_cpu.describe(&work, costs, &err), PP_INPUT);
    ck_assert_msg(strstr(err.text, "microbatches 0 and 1 share their costs"), "%s", err.text);
    err = (pp_err){ 0 };
    costs->class_of[1] = costs->class_of[2] = 1;
    RIG_OK(pp_compute_cpu.describe(&work, costs, &err), err);
    costs->class_of[1] = 0;
    RIG_OK(pp_costs_spread(costs, &spread, &err), err);
    RIG_OK(pp_compute_cpu.describe(&work, spread, &err), err);
}
END_TEST

/* docs/explanation/runtime-cpu.md, by hand: 8 tokens in sequences of 6 and 2, hidden 16, 2 heads,
 * mlp 40, vocabulary 10, doubles. A block: stash 8 (8 x 16 + 2 x 40) x 8 = 13312, saved 64 + 64 +
 * 128. Scratch: 1024, and 6 x 6 scores twice (320 each, from 288), 6 x 8 keys and values (384
 * each); 2560 for the MLP is more. Ends: 8 x 16 x 8 = 1024 each, logits 640, 64 saved. */
START_TEST(bytes_are_what_the_page_says)
{
    static const int64_t lengths[] = { 6, 2, 0 };
    static const pp_stage parts[3] = { { .layers = 2, .embedding = true },
                                       { .layers = 1 },
                                       { .loss = true } };
    static const int64_t saved = 64 + 64 + 128, stash = 13312;
    pp_workload w PP_CLEANUP(pp_workload_free) = rig_workload(lengths, 1);
    rig r;
    rig_open(&r, (pp_compute_work){ .stages = 3,
                                    .microbatches = 1,
                                    .workload = &w,
                                    .partition = parts,
                                    .settings = "hidden=16,heads=2,mlp=40,vocab=10" });
    const pp_costs *c = r.costs;
    const int64_t last = 1024 + 1024 + 640; /* stream, normed, logits */
    ck_assert_int_eq(c->stash_bytes[0], 2 * stash + 1024);
    ck_assert_int_eq(c->activation_bytes[0], 2 * (stash + saved) + 1024);
    ck_assert_int_eq(c->stash_bytes[1], stash);
    ck_assert_int_eq(c->activation_bytes[1], 1024 + stash + saved);
    ck_assert_int_eq(c->stash_bytes[2], last);
    ck_assert_int_eq(c->activation_bytes[2], 1024 + last + 64);
    ck_assert_int_eq(c->temporary_bytes[0], 2560);
    ck_assert_int_eq(c->temporary_bytes[1], 2560);
    ck_assert_int_eq(c->temporary_bytes[2], 1024);
    ck_assert_int_eq(c->message_bytes[0], 1024);
    ck_assert_int_eq(c->message_bytes[1], 1024);
    ck_assert_int_eq(c->message_bytes[2], 0);
    const int64_t block = 8 * (4 * 16 * 16 + 2 * 16 * 40);
    ck_assert_int_eq(c->parameter_bytes[0], 2 * block + 8 * 160);
    ck_assert_int_eq(c->parameter_bytes[1], block);
    ck_assert_int_eq(c->gradient_bytes[2], 8 * 160);
    ck_assert_int_eq(c->optimizer_bytes[0], 0);
    ck_assert_uint_eq(pp_compute_cpu.value_count(r.worker, 2, PP_VALUES_PARAMETERS), 160);
    ck_assert_uint_eq(pp_compute_cpu.value_count(r.worker, 1, PP_VALUES_LOSSES), 0);
    ck_assert_uint_eq(pp_compute_cpu.value_count(r.worker, 2, PP_VALUES_LOSSES), 1);
    rig_step(&r, RIG_I_W);
    rig_close(&r);
}
END_TEST

/* Odd sizes in float, for which every part ends at an offset that is not a multiple of 64; a short
 * mlp, so that the attention determines the scratch. */
START_TEST(odd_sizes_stay_within_their_bytes)
{
    static const int64_t lengths[] = { 3, 2, 0, 41, 0 };
    pp_workload w PP_CLEANUP(pp_workload_free) = rig_workload(lengths, 2);
    char settings[80];
    static const char *const dtypes[] = { "double", "float" };
    snprintf(settings, sizeof settings, "hidden=3,heads=3,mlp=5,vocab=7,dtype=%s", dtypes[_i]);
    rig r;
    rig_open(&r, (pp_compute_work){
                     .stages = 3, .microbatches = 2, .workload = &w, .settings = settings });
    rig_step(&r, RIG_LATE);
    rig_close(&r);
}
END_TEST

/* No sequences are given: microbatches have `tokens` tokens, and data of their own. */
START_TEST(without_a_workload_tokens_decide)
{
    rig r;
    rig_open(&r, (pp_compute_work){ .stages = 2, .microbatches = 2, .settings = "tokens=9" });
    ck_assert_int_eq(r.costs->message_bytes[0], 9 * 64 * 8);
    rig_step(&r, RIG_B);
    double losses[2];
    pp_compute_cpu.value_read(r.worker, 1, PP_VALUES_LOSSES, losses);
    ck_assert(losses[0] > 0 && losses[1] > 0 && losses[0] != losses[1]);
    rig_close(&r);
}
END_TEST

START_TEST(another_seed_is_another_model)
{
    rig a, b;
    rig_open(&a, (pp_compute_work){ .stages = 1, .microbatches = 1, .settings = "" });
    rig_open(&b, (pp_compute_work){ .stages = 1, .microbatches = 1, .settings = "", .seed = 8 });
    ck_assert(rig_compare(&a, &b, PP_VALUES_PARAMETERS) > 0.1);
    rig_close(&a);
    rig_close(&b);
}
END_TEST

static void add(TCase *tc)
{
    tcase_add_loop_test(tc, wrong_settings_are_named, 0, sizeof bad / sizeof bad[0]);
    tcase_add_test(tc, settings_are_read);
    tcase_add_test(tc, work_that_does_not_fit_is_refused);
    tcase_add_test(tc, microbatches_that_share_a_class_must_be_alike);
    tcase_add_test(tc, bytes_are_what_the_page_says);
    tcase_add_loop_test(tc, odd_sizes_stay_within_their_bytes, 0, 2);
    tcase_add_test(tc, without_a_workload_tokens_decide);
    tcase_add_test(tc, another_seed_is_another_model);
}

int main(void)
{
    return rig_main("cpu settings", add);
}
