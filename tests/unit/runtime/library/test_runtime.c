/* pp_runtime.h: which callbacks are called with which tensors, and what happens when one fails. */
#include "runtime/library/runtime_plan.h"
#include "sim/base/file.h"
#include "sim/framework/registry.h"
#include "sim/plan/plan_write.h"
#include "tests/support/library_rig.h"

#include <time.h>
#include <unistd.h>

/* Checks that the calls on every rank are those of the plan, and resets the record. */
static void check_calls(const pp_runtime_plan *plan, rig_rank *rank, const char *schedule)
{
    for (uint32_t r = 0; r < pp_runtime_plan_ranks(plan); r++) {
        ck_assert_uint_eq(rank[r].count, pp_runtime_plan_op_count(plan, r));
        for (size_t k = 0; k < rank[r].count && k < RIG_CALLS; k++) {
            pp_runtime_op_kind kind;
            uint32_t stage;
            uint32_t microbatch;
            pp_runtime_plan_op(plan, r, k, &kind, &stage, &microbatch);
            const rig_call *call = &rank[r].call[k];
            ck_assert_msg(call->kind == kind && call->stage == stage &&
                              call->microbatch == microbatch,
                          "%s: op %zu of rank %u", schedule, k, r);
            ck_assert_uint_eq(pp_runtime_plan_rank_of(plan, stage), r);
        }
        ck_assert_msg(!rank[r].wrong, "%s: rank %u got a wrong tensor", schedule, r);
        ck_assert_msg(!rank[r].late, "%s: rank %u got an op outside its step", schedule, r);
        ck_assert_uint_eq(rank[r].begins, rank[r].ends);
        rank[r].count = 0;
    }
}

START_TEST(every_schedule_calls_back_in_its_own_order)
{
    const pp_schedule *schedule = pp_schedule_at((size_t)_i);
    void *user[RIG_RANKS];
    pp_runtime_error error;
    if (schedule->simulate_only)
        return;
    rig_rank *rank = rig_ranks(user);
    pp_runtime *runtime = rig_open(4, NULL);
    static const uint32_t microbatches[] = { 8, 12, 16 };
    for (uint32_t step = 0; step < 3; step++) {
        pp_runtime_plan *plan = rig_plan(schedule->name, 4, microbatches[step], step);
        pp_runtime_stats stats;
        ck_assert_uint_eq(pp_runtime_plan_stages(plan), 4 * rig_chunks(schedule->name));
        ck_assert_uint_eq(pp_runtime_plan_microbatches(plan), microbatches[step]);
        RIG_OK(pp_runtime_step(runtime, plan, &rig_callbacks, user, &stats, &error), error);
        check_calls(plan, rank, schedule->name);
        ck_assert_uint_eq(rank[3].begins, step + 1);
        ck_assert_int_gt(stats.agreement_ns, 0);
        ck_assert_int_gt(stats.makespan_ns, 0);
        ck_assert_int_ge(stats.step_ns, stats.makespan_ns);
        ck_assert_int_gt(stats.total_ns, stats.step_ns);
        pp_runtime_plan_free(plan);
    }
    pp_runtime_close(runtime);
    free(rank);
}
END_TEST

START_TEST(one_rank_and_evaluations_run_too)
{
    void *user[RIG_RANKS];
    rig_rank *rank = rig_ranks(user);
    rig_lengths lengths = { 3 };
    pp_runtime_error error;
    pp_runtime_plan *plan;
    pp_runtime *one = rig_open(1, NULL);
    pp_runtime_plan *alone = rig_plan("gpipe", 1, 3, 1);
    RIG_OK(pp_runtime_step(one, alone, &rig_callbacks, user, NULL, NULL), error);
    check_calls(alone, rank, "gpipe");
    pp_runtime_plan_free(alone);
    pp_runtime_close(one);

    const pp_runtime_plan_spec spec = { .schedule = "interleaved",
                                        .ranks = 2,
                                        .chunks = 2,
                                        .microbatches = 4,
                                        .forward_only = 1,
                                        .sizes = rig_sizes,
                                        .context = &lengths };
    const pp_runtime_callbacks forward = { .forward = rig_forward, .begin = rig_begin };
    pp_runtime *two = rig_open(2, NULL);
    RIG_OK(pp_runtime_plan_new(&spec, &plan, &error), error);
    rank[0].begins = rank[0].ends = 0;
    RIG_OK(pp_runtime_step(two, plan, &forward, user, NULL, &error), error);
    ck_assert_uint_eq(rank[0].count, 2 * 4);
    ck_assert_uint_eq(rank[1].count, 2 * 4);
    ck_assert(!rank[0].wrong && !rank[1].wrong);
    pp_runtime_plan_free(plan);
    pp_runtime_close(two);
    free(rank);
}
END_TEST

/* Two halves make a whole if the schedule does not split the backward. */
START_TEST(a_missing_backward_is_its_two_parts)
{
    void *user[RIG_RANKS];
    rig_rank *rank = rig_ranks(user);
    pp_runtime_error error;
    pp_runtime_callbacks parts = rig_callbacks;
    parts.backward = NULL;
    pp_runtime *runtime = rig_open(4, NULL);
    pp_runtime_plan *plan = rig_plan("1f1b", 4, 8, 5);
    RIG_OK(pp_runtime_step(runtime, plan, &parts, user, NULL, &error), error);
    for (int r = 0; r < 4; r++) {
        ck_assert_uint_eq(rank[r].count, 3 * 8);
        ck_assert(!rank[r].wrong);
    }
    parts.backward_weight = NULL;
    ck_assert_int_eq(pp_runtime_step(runtime, plan, &parts, user, NULL, &error), PP_RUNTIME_USAGE);
    ck_assert_str_eq(error.where, "backward_weight");
    pp_runtime_plan_free(plan);
    pp_runtime_close(runtime);
    free(rank);
}
END_TEST

START_TEST(what_each_rank_did_is_reported)
{
    void *user[RIG_RANKS];
    rig_rank *rank = rig_ranks(user);
    pp_runtime_error error;
    pp_runtime_stats stats;
    pp_runtime *runtime = rig_open(4, NULL);
    pp_runtime_plan *plan = rig_plan("zbv", 4, 8, 5);
    int64_t longest_ns = 0;
    uint32_t first = 9;
    uint32_t count = 0;
    pp_runtime_hosts(runtime, &first, &count);
    ck_assert_uint_eq(first, 0);
    ck_assert_uint_eq(count, 4);
    rank[2].fail_at = 5;
    rank[2].sleeps_ms = 30;
    RIG_OK(pp_runtime_step(runtime, plan, &rig_callbacks, user, &stats, &error), error);
    for (uint32_t r = 0; r < 4; r++) {
        pp_runtime_rank_stats own;
        pp_runtime_rank(runtime, r, &own);
        ck_assert_uint_gt(own.peak_bytes, 0);
        int64_t idle_ns =
            own.idle_data_ns + own.idle_buffer_ns + own.idle_link_ns + own.idle_host_ns;
        ck_assert_int_ge(own.busy_ns, r == 2 ? 30 * 1000000 : 0);
        ck_assert_int_ge(idle_ns, 0);
        ck_assert_int_le(own.busy_ns + idle_ns, stats.makespan_ns);
        longest_ns = own.busy_ns + idle_ns > longest_ns ? own.busy_ns + idle_ns : longest_ns;
    }
    ck_assert_int_eq(longest_ns, stats.makespan_ns);
    pp_runtime_plan_free(plan);
    pp_runtime_close(runtime);
    free(rank);
}
END_TEST

/* The run ends with `status` and `words`, and leaves no thread behind; no further step is
 * possible. */
static void fails(rig_rank *rank, void *const *user, const pp_faults *faults,
                  pp_runtime_status status, const char *words)
{
    pp_runtime_error error = { 0 };
    pp_runtime_plan *plan = rig_plan("zbv", 4, 8, 7);
    pp_runtime *runtime = rig_open(4, faults);
    unsigned before = rig_threads();
    ck_assert_int_eq(pp_runtime_step(runtime, plan, &rig_callbacks, user, NULL, &error), status);
    ck_assert_uint_eq(rig_threads_left(before), before);
    ck_assert_int_eq(error.status, status);
    ck_assert_msg(strstr(error.text, words) != NULL, "%s", error.text);
    ck_assert_int_eq(error.callback, status == PP_RUNTIME_CALLBACK ? 42 : 0);
    ck_assert_ptr_nonnull(strstr(pp_runtime_flight(runtime), "ppsim.flight"));
    for (int r = 0; r < 4; r++)
        rank[r].count = 0;
    ck_assert_int_eq(pp_runtime_step(runtime, plan, &rig_callbacks, user, NULL, &error),
                     PP_RUNTIME_USAGE);
    for (int r = 0; r < 4; r++)
        ck_assert_uint_eq(rank[r].count, 0);
    pp_runtime_close(runtime);
    pp_runtime_plan_free(plan);
}

START_TEST(a_failing_callback_ends_the_step_in_its_own_words)
{
    void *user[RIG_RANKS];
    rig_rank *rank = rig_ranks(user);
    rank[2].fail_at = 9;
    rank[2].code = 42;
    char words[80];
    pp_runtime_plan *plan = rig_plan("zbv", 4, 8, 7);
    pp_runtime_op_kind kind;
    uint32_t stage;
    uint32_t microbatch;
    pp_runtime_plan_op(plan, 2, 8, &kind, &stage, &microbatch);
    static const char *const letters[] = { "F", "I", "W", "B" };
    snprintf(words, sizeof words, "of rank 2 for %u%s%u returned 42 in step 0", stage,
             letters[kind], microbatch);
    pp_runtime_plan_free(plan);
    fails(rank, user, NULL, PP_RUNTIME_CALLBACK, words);
    rank[2].fail_at = 0;
    rank[1].fail_begin = 42;
    fails(rank, user, NULL, PP_RUNTIME_CALLBACK, "callback begin of rank 1 returned 42");
    rank[1].fail_begin = 0;
    rank[3].fail_end = 42;
    fails(rank, user, NULL, PP_RUNTIME_CALLBACK, "callback end of rank 3 returned 42");
    free(rank);
}
END_TEST

START_TEST(a_rank_with_another_plan_is_refused_by_name)
{
    void *user[RIG_RANKS];
    rig_rank *rank = rig_ranks(user);
    pp_faults faults = { 0 };
    pp_err err = { 0 };
    ck_assert_int_eq(pp_faults_add("plan,rank=3", &faults, &err), PP_OK);
    fails(rank, user, &faults, PP_RUNTIME_INPUT, "rank 3 has another order of ops or messages");
    for (int r = 0; r < 4; r++)
        ck_assert_uint_eq(rank[r].begins, 0); /* before anything is called */
    free(rank);
}
END_TEST

/* A callback cannot be ended from outside: its rank is named, and its data is not freed. */
START_TEST(a_callback_that_does_not_end_is_named)
{
    static void *user[RIG_RANKS]; /* the thread may still read it */
    static pp_runtime *runtime;
    static rig_rank *rank;
    static atomic_bool over;
    const pp_runtime_options options = { .ranks = 2, .deadline_ns = (int64_t)2 * 1000000000 };
    pp_runtime_error error = { 0 };
    rank = rig_ranks(user);
    rank[1].fail_at = 2;
    rank[1].until = &over;
    pp_runtime_plan *plan = rig_plan("1f1b", 2, 4, 7);
    RIG_OK(pp_runtime_open(&options, &runtime, &error), error);
    ck_assert_int_eq(pp_runtime_step(runtime, plan, &rig_callbacks, user, NULL, &error),
                     PP_RUNTIME_INFEASIBLE);
    ck_assert_msg(strstr(error.text, "rank 1") != NULL, "%s", error.text);
    pp_runtime_close(runtime);
    pp_runtime_plan_free(plan);
    atomic_store(&over, true);
    (void)rig_threads_left(3); /* ".", ".." and this one */
}
END_TEST

START_TEST(the_stop_flag_ends_a_step)
{
    void *user[RIG_RANKS];
    rig_rank *rank = rig_ranks(user);
    volatile sig_atomic_t stop = 1;
    const pp_runtime_options options = { .ranks = 2, .stop = &stop };
    pp_runtime_error error = { 0 };
    pp_runtime *runtime;
    pp_runtime_plan *plan = rig_plan("1f1b", 2, 4, 7);
    /* Each op sleeps: the flag is seen before the step is over, and no op keeps its thread from
     * ending in time, however busy the machine is. */
    rank[0].fail_at = 1;
    rank[0].sleeps_ms = 100;
    rank[0].sleeps_on = true;
    RIG_OK(pp_runtime_open(&options, &runtime, &error), error);
    ck_assert_int_eq(pp_runtime_step(runtime, plan, &rig_callbacks, user, NULL, &error),
                     PP_RUNTIME_INFEASIBLE);
    ck_assert_ptr_nonnull(strstr(error.text, "interrupted"));
    pp_runtime_close(runtime);
    pp_runtime_plan_free(plan);
    free(rank);
}
END_TEST

static void huge_sizes(void *context, uint32_t stage, uint32_t microbatch, pp_runtime_sizes *out)
{
    (void)context;
    out->message_bytes = 64;
    out->saved_bytes = stage == 1 && microbatch == 2 ? SIZE_MAX : 8;
}

static void slow_sizes(void *context, uint32_t stage, uint32_t microbatch, pp_runtime_sizes *out)
{
    (void)context;
    (void)stage;
    out->backward_input_ns = microbatch == 1 ? -5 : 5;
}

static void new_fails(pp_runtime_plan_spec spec, pp_runtime_status status, const char *words)
{
    rig_lengths lengths = { 1 };
    pp_runtime_error error = { 0 };
    pp_runtime_plan *plan = NULL;
    spec.context = &lengths;
    ck_assert_int_eq(pp_runtime_plan_new(&spec, &plan, &error), status);
    ck_assert_int_eq(pp_runtime_plan_new(&spec, &plan, NULL), status);
    ck_assert_ptr_null(plan);
    char all[1400];
    snprintf(all, sizeof all, "%s: %s", error.where, error.text);
    ck_assert_msg(strstr(all, words) != NULL, "%s", all);
}

START_TEST(bad_plans_are_refused_with_the_way_out)
{
    const pp_runtime_plan_spec good = {
        .schedule = "1f1b", .ranks = 4, .microbatches = 4, .sizes = rig_sizes
    };
    pp_runtime_plan_spec s = good;
    s.schedule = "zvb";
    new_fails(s, PP_RUNTIME_USAGE, "did you mean");
    s.schedule = NULL;
    new_fails(s, PP_RUNTIME_USAGE, "schedule: is missing");
    s = good;
    s.sizes = NULL;
    new_fails(s, PP_RUNTIME_USAGE, "sizes: is missing");
    s = good;
    s.schedule = "interleaved";
    new_fails(s, PP_RUNTIME_USAGE, "chunks: is missing");
    s.chunks = 1;
    new_fails(s, PP_RUNTIME_USAGE, "");
    s = good;
    s.schedule = "zbv";
    s.chunks = 3;
    new_fails(s, PP_RUNTIME_USAGE,
              "chunks: zbv has 2 stages per rank, not 3; leave chunks out or choose 'interleaved'");
    s = good;
    s.group_size = 2;
    new_fails(s, PP_RUNTIME_USAGE, "group_size: ");
    s = good;
    s.microbatches = 0;
    new_fails(s, PP_RUNTIME_USAGE, "");
    s = good;
    s.ranks = 0;
    new_fails(s, PP_RUNTIME_USAGE, "");
    s = good;
    s.schedule = "dualpipe";
    s.microbatches = 8;
    new_fails(s, PP_RUNTIME_INFEASIBLE, "choose dualpipev");
    s = good;
    s.sizes = huge_sizes;
    new_fails(s, PP_RUNTIME_INPUT, "a tensor of stage 1, microbatch 2");
    s.sizes = slow_sizes;
    new_fails(s, PP_RUNTIME_INPUT, "microbatch 1 takes -5 ns");
}
END_TEST

START_TEST(bad_runtimes_are_refused)
{
    pp_runtime_error error = { 0 };
    pp_runtime *runtime = NULL;
    void *user[RIG_RANKS];
    rig_rank *rank = rig_ranks(user);
    pp_runtime_options options = { .ranks = 0 };
    ck_assert_int_eq(pp_runtime_open(&options, &runtime, &error), PP_RUNTIME_USAGE);
    ck_assert_str_eq(error.where, "ranks");
    options = (pp_runtime_options){ .ranks = 2, .transport = "thread" };
    ck_assert_int_eq(pp_runtime_open(&options, &runtime, &error), PP_RUNTIME_USAGE);
    ck_assert_str_eq(error.where, "transport");
    ck_assert_ptr_nonnull(strstr(error.text, "did you mean 'threads'"));
    options.transport = "nccl"; /* its queues require another lowering */
    ck_assert_int_eq(pp_runtime_open(&options, &runtime, &error), PP_RUNTIME_USAGE);
    ck_assert_ptr_nonnull(strstr(error.text, "use threads or mpi"));
    ck_assert_ptr_null(runtime);

    /* None of these harms the runtime. */
    runtime = rig_open(2, NULL);
    pp_runtime_plan *four = rig_plan("1f1b", 4, 4, 1);
    pp_runtime_plan *two = rig_plan("zb-h1", 2, 4, 1);
    const pp_runtime_callbacks none = { 0 };
    const pp_runtime_callbacks fused = { .forward = rig_forward, .backward = rig_backward };
    ck_assert_int_eq(pp_runtime_step(runtime, four, &rig_callbacks, user, NULL, &error),
                     PP_RUNTIME_USAGE);
    ck_assert_ptr_nonnull(strstr(error.text, "4 ranks, but the runtime has 2"));
    ck_assert_int_eq(pp_runtime_step(runtime, two, &none, user, NULL, &error), PP_RUNTIME_USAGE);
    ck_assert_str_eq(error.where, "forward");
    ck_assert_int_eq(pp_runtime_step(runtime, two, &fused, user, NULL, &error), PP_RUNTIME_USAGE);
    ck_assert_str_eq(error.where, "backward_input");
    RIG_OK(pp_runtime_step(runtime, two, &rig_callbacks, user, NULL, &error), error);
    check_calls(two, rank, "zb-h1");
    pp_runtime_plan_free(four);
    pp_runtime_plan_free(two);
    pp_runtime_plan_free(NULL);
    pp_runtime_close(runtime);
    pp_runtime_close(NULL);
    ck_assert_str_eq(pp_runtime_version(), PPSIM_VERSION);
    ck_assert_str_eq(pp_runtime_status_text(PP_RUNTIME_NOMEM), "out of memory");
    ck_assert_str_eq(pp_runtime_status_text(PP_RUNTIME_CALLBACK), "a callback failed");
    free(rank);
}
END_TEST

/* Writes a plan file of zbv on 4 ranks. told: with the sizes of tensors. Returns its name. */
static char *write_plan(bool told)
{
    static const char pattern[] = "/tmp/ppsim-library-XXXXXX";
    pp_runtime_plan *made = rig_plan("zbv", 4, 8, 2);
    pp_json_build build = { 0 };
    pp_err err = { 0 };
    char *text = NULL;
    size_t bytes = 0;
    char *path = strdup(pattern);
    ck_assert_ptr_nonnull(path);
    int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    close(file);
    made->plan->costs[0]->has_memory = told;
    made->plan->framework = &pp_framework_ppsim;
    pp_json *json = pp_plan_write(made->plan, &build);
    ck_assert_int_eq(pp_json_print(&build, json, &text, &bytes, &err), PP_OK);
    ck_assert_msg(pp_file_write(path, text, bytes, &err) == PP_OK, "%s", err.text);
    pp_json_free(&json);
    free(text);
    pp_runtime_plan_free(made);
    return path;
}

static void load_fails(const char *path, uint32_t replica, pp_runtime_sizes_of sizes,
                       pp_runtime_status status, const char *words)
{
    rig_lengths lengths = { 1 };
    pp_runtime_error error = { 0 };
    pp_runtime_plan *plan = NULL;
    ck_assert_msg(pp_runtime_plan_load(path, replica, sizes, &lengths, &plan, &error) == status,
                  "%s", error.text);
    ck_assert_msg(strstr(error.text, words) != NULL, "%s", error.text);
    ck_assert_ptr_null(plan);
}

/* With the sizes in the file, and with the caller's. */
START_TEST(plan_files_run)
{
    void *user[RIG_RANKS];
    rig_rank *rank = rig_ranks(user);
    rig_lengths lengths = { 11 };
    pp_runtime_error error = { 0 };
    pp_runtime_plan *plan = NULL;
    pp_runtime *runtime = rig_open(4, NULL);
    for (int told = 0; told < 2; told++) {
        char *path = write_plan(told);
        for (int own = !told; own < 2; own++) {
            RIG_OK(pp_runtime_plan_load(path, 0, own ? rig_sizes : NULL, &lengths, &plan, &error),
                   error);
            RIG_OK(pp_runtime_step(runtime, plan, &rig_callbacks, user, NULL, &error), error);
            check_calls(plan, rank, path);
            pp_runtime_plan_free(plan);
        }
        if (!told)
            load_fails(path, 0, NULL, PP_RUNTIME_INPUT, "has no sizes");
        load_fails(path, 3, NULL, PP_RUNTIME_USAGE, "must be from 0 to 0");
        remove(path);
        free(path);
    }
    load_fails("/nowhere/plan.json", 0, NULL, PP_RUNTIME_IO, "");
    load_fails(PPSIM_SOURCE_DIR "/CMakePresets.json", 0, NULL, PP_RUNTIME_INPUT, "");
    load_fails(PPSIM_SOURCE_DIR "/tests/bad/planfile-cannot-finish/plan.json", 0, rig_sizes,
               PP_RUNTIME_INFEASIBLE, "cannot finish");
    pp_runtime_close(runtime);
    free(rank);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("library");
    TCase *tc = tcase_create("library");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, every_schedule_calls_back_in_its_own_order, 0,
                        (int)pp_schedule_count());
    tcase_add_test(tc, one_rank_and_evaluations_run_too);
    tcase_add_test(tc, a_missing_backward_is_its_two_parts);
    tcase_add_test(tc, what_each_rank_did_is_reported);
    tcase_add_test(tc, a_failing_callback_ends_the_step_in_its_own_words);
    tcase_add_test(tc, a_rank_with_another_plan_is_refused_by_name);
    tcase_add_test(tc, the_stop_flag_ends_a_step);
    tcase_add_test(tc, bad_plans_are_refused_with_the_way_out);
    tcase_add_test(tc, bad_runtimes_are_refused);
    tcase_add_test(tc, plan_files_run);
    tcase_add_test(tc, a_callback_that_does_not_end_is_named); /* last, since its thread keeps
                                                                  running for a while */
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
