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
    /* of policies that are not tight, of those that are, of those that yield */
    int stuck[3] = { 0 }, yields = 0;
    enum {
        POLICIES = 40
    }; /* of which heavy ones neither yield nor are urgent; and as many others */
    pp_order_bounds limits;
    pp_err err = { 0 };
    STEP_OK(pp_order_bounds_find(x, &limits, &err), err);
    STEP_OK(pp_dispatch_new(x, &dispatch, &err), err);
    STEP_OK(pp_movable_order_new(x, &movable, &err), err);
    STEP_OK(pp_policy_new(x, &policy, &err), err);
    const bool uneven = pp_policy_sort(x, ascending);
    const uint32_t heaviest = uneven ? ascending[x->microbatches - 1] : x->microbatches;
    for (int n = 0; n < 2 * POLICIES; n++) {
        pp_policy_set_order(x, (pp_policy_order)(n % PP_POLICY_ORDERS), ascending, &policy);
        pp_policy_draw(x, &rng, n < POLICIES ? x->microbatches : heaviest, &policy);
        const int64_t makespan = pp_dispatch_run(dispatch, &policy, INT64_MAX);
        yields += policy.yields > 0;
        if (n < POLICIES || policy.yields)
            stuck[policy.yields ? 2 : (policy.flags & PP_POLICY_TIGHT) != 0] +=
                makespan == INT64_MAX;
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
    if (x->stages == x->ranks)
        ck_assert_int_le(stuck[2], 2 * yields / 3 + 4);
}
END_TEST

/* The Fs of a stage in the order of a rank. Returns their number. */
static uint32_t forwards_of(const pp_order_problem *x, const uint32_t *ops, uint32_t stage,
                            uint32_t *line)
{
    uint32_t count = 0;
    for (uint32_t k = 0; k < x->ops; k++)
        if (x->task[ops[k]].kind == PP_TASK_F && x->task[ops[k]].stage == stage)
            line[count++] = x->task[ops[k]].microbatch;
    return count;
}

static void move_back(uint32_t *line, uint32_t count, uint32_t microbatch, uint32_t places)
{
    for (uint32_t k = 0; k + 1 < count && places > 0; k++) {
        if (line[k] != microbatch)
            continue;
        line[k] = line[k + 1];
        line[k + 1] = microbatch;
        places--;
    }
}

/* With room for all microbatches together and the largest transient, and for no more if `full`. */
static void make_roomy(pp_order_problem *x, bool full)
{
    for (uint32_t r = 0; r < x->ranks; r++)
        x->room[r] = full ? 10 : 1000000; /* a transient is at most 3, and grows by at most 1 */
    for (uint32_t op = 0; op < x->ops; op++)
        if (x->task[op].kind == PP_TASK_F)
            x->room[x->task[op].rank] += pp_max(
                x->memory[op].delta,
                x->memory[op].delta + x->memory[pp_order_problem_op(x, PP_TASK_B, x->task[op].stage,
                                                                    x->task[op].microbatch)]
                                          .delta);
}

/* From its stage on the microbatch starts so many places later, or as the last. */
START_TEST(microbatches_yield)
{
    pp_rng rng = { .state = (uint64_t)_i };
    pp_order_problem *x PP_CLEANUP(pp_order_problem_free) = draw_problem(&rng);
    pp_dispatch *dispatch PP_CLEANUP(pp_dispatch_free) = NULL;
    pp_policy policy PP_CLEANUP(pp_policy_free) = { 0 };
    uint32_t ascending[32], line[32], now[32];
    pp_err err = { 0 };
    if (x->stages == 1)
        return;
    make_roomy(x, false);
    STEP_OK(pp_dispatch_new(x, &dispatch, &err), err);
    STEP_OK(pp_policy_new(x, &policy, &err), err);
    pp_policy_sort(x, ascending);
    pp_policy_set_order(x, PP_POLICY_DESCENDING, ascending, &policy);
    pp_policy_set_rule(x, draw(&rng, PP_POLICY_RULES), PP_POLICY_DESCENDING, x->microbatches,
                       &policy);
    for (uint32_t r = 0; r < x->ranks; r++) /* limits of 1F1B could keep those behind it waiting */
        policy.knob[r * PP_KNOBS + PP_KNOB_IN_FLIGHT] = 1000;
    const uint32_t one = draw(&rng, x->microbatches);
    const uint32_t other = (one + 1 + draw(&rng, x->microbatches - 1)) % x->microbatches;
    policy.yield[one] = (pp_yield){ 1 + draw(&rng, x->stages - 1), 1 + draw(&rng, 9) };
    policy.yield[other] = (pp_yield){ 1 + draw(&rng, x->stages - 1), draw(&rng, 9) };
    policy.yields = 1 + (policy.yield[other].places > 0);
    ck_assert_int_lt(pp_dispatch_run(dispatch, &policy, INT64_MAX), INT64_MAX);
    memcpy(line, policy.order, x->microbatches * sizeof *line);
    for (uint32_t s = 0; s < x->stages; s++) {
        uint32_t at[2] = { 0 };
        const uint32_t both[] = { one, other };
        for (uint32_t k = 0; k < x->microbatches; k++) {
            at[0] = line[k] == one ? k : at[0];
            at[1] = line[k] == other ? k : at[1];
        }
        for (int k = 0; k < 2; k++) { /* the one that is behind moves first */
            const uint32_t who = both[(k == 0) == (at[1] > at[0])];
            if (policy.yield[who].stage == s)
                move_back(line, x->microbatches, who, policy.yield[who].places);
        }
        ck_assert_uint_eq(forwards_of(x, pp_dispatch_ops(dispatch), s, now), x->microbatches);
        ck_assert_msg(!memcmp(line, now, x->microbatches * sizeof *line), "stage %u", s);
    }
}
END_TEST

/* Returns whether all Fs of the stage that come before this one in its line had started by then. */
static bool was_next(const pp_order_problem *x, const pp_movable_order *order, uint32_t f,
                     int64_t then)
{
    const uint32_t r = x->task[f].rank;
    for (uint32_t k = order->begin[r]; k < order->begin[r + 1] && order->sequence[k] != f; k++) {
        const pp_task *task = &x->task[order->sequence[k]];
        if (task->stage == x->task[f].stage && task->kind == PP_TASK_F &&
            order->end[order->sequence[k]] - task->ticks >= then)
            return false;
    }
    return true;
}

/* While an urgent op is on its way to a rank, nothing starts there that would delay it; once it is
 * there, nothing starts before it. */
START_TEST(nothing_delays_an_urgent_one)
{
    pp_rng rng = { .state = (uint64_t)_i };
    pp_order_problem *x PP_CLEANUP(pp_order_problem_free) = draw_problem(&rng);
    pp_dispatch *dispatch PP_CLEANUP(pp_dispatch_free) = NULL;
    pp_movable_order *order PP_CLEANUP(pp_movable_order_free) = NULL;
    pp_policy policy PP_CLEANUP(pp_policy_free) = { 0 };
    uint32_t ascending[32];
    pp_err err = { 0 };
    make_roomy(x, _i % 2); /* Ws run before Fs where memory is full */
    for (uint32_t op = 0; op < x->ops; op++)
        x->task[op].ticks++;
    STEP_OK(pp_dispatch_new(x, &dispatch, &err), err);
    STEP_OK(pp_movable_order_new(x, &order, &err), err);
    STEP_OK(pp_policy_new(x, &policy, &err), err);
    pp_policy_sort(x, ascending);
    pp_policy_set_order(x, (pp_policy_order)draw(&rng, PP_POLICY_ORDERS), ascending, &policy);
    pp_policy_draw(x, &rng, x->microbatches, &policy);
    ck_assert_uint_eq(policy.yields, 0);
    ck_assert_uint_eq(policy.urgent, x->microbatches);
    for (uint32_t r = 0; r < x->ranks; r++) {
        policy.knob[r * PP_KNOBS + PP_KNOB_IN_FLIGHT] = 1000;
        policy.knob[r * PP_KNOBS + PP_KNOB_HOLD] = 0; /* it may wait longer than needed */
    }
    policy.urgent = draw(&rng, x->microbatches);
    const int64_t makespan = pp_dispatch_run(dispatch, &policy, INT64_MAX);
    ck_assert(pp_movable_order_set(order, pp_dispatch_ops(dispatch)));
    ck_assert_int_eq(order->makespan, makespan);
    for (uint32_t op = 0; op < x->ops; op++) {
        const pp_task *task = &x->task[op];
        if (task->microbatch != policy.urgent || task->kind == PP_TASK_W || task->before == x->ops)
            continue;
        const int64_t sent = order->end[task->before] - x->task[task->before].ticks;
        const int64_t comes = order->end[task->before] + task->lag;
        for (uint32_t k = order->begin[task->rank]; order->sequence[k] != op; k++) {
            const uint32_t other = order->sequence[k];
            const int64_t starts = order->end[other] - x->task[other].ticks;
            if (other == x->ops || other == task->before || starts <= sent ||
                (task->kind == PP_TASK_F && !was_next(x, order, op, starts)))
                continue;
            ck_assert_msg(order->end[other] <= comes, "op %u of rank %u", other, task->rank);
        }
    }
}
END_TEST

/* Changes keep an order an order, and count those that yield. */
START_TEST(changes_keep_a_policy_whole)
{
    pp_rng rng = { .state = (uint64_t)_i };
    pp_order_problem *x PP_CLEANUP(pp_order_problem_free) = draw_problem(&rng);
    pp_policy policy PP_CLEANUP(pp_policy_free) = { 0 };
    pp_policy copy PP_CLEANUP(pp_policy_free) = { 0 };
    uint32_t ascending[32];
    bool yielded = false, urgent = false;
    pp_err err = { 0 };
    STEP_OK(pp_policy_new(x, &policy, &err), err);
    ck_assert_uint_eq(policy.urgent, x->microbatches);
    ck_assert_uint_eq(policy.yields, 0);
    STEP_OK(pp_policy_new(x, &copy, &err), err);
    const bool uneven = pp_policy_sort(x, ascending);
    const uint32_t heaviest = uneven ? ascending[x->microbatches - 1] : x->microbatches;
    for (int n = 0; n < 20; n++) {
        pp_policy_draw_tent(x, &rng, ascending, &policy);
        pp_policy_draw(x, &rng, heaviest, &policy);
        const bool yields = policy.yields > 0, has_urgent = policy.urgent < x->microbatches;
        yielded = yielded || yields;
        urgent = urgent || has_urgent;
        bool changed = false;
        pp_policy_copy(x, &copy, &policy);
        for (int k = 0; k < 400; k++) {
            uint32_t count = 0, seen = 0;
            pp_policy_change(x, &rng, &policy);
            changed = changed ||
                      memcmp(copy.yield, policy.yield, x->microbatches * sizeof *copy.yield) != 0;
            for (uint32_t i = 0; i < x->microbatches; i++) {
                count += policy.yield[i].places > 0;
                seen |= 1u << policy.order[i];
                ck_assert(policy.yield[i].places == 0 ||
                          (policy.yield[i].stage > 0 && policy.yield[i].stage < x->stages));
            }
            ck_assert_uint_eq(policy.yields, count);
            ck_assert_uint_eq(seen, (1u << x->microbatches) - 1);
            ck_assert_int_eq(policy.yields > 0, yields); /* those without one get none */
            ck_assert_int_eq(policy.urgent < x->microbatches, has_urgent);
        }
        ck_assert_int_eq(changed, yields);
        pp_policy_copy(x, &copy, &policy);
        ck_assert_mem_eq(copy.yield, policy.yield, x->microbatches * sizeof *copy.yield);
        ck_assert_uint_eq(copy.yields, policy.yields);
        ck_assert_uint_eq(copy.urgent, policy.urgent);
    }
    ck_assert_int_eq(yielded, uneven && x->stages > 1);
    ck_assert_int_eq(urgent, uneven);
}
END_TEST

/* Of the policies that are drawn a quarter has an urgent microbatch, the heaviest, and a quarter
 * lets some yield, the heaviest and then mostly heavy ones. Of those by rule a quarter has an
 * urgent one, and none yields. */
START_TEST(heavy_ones_are_urgent_and_yield)
{
    enum { MICROBATCHES = 16, DRAWS = 4000 };
    const uint32_t ranks[] = { 0, 1, 2 };
    pp_rng rng = { .state = 5 };
    pp_order_problem *x PP_CLEANUP(pp_order_problem_free) = NULL;
    pp_policy policy PP_CLEANUP(pp_policy_free) = { 0 };
    uint32_t ascending[MICROBATCHES];
    uint32_t urgent = 0, yield = 0, others = 0, heavy = 0;
    pp_err err = { 0 };
    STEP_OK(pp_order_problem_new("drawn", 3, 3, MICROBATCHES, ranks, &x, &err), err);
    for (uint32_t op = 0; op < x->ops; op++)
        x->task[op].ticks = 1 + x->task[op].microbatch * 5 % MICROBATCHES;
    STEP_OK(pp_policy_new(x, &policy, &err), err);
    ck_assert(pp_policy_sort(x, ascending));
    const uint32_t heaviest = ascending[MICROBATCHES - 1];
    for (int n = 0; n < DRAWS; n++) {
        pp_policy_draw(x, &rng, heaviest, &policy);
        ck_assert(policy.urgent == heaviest || policy.urgent == MICROBATCHES);
        urgent += policy.urgent == heaviest;
        yield += policy.yields > 0;
        ck_assert(policy.yields == 0 || policy.yield[heaviest].places > 0);
        for (uint32_t k = 0; k + 1 < MICROBATCHES; k++) {
            const bool one = policy.yield[ascending[k]].places > 0;
            others += one;
            heavy += one && k >= MICROBATCHES / 2;
        }
    }
    ck_assert(urgent > DRAWS / 5 && urgent < DRAWS / 3);
    ck_assert(yield > DRAWS / 5 && yield < DRAWS / 3);
    ck_assert_uint_gt(others, yield / 3);
    ck_assert_uint_gt(heavy, others / 4 * 3);
    urgent = 0;
    for (uint32_t n = 0; n < PP_POLICY_RULES; n++) {
        do
            pp_policy_draw(x, &rng, heaviest, &policy);
        while (policy.yields == 0);
        pp_policy_set_rule(x, n, PP_POLICY_TENT, heaviest, &policy);
        ck_assert_uint_eq(policy.yields, 0);
        ck_assert_uint_eq(policy.yield[heaviest].places, 0);
        ck_assert(policy.urgent == heaviest || policy.urgent == MICROBATCHES);
        urgent += policy.urgent == heaviest;
    }
    ck_assert_uint_eq(urgent, PP_POLICY_RULES / 4);
    policy.urgent = heaviest;
    for (int k = 0; k < 10000 && policy.urgent == heaviest; k++)
        pp_policy_change(x, &rng, &policy);
    ck_assert_uint_ne(policy.urgent, heaviest);
}
END_TEST

/* Whether the works rise and then fall. place: of each microbatch among the ascending ones. */
static bool is_tent(const uint32_t *order, const uint32_t *place, uint32_t count)
{
    uint32_t k = 1;
    while (k < count && place[order[k - 1]] < place[order[k]])
        k++;
    while (k < count && place[order[k - 1]] > place[order[k]])
        k++;
    return k == count;
}

static uint32_t place_of(const uint32_t *order, uint32_t microbatch)
{
    uint32_t k = 0;
    while (order[k] != microbatch)
        k++;
    return k;
}

/* Tents are drawn with up to three of the lightest at the end, up to as many of the next ones as
 * there are ranks at the beginning, and each of the others on either side. An eighth of the changes
 * takes a microbatch to the other side, and it is still a tent. */
START_TEST(tents_are_drawn_and_keep_their_shape)
{
    enum { RANKS = 4, MICROBATCHES = 24, DRAWS = 4000, LASTS = 4 };
    const uint32_t ranks[RANKS] = { 0, 1, 2, 3 };
    pp_rng rng = { .state = 11 };
    pp_order_problem *x PP_CLEANUP(pp_order_problem_free) = NULL;
    pp_policy policy PP_CLEANUP(pp_policy_free) = { 0 };
    uint32_t ascending[MICROBATCHES], place[MICROBATCHES], before[MICROBATCHES];
    uint32_t lasts[LASTS + 1] = { 0 }, firsts[MICROBATCHES + 1] = { 0 };
    uint32_t early = 0, switched = 0;
    pp_err err = { 0 };
    STEP_OK(pp_order_problem_new("drawn", RANKS, RANKS, MICROBATCHES, ranks, &x, &err), err);
    for (uint32_t op = 0; op < x->ops; op++)
        x->task[op].ticks = 1 + x->task[op].microbatch * 5 % MICROBATCHES;
    STEP_OK(pp_policy_new(x, &policy, &err), err);
    ck_assert(pp_policy_sort(x, ascending));
    for (uint32_t k = 0; k < MICROBATCHES; k++)
        place[ascending[k]] = k;
    for (int n = 0; n < DRAWS; n++) {
        uint32_t last = 0, first = 0, seen = 0, moved = 0;
        pp_policy_draw(x, &rng, MICROBATCHES, &policy);
        pp_policy_draw_tent(x, &rng, ascending, &policy);
        for (uint32_t k = 0; k < MICROBATCHES; k++)
            seen |= 1u << policy.order[k];
        ck_assert_uint_eq(seen, (1u << MICROBATCHES) - 1);
        ck_assert(is_tent(policy.order, place, MICROBATCHES));
        while (last < LASTS && place[policy.order[MICROBATCHES - 1 - last]] == last)
            last++;
        while (first < MICROBATCHES && place[policy.order[first]] == last + first)
            first++;
        lasts[last]++;
        firsts[first]++;
        early += place_of(policy.order, ascending[MICROBATCHES - 2]) <
                 place_of(policy.order, ascending[MICROBATCHES - 1]);
        memcpy(before, policy.order, sizeof before);
        pp_policy_change(x, &rng, &policy);
        for (uint32_t i = 0; i < MICROBATCHES; i++)
            moved += (place_of(before, i) < MICROBATCHES / 2) !=
                     (place_of(policy.order, i) < MICROBATCHES / 2);
        switched += moved && is_tent(policy.order, place, MICROBATCHES);
    }
    for (uint32_t k = 0; k < LASTS; k++)
        ck_assert_uint_gt(lasts[k], DRAWS / 6);
    ck_assert_uint_lt(lasts[LASTS], DRAWS / 12);
    for (uint32_t k = 1; k <= RANKS; k++)
        ck_assert_uint_gt(firsts[k], DRAWS / 8);
    ck_assert(early > DRAWS * 2 / 5 && early < DRAWS * 3 / 5);
    ck_assert(switched > DRAWS / 11 && switched < DRAWS / 7);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dispatch_order");
    TCase *tc = tcase_create("dispatch_order");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, every_policy_gives_an_order_that_fits, 0, 2000);
    tcase_add_loop_test(tc, microbatches_yield, 0, 300);
    tcase_add_loop_test(tc, nothing_delays_an_urgent_one, 0, 1000);
    tcase_add_loop_test(tc, changes_keep_a_policy_whole, 0, 50);
    tcase_add_test(tc, heavy_ones_are_urgent_and_yield);
    tcase_add_test(tc, tents_are_drawn_and_keep_their_shape);
    suite_add_tcase(suite, tc);
    return step_run(suite);
}
