/* Policies: how they are made and changed.
 *
 * Policies by rule are all combinations of three choices: a limit of microbatches in flight, alpha
 * / 10 * (p - r) + beta on rank r of p, which with alpha 10 is that of 1F1B (Narayanan and others,
 * PipeDream, SOSP 2019) and with alpha 20 about that of the zero-bubble schedules (Qi and others,
 * ICLR 2024); whether a rank holds an F back for a B that is about to arrive; and whether a rank
 * that feeds an idle one runs an F first. After these, knobs and flags are drawn at random.
 *
 * If microbatches are unequal, the order in which they start matters as much. "Tents" put short
 * ones at both ends, where a step fills and drains, and long ones in the middle. Which of the short
 * ones come first and which last decides how long the busiest rank waits at either end. So tents
 * are drawn at random, and a change often moves a microbatch from its place on one side to that on
 * the other, where moves of a few places would lead through longer steps. Alternating orders put
 * each short one beside a long one, in memory that the long one leaves over if the policy is tight,
 * and half of these let all microbatches pass. In every fourth policy that is sampled the heaviest
 * is urgent, and every fourth one that is drawn at random lets a few yield, the heaviest first:
 * ranks before that stage fill their memory with others that run ahead of it, and ranks behind it
 * do not wait.
 *
 * A change costs at most O(ranks + ops). */
#include "planner/order/policy.h"

#include "sim/base/alloc.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    IN_FLIGHT_MAX = 30000,
    FULL_NEVER = 17,
    HEAVY_DRAWS = 4,
    YIELDS_MOST = 3,
    LAST_MOST = 3,
    SIDES_PART = 4
};

pp_status pp_policy_new(const pp_order_problem *x, pp_policy *policy, pp_err *err)
{
    policy->order = pp_alloc_array(x->microbatches, sizeof *policy->order);
    policy->knob = pp_alloc_array((size_t)x->ranks * PP_KNOBS, sizeof *policy->knob);
    policy->passes = pp_alloc_array(x->microbatches, sizeof *policy->passes);
    policy->yield = pp_alloc_array(x->microbatches, sizeof *policy->yield);
    policy->urgent = x->microbatches;
    const bool all = policy->order && policy->knob && policy->passes && policy->yield;
    return all ? PP_OK : pp_err_nomem(err);
}

void pp_policy_free(pp_policy *policy)
{
    free(policy->order);
    free(policy->knob);
    free(policy->passes);
    free(policy->yield);
}

void pp_policy_copy(const pp_order_problem *x, pp_policy *to, const pp_policy *from)
{
    memcpy(to->order, from->order, x->microbatches * sizeof *to->order);
    memcpy(to->knob, from->knob, (size_t)x->ranks * PP_KNOBS * sizeof *to->knob);
    memcpy(to->passes, from->passes, x->microbatches * sizeof *to->passes);
    memcpy(to->yield, from->yield, x->microbatches * sizeof *to->yield);
    to->yields = from->yields;
    to->urgent = from->urgent;
    to->flags = from->flags;
}

static bool is_lighter(const pp_order_problem *x, uint32_t a, uint32_t b)
{
    int64_t one = pp_order_problem_work_of(x, a);
    int64_t other = pp_order_problem_work_of(x, b);
    return one != other ? one < other : a < b;
}

/* A shell sort, since qsort passes no context and this needs no memory. */
static void sort_by_work(const pp_order_problem *x, uint32_t *order)
{
    static const uint32_t gaps[] = { 65921, 16001, 3905, 929, 209, 57, 23, 10, 4, 1 };
    for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++) {
        for (uint32_t k = gaps[g]; k < x->microbatches; k++) {
            uint32_t held = order[k];
            uint32_t at = k;
            for (; at >= gaps[g] && is_lighter(x, held, order[at - gaps[g]]); at -= gaps[g])
                order[at] = order[at - gaps[g]];
            order[at] = held;
        }
    }
}

/* Puts every `tents`-th of the ascending microbatches into one tent: light, heavy, light again. The
 * tents follow one another. */
static void pitch(const uint32_t *ascending, uint32_t count, uint32_t tents, uint32_t *order)
{
    uint32_t begin = 0;
    for (uint32_t t = 0; t < tents; t++) {
        uint32_t size = (count - t + tents - 1) / tents;
        uint32_t low = begin;
        uint32_t high = begin + size;
        for (uint32_t k = 0; k < size; k++)
            order[k % 2 == 0 ? low++ : --high] = ascending[t + k * tents];
        begin += size;
    }
}

bool pp_policy_sort(const pp_order_problem *x, uint32_t *ascending)
{
    for (uint32_t i = 0; i < x->microbatches; i++)
        ascending[i] = i;
    sort_by_work(x, ascending);
    return x->microbatches > 0 && pp_order_problem_work_of(x, ascending[0]) <
                                      pp_order_problem_work_of(x, ascending[x->microbatches - 1]);
}

void pp_policy_set_order(const pp_order_problem *x, pp_policy_order order,
                         const uint32_t *ascending, pp_policy *policy)
{
    uint32_t m = x->microbatches;
    if (order == PP_POLICY_TENT || order == PP_POLICY_TWO_TENTS)
        pitch(ascending, m, order == PP_POLICY_TENT || m < 2 ? 1 : 2, policy->order);
    if (order == PP_POLICY_RAMP) {
        const uint32_t ramp = x->ranks < m / 2 ? x->ranks : m / 2;
        memcpy(policy->order, ascending, ramp * sizeof *ascending);
        pitch(ascending + ramp, m - ramp, 1, policy->order + ramp);
    }
    for (uint32_t i = 0; i < m && order == PP_POLICY_ALTERNATING; i++)
        policy->order[i] = ascending[i % 2 ? m - 1 - i / 2 : i / 2];
    for (uint32_t i = 0; i < m && order == PP_POLICY_GIVEN; i++)
        policy->order[i] = i;
    for (uint32_t i = 0; i < m && (order == PP_POLICY_ASCENDING || order == PP_POLICY_DESCENDING);
         i++)
        policy->order[i] = ascending[order == PP_POLICY_DESCENDING ? m - 1 - i : i];
}

void pp_policy_draw_tent(const pp_order_problem *x, pp_rng *rng, const uint32_t *ascending,
                         pp_policy *policy)
{
    const uint32_t m = x->microbatches;
    const uint32_t steepest = x->ranks < m / 2 ? x->ranks : m / 2;
    const uint32_t last = pp_rng_below(rng, LAST_MOST + 1);
    const uint32_t ramp = last + pp_rng_below(rng, steepest + 1);
    uint32_t low = 0;
    uint32_t high = m;
    for (uint32_t k = 0; k < m; k++) {
        const bool first = k >= last && (k < ramp || pp_rng_below(rng, 2));
        policy->order[first ? low++ : --high] = ascending[k];
    }
}

/* A limit like that of 1F1B, scaled: alpha / 10 * (p - r) + beta. With several stages per rank all
 * ranks get the same limit. */
static void set_in_flight(const pp_order_problem *x, uint32_t alpha, uint32_t beta,
                          pp_policy *policy)
{
    for (uint32_t r = 0; r < x->ranks; r++) {
        uint32_t behind = x->stages > x->ranks ? x->ranks : x->ranks - r;
        uint32_t limit = (alpha * behind + 9) / 10 + beta;
        int16_t *knob = &policy->knob[r * PP_KNOBS + PP_KNOB_IN_FLIGHT];
        *knob = (int16_t)(alpha == 0 || limit > IN_FLIGHT_MAX ? IN_FLIGHT_MAX : limit);
    }
}

/* PP_KNOB_IN_FLIGHT is left as it is. */
static void set_knobs(const pp_order_problem *x, const int16_t knob[PP_KNOBS], pp_policy *policy)
{
    for (uint32_t r = 0; r < x->ranks; r++)
        for (uint32_t k = PP_KNOB_IN_FLIGHT + 1; k < PP_KNOBS; k++)
            policy->knob[r * PP_KNOBS + k] = knob[k];
}

static int16_t draw_level(uint32_t knob, pp_rng *rng)
{
    int16_t level = (int16_t)(2 * pp_rng_below(rng, 9));
    if (knob == PP_KNOB_FILL)
        return (int16_t)(level < 6 ? FULL_NEVER : 10 + level / 3);
    return knob == PP_KNOB_FEED ? (int16_t)pp_rng_below(rng, 3) : level;
}

/* The values most likely to be good come first, since a short budget tries few of them. With
 * several stages per rank these are about half of p. */
static const uint32_t alphas[][12] = { { 0, 10, 8, 12, 6, 15, 20, 25, 5, 9, 7, 11 },
                                       { 0, 8, 5, 10, 20, 12, 6, 15, 25, 9, 7, 11 } };
enum { ALPHAS = sizeof *alphas / sizeof **alphas, BETAS = 3 };
static_assert(PP_POLICY_RULES == ALPHAS * BETAS * 4, "rules are products of these");

static void let_pass(const pp_order_problem *x, bool passes, pp_policy *policy)
{
    for (uint32_t i = 0; i < x->microbatches; i++)
        policy->passes[i] = passes;
}

static void set_yield(pp_policy *policy, uint32_t i, pp_yield yield)
{
    policy->yields -= policy->yield[i].places > 0;
    policy->yields += yield.places > 0;
    policy->yield[i] = yield;
}

static void let_none_yield(const pp_order_problem *x, pp_policy *policy)
{
    for (uint32_t i = 0; i < x->microbatches; i++)
        policy->yield[i] = (pp_yield){ 0 };
    policy->yields = 0;
}

/* Draws a microbatch; heavy ones are likely. */
static uint32_t draw_heavy(const pp_order_problem *x, pp_rng *rng)
{
    uint32_t heavy = pp_rng_below(rng, x->microbatches);
    for (int k = 1; k < HEAVY_DRAWS; k++) {
        const uint32_t other = pp_rng_below(rng, x->microbatches);
        heavy = is_lighter(x, heavy, other) ? other : heavy;
    }
    return heavy;
}

static pp_yield draw_yield(const pp_order_problem *x, pp_rng *rng)
{
    const uint32_t most = x->microbatches / 2;
    const uint32_t places = pp_rng_below(rng, 2) && most > 8 ? 8 : most;
    return (pp_yield){ 1 + pp_rng_below(rng, x->stages - 1), 1 + pp_rng_below(rng, places) };
}

static bool can_yield(const pp_order_problem *x)
{
    return x->stages > 1 && x->microbatches > 1;
}

void pp_policy_set_rule(const pp_order_problem *x, uint32_t n, pp_policy_order order,
                        uint32_t heaviest, pp_policy *policy)
{
    const int16_t knob[PP_KNOBS] = { [PP_KNOB_OVERRUN] = 4,
                                     [PP_KNOB_HOLD] = n & 1 ? 4 : 0,
                                     [PP_KNOB_FILL] = FULL_NEVER,
                                     [PP_KNOB_PRESS] = 16,
                                     [PP_KNOB_FEED] = n & 2 ? 1 : 0 };
    set_in_flight(x, alphas[x->stages > x->ranks][n / 4 % ALPHAS], n / 4 / ALPHAS, policy);
    set_knobs(x, knob, policy);
    policy->flags = n & 1 ? PP_POLICY_ORDER_B : 0;
    policy->flags |= order == PP_POLICY_ALTERNATING ? PP_POLICY_TIGHT : 0;
    let_pass(x, n & 4, policy);
    let_none_yield(x, policy);
    policy->urgent = (n / 2 + n / 8) % 4 == 1 ? heaviest : x->microbatches;
}

void pp_policy_draw(const pp_order_problem *x, pp_rng *rng, uint32_t heaviest, pp_policy *policy)
{
    int16_t knob[PP_KNOBS];
    for (uint32_t k = 0; k < PP_KNOBS; k++)
        knob[k] = draw_level(k, rng);
    if (pp_rng_below(rng, 2))
        knob[PP_KNOB_HOLD] = 0;
    if (pp_rng_below(rng, 2))
        knob[PP_KNOB_PRESS] = 16;
    set_in_flight(x, alphas[x->stages > x->ranks][pp_rng_below(rng, ALPHAS)],
                  pp_rng_below(rng, BETAS + 1), policy);
    set_knobs(x, knob, policy);
    policy->flags = pp_rng_below(rng, PP_POLICY_FLAGS);
    let_pass(x, pp_rng_below(rng, 2), policy);
    let_none_yield(x, policy);
    policy->urgent = x->microbatches;
    if (heaviest == x->microbatches)
        return;
    if (pp_rng_below(rng, 4) == 0)
        policy->urgent = heaviest;
    const uint32_t yields =
        can_yield(x) && pp_rng_below(rng, 4) == 0 ? 1 + pp_rng_below(rng, YIELDS_MOST) : 0;
    for (uint32_t k = 0; k < yields; k++)
        set_yield(policy, k ? draw_heavy(x, rng) : heaviest, draw_yield(x, rng));
}

static void move_one(uint32_t *order, uint32_t from, uint32_t to)
{
    uint32_t moved = order[from];
    if (from < to)
        memmove(order + from, order + from + 1, (to - from) * sizeof *order);
    else
        memmove(order + to + 1, order + to, (from - to) * sizeof *order);
    order[to] = moved;
}

/* Where the i-th microbatch of an order belongs on the other side of a tent: towards that end, all
 * are lighter. Returns i if that is where it is. */
static uint32_t find_other_side(const pp_order_problem *x, const uint32_t *order, uint32_t i)
{
    const uint32_t m = x->microbatches;
    const int64_t work = pp_order_problem_work_of(x, order[i]);
    const bool early = i < m / 2;
    uint32_t to = early ? m - 1 : 0;
    while (to != i && pp_order_problem_work_of(x, order[to]) < work)
        to = early ? to - 1 : to + 1;
    return to;
}

static void change_order(const pp_order_problem *x, pp_rng *rng, uint32_t *order)
{
    const uint32_t m = x->microbatches;
    uint32_t i = pp_rng_below(rng, m);
    uint32_t j = pp_rng_below(rng, m);
    if (pp_rng_below(rng, SIDES_PART) == 0) {
        const uint32_t to = find_other_side(x, order, i);
        move_one(order, i, to);
        if (to != i)
            return;
    }
    uint32_t near = i + pp_rng_below(rng, 17);
    near = near < 8 ? 0 : near - 8 < m ? near - 8 : m - 1;
    uint32_t what = pp_rng_below(rng, 16);
    uint32_t swap = order[i];
    if (what < 8) {
        move_one(order, i, what < 5 ? near : j);
    } else if (what < 14) {
        j = what < 11 ? (i + 1) % m : j;
        order[i] = order[j];
        order[j] = swap;
    } else { /* reverses a stretch of microbatches */
        uint32_t end = i + 1 + pp_rng_below(rng, 9);
        end = end < m ? end : m - 1;
        for (; i < end; i++, end--) {
            swap = order[i];
            order[i] = order[end];
            order[end] = swap;
        }
    }
}

static void let_other_pass(pp_rng *rng, uint32_t m, bool *passes)
{
    const uint32_t i = pp_rng_below(rng, m);
    passes[i] = !passes[i];
}

static void change_knobs(const pp_order_problem *x, pp_rng *rng, pp_policy *policy)
{
    uint32_t knob = pp_rng_below(rng, PP_KNOBS);
    uint32_t first = pp_rng_below(rng, x->ranks);
    uint32_t end = first + 1 + pp_rng_below(rng, pp_rng_below(rng, 2) ? 2 : x->ranks);
    bool up = pp_rng_below(rng, 2);
    int16_t level = draw_level(knob, rng);
    for (uint32_t r = first; r < end && r < x->ranks; r++) {
        int16_t *at = &policy->knob[r * PP_KNOBS + knob];
        if (knob != PP_KNOB_IN_FLIGHT) {
            *at = level;
            continue;
        }
        if ((uint32_t)*at > x->microbatches && x->microbatches < IN_FLIGHT_MAX)
            *at = (int16_t)x->microbatches; /* so that one less makes a difference */
        *at = (int16_t)(*at + (up ? *at < IN_FLIGHT_MAX : *at > 1 ? -1 : 0));
    }
}

/* Another one yields, or one of them otherwise, or no more. */
static void change_yields(const pp_order_problem *x, pp_rng *rng, pp_policy *policy)
{
    const uint32_t i = draw_heavy(x, rng);
    pp_yield yield = policy->yield[i];
    const uint32_t what = pp_rng_below(rng, 4);
    if (yield.places == 0 || what == 0)
        yield = draw_yield(x, rng);
    else if (what == 1)
        yield.places = policy->yields > 1 ? 0 : yield.places;
    else if (what == 2)
        yield.stage = pp_rng_below(rng, 2) ? yield.stage % (x->stages - 1) + 1
                                           : (yield.stage + x->stages - 3) % (x->stages - 1) + 1;
    else
        yield.places =
            pp_rng_below(rng, 2) || yield.places == 1 ? yield.places + 1 : yield.places - 1;
    set_yield(policy, i, yield);
}

void pp_policy_change(const pp_order_problem *x, pp_rng *rng, pp_policy *policy)
{
    uint32_t flags =
        x->stages > x->ranks ? 5 : 3; /* the other flags choose between stages of a rank */
    if (policy->yields && pp_rng_below(rng, 4) == 0) {
        change_yields(x, rng, policy);
        return;
    }
    if (policy->urgent < x->microbatches && pp_rng_below(rng, 64) == 0) {
        policy->urgent = draw_heavy(x, rng);
        return;
    }
    uint32_t what = pp_rng_below(rng, 32);
    if (what < 2 && policy->flags & PP_POLICY_TIGHT && x->stages == x->ranks)
        let_other_pass(rng, x->microbatches, policy->passes);
    else if (what < 16)
        change_order(x, rng, policy->order);
    else if (what < 31)
        change_knobs(x, rng, policy);
    else
        policy->flags ^= 1u << pp_rng_below(rng, flags);
}
