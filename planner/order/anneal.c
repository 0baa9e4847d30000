/* The search among policies.
 *
 * Sampling tries policies by rule, then random ones, with several orders of the microbatches in
 * turn, and keeps the best.
 *
 * Annealing (Kirkpatrick, Gelatt and Vecchi 1983) then changes that policy at random, one or two
 * changes at a time, and accepts a change when the makespan grows by no more than a random amount:
 * the temperature times an exponentially distributed number, which is the rule of Metropolis and
 * others (1953). The amount is drawn before the dispatch, so that a dispatch that exceeds it is
 * given up early.
 *
 * A try costs one dispatch, O(ops * (ranks / 8 + 8 + ops per rank in flight)). */
#include "planner/order/anneal.h"

#include <string.h>

enum { HALVINGS = 7, TRIES_LEAST = 8, TRIES_MOST = 3000 };

/* Keeps what the dispatch made if it is better than what the chain has. */
static void keep(const pp_order_problem *x, const pp_search_scratch *scratch, int64_t makespan,
                 pp_search_chain *chain)
{
    if (makespan >= chain->makespan)
        return;
    chain->makespan = makespan;
    memcpy(chain->ops, pp_dispatch_ops(scratch->dispatch), x->ops * sizeof *chain->ops);
}

/* Runs a policy; the chain keeps the best. */
static void try_policy(const pp_order_problem *x, pp_search_scratch *scratch,
                       const pp_policy *policy, pp_search_chain *chain)
{
    int64_t makespan = pp_dispatch_run(scratch->dispatch, policy, chain->dispatched);
    if (makespan >= chain->dispatched)
        return;
    chain->dispatched = makespan;
    pp_policy_copy(x, &chain->policy, policy);
    keep(x, scratch, makespan, chain);
}

/* Runs one microbatch after the other, each W as soon as it fits. This always fits the memory,
 * since pp_order_problem_check_room has tried exactly that, so a search always has an order. */
static void run_serially(const pp_order_problem *x, pp_search_scratch *scratch,
                         const uint32_t *order, pp_search_chain *chain)
{
    uint32_t k = 0;
    uint32_t *weights = scratch->path;
    for (uint32_t r = 0; r < x->ranks; r++) {
        uint32_t stages = 0;
        for (uint32_t s = 0; s < x->stages; s++)
            stages += x->stage_rank[s] == r;
        for (uint32_t i = 0; i < x->microbatches; i++) {
            (void)pp_order_problem_run_alone(x, order[i], r, weights, chain->ops + k);
            k += 3 * stages;
        }
    }
    if (pp_movable_order_set(scratch->order, chain->ops))
        chain->makespan = scratch->order->makespan;
}

void pp_anneal_sample(const pp_order_problem *x, pp_search_scratch *scratch, uint32_t first,
                      uint32_t stride, int64_t bound, pp_iteration_budget *budget,
                      pp_search_chain *chain)
{
    enum { DRAWN_TENT = PP_POLICY_ORDERS, NONE };
    static const int kinds[] = { PP_POLICY_TENT,        PP_POLICY_RAMP,      PP_POLICY_ALTERNATING,
                                 PP_POLICY_DESCENDING,  PP_POLICY_TENT,      DRAWN_TENT,
                                 PP_POLICY_ALTERNATING, PP_POLICY_DESCENDING };
    enum { KINDS = sizeof kinds / sizeof *kinds };
    pp_policy *trial = &scratch->trial;
    const uint32_t *ascending = scratch->by_work;
    int order = NONE;
    const bool uneven = x->microbatches > 0 && scratch->heavier[ascending[0]] > 0;
    const uint32_t heaviest = uneven ? ascending[x->microbatches - 1] : x->microbatches;
    uint32_t end = first + TRIES_MOST * stride; /* time is better spent on the best of them */
    for (uint32_t n = first; n < end && chain->makespan > bound; n += stride) {
        bool something = chain->makespan < INT64_MAX || n >= first + TRIES_LEAST * stride;
        if (!pp_iteration_budget_run(budget, 1) && something)
            break;
        int wanted = uneven ? kinds[(n + n / stride) % KINDS] : PP_POLICY_TENT;
        if (n >= PP_POLICY_RULES && wanted != PP_POLICY_TENT)
            wanted = (int)pp_rng_below(&chain->rng, DRAWN_TENT + 1);
        if (wanted == DRAWN_TENT)
            pp_policy_draw_tent(x, &chain->rng, ascending, trial);
        else if (wanted != order)
            pp_policy_set_order(x, (pp_policy_order)wanted, ascending, trial);
        order = wanted;
        if (n < PP_POLICY_RULES)
            pp_policy_set_rule(x, n, wanted, heaviest, trial);
        else
            pp_policy_draw(x, &chain->rng, heaviest, trial);
        try_policy(x, scratch, trial, chain);
    }
    if (chain->makespan < INT64_MAX)
        return;
    run_serially(x, scratch, ascending, chain);
}

void pp_anneal_policy(const pp_order_problem *x, pp_search_scratch *scratch, double hot,
                      int64_t bound, pp_iteration_budget *budget, pp_search_chain *chain)
{
    pp_policy now = scratch->now;
    if (chain->dispatched == INT64_MAX)
        return;
    int64_t current = pp_dispatch_run(scratch->dispatch, &chain->policy, INT64_MAX);
    chain->makespan = INT64_MAX; /* moves are dropped, so that policies compete with each other */
    keep(x, scratch, current, chain);
    pp_policy_copy(x, &now, &chain->policy);
    while (chain->makespan > bound && pp_iteration_budget_run(budget, 1)) {
        pp_policy_copy(x, &scratch->trial, &now);
        pp_policy_change(x, &chain->rng, &scratch->trial);
        if (pp_rng_below(&chain->rng, 3) == 0)
            pp_policy_change(x, &chain->rng, &scratch->trial);
        double heat = pp_iteration_budget_cool(budget, hot, HALVINGS);
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
