/* The fastest plan: never slower than the recommended one, which the same search finds, and the one
 * that the recommendation names. */
#include "planner/study/target.h"
#include "tests/support/planning.h"
#include "traces/target/registry.h"

enum { SEQUENCES = 64 };

static const bool all_packings[PP_PACKING_COUNT] = { true, true, true, true };

static const struct {
    const char *model, *target;      /* target NULL: any executor */
    int64_t gpus, seq_length, batch; /* batch 0: lengths */
    pp_parallel parallel;
    int64_t limit_gib;
    bool packs;
} jobs[] = {
    /* splits, of which a shorter search leaves out the best */
    { "llama3-8b", "torchtitan", 8, 4096, 64, { 0 }, 0, false },
    { "mixtral-8x7b", "ppsim", 16, 4096, 32, { .tp = 1 }, 0, false },
    { "gpt3.6b", "ppsim", 4, 2048, 0, { .tp = 1 }, 0, true },
    { "llama3-8b", "ppsim", 8, 4096, 32, { 0 }, 40, false },
    /* one split: the fastest may be found while the headroom is kept */
    { "llama3-8b", "ppsim", 0, 8192, 32, { .pp = 4, .tp = 2 }, 0, false },
    { "llama3-8b", "torchtitan", 0, 8192, 32, { .pp = 4, .tp = 2 }, 40, false },
    { "gpt22b", "megatron", 0, 2048, 64, { .pp = 8, .tp = 2 }, 0, false },
    { "gpt3.6b", "ppsim", 0, 2048, 0, { .pp = 2, .dp = 2 }, 0, true },
    { "gpt3.6b", "ppsim", 0, 2048, 0, { .pp = 4 }, 20, true },
    { "gpt3.6b", NULL, 0, 2048, 32, { .pp = 4 }, 0, false },
};

enum { JOBS = sizeof jobs / sizeof *jobs };

static double score(const pp_candidate *c)
{
    return pp_candidate_score(c, c->step_ns);
}

static void apply(const char *name, pp_plan_request *request)
{
    const pp_target *target = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_target_get(name, &target, &err), err);
    STEP_OK(pp_target_apply(&target->limits, false, request, &err), err);
}

START_TEST(it_is_never_slower_than_recommended)
{
    planning p = planning_of(jobs[_i].model, "h100-80g");
    pp_plan_request request = request_of(&p, 0);
    int64_t lengths[SEQUENCES];
    request.parallel = jobs[_i].parallel;
    request.gpus = jobs[_i].gpus;
    request.seq_length = jobs[_i].seq_length;
    request.global_batch_size = jobs[_i].batch;
    request.free.framework = !jobs[_i].target;
    request.memory_limit_bytes = jobs[_i].limit_gib << 30;
    request.orders = PP_ORDERS_BETTER;
    request.threads = 2;
    for (size_t k = 0; k < SEQUENCES; k++)
        lengths[k] = 16 + (int64_t)(k * k * 7919 % (uint64_t)(jobs[_i].seq_length - 16));
    if (!jobs[_i].batch) {
        request.lengths = lengths;
        request.length_count = SEQUENCES;
        request.packings = jobs[_i].packs ? all_packings : NULL;
    }
    if (jobs[_i].target)
        apply(jobs[_i].target, &request);
    request.tie = 0.01;
    request.headroom_bytes = jobs[_i].limit_gib ? 0 : p.hardware.memory_bytes / 10;
    pp_search_result *taken = choose(&request);
    request.fastest = true;
    pp_search_result *fastest = choose(&request);
    const pp_candidate *c = &fastest->candidate[0];
    const pp_candidate *named = &taken->recommendation.fastest;
    ck_assert_msg(score(c) <= score(&taken->candidate[0]), "%.9g, recommended %.9g", score(c),
                  score(&taken->candidate[0]));
    ck_assert_msg(score(c) >= score(named) && score(c) <= score(named), "%.9g, named %.9g",
                  score(c), score(named));
    ck_assert_ptr_eq(c->schedule, named->schedule);
    ck_assert_mem_eq(&c->parallel, &named->parallel, sizeof c->parallel);
    ck_assert_int_eq(c->peak_bytes, named->peak_bytes);
    ck_assert_int_eq(fastest->plan->prediction->step_ns, named->step_ns);
    ck_assert(!(fastest->recommendation.tie > 0));
    check_plan(fastest->plan);
    pp_search_result_free(&fastest);
    pp_search_result_free(&taken);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fastest");
    TCase *tc = tcase_create("fastest");
    tcase_set_timeout(tc, 300);
    for (int i = 0; i < JOBS; i++) {
        if (sample_takes_test(4))
            tcase_add_loop_test(tc, it_is_never_slower_than_recommended, i, i + 1);
    }
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
