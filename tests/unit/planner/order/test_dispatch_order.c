/* Whatever the policy, the order of a dispatch fits, is no shorter than any bound, and hardly any
 * policy gets stuck, when each microbatch alone fits: the banker admits no forward that cannot be
 * finished, and refuses none for ever. */
#include "planner/order/dispatch.h"
#include "planner/order/movable_order.h"
#include "planner/order/problem_bound.h"
#include "sim/base/minmax.h"
#include "tests/support/step.h"

static uint32_t draw(pp_rng *rng, uint32_t below)
{
    return pp_random_below(pp_rng_bits(rng), below);
}

/* One or several stages per rank, unequal microbatches, and hardly more memory than the largest of
 * them needs. */
static pp_order_problem *draw_problem(pp_rng *rng)
{
    const uint32_t chunks = 1 + draw(rng, 3), m = 2 + draw(rng, 7);
    const uint32_t ranks = 1 + draw(rng, draw(rng, 4) ? 3 : 20);
    const uint32_t stages = ranks * chunks;
    const bool folded = draw(rng, 2);
    uint32_t stage_rank[60];
    pp_order_problem *x = NULL;
    pp_err err = { 0 };
    for (uint32_t s = 0; s < stages; s++)
        stage_rank[s] = folded && s / ranks % 2 ? ranks - 1 - s % ranks : s % ranks;
    STEP_OK(pp_order_problem_new("drawn", ranks, stages, m, stage_rank, &x, &err), err);
    for (uint32_t i = 0; i < m; i++) {
        int64_t sizes[20] = { 0 }, extras[20] = { 0 };
        for (uint32_t s = 0; s < stages; s++) {
            const uint32_t r = stage_rank[s];
            const int64_t taken = draw(rng, 9);
            const int64_t kept = draw(rng, (uint32_t)taken + 2); /* may be more than was taken */
            const int64_t extra[] = { draw(rng, 4), draw(rng, 4), draw(rng, 4) };
            const uint32_t f = pp_order_problem_op(x, PP_TASK_F, s, i);
            const uint32_t b = pp_order_problem_op(x, PP_TASK_B, s, i);
            const uint32_t w = pp_order_problem_op(x, PP_TASK_W, s, i);
            const int64_t grows = kept > taken ? kept - taken : 0;
            x->memory[f] = (pp_task_memory){ taken + extra[0], taken };
            x->memory[b] = (pp_task_memory){ extra[1] + grows, kept - taken };
            x->memory[w] = (pp_task_memory){ extra[2], -kept };
            for (int kind = 0; kind < 3; kind++)
                x->task[pp_order_problem_op(x, (pp_task_kind)kind, s, i)].ticks = draw(rng, 9);
            sizes[r] += pp_max(taken, kept);
            for (int kind = 0; kind < 3; kind++)
                extras[r] = pp_max(extras[r], extra[kind] + (kind == PP_TASK_B ? grows : 0));
        }
        for (uint32_t r = 0; r < ranks; r++)
            x->room[r] = pp_max(x->room[r], sizes[r] + extras[r]);
    }
    for (uint32_t op = 0; op < x->ops; op++) {
        const pp_task *task = &x->task[op];
        if (task->kind != PP_TASK_W && task->before < x->ops &&
            x->task[task->before].rank != task->rank)
            x->task[op].lag = draw(rng, 5);
    }
    for (uint32_t r = 0; r < ranks; r++)
        x->room[r] += 4 + draw(rng, 12); /* the largest transient of any other microbatch */
    return x;
}

/* Two ranks far from each other, so that the memory of the first, for a few microbatches, decides
 * the makespan: it is full but for its first and last ops. */
static pp_order_problem *draw_distant(pp_rng *rng)
{
    const uint32_t stage_rank[] = { 0, 1 };
    const uint32_t fit = 1 + draw(rng, 6), m = fit * (1 + draw(rng, 3)) + draw(rng, 2);
    const int64_t distance = 20 + draw(rng, 200), size = 1 + draw(rng, 9);
    const bool uneven = draw(rng, 2), splits = draw(rng, 2);
    const uint32_t most = draw(rng, 2) ? 3 : 0;
    const int64_t kept = splits ? draw(rng, 2 * (uint32_t)size + 1) : 0; /* may be more */
    const int64_t extra[] = { draw(rng, most + 1), draw(rng, most + 1), draw(rng, most + 1) };
    const int64_t ticks[] = { draw(rng, 9), draw(rng, 9), splits ? draw(rng, 9) : 0 };
    pp_order_problem *x = NULL;
    pp_err err = { 0 };
    STEP_OK(pp_order_problem_new("distant", 2, 2, m, stage_rank, &x, &err), err);
    for (uint32_t op = 0; op < x->ops; op++) {
        const uint32_t heavy = uneven && x->task[op].microbatch % 3 == 0 ? 2 : 1;
        pp_task *task = &x->task[op];
        const int64_t delta[] = { size * heavy, (kept - size) * heavy, -kept * heavy };
        const bool crosses = task->kind != PP_TASK_W && task->before < x->ops &&
                             x->task[task->before].rank != task->rank;
        task->ticks = task->rank ? 0 : ticks[task->kind] * heavy;
        task->lag = crosses ? distance * heavy : 0;
        x->memory[op] =
            (pp_task_memory){ extra[task->kind] + pp_max(0, delta[task->kind]), delta[task->kind] };
    }
    for (uint32_t r = 0; r < 2; r++)
        x->room[r] = pp_max(fit * size, (uneven ? 2 : 1) * pp_max(size, kept)) + most;
    return x;
}

START_TEST(every_policy_gives_an_order_that_fits)
{
    pp_rng rng = { .state = (uint64_t)_i };
    pp_order_problem *x PP_CLEANUP(pp_order_problem_free) =
        _i % 2 ? draw_distant(&rng) : draw_problem(&rng);
    pp_dispatch *dispatch PP_CLEANUP(pp_dispatch_free) = NULL;
    pp_movable_order *movable PP_CLEANUP(pp_movable_order_free) = NULL;
    pp_policy policy PP_CLEANUP(pp_policy_free) = { 0 };
    uint32_t ascending[32];
    int stuck[2] = { 0 }; /* of policies that are not tight, of those that are */
    pp_order_bounds limits;
    pp_err err = { 0 };
    STEP_OK(pp_order_bounds_find(x, &limits, &err), err);
    STEP_OK(pp_dispatch_new(x, &dispatch, &err), err);
    STEP_OK(pp_movable_order_new(x, &movable, &err), err);
    STEP_OK(pp_policy_new(x, &policy, &err), err);
    pp_policy_sort(x, ascending);
    for (int n = 0; n < 40; n++) {
        pp_policy_set_order(x, (pp_policy_order)(n % PP_POLICY_ORDERS), ascending, &policy);
        pp_policy_draw(x, &rng, &policy);
        const int64_t makespan = pp_dispatch_run(dispatch, &policy, INT64_MAX);
        stuck[(policy.flags & PP_POLICY_TIGHT) != 0] += makespan == INT64_MAX;
        if (makespan == INT64_MAX)
            continue;
        ck_assert_msg(pp_movable_order_set(movable, pp_dispatch_ops(dispatch)),
                      "policy %d does not fit", n);
        ck_assert_int_le(movable->makespan, makespan); /* a policy may wait without need */
        ck_assert_int_le(limits.ticks, movable->makespan);
    }
    if (_i % 2)
        return; /* there is no room for the largest transient beside the largest microbatch */
    ck_assert_int_le(stuck[0], 6); /* none or one as a rule */
    ck_assert_int_le(stuck[1], 6);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dispatch_order");
    TCase *tc = tcase_create("dispatch_order");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, every_policy_gives_an_order_that_fits, 0, 2000);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
