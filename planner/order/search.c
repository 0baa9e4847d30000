#include "planner/order/search.h"

#include "planner/order/exact.h"
#include "planner/order/search_int.h"
#include "sim/base/alloc.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The search goes in legs. In each, every chain is worked on for its share; between legs the worse
 * half of the chains takes over what the better half has. Chains share nothing within a leg, so the
 * result depends on their number, not on that of the threads. */
typedef enum phase_kind { LEG_SAMPLE, LEG_ANNEAL, LEG_POLISH } phase_kind;

typedef struct phase {
    phase_kind kind;
    double share; /* of the budget, up to the end of this leg */
    double hot;   /* temperature at its begin, in mean times of an op */
} phase;

static const phase phases[] = {
    { LEG_SAMPLE, 0.04, 0 },    { LEG_POLISH, 0.08, 1.00 }, { LEG_ANNEAL, 0.19, 0.20 },
    { LEG_ANNEAL, 0.30, 0.20 }, { LEG_ANNEAL, 0.40, 0.14 }, { LEG_ANNEAL, 0.50, 0.10 },
    { LEG_POLISH, 0.60, 0.10 }, { LEG_POLISH, 0.70, 0.10 }, { LEG_POLISH, 0.80, 0.07 },
    { LEG_POLISH, 0.90, 0.05 }, { LEG_POLISH, 1.00, 0.03 },
};

enum { LEGS = sizeof phases / sizeof *phases, CHAINS_MOST = 8 };

/* In a given time the first leg has so many policies per chain, as far as that takes no larger
 * share; the others have the rest. */
enum { POLICIES_WANTED = 12, TIMED = 3 };
#define SAMPLE_SHARE_MOST 0.25

/* Where there are few ops: after so many legs all orders are looked at, in so much of the time, or
 * so many states per iteration (which take about as long as the moves of one). */
enum { EXACT_AFTER = 2, EXACT_STATES = 32 };
#define EXACT_SHARE 0.75

typedef struct search {
    const pp_instance *instance;
    const pp_search_budget *budget;
    int64_t bound;
    uint32_t chains, threads;
    pp_chain chain[CHAINS_MOST];
    pp_search_scratch *scratch; /* [threads] */
    const phase *phase;
    double sampled;  /* share at which the first leg ends */
    double from, to; /* shares at which the leg begins and ends */
    double mean;     /* ticks of an op */
    bool started;    /* the chains began with a given order */
    uint32_t proved; /* the lowest chain that meets the bound; atomic */
    bool exhausted;  /* there is no order that was not looked at */
    pthread_mutex_t lock;
    int64_t told; /* the makespan last reported; under lock */
} search;

bool pp_iteration_budget_run(pp_iteration_budget *budget, int64_t iterations)
{
    const pp_search_budget *all = budget->whole;
    double spent = all->spent ? all->spent(all->context) : 0;
    if (all->iterations)
        budget->part = budget->quota ? (double)budget->used / (double)budget->quota : 1;
    else
        budget->part =
            budget->to > budget->from ? (spent - budget->from) / (budget->to - budget->from) : 1;
    if (budget->part < 0)
        budget->part = 0;
    budget->used += iterations;
    return budget->part < 1 && spent < 1;
}

static void policy_free(pp_policy *policy)
{
    free(policy->order);
    free(policy->knob);
}

static void bench_free(pp_search_scratch *scratch)
{
    pp_dispatch_free(&scratch->dispatch);
    pp_movable_order_free(&scratch->walk);
    policy_free(&scratch->trial);
    policy_free(&scratch->now);
    free(scratch->path);
    free(scratch->by_rank);
}

static void search_free(search *s)
{
    for (uint32_t k = 0; k < s->chains; k++) {
        policy_free(&s->chain[k].policy);
        free(s->chain[k].ops);
    }
    for (uint32_t k = 0; s->scratch && k < s->threads; k++)
        bench_free(&s->scratch[k]);
    free(s->scratch);
    pthread_mutex_destroy(&s->lock);
}

static pp_status bench_new(const pp_instance *x, pp_search_scratch *scratch, pp_err *err)
{
    pp_status status = pp_dispatch_new(x, &scratch->dispatch, err);
    if (status || (status = pp_movable_order_new(x, &scratch->walk, err)) ||
        (status = pp_policy_new(x, &scratch->trial, err)) ||
        (status = pp_policy_new(x, &scratch->now, err)))
        return status;
    scratch->path = pp_alloc_array((size_t)x->ops + 1, sizeof *scratch->path);
    scratch->by_rank = pp_alloc_array((size_t)x->ops + 1, sizeof *scratch->by_rank);
    return scratch->path && scratch->by_rank ? PP_OK : pp_err_nomem(err);
}

static pp_status chain_new(const search *s, uint32_t index, pp_chain *chain, pp_err *err)
{
    pp_rng rng = { s->budget->seed };
    for (uint32_t k = 0; k <= index; k++)
        chain->rng.state = pp_rng_bits(&rng);
    chain->dispatched = chain->makespan = chain->best = INT64_MAX;
    chain->ops = pp_alloc_array(2 * ((size_t)s->instance->ops + 1), sizeof *chain->ops);
    if (!chain->ops)
        return pp_err_nomem(err);
    chain->best_ops = chain->ops + s->instance->ops;
    return pp_policy_new(s->instance, &chain->policy, err);
}

/* More ops, fewer chains: each has to get somewhere. */
static uint32_t chains_for(const pp_instance *x)
{
    return x->ops <= 4000 ? CHAINS_MOST : x->ops <= 40000 ? 4 : 2;
}

static double mean_ticks(const pp_instance *x)
{
    int64_t ticks = 0;
    for (uint32_t op = 0; op < x->ops; op++)
        ticks += x->task[op].ticks;
    return (double)ticks / (double)x->ops;
}

static pp_status search_new(search *s, pp_err *err)
{
    pthread_mutex_init(&s->lock, NULL);
    s->told = INT64_MAX;
    s->mean = mean_ticks(s->instance);
    s->proved = CHAINS_MOST;
    s->chains = chains_for(s->instance);
    s->threads = s->budget->threads ? s->budget->threads : 1;
    s->threads = s->threads < s->chains ? s->threads : s->chains;
    s->scratch = pp_alloc_array(s->threads, sizeof *s->scratch);
    pp_status status = s->scratch ? PP_OK : pp_err_nomem(err);
    for (uint32_t k = 0; k < s->threads && !status; k++)
        status = bench_new(s->instance, &s->scratch[k], err);
    for (uint32_t k = 0; k < s->chains && !status; k++)
        status = chain_new(s, k, &s->chain[k], err);
    return status;
}

/* Takes the order a leg ended with, replayed. */
static void record(search *s, pp_search_scratch *scratch, uint32_t index)
{
    pp_chain *chain = &s->chain[index];
    if (chain->makespan >= chain->best)
        return;
    bool stands = pp_movable_order_set(scratch->walk, chain->ops);
    assert(stands);
    if (!stands)
        return;
    chain->makespan = chain->best = scratch->walk->makespan;
    memcpy(chain->best_ops, chain->ops, s->instance->ops * sizeof *chain->ops);
    pthread_mutex_lock(&s->lock);
    if (chain->best <= s->bound && index < s->proved)
        __atomic_store_n(&s->proved, index, __ATOMIC_RELAXED);
    if (chain->best < s->told) {
        s->told = chain->best;
        if (s->budget->found)
            s->budget->found(s->budget->context, s->told);
    }
    pthread_mutex_unlock(&s->lock);
}

static void work_on(search *s, pp_search_scratch *scratch, uint32_t index,
                    pp_iteration_budget *budget)
{
    pp_chain *chain = &s->chain[index];
    double hot = s->phase->hot * s->mean;
    /* no policy makes the order it began with */
    bool moves_only = s->started && (index == 0 || chain->dispatched == INT64_MAX);
    if (s->phase->kind == LEG_SAMPLE)
        pp_sample_policies(s->instance, scratch, index, s->chains, s->bound, budget, chain);
    else if (s->phase->kind == LEG_ANNEAL && !moves_only)
        pp_anneal_policy(s->instance, scratch, hot, s->bound, budget, chain);
    else
        pp_polish_order(s->instance, scratch, hot, s->bound, budget, chain);
    record(s, scratch, index);
}

/* All chains begin with it; the others also try policies. */
static void begin_with(search *s, const uint32_t *ops)
{
    if (!pp_movable_order_set(s->scratch[0].walk, ops))
        return;
    s->started = true;
    for (uint32_t k = 0; k < s->chains; k++) {
        memcpy(s->chain[k].ops, ops, s->instance->ops * sizeof *ops);
        s->chain[k].makespan = s->scratch[0].walk->makespan;
    }
    record(s, &s->scratch[0], 0);
}

typedef struct worker {
    search *search;
    uint32_t index;
    pthread_t thread;
    bool started;
} worker;

/* Every threads-th chain. A chain behind one that meets the bound cannot win any more. */
static void *run_worker(void *data)
{
    const worker *w = data;
    search *s = w->search;
    const pp_search_budget *budget = s->budget;
    for (uint32_t k = w->index; k < s->chains; k += s->threads) {
        if (__atomic_load_n(&s->proved, __ATOMIC_RELAXED) < k)
            break;
        uint32_t left = (s->chains - k + s->threads - 1) / s->threads;
        double spent = budget->spent && !budget->iterations ? budget->spent(budget->context) : 0;
        pp_iteration_budget share = {
            .whole = budget,
            .quota = (int64_t)((s->to - s->from) * (double)budget->iterations / s->chains),
            .from = spent,
            .to = spent + (s->to - spent) / left,
        };
        work_on(s, &s->scratch[w->index], k, &share);
    }
    return NULL;
}

static pp_status run_phase(search *s, pp_err *err)
{
    worker *workers = pp_alloc_array(s->threads, sizeof *workers);
    if (!workers)
        return pp_err_nomem(err);
    for (uint32_t k = 0; k < s->threads; k++)
        workers[k] = (worker){ .search = s, .index = k };
    for (uint32_t k = 1; k < s->threads; k++)
        workers[k].started = pthread_create(&workers[k].thread, NULL, run_worker, &workers[k]) == 0;
    for (uint32_t k = 0; k < s->threads; k++)
        if (!workers[k].started)
            run_worker(&workers[k]);
    for (uint32_t k = 1; k < s->threads; k++)
        if (workers[k].started)
            pthread_join(workers[k].thread, NULL);
    free(workers);
    return PP_OK;
}

static bool is_better(const pp_chain *a, const pp_chain *b)
{
    return a->makespan != b->makespan ? a->makespan < b->makespan : a->dispatched < b->dispatched;
}

/* The worse chains take over the better ones; each goes on with its own random numbers. */
static void share(search *s)
{
    uint32_t rank[CHAINS_MOST];
    for (uint32_t k = 0; k < s->chains; k++) {
        uint32_t at = k;
        for (; at > 0 && is_better(&s->chain[k], &s->chain[rank[at - 1]]); at--)
            rank[at] = rank[at - 1];
        rank[at] = k;
    }
    uint32_t given = s->chains / 4;
    given = given ? given : 1;
    for (uint32_t k = 0; k < given && s->chains > 1; k++) {
        const pp_chain *from = &s->chain[rank[k]];
        pp_chain *to = &s->chain[rank[s->chains - 1 - k]];
        pp_policy_copy(s->instance, &to->policy, &from->policy);
        memcpy(to->ops, from->ops, s->instance->ops * sizeof *to->ops);
        to->dispatched = from->dispatched;
        to->makespan = from->makespan;
    }
}

static const pp_chain *best_chain(const search *s)
{
    const pp_chain *best = &s->chain[0];
    for (uint32_t k = 1; k < s->chains; k++)
        best = s->chain[k].best < best->best ? &s->chain[k] : best;
    return best;
}

static bool exact_time_is_up(void *context)
{
    const search *s = context;
    const pp_search_budget *budget = s->budget;
    return budget->spent &&
           budget->spent(budget->context) >= (budget->iterations ? 1 : EXACT_SHARE);
}

/* Shorter orders than the best one, all of them; the shortest goes to the chain that had it. */
static pp_status solve(search *s, pp_err *err)
{
    pp_chain *chain = &s->chain[best_chain(s) - s->chain];
    const pp_exact_budget budget = {
        .states = s->budget->iterations && s->budget->iterations < INT64_MAX / EXACT_STATES
                      ? EXACT_STATES * s->budget->iterations
                      : INT64_MAX,
        .stop = exact_time_is_up,
        .context = s,
    };
    int64_t makespan = chain->best;
    pp_status status =
        pp_order_exact(s->instance, &budget, &makespan, chain->ops, &s->exhausted, err);
    if (!status && makespan < chain->best) {
        chain->makespan = makespan;
        chain->dispatched = INT64_MAX; /* no policy made it */
        record(s, &s->scratch[0], (uint32_t)(chain - s->chain));
    }
    return status;
}

/* What a policy takes of the time decides how much of it goes to the first leg. The least of a few:
 * other processes take time, too. */
static void time_policies(search *s)
{
    const pp_search_budget *budget = s->budget;
    pp_iteration_budget none = { .whole = budget };
    pp_chain *chain = &s->chain[0];
    double wanted = SAMPLE_SHARE_MOST;
    s->sampled = phases[0].share;
    if (budget->iterations)
        return;
    pp_sample_policies(s->instance, &s->scratch[0], 0, s->chains, s->bound, &none, chain);
    for (int k = 0; k < TIMED && chain->dispatched < INT64_MAX && wanted > s->sampled; k++) {
        double before = budget->spent(budget->context);
        (void)pp_dispatch_run(s->scratch[0].dispatch, &chain->policy, INT64_MAX);
        double each = budget->spent(budget->context) - before;
        wanted = fmin(wanted, POLICIES_WANTED * each * s->chains / s->threads);
    }
    if (chain->dispatched < INT64_MAX)
        s->sampled = fmax(s->sampled, wanted);
}

static double end_of(const search *s, uint32_t k)
{
    if (s->sampled == phases[0].share) /* nothing is rounded */
        return phases[k].share;
    return s->sampled +
           (phases[k].share - phases[0].share) / (1 - phases[0].share) * (1 - s->sampled);
}

static pp_status run(search *s, pp_err *err)
{
    const pp_search_budget *budget = s->budget;
    time_policies(s);
    for (uint32_t k = 0; k < LEGS; k++) {
        double spent = budget->spent ? budget->spent(budget->context) : 0;
        pp_status status = PP_OK;
        if (s->proved < s->chains || s->exhausted || (k && spent >= 1))
            return PP_OK;
        if (k == EXACT_AFTER && s->instance->ops <= PP_EXACT_OPS_MAX)
            status = solve(s, err);
        s->phase = &phases[k];
        s->to = end_of(s, k);
        if (status || s->exhausted || (status = run_phase(s, err)))
            return status;
        s->from = s->to;
        if (k + 1 < LEGS && s->proved == CHAINS_MOST)
            share(s);
    }
    return PP_OK;
}

pp_status pp_search_order(const pp_instance *instance, int64_t bound,
                          const pp_search_budget *budget, pp_found_order **found_out, pp_err *err)
{
    search s PP_CLEANUP(search_free) = { .instance = instance, .budget = budget, .bound = bound };
    pp_found_order *found PP_CLEANUP(pp_found_order_free) = NULL;
    if (budget->threads > PP_SEARCH_THREADS_MAX)
        return pp_err_set(err, PP_USAGE, "--threads", "must be at most %d, is %" PRIu32,
                          PP_SEARCH_THREADS_MAX, budget->threads);
    pp_status status = pp_instance_check_room(instance, err);
    if (status || (status = search_new(&s, err)))
        return status;
    if (budget->start)
        begin_with(&s, budget->start);
    status = run(&s, err);
    if (status)
        return status;
    const pp_chain *best = best_chain(&s);
    assert(best->best < INT64_MAX); /* at least one microbatch after the other */
    found = pp_alloc_array(1, sizeof *found);
    if (!found || !(found->ops = pp_alloc_array((size_t)instance->ops + 1, sizeof *found->ops)))
        return pp_err_nomem(err);
    memcpy(found->ops, best->best_ops, instance->ops * sizeof *found->ops);
    found->makespan = best->best;
    found->exhausted = s.exhausted;
    found->proved = best->best <= bound || s.exhausted;
    found->ended_early = budget->iterations && budget->spent && budget->spent(budget->context) >= 1;
    *found_out = found;
    found = NULL;
    return PP_OK;
}

void pp_found_order_free(pp_found_order **found)
{
    if (*found)
        free((*found)->ops);
    free(*found);
    *found = NULL;
}
