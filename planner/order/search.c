/* Runs several chains of a search side by side, in phases.
 *
 * First, policies are sampled. Then the best one is annealed (anneal.c), and the order that it
 * makes is annealed by moves of single ops (local_search.c), with falling temperatures. In each
 * phase every chain is worked on for its share of the budget; between phases the worst chains
 * adopt what the best ones have, as in "go with the winners" (Aldous and Vazirani, 1994); not so
 * early if there is time for many tries. Chains share nothing within a phase, so the result depends
 * on their number and not on the number of threads.
 *
 * Unless there are too many pairs of ops, a proof (prove.c) takes over after the first phases,
 * looks for shorter orders and often shows that there are none; at the end another one raises the
 * bound.
 *
 * The budget alone decides the time; memory is O(ops) for each chain and thread. */
#include "planner/order/search.h"

#include "planner/order/anneal.h"
#include "planner/order/iteration_budget.h"
#include "planner/order/local_search.h"
#include "planner/order/prove.h"
#include "sim/base/alloc.h"
#include "sim/base/field.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef enum phase_kind { PHASE_SAMPLE, PHASE_ANNEAL, PHASE_MOVES } phase_kind;

typedef struct phase {
    phase_kind kind;
    double share; /* share of the budget that is used up at the end of this phase */
    double hot;   /* temperature at its beginning, in mean durations of an op */
    double many;  /* the same where there is time for many tries */
} phase;

/* What a hot chain makes worse takes many tries to be made good again, and is then better than what
 * a cold one found: so the last phases begin hotter where there are many tries. */
static const phase phases[] = {
    { PHASE_SAMPLE, 0.04, 0, 0 },       { PHASE_MOVES, 0.08, 1.00, 1.00 },
    { PHASE_ANNEAL, 0.19, 0.20, 0.20 }, { PHASE_ANNEAL, 0.30, 0.20, 0.20 },
    { PHASE_ANNEAL, 0.40, 0.14, 0.14 }, { PHASE_ANNEAL, 0.50, 0.10, 0.10 },
    { PHASE_MOVES, 0.60, 0.10, 0.40 },  { PHASE_MOVES, 0.70, 0.10, 0.30 },
    { PHASE_MOVES, 0.80, 0.07, 0.20 },  { PHASE_MOVES, 0.90, 0.05, 0.10 },
    { PHASE_MOVES, 1.00, 0.03, 0.05 },
};

/* Many tries: MANY_ITERATIONS for each op, or seconds for at most MANY_OPS. */
enum { MANY_ITERATIONS = 10, MANY_OPS = 4000 };

enum { PHASES = sizeof phases / sizeof *phases };

/* After many tries a chain has got as far as its first policy leads, and other chains find more:
 * where time is limited, there are twice and four times as many for problems of at most FEW_OPS, if
 * each chain has time for CHAIN_TRIES policies. */
enum { CHAINS = 8, CHAINS_MOST = 32, CHAIN_TRIES = 15000, FEW_OPS = 1000 };

/* With more ops than these there are half and a quarter as many, so that each gets far enough. With
 * iterations it made no difference to have half as many from HALF_TIMED_OPS on. */
enum { HALF_TIMED_OPS = 2000, HALF_COUNTED_OPS = 4000, QUARTER_OPS = 40000 };

/* With many tries chains adopt nothing before phase ADOPT_FROM has ended: a policy that is behind
 * at first is often the better one after some annealing. */
enum { ADOPT_FROM = 4 };

/* When time is limited, the first phase tries POLICIES_WANTED policies per chain, unless that takes
 * more than SAMPLE_SHARE_MOST of the time; the other phases get the rest. */
enum { POLICIES_WANTED = 12, TIMED = 3 };
#define SAMPLE_SHARE_MOST 0.25

/* After PROVE_AFTER phases a proof looks for the shortest order until `proved` of the budget is
 * used; the phases behind it end at `bounded`, and larger bounds are looked for in the rest. If
 * runners-up are wanted, it comes after the phases, which would end with it. The more ops, the
 * better the time serves the other phases. With iterations, each stands for PROOF_WORK visits,
 * divided by the number of ops: 0.1 s for 1000 iterations of 96 ops, as much as all other phases
 * with 800. */
enum { PROVE_AFTER = 2, PROOF_WORK = 8000000, PROOF_SHARES = 5 };
static const struct {
    uint32_t ops; /* for problems of at most so many */
    double proved, bounded;
} proof_shares[PROOF_SHARES] = { { 100, 0.8, 0.9 },
                                 { 400, 0.2, 0.92 },
                                 { 1000, 0.16, 0.88 },
                                 { 2000, 0.08, 0.85 },
                                 { UINT32_MAX, 0.08, 0.96 } };

/* An order with which a chain ended a phase. */
typedef struct phase_end {
    int64_t makespan;
    const phase *phase;
    uint32_t chain;
    uint32_t *ops;
} phase_end;

typedef struct search {
    const pp_order_problem *problem;
    const pp_order_search_options *options;
    int64_t bound;
    bool proves;                     /* the problem is not too large for proofs */
    double proved_until, bound_from; /* of the budget, if it is not */
    uint32_t chains, threads;
    pp_search_chain chain[CHAINS_MOST];
    pp_search_scratch *scratch; /* [threads] */
    const phase *phase;
    double sampled;  /* share at which the first phase ends */
    double from, to; /* shares at which the phase begins and ends */
    double mean;     /* mean ticks of an op */
    bool started;    /* the chains began with a given order */
    uint32_t proved; /* the lowest chain that meets the bound; atomic */
    pthread_mutex_t lock;
    phase_end *kept; /* [kept_most + 1]: the shortest that were recorded, sorted; under lock */
    uint32_t kept_count, kept_most;
    int64_t reported; /* the shortest makespan that `found` was called with; under lock */
} search;

static void search_free(search *s)
{
    for (uint32_t k = 0; k < s->chains; k++)
        pp_search_chain_free(&s->chain[k]);
    for (uint32_t k = 0; s->scratch && k < s->threads; k++)
        pp_search_scratch_free(&s->scratch[k]);
    free(s->scratch);
    for (uint32_t k = 0; s->kept && k <= s->kept_most; k++)
        free(s->kept[k].ops);
    free(s->kept);
    pthread_mutex_destroy(&s->lock);
}

static uint32_t chains_for(const pp_order_problem *x, bool timed)
{
    const uint32_t many = timed ? HALF_TIMED_OPS : HALF_COUNTED_OPS;
    return x->ops <= many ? CHAINS : x->ops <= QUARTER_OPS ? CHAINS / 2 : CHAINS / 4;
}

static double mean_ticks(const pp_order_problem *x)
{
    int64_t ticks = 0;
    for (uint32_t op = 0; op < x->ops; op++)
        ticks += x->task[op].ticks;
    return (double)ticks / (double)x->ops;
}

static pp_status search_new(search *s, pp_err *err)
{
    pthread_mutex_init(&s->lock, NULL);
    s->reported = INT64_MAX;
    s->mean = mean_ticks(s->problem);
    s->proved = CHAINS_MOST;
    s->chains = chains_for(s->problem, !s->options->iterations);
    s->threads = s->options->threads ? s->options->threads : 1;
    s->threads = s->threads < s->chains ? s->threads : s->chains;
    s->scratch = pp_alloc_array(s->threads, sizeof *s->scratch);
    s->proves = pp_prove_is_possible(s->problem);
    for (int k = PROOF_SHARES - 1; k >= 0; k--) {
        if (s->problem->ops <= proof_shares[k].ops) {
            s->proved_until = proof_shares[k].proved;
            s->bound_from = proof_shares[k].bounded;
        }
    }
    s->kept_most = s->options->runners ? s->options->runners + 1 : 0; /* with the best */
    s->kept = pp_alloc_array(s->kept_most + 1, sizeof *s->kept);
    pp_status status = s->scratch && s->kept ? PP_OK : pp_err_nomem(err);
    for (uint32_t k = 0; k <= s->kept_most && s->kept_most && !status; k++) {
        s->kept[k].ops = pp_alloc_array((size_t)s->problem->ops + 1, sizeof *s->kept[k].ops);
        status = s->kept[k].ops ? PP_OK : pp_err_nomem(err);
    }
    for (uint32_t k = 0; k < s->threads && !status; k++)
        status = pp_search_scratch_new(s->problem, &s->scratch[k], err);
    for (uint32_t k = 0; k < s->chains && !status; k++)
        status = pp_search_chain_new(s->problem, s->options->seed, k, &s->chain[k], err);
    return status;
}

static bool has_many_tries(const search *s)
{
    const uint32_t ops = s->problem->ops;
    const int64_t iterations = (int64_t)s->options->iterations;
    return iterations ? iterations / MANY_ITERATIONS >= ops : ops <= MANY_OPS;
}

/* Keeps an order among the shortest, of equal ones that of the first phase and chain, so that the
 * threads do not matter. */
static void keep(search *s, const pp_search_chain *chain, uint32_t index)
{
    phase_end *kept = s->kept;
    uint32_t at = 0;
    while (at < s->kept_count && kept[at].makespan < chain->best)
        at++;
    const bool equal = at < s->kept_count && kept[at].makespan == chain->best;
    if (at >= s->kept_most || (equal && (kept[at].phase != s->phase || kept[at].chain < index)))
        return;
    if (!equal) { /* the entry behind the last is free; the longest becomes it */
        const phase_end spare = kept[s->kept_count];
        memmove(&kept[at + 1], &kept[at], (s->kept_count - at) * sizeof *kept);
        kept[at] = spare;
        s->kept_count += s->kept_count < s->kept_most;
    }
    kept[at].makespan = chain->best;
    kept[at].phase = s->phase;
    kept[at].chain = index;
    memcpy(kept[at].ops, chain->best_ops, s->problem->ops * sizeof *kept[at].ops);
}

/* Takes over the order that a phase ended with, after it was replayed. */
static void record(search *s, pp_search_scratch *scratch, uint32_t index)
{
    pp_search_chain *chain = &s->chain[index];
    if (chain->makespan >= chain->best)
        return;
    bool stands = pp_movable_order_set(scratch->order, chain->ops);
    assert(stands);
    if (!stands)
        return;
    chain->makespan = chain->best = scratch->order->makespan;
    memcpy(chain->best_ops, chain->ops, s->problem->ops * sizeof *chain->ops);
    pthread_mutex_lock(&s->lock);
    keep(s, chain, index);
    if (chain->best <= s->bound && index < s->proved)
        __atomic_store_n(&s->proved, index, __ATOMIC_RELAXED);
    if (chain->best < s->reported) {
        s->reported = chain->best;
        if (s->options->found)
            s->options->found(s->options->context, s->reported);
    }
    pthread_mutex_unlock(&s->lock);
}

static void work_on(search *s, pp_search_scratch *scratch, uint32_t index,
                    pp_iteration_budget *budget)
{
    pp_search_chain *chain = &s->chain[index];
    double hot = (has_many_tries(s) ? s->phase->many : s->phase->hot) * s->mean;
    /* no policy makes the order that it began with */
    bool moves_only = s->started && (index == 0 || chain->dispatched == INT64_MAX);
    if (s->phase->kind == PHASE_SAMPLE)
        pp_anneal_sample(s->problem, scratch, index, s->chains, s->bound, budget, chain);
    else if (s->phase->kind == PHASE_ANNEAL && !moves_only)
        pp_anneal_policy(s->problem, scratch, hot, s->bound, budget, chain);
    else
        pp_local_search(s->problem, scratch, hot, s->bound, budget, chain);
    record(s, scratch, index);
}

/* All chains begin with this order; all but the first also try policies. */
static void begin_with(search *s, const uint32_t *ops)
{
    if (!pp_movable_order_set(s->scratch[0].order, ops))
        return;
    s->started = true;
    for (uint32_t k = 0; k < s->chains; k++) {
        memcpy(s->chain[k].ops, ops, s->problem->ops * sizeof *ops);
        s->chain[k].makespan = s->scratch[0].order->makespan;
    }
    record(s, &s->scratch[0], 0);
}

typedef struct worker {
    search *search;
    uint32_t index;
    pthread_t thread;
    bool started;
} worker;

/* Works on every threads-th chain. A chain behind one that meets the bound can no longer win. */
static void *run_worker(void *data)
{
    const worker *w = data;
    search *s = w->search;
    const pp_order_search_options *options = s->options;
    for (uint32_t k = w->index; k < s->chains; k += s->threads) {
        if (__atomic_load_n(&s->proved, __ATOMIC_RELAXED) < k)
            break;
        uint32_t left = (s->chains - k + s->threads - 1) / s->threads;
        bool timed = options->spent && !options->iterations;
        double spent = timed ? options->spent(options->context) : 0;
        pp_iteration_budget share = {
            .spent = options->spent,
            .context = options->context,
            .counted = options->iterations > 0,
            .quota = (int64_t)((s->to - s->from) * (double)options->iterations / s->chains),
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

static bool is_better(const pp_search_chain *a, const pp_search_chain *b)
{
    return a->makespan != b->makespan ? a->makespan < b->makespan : a->dispatched < b->dispatched;
}

/* The worst quarter of the chains adopts what the best quarter has; of many chains an eighth, since
 * all are soon alike otherwise. */
static void adopt_best(search *s)
{
    uint32_t rank[CHAINS_MOST];
    for (uint32_t k = 0; k < s->chains; k++) {
        uint32_t at = k;
        for (; at > 0 && is_better(&s->chain[k], &s->chain[rank[at - 1]]); at--)
            rank[at] = rank[at - 1];
        rank[at] = k;
    }
    uint32_t adopted = s->chains / (s->chains > CHAINS ? 8 : 4);
    adopted = adopted ? adopted : 1;
    for (uint32_t k = 0; k < adopted && s->chains > 1; k++) {
        pp_search_chain_adopt(s->problem, &s->chain[rank[s->chains - 1 - k]], &s->chain[rank[k]]);
    }
}

static const pp_search_chain *best_chain(const search *s)
{
    const pp_search_chain *best = &s->chain[0];
    for (uint32_t k = 1; k < s->chains; k++)
        best = s->chain[k].best < best->best ? &s->chain[k] : best;
    return best;
}

/* Proves from the best order on, in a share of the budget that ends at `to`. */
static pp_status prove(search *s, bool shortest, double share, double to, pp_err *err)
{
    pp_search_chain *chain = &s->chain[best_chain(s) - s->chain];
    const pp_order_search_options *options = s->options;
    const bool timed = options->spent && !options->iterations;
    const double work = share * (double)options->iterations * PROOF_WORK / (s->problem->ops + 1.0);
    pp_time_share time = { options->spent, options->context, 0, to };
    const pp_prove_budget budget = {
        .work = options->iterations ? (int64_t)fmin(work + 1, 1e15) : 0,
        .spent = timed ? pp_time_share_spent : options->spent,
        .context = timed ? (void *)&time : options->context,
    };
    uint32_t *ops PP_CLEANUP(pp_free_array) = pp_alloc_array(s->problem->ops, sizeof *ops);
    if (!ops)
        return pp_err_nomem(err);
    if (timed)
        time.from = options->spent(options->context);
    memcpy(ops, chain->best_ops, s->problem->ops * sizeof *ops);
    pp_proved known = { .bound = s->bound, .makespan = chain->best, .ops = ops };
    pp_status status = shortest ? pp_prove_shortest(s->problem, &budget, &known, err)
                                : pp_prove_bound(s->problem, &budget, &known, err);
    s->bound = known.bound;
    if (!status && known.makespan < chain->best && pp_movable_order_set(s->scratch[0].order, ops)) {
        memcpy(chain->ops, ops, s->problem->ops * sizeof *ops);
        chain->makespan = known.makespan;
        chain->dispatched = INT64_MAX; /* this order was not made by a policy */
        record(s, &s->scratch[0], (uint32_t)(chain - s->chain));
    }
    if (chain->best <= s->bound)
        s->proved = (uint32_t)(chain - s->chain);
    return status;
}

/* Adds chains up to `wanted`. They begin with policies alone, also where an order was given: there
 * are only more of them if a policy has made a shorter one. */
static pp_status add_chains(search *s, uint32_t wanted, pp_err *err)
{
    pp_status status = PP_OK;
    for (; s->chains < wanted && !status; s->chains++)
        status =
            pp_search_chain_new(s->problem, s->options->seed, s->chains, &s->chain[s->chains], err);
    return status;
}

/* Without iterations, times some policies: the first phase takes as much as POLICIES_WANTED of them
 * per chain need, and chains are added if there is time for many. The least time of a few is taken,
 * since other processes take time, too. */
static pp_status time_policies(search *s, pp_err *err)
{
    const pp_order_search_options *options = s->options;
    pp_iteration_budget none = { .spent = options->spent, .context = options->context };
    pp_search_chain *chain = &s->chain[0];
    double least = SAMPLE_SHARE_MOST;
    s->sampled = phases[0].share;
    if (options->iterations)
        return PP_OK;
    pp_anneal_sample(s->problem, &s->scratch[0], 0, s->chains, s->bound, &none, chain);
    if (chain->dispatched == INT64_MAX)
        return PP_OK;
    for (int k = 0; k < TIMED; k++) {
        double before = options->spent(options->context);
        if (before >= 1)
            break;
        (void)pp_dispatch_run(s->scratch[0].dispatch, &chain->policy, INT64_MAX);
        least = fmin(least, options->spent(options->context) - before);
    }
    const double wanted = POLICIES_WANTED * least * s->chains / s->threads;
    s->sampled = fmax(s->sampled, fmin(wanted, SAMPLE_SHARE_MOST));
    if (s->problem->ops > FEW_OPS)
        return PP_OK;
    uint32_t chains = s->chains;
    while (chains < CHAINS_MOST && least * CHAIN_TRIES * 2 * chains < s->threads)
        chains *= 2;
    return add_chains(s, chains, err);
}

/* Where phase k ends, of the whole budget. */
static double end_of(const search *s, uint32_t k)
{
    double end = phases[k].share;
    const double before = phases[PROVE_AFTER - 1].share;
    if (s->sampled != phases[0].share) /* else nothing is rounded */
        end = s->sampled + (end - phases[0].share) / (1 - phases[0].share) * (1 - s->sampled);
    if (!s->proves || k < PROVE_AFTER || s->options->iterations)
        return end;
    const double from = s->options->runners ? before : s->proved_until;
    return from + (phases[k].share - before) / (1 - before) * (s->bound_from - from);
}

static bool is_over(const search *s, uint32_t k)
{
    const pp_order_search_options *options = s->options;
    return s->proved < s->chains || (k && options->spent && options->spent(options->context) >= 1);
}

static pp_status run(search *s, pp_err *err)
{
    const pp_order_search_options *options = s->options;
    const uint32_t adopt_from = has_many_tries(s) ? ADOPT_FROM : 0;
    pp_status status = time_policies(s, err);
    for (uint32_t k = 0; k < PHASES && !status && !is_over(s, k); k++) {
        if (k == PROVE_AFTER && s->proves && !options->runners) {
            status = prove(s, true, s->proved_until, s->proved_until, err);
            if (status || is_over(s, k))
                return status;
        }
        s->phase = &phases[k];
        s->to = end_of(s, k);
        if ((status = run_phase(s, err)))
            return status;
        s->from = s->to;
        if (k >= adopt_from && k + 1 < PHASES && s->proved == CHAINS_MOST)
            adopt_best(s);
    }
    const double left = 1 - s->bound_from;
    if (s->proves && options->runners && !is_over(s, PHASES)) /* they are all there now */
        status = prove(s, true, left, s->bound_from + left / 2, err);
    return s->proves && !status && !is_over(s, PHASES) ? prove(s, false, left, 1, err) : status;
}

static pp_status add_runners(const search *s, pp_found_order *found, pp_err *err)
{
    const size_t ops = s->problem->ops;
    found->runner_ops = pp_alloc_array(s->kept_count * ops + 1, sizeof *found->runner_ops);
    found->runner = pp_alloc_array(s->kept_count + 1, sizeof *found->runner);
    if (!found->runner_ops || !found->runner)
        return pp_err_nomem(err);
    for (uint32_t k = 0; k < s->kept_count; k++) {
        if (s->kept[k].makespan <= found->makespan)
            continue;
        memcpy(found->runner_ops + found->runners * ops, s->kept[k].ops,
               ops * sizeof *found->runner_ops);
        found->runner[found->runners++] = s->kept[k].makespan;
    }
    return PP_OK;
}

pp_status pp_order_search(const pp_order_problem *problem, int64_t bound,
                          const pp_order_search_options *options, pp_found_order **found_out,
                          pp_err *err)
{
    search s PP_CLEANUP(search_free) = { .problem = problem, .options = options, .bound = bound };
    pp_found_order *found PP_CLEANUP(pp_found_order_free) = NULL;
    if (options->threads > PP_ORDER_SEARCH_THREADS_MAX)
        return pp_err_set(err, PP_USAGE, pp_err_name(err, PP_FIELD_THREADS),
                          "must be at most %d, not %" PRIu32, PP_ORDER_SEARCH_THREADS_MAX,
                          options->threads);
    pp_status status = pp_order_problem_check_room(problem, err);
    if (status || (status = search_new(&s, err)))
        return status;
    if (options->start)
        begin_with(&s, options->start);
    status = run(&s, err);
    if (status)
        return status;
    const pp_search_chain *best = best_chain(&s);
    assert(best->best < INT64_MAX); /* the microbatches fit one after the other */
    found = pp_alloc_array(1, sizeof *found);
    if (!found || !(found->ops = pp_alloc_array((size_t)problem->ops + 1, sizeof *found->ops)))
        return pp_err_nomem(err);
    memcpy(found->ops, best->best_ops, problem->ops * sizeof *found->ops);
    found->makespan = best->best;
    found->chains = s.chains;
    if ((status = add_runners(&s, found, err)))
        return status;
    found->bound = s.bound;
    found->proved = best->best <= s.bound;
    found->ended_early =
        options->iterations && options->spent && options->spent(options->context) >= 1;
    *found_out = found;
    found = NULL;
    return PP_OK;
}

void pp_found_order_free(pp_found_order **found)
{
    if (*found) {
        free((*found)->ops);
        free((*found)->runner_ops);
        free((*found)->runner);
    }
    free(*found);
    *found = NULL;
}
