/* Runs several chains of a search side by side, in phases.
 *
 * First, policies are sampled. Then the best one is annealed (anneal.c), and the order that it
 * makes is annealed by moves of single ops (local_search.c), with falling temperatures. In each
 * phase every chain is worked on for its share of the budget; between phases the worst quarter of
 * the chains adopts what the best quarter has, as in "go with the winners" (Aldous and Vazirani,
 * 1994). Chains share nothing within a phase, so the result depends on their number and not on the
 * number of threads.
 *
 * Problems of at most PP_EXACT_OPS_MAX ops are solved by branch and bound (exact.c) after the first
 * phases, which give it a good upper bound.
 *
 * The budget alone decides the time; memory is O(ops) for each chain and thread. */
#include "planner/order/search.h"

#include "planner/order/anneal.h"
#include "planner/order/exact.h"
#include "planner/order/local_search.h"
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
} phase;

static const phase phases[] = {
    { PHASE_SAMPLE, 0.04, 0 },    { PHASE_MOVES, 0.08, 1.00 },  { PHASE_ANNEAL, 0.19, 0.20 },
    { PHASE_ANNEAL, 0.30, 0.20 }, { PHASE_ANNEAL, 0.40, 0.14 }, { PHASE_ANNEAL, 0.50, 0.10 },
    { PHASE_MOVES, 0.60, 0.10 },  { PHASE_MOVES, 0.70, 0.10 },  { PHASE_MOVES, 0.80, 0.07 },
    { PHASE_MOVES, 0.90, 0.05 },  { PHASE_MOVES, 1.00, 0.03 },
};

enum { PHASES = sizeof phases / sizeof *phases, CHAINS_MOST = 8 };

/* When time is limited, the first phase tries POLICIES_WANTED policies per chain, unless that takes
 * more than SAMPLE_SHARE_MOST of the time; the other phases get the rest. */
enum { POLICIES_WANTED = 12, TIMED = 3 };
#define SAMPLE_SHARE_MOST 0.25

/* Small problems: all orders are examined after EXACT_AFTER phases, in EXACT_SHARE of the time or
 * with EXACT_STATES states per iteration (which take about as long as the moves of one
 * iteration). */
enum { EXACT_AFTER = 2, EXACT_STATES = 32 };
#define EXACT_SHARE 0.75

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
    uint32_t chains, threads;
    pp_search_chain chain[CHAINS_MOST];
    pp_search_scratch *scratch; /* [threads] */
    const phase *phase;
    double sampled;  /* share at which the first phase ends */
    double from, to; /* shares at which the phase begins and ends */
    double mean;     /* mean ticks of an op */
    bool started;    /* the chains began with a given order */
    uint32_t proved; /* the lowest chain that meets the bound; atomic */
    bool exhausted;  /* all orders were examined */
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

/* With more ops there are fewer chains, so that each gets far enough. */
static uint32_t chains_for(const pp_order_problem *x)
{
    return x->ops <= 4000 ? CHAINS_MOST : x->ops <= 40000 ? 4 : 2;
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
    s->chains = chains_for(s->problem);
    s->threads = s->options->threads ? s->options->threads : 1;
    s->threads = s->threads < s->chains ? s->threads : s->chains;
    s->scratch = pp_alloc_array(s->threads, sizeof *s->scratch);
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
    double hot = s->phase->hot * s->mean;
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

/* The worst quarter of the chains adopts what the best quarter has. */
static void adopt_best(search *s)
{
    uint32_t rank[CHAINS_MOST];
    for (uint32_t k = 0; k < s->chains; k++) {
        uint32_t at = k;
        for (; at > 0 && is_better(&s->chain[k], &s->chain[rank[at - 1]]); at--)
            rank[at] = rank[at - 1];
        rank[at] = k;
    }
    uint32_t adopted = s->chains / 4;
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

static bool exact_time_is_up(void *context)
{
    const search *s = context;
    const pp_order_search_options *options = s->options;
    return options->spent &&
           options->spent(options->context) >= (options->iterations ? 1 : EXACT_SHARE);
}

/* Examines all orders that are shorter than the best one. The shortest goes to the chain that had
 * the best one. */
static pp_status solve(search *s, pp_err *err)
{
    pp_search_chain *chain = &s->chain[best_chain(s) - s->chain];
    const pp_exact_budget budget = {
        .states = s->options->iterations && s->options->iterations < INT64_MAX / EXACT_STATES
                      ? EXACT_STATES * s->options->iterations
                      : INT64_MAX,
        .stop = exact_time_is_up,
        .context = s,
    };
    int64_t makespan = chain->best;
    pp_status status =
        pp_exact_solve(s->problem, &budget, &makespan, chain->ops, &s->exhausted, err);
    if (!status && makespan < chain->best) {
        chain->makespan = makespan;
        chain->dispatched = INT64_MAX; /* this order was not made by a policy */
        record(s, &s->scratch[0], (uint32_t)(chain - s->chain));
    }
    return status;
}

/* The duration of a dispatch decides how much of the time the first phase gets. The shortest of a
 * few is taken, since other processes take time, too. */
static void time_policies(search *s)
{
    const pp_order_search_options *options = s->options;
    pp_iteration_budget none = { .spent = options->spent, .context = options->context };
    pp_search_chain *chain = &s->chain[0];
    double wanted = SAMPLE_SHARE_MOST;
    s->sampled = phases[0].share;
    if (options->iterations)
        return;
    pp_anneal_sample(s->problem, &s->scratch[0], 0, s->chains, s->bound, &none, chain);
    for (int k = 0; k < TIMED && chain->dispatched < INT64_MAX && wanted > s->sampled; k++) {
        double before = options->spent(options->context);
        if (before >= 1)
            break;
        (void)pp_dispatch_run(s->scratch[0].dispatch, &chain->policy, INT64_MAX);
        double each = options->spent(options->context) - before;
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
    const pp_order_search_options *options = s->options;
    time_policies(s);
    for (uint32_t k = 0; k < PHASES; k++) {
        double spent = options->spent ? options->spent(options->context) : 0;
        pp_status status = PP_OK;
        if (s->proved < s->chains || s->exhausted || (k && spent >= 1))
            return PP_OK;
        if (k == EXACT_AFTER && s->problem->ops <= PP_EXACT_OPS_MAX)
            status = solve(s, err);
        s->phase = &phases[k];
        s->to = end_of(s, k);
        if (status || s->exhausted || (status = run_phase(s, err)))
            return status;
        s->from = s->to;
        if (k + 1 < PHASES && s->proved == CHAINS_MOST)
            adopt_best(s);
    }
    return PP_OK;
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
    if ((status = add_runners(&s, found, err)))
        return status;
    found->exhausted = s.exhausted && !s.problem->rooms_are_low;
    found->proved = best->best <= bound || found->exhausted;
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
