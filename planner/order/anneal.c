/* Policies: where they come from and how they are changed. */
#include "planner/order/search_int.h"
#include "sim/base/alloc.h"

#include <stdlib.h>
#include <string.h>

enum { IN_FLIGHT_MAX = 30000, FULL_NEVER = 17, HALVINGS = 7, TRIES_LEAST = 8, TRIES_MOST = 3000 };

pp_status pp_policy_new(const pp_instance *x, pp_policy *policy, pp_err *err)
{
    policy->order = pp_alloc_array(x->microbatches, sizeof *policy->order);
    policy->knob = pp_alloc_array((size_t)x->ranks * PP_KNOBS, sizeof *policy->knob);
    return policy->order && policy->knob ? PP_OK : pp_err_nomem(err);
}

void pp_policy_copy(const pp_instance *x, pp_policy *to, const pp_policy *from)
{
    memcpy(to->order, from->order, x->microbatches * sizeof *to->order);
    memcpy(to->knob, from->knob, (size_t)x->ranks * PP_KNOBS * sizeof *to->knob);
    to->flags = from->flags;
}

static int64_t work_of(const pp_instance *x, uint32_t microbatch)
{
    int64_t ticks = 0;
    for (uint32_t k = 0; k < 3 * x->stages; k++)
        ticks += x->task[microbatch * 3 * x->stages + k].ticks;
    return ticks;
}

static bool is_lighter(const pp_instance *x, uint32_t a, uint32_t b)
{
    int64_t one = work_of(x, a);
    int64_t other = work_of(x, b);
    return one != other ? one < other : a < b;
}

/* Shell sort: needs no context and no memory. */
static void sort_ascending(const pp_instance *x, uint32_t *order)
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

/* Every `tents`-th of the ascending ones, light, heavy, light again; one such tent after another.
 */
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

enum { ORDER_TENT, ORDER_ASCENDING, ORDER_TWO_TENTS, ORDER_DESCENDING, ORDER_GIVEN, ORDER_COUNT };

static void set_order(const pp_instance *x, uint32_t kind, const uint32_t *ascending,
                      uint32_t *order)
{
    uint32_t m = x->microbatches;
    if (kind == ORDER_TENT || kind == ORDER_TWO_TENTS)
        pitch(ascending, m, kind == ORDER_TENT || m < 2 ? 1 : 2, order);
    for (uint32_t i = 0; i < m && kind == ORDER_GIVEN; i++)
        order[i] = i;
    for (uint32_t i = 0; i < m && (kind == ORDER_ASCENDING || kind == ORDER_DESCENDING); i++)
        order[i] = ascending[kind == ORDER_DESCENDING ? m - 1 - i : i];
}

/* As 1F1B, scaled: alpha/10 (p - r) + beta. With several stages per rank all ranks alike. */
static void set_in_flight(const pp_instance *x, uint32_t alpha, uint32_t beta, pp_policy *policy)
{
    for (uint32_t r = 0; r < x->ranks; r++) {
        uint32_t behind = x->stages > x->ranks ? x->ranks : x->ranks - r;
        uint32_t limit = (alpha * behind + 9) / 10 + beta;
        int16_t *knob = &policy->knob[r * PP_KNOBS + PP_KNOB_IN_FLIGHT];
        *knob = (int16_t)(alpha == 0 || limit > IN_FLIGHT_MAX ? IN_FLIGHT_MAX : limit);
    }
}

/* knob: IN_FLIGHT is left as it is. */
static void set_knobs(const pp_instance *x, const int16_t knob[PP_KNOBS], pp_policy *policy)
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

/* With several stages per rank half of p comes early: of a short budget few are tried. */
static const uint32_t alphas[][12] = { { 0, 10, 8, 12, 6, 15, 20, 25, 5, 9, 7, 11 },
                                       { 0, 8, 5, 10, 20, 12, 6, 15, 25, 9, 7, 11 } };
enum { ALPHAS = sizeof *alphas / sizeof **alphas, BETAS = 3, PLAIN = ALPHAS * BETAS * 4 };

/* The n-th by rule: in-flight limits and the two habits that matter most. */
static void set_plain(const pp_instance *x, uint32_t n, pp_policy *policy)
{
    const int16_t knob[PP_KNOBS] = { [PP_KNOB_OVERRUN] = 4,
                                     [PP_KNOB_HOLD] = n & 1 ? 4 : 0,
                                     [PP_KNOB_FILL] = FULL_NEVER,
                                     [PP_KNOB_PRESS] = 16,
                                     [PP_KNOB_FEED] = n & 2 ? 1 : 0 };
    set_in_flight(x, alphas[x->stages > x->ranks][n / 4 % ALPHAS], n / 4 / ALPHAS, policy);
    set_knobs(x, knob, policy);
    policy->flags = n & 1 ? PP_POLICY_ORDER_B : 0;
}

static void set_random(const pp_instance *x, pp_rng *rng, pp_policy *policy)
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
}

/* Keeps what the dispatch made, if it is better than what the chain has. */
static void keep(const pp_instance *x, const pp_search_scratch *scratch, int64_t makespan,
                 pp_chain *chain)
{
    if (makespan >= chain->makespan)
        return;
    chain->makespan = makespan;
    memcpy(chain->ops, pp_dispatch_ops(scratch->dispatch), x->ops * sizeof *chain->ops);
}

/* Runs a policy; the chain keeps the best. */
static void try_policy(const pp_instance *x, pp_search_scratch *scratch, const pp_policy *policy,
                       pp_chain *chain)
{
    int64_t makespan = pp_dispatch_run(scratch->dispatch, policy, chain->dispatched);
    if (makespan >= chain->dispatched)
        return;
    chain->dispatched = makespan;
    pp_policy_copy(x, &chain->policy, policy);
    keep(x, scratch, makespan, chain);
}

/* However short the time and tight the memory: one microbatch after the other, each W right behind
 * its B, which is what pp_instance_check_room has looked at. */
static void run_serially(const pp_instance *x, pp_search_scratch *scratch, const uint32_t *order,
                         pp_chain *chain)
{
    uint32_t k = 0;
    for (uint32_t r = 0; r < x->ranks; r++) {
        for (uint32_t i = 0; i < x->microbatches; i++) {
            uint32_t begin = order[i] * 3 * x->stages;
            for (uint32_t op = begin; op < begin + 2 * x->stages; op++) {
                if (x->task[op].rank != r)
                    continue;
                chain->ops[k++] = op;
                if (x->task[op].weight < x->ops)
                    chain->ops[k++] = x->task[op].weight;
            }
        }
    }
    if (pp_movable_order_set(scratch->walk, chain->ops))
        chain->makespan = scratch->walk->makespan;
}

void pp_sample_policies(const pp_instance *x, pp_search_scratch *scratch, uint32_t first,
                        uint32_t stride, int64_t bound, pp_iteration_budget *budget,
                        pp_chain *chain)
{
    pp_policy *trial = &scratch->trial;
    uint32_t *ascending = scratch->path;
    uint32_t kind = ORDER_COUNT;
    for (uint32_t i = 0; i < x->microbatches; i++)
        ascending[i] = i;
    sort_ascending(x, ascending);
    uint32_t end = first + TRIES_MOST * stride; /* time is better spent on the best of them */
    for (uint32_t n = first; n < end && chain->makespan > bound; n += stride) {
        bool something = chain->makespan < INT64_MAX || n >= first + TRIES_LEAST * stride;
        if (!pp_iteration_budget_run(budget, 1) && something)
            break;
        uint32_t wanted = n / PLAIN;
        if (wanted >= 2) /* a tent half of the time */
            wanted =
                pp_rng_below(&chain->rng, 2) ? ORDER_TENT : pp_rng_below(&chain->rng, ORDER_COUNT);
        if (wanted != kind)
            set_order(x, wanted, ascending, trial->order);
        kind = wanted;
        if (n / PLAIN < 2)
            set_plain(x, n % PLAIN, trial);
        else
            set_random(x, &chain->rng, trial);
        try_policy(x, scratch, trial, chain);
    }
    if (chain->makespan < INT64_MAX)
        return;
    run_serially(x, scratch, ascending, chain);
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

static void change_order(pp_rng *rng, uint32_t m, uint32_t *order)
{
    uint32_t i = pp_rng_below(rng, m);
    uint32_t j = pp_rng_below(rng, m);
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
    } else { /* a stretch, turned round */
        uint32_t end = i + 1 + pp_rng_below(rng, 9);
        end = end < m ? end : m - 1;
        for (; i < end; i++, end--) {
            swap = order[i];
            order[i] = order[end];
            order[end] = swap;
        }
    }
}

static void change_knobs(const pp_instance *x, pp_rng *rng, pp_policy *policy)
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

static void change(const pp_instance *x, pp_rng *rng, pp_policy *policy)
{
    uint32_t flags = x->stages > x->ranks ? 4 : 2; /* the others choose among stages */
    uint32_t what = pp_rng_below(rng, 32);
    if (what < 16)
        change_order(rng, x->microbatches, policy->order);
    else if (what < 31)
        change_knobs(x, rng, policy);
    else
        policy->flags ^= 1u << pp_rng_below(rng, flags);
}

void pp_anneal_policy(const pp_instance *x, pp_search_scratch *scratch, double hot, int64_t bound,
                      pp_iteration_budget *budget, pp_chain *chain)
{
    pp_policy now = scratch->now;
    if (chain->dispatched == INT64_MAX)
        return;
    int64_t current = pp_dispatch_run(scratch->dispatch, &chain->policy, INT64_MAX);
    chain->makespan = INT64_MAX; /* moves are forgotten: policies compete with each other */
    keep(x, scratch, current, chain);
    pp_policy_copy(x, &now, &chain->policy);
    while (chain->makespan > bound && pp_iteration_budget_run(budget, 1)) {
        pp_policy_copy(x, &scratch->trial, &now);
        change(x, &chain->rng, &scratch->trial);
        if (pp_rng_below(&chain->rng, 3) == 0)
            change(x, &chain->rng, &scratch->trial);
        double heat = pp_cooling(hot, HALVINGS, budget->part);
        int64_t limit = current + (int64_t)(heat * pp_rng_exponential(&chain->rng));
        int64_t makespan = pp_dispatch_run(scratch->dispatch, &scratch->trial, limit);
        if (makespan > limit)
            continue;
        current = makespan;
        pp_policy swap = now;
        now = scratch->trial;
        scratch->trial = swap;
        if (makespan < chain->dispatched) {
            chain->dispatched = makespan;
            pp_policy_copy(x, &chain->policy, &now);
        }
        keep(x, scratch, makespan, chain);
    }
    scratch->now = now;
}
