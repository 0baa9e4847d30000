/* A plan for torchtitan compared with the schedules that PyTorch ships
 * (torch.distributed.pipelining, 2.8: the classes of schedules.py), under the torch framework: with
 * the memory that one of them needs, the plan of the same job is at least as fast, and mostly
 * faster. Theirs are among the candidates, so this tests the search. Theirs have equal stages; the
 * plan may choose partition, schedule and stages per rank, but not micro-batches, recomputation or
 * degrees. Neither returns outputs. */
#include "planner/study/target.h"
#include "tests/support/planning.h"
#include "traces/target/registry.h"

#include <inttypes.h>

static const struct {
    const char *name;
    int64_t vpp;
} shipped[] = {
    { "gpipe", 1 },          { "1f1b", 1 }, { "interleaved", 2 }, { "looped-bfs", 2 },
    { "interleaved-zb", 2 }, { "zbv", 2 },  { "dualpipev", 2 },
};

static const struct {
    const char *model;
    int64_t tp, pp, microbatches, seq_length;
    pp_recompute recompute;
    int shorter; /* number of schedules that take at least 1 % longer than the plan */
} grid[] = {
    { "gpt1.7b", 1, 2, 4, 2048, PP_RECOMPUTE_NONE, 4 },
    { "gpt1.7b", 1, 4, 8, 2048, PP_RECOMPUTE_FULL, 6 },
    { "gpt1.7b", 1, 6, 12, 2048, PP_RECOMPUTE_SELECTIVE, 4 },
    { "llama3-8b", 2, 4, 8, 4096, PP_RECOMPUTE_NONE, 7 },
    { "llama3-8b", 2, 4, 32, 8192, PP_RECOMPUTE_SELECTIVE, 4 },
    { "llama3-8b", 1, 8, 16, 8192, PP_RECOMPUTE_FULL, 7 },
    { "llama3-8b", 2, 8, 64, 2048, PP_RECOMPUTE_NONE, 7 },
    { "llama3-70b", 8, 4, 8, 8192, PP_RECOMPUTE_NONE, 5 },
    { "llama3-70b", 4, 8, 32, 4096, PP_RECOMPUTE_SELECTIVE, 4 },
    { "llama3-70b", 8, 8, 16, 8192, PP_RECOMPUTE_FULL, 4 },
    { "gpt175b", 8, 8, 16, 2048, PP_RECOMPUTE_NONE, 6 },
    { "gpt175b", 8, 8, 48, 2048, PP_RECOMPUTE_FULL, 4 },
    { "gpt175b", 8, 16, 32, 2048, PP_RECOMPUTE_SELECTIVE, 2 },
};

static pp_plan_request request_at(const planning *p, int at)
{
    pp_plan_request request = request_of(p, grid[at].pp);
    request.parallel.tp = grid[at].tp;
    request.seq_length = grid[at].seq_length;
    request.micro_batch_size = 1;
    request.global_batch_size = grid[at].microbatches;
    request.switches.value.recompute = grid[at].recompute;
    request.switches.given.recompute = true;
    return request;
}

static void apply(pp_plan_request *request)
{
    const pp_target *target = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_target_get("torchtitan", &target, &err), err);
    STEP_OK(pp_target_apply(&target->limits, false, request, &err), err);
}

START_TEST(a_plan_is_no_slower_than_what_pytorch_ships)
{
    planning p = planning_of(grid[_i].model, "h100-80g");
    int shorter = 0;
    for (size_t k = 0; k < sizeof shipped / sizeof *shipped; k++) {
        pp_plan_request theirs = request_at(&p, _i);
        theirs.schedule = pp_schedule_find(shipped[k].name);
        if (theirs.schedule->splits_backward && grid[_i].recompute == PP_RECOMPUTE_SELECTIVE)
            continue; /* PyTorch cannot run it */
        theirs.parallel.vpp = shipped[k].vpp;
        theirs.partition = PP_PARTITION_UNIFORM;
        theirs.memory_limit_bytes = (int64_t)1 << 45;
        theirs.framework = &pp_framework_torch;
        theirs.buffers.has_return_outputs = true; /* as torchtitan's */
        train_with_fsdp(&theirs);
        pp_search_result *fixed = choose(&theirs);
        pp_plan_request ours = request_at(&p, _i);
        ours.memory_limit_bytes = fixed->plan->prediction->peak_memory_bytes;
        apply(&ours);
        pp_search_result *plan = choose(&ours);
        ck_assert_int_le(plan->plan->prediction->peak_memory_bytes, ours.memory_limit_bytes);
        ck_assert_msg(plan->plan->prediction->step_ns <= fixed->plan->prediction->step_ns,
                      "%s pp %d, %s: plan %s takes %" PRId64 ", that %" PRId64, grid[_i].model,
                      (int)grid[_i].pp, shipped[k].name, plan->plan->schedule,
                      plan->plan->prediction->step_ns, fixed->plan->prediction->step_ns);
        shorter += plan->plan->prediction->step_ns < fixed->plan->prediction->step_ns / 100 * 99;
        pp_search_result_free(&plan);
        pp_search_result_free(&fixed);
    }
    ck_assert_int_ge(shorter, grid[_i].shorter);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("torch_grid");
    TCase *tc = tcase_create("torch_grid");
    tcase_set_timeout(tc, 300);
    tcase_add_loop_test(tc, a_plan_is_no_slower_than_what_pytorch_ships, 0,
                        (int)(sizeof grid / sizeof *grid));
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
