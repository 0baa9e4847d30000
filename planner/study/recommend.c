/* Recommends a plan: one search within the memory limit finds the fastest, and, if none that ties
 * with it leaves the headroom, the same pool is searched on within the limit less the headroom, but
 * only as far as a plan there would tie. A few finalists are studied under the usual jitter, and
 * the rule of planner/search/choice.h takes one. The second search and the studies cost nothing
 * when the fastest is far ahead and leaves the headroom. If the fastest is wanted, it is that of
 * the same two searches. Method: docs/explanation/planning.md. */
#include "planner/study/recommend.h"

#include "planner/refine/recompute.h"
#include "planner/search/branch_and_bound.h"
#include "planner/search/jitter_study.h"
#include "planner/search/limit.h"
#include "planner/study/budget_slice.h"
#include "sim/base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The usual jitter: ops vary by 3 %, and any one rank is 5 % slow. One block of scenarios. */
static const pp_jitter_spec usual = {
    .sigma = { [PP_OP_F] = 0.03, [PP_OP_I] = 0.03, [PP_OP_W] = 0.03, [PP_OP_B] = 0.03 },
    .rank = { .at = PP_JITTER_ANY, .factor = 1.05 },
    .scenarios = 64,
};

/* The most candidates that each search simulates only because they may tie with the fastest. */
enum { TIES_MOST = 24 };

/* The most candidates that are studied, and the most ops of these together: about 0.2 s. */
enum { FINALISTS = 8 };
#define STUDIED_OPS_MOST 2000000.0

/* With a budget, the part of it that the search within the whole limit may use, and the part of
 * that for named schedules if the answer must be a free order: they are what its search begins
 * with, and no more. */
#define WHOLE_PART 0.7
#define NAMED_PART 0.5

static double score(const pp_candidate *c)
{
    return pp_candidate_score(c, c->step_ns);
}

/* True if the candidate may be the answer. */
static bool is_eligible(const pp_search *search, size_t index)
{
    return search->pool.candidate[index].status == PP_CANDIDATE_OK &&
           (search->problem->request->orders != PP_ORDERS_PLANNED ||
            pp_pool_planned(&search->pool, index));
}

/* The fastest that may be the answer; SIZE_MAX: none. roomy: of those that leave the headroom. */
static size_t fastest(const pp_search *search, bool roomy)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < search->pool.count; i++) {
        const pp_candidate *c = &search->pool.candidate[i];
        if (is_eligible(search, i) && (c->roomy || !roomy) &&
            (best == SIZE_MAX || score(c) < score(&search->pool.candidate[best])))
            best = i;
    }
    return best;
}

/* ---- plans that leave the headroom ----------------------------------------------------------- */

/* The state of the pool before the search for such plans. */
typedef struct before {
    pp_setup *setup;             /* [setups] */
    pp_candidate_status *status; /* [candidates] */
    int64_t *short_bytes;        /* [candidates] */
    size_t setups, candidates;
} before;

static void before_free(before *b)
{
    free(b->setup);
    free(b->status);
    free(b->short_bytes);
}

static pp_status remember(const pp_pool *pool, before *b, pp_err *err)
{
    b->setups = pool->setup_count;
    b->candidates = pool->count;
    b->setup = pp_alloc_array(b->setups + 1, sizeof *b->setup);
    b->status = pp_alloc_array(b->candidates + 1, sizeof *b->status);
    b->short_bytes = pp_alloc_array(b->candidates + 1, sizeof *b->short_bytes);
    if (!b->setup || !b->status || !b->short_bytes)
        return pp_err_nomem(err);
    memcpy(b->setup, pool->setup, b->setups * sizeof *b->setup);
    for (size_t i = 0; i < b->candidates; i++) {
        b->status[i] = pool->candidate[i].status;
        b->short_bytes[i] = pool->candidate[i].short_bytes;
    }
    return PP_OK;
}

/* What was found within the smaller limit is seen from the whole one again. */
static void restore(const before *b, int64_t headroom_bytes, pp_pool *pool)
{
    memcpy(pool->setup, b->setup, b->setups * sizeof *b->setup);
    for (size_t i = 0; i < pool->count; i++) {
        pp_candidate *c = &pool->candidate[i];
        const bool old = i < b->candidates;
        if (old && b->status[i] != PP_CANDIDATE_NOT_SIMULATED) {
            c->status = b->status[i];
            c->short_bytes = b->short_bytes[i];
        } else if (c->status == PP_CANDIDATE_INFEASIBLE && c->legal && c->short_bytes > 0) {
            const bool fits = c->short_bytes <= headroom_bytes;
            c->short_bytes = fits ? 0 : c->short_bytes - headroom_bytes;
            c->reason.shortage.bytes -= fits ? 0 : headroom_bytes;
            c->status = !fits        ? c->status
                        : c->step_ns ? PP_CANDIDATE_OK
                                     : PP_CANDIDATE_NOT_SIMULATED;
            if (fits)
                c->reason.kind = c->step_ns ? PP_REASON_NONE : PP_REASON_BUDGET;
        }
    }
}

/* Searches on for plans that leave the headroom and whose score is at most `most`. */
static pp_status search_roomy(pp_search *search, const pp_plan_request *request, double most,
                              pp_err *err)
{
    before b PP_CLEANUP(before_free) = { NULL };
    pp_plan_request roomy = *request;
    pp_free_orders_outcome orders;
    pp_err why = pp_err_like(err);
    size_t best;
    const bool stopped = search->progress.stopped;
    roomy.memory_limit_bytes = search->problem->comfortable_bytes;
    roomy.headroom_bytes = 0;
    roomy.score_limit = most;
    pp_status status = remember(&search->pool, &b, err);
    if (status || (status = pp_search_continue(search, &roomy, err)))
        return status;
    if (!(status = pp_search_lower_limit(search, &best, &why)) &&
        !(status = pp_simulate_within(search, most, TIES_MOST, &why))) {
        best = fastest(search, true);
        status = pp_search_recompute(search, &best, &why);
    }
    if (!status)
        status = pp_search_plan_orders(search, &best, &orders, &why);
    search->progress.stopped |= stopped;
    if (status && status != PP_INFEASIBLE) { /* INFEASIBLE: no free order, which is no failure */
        *err = why;
        return status;
    }
    if ((status = pp_search_continue(search, request, err)))
        return status;
    restore(&b, request->headroom_bytes, &search->pool);
    return PP_OK;
}

/* ---- the finalists --------------------------------------------------------------------------- */

typedef struct finalists {
    size_t *row; /* [count] candidates, fastest first */
    size_t count;
} finalists;

static void finalists_free(finalists *f)
{
    free(f->row);
}

typedef struct entry {
    double score;
    size_t index;
} entry;

static int compare_entries(const void *left, const void *right)
{
    const entry *a = left;
    const entry *b = right;
    if (a->score != b->score)
        return a->score < b->score ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

/* Lists what ties with the fastest; if some leave the headroom, these alone. */
static pp_status list_ties(const pp_search *search, double least, bool roomy, finalists *out,
                           pp_err *err)
{
    const double tie = search->problem->request->tie;
    entry *list = pp_alloc_array(search->pool.count + 1, sizeof *list);
    out->row = pp_alloc_array(search->pool.count + 1, sizeof *out->row);
    if (!list || !out->row) {
        free(list);
        return pp_err_nomem(err);
    }
    for (size_t i = 0; i < search->pool.count; i++) {
        const pp_candidate *c = &search->pool.candidate[i];
        if (is_eligible(search, i) && pp_is_within_tie(c, least, tie) && (c->roomy || !roomy))
            list[out->count++] = (entry){ score(c), i };
    }
    qsort(list, out->count, sizeof *list, compare_entries);
    for (size_t i = 0; i < out->count; i++)
        out->row[i] = list[i].index;
    free(list);
    return PP_OK;
}

/* Picks those to study: the simplest, the fastest with each schedule and number of chunks, then the
 * fastest. studied: [f->count]. Returns their number. */
static size_t pick(const pp_search *search, const finalists *f, bool *studied)
{
    const pp_pool *pool = &search->pool;
    size_t count = 0;
    size_t simplest = 0;
    double ops = 0;
    for (size_t i = 1; i < f->count; i++) {
        if (pp_compare_simplicity(&pool->candidate[f->row[i]], &pool->candidate[f->row[simplest]]) <
            0)
            simplest = i;
    }
    for (int pass = 0; pass < 3; pass++) {
        for (size_t i = 0; i < f->count && count < FINALISTS; i++) {
            const pp_candidate *c = &pool->candidate[f->row[i]];
            bool first = true;
            for (size_t k = 0; k < i; k++) {
                const pp_candidate *other = &pool->candidate[f->row[k]];
                first = first &&
                        (other->schedule != c->schedule || other->parallel.vpp != c->parallel.vpp);
            }
            if (studied[i] || (pass == 0 && i != simplest) || (pass == 1 && !first) ||
                ops + pp_search_ops(search, c) > STUDIED_OPS_MOST)
                continue;
            ops += pp_search_ops(search, c);
            studied[i] = true;
            count++;
        }
    }
    return count;
}

/* Estimates the p95 of a candidate under the usual jitter. One that cannot be studied has none. */
static pp_status study(pp_search *search, size_t index, const pp_jitter_pool *pool, pp_err *err)
{
    double growth = 0;
    pp_err why = pp_err_like(err);
    pp_status status = pp_search_study_growth(search, index, &usual, pool, &growth, &why);
    if (status == PP_NOMEM) {
        *err = why;
        return status;
    }
    pp_candidate *c = &search->pool.candidate[index];
    c->p95_ns = status ? 0 : (pp_ns)((double)c->step_ns * growth + 0.5);
    return PP_OK;
}

/* Studies finalists, if there is something to choose among. */
static pp_status study_finalists(pp_search *search, const finalists *f, size_t best, pp_err *err)
{
    bool *studied PP_CLEANUP(pp_free_array) = pp_alloc_array(f->count + 1, sizeof *studied);
    pp_jitter_pool pool PP_CLEANUP(pp_jitter_pool_free) = { 0 };
    pp_status status = PP_OK;
    if (!studied)
        return pp_err_nomem(err);
    if (f->count < 2 && !search->problem->request->gpus)
        return PP_OK;
    if (pick(search, f, studied) < (f->count < 2 ? 1 : 2))
        return PP_OK;
    status = pp_jitter_pool_new(&usual, search->problem->request->seed,
                                search->problem->request->threads, &pool, err);
    for (size_t i = 0; i < f->count && !status; i++) {
        if (studied[i])
            status = study(search, f->row[i], &pool, err);
    }
    if (!status && !search->pool.candidate[best].p95_ns && !search->pool.candidate[best].roomy)
        status =
            study(search, best, &pool, err); /* the answer compares it with the one that is taken */
    return status;
}

static pp_status choose(pp_search *search, const finalists *f, double least, size_t *best_out,
                        pp_err *err)
{
    const pp_candidate **row = pp_alloc_array(f->count + 1, sizeof *row);
    if (!row)
        return pp_err_nomem(err);
    for (size_t i = 0; i < f->count; i++)
        row[i] = &search->pool.candidate[f->row[i]];
    *best_out = f->row[pp_choose(row, f->count, least, search->problem->request->tie)];
    free(row);
    return PP_OK;
}

/* ---- the recommendation ---------------------------------------------------------------------- */

/* The outcome of the search for free orders, seen from the plan that is taken. */
static void conclude_orders(const pp_search *search, size_t best, pp_free_orders_outcome *outcome)
{
    const pp_plan_request *request = search->problem->request;
    const pp_candidate *taken = &search->pool.candidate[best];
    const pp_candidate *named = NULL;
    const pp_candidate *order = NULL;
    for (size_t i = 0; i < search->pool.count; i++) {
        const pp_candidate *c = &search->pool.candidate[i];
        const pp_candidate **to = pp_candidate_is_named(c) ? &named : &order;
        if (c->status == PP_CANDIDATE_OK && (c->roomy || !taken->roomy || request->fastest) &&
            (!*to || score(c) < score(*to)))
            *to = c;
    }
    if (!order || outcome->verdict == PP_FREE_ORDERS_NOT_ASKED)
        return;
    const bool is_taken = !pp_candidate_is_named(taken);
    if (is_taken)
        order = taken;
    else
        named = taken;
    *outcome = (pp_free_orders_outcome){ .verdict = PP_FREE_ORDERS_ONLY, .reason = order->reason };
    if (!named)
        return;
    outcome->named = named->schedule;
    outcome->gain = 1 - score(order) / score(named);
    if (is_taken && request->orders != PP_ORDERS_PLANNED)
        outcome->verdict = PP_FREE_ORDERS_TAKEN;
    else if (outcome->gain * PP_MEASURABLE_PART < 1)
        outcome->verdict = PP_FREE_ORDERS_NO_GAIN;
    else
        outcome->verdict = is_taken ? PP_FREE_ORDERS_TAKEN : PP_FREE_ORDERS_TIED;
}

/* Chooses among all that fit. */
static pp_status recommend(pp_search *search, pp_search_outcome *outcome, pp_err *err)
{
    const pp_plan_request *request = search->problem->request;
    finalists f PP_CLEANUP(finalists_free) = { NULL };
    size_t best = fastest(search, false);
    size_t roomy = fastest(search, true);
    const double least = score(&search->pool.candidate[best]);
    const bool tied =
        roomy != SIZE_MAX && pp_is_within_tie(&search->pool.candidate[roomy], least, request->tie);
    pp_recommendation r = { .tie = request->tie, .headroom_bytes = request->headroom_bytes };
    pp_status status = list_ties(search, least, tied, &f, err);
    if (status)
        return status;
    if (request->jitter)
        status =
            pp_search_choose_under_jitter(search, tied, &outcome->best, &outcome->ranking, err);
    else if (!pp_search_is_over(search))
        status = study_finalists(search, &f, best, err);
    if (!status && !outcome->ranking.verdict)
        status = choose(search, &f, least, &outcome->best, err);
    if (status)
        return status;
    for (size_t i = 0; i < search->pool.count; i++)
        r.ties += is_eligible(search, i) &&
                  pp_is_within_tie(&search->pool.candidate[i], least, request->tie);
    r.fastest = search->pool.candidate[best];
    r.roomy.status = PP_CANDIDATE_NOT_SIMULATED;
    if (roomy != SIZE_MAX)
        r.roomy = search->pool.candidate[roomy];
    r.reason = pp_choice_why(&search->pool.candidate[outcome->best], &r.fastest);
    outcome->recommendation = r;
    conclude_orders(search, outcome->best, &outcome->orders);
    return PP_OK;
}

/* Takes the fastest of all that fit or, with jitter, what that decides. */
static pp_status take_fastest(pp_search *search, pp_search_outcome *outcome, pp_err *err)
{
    outcome->best = fastest(search, false);
    pp_status status =
        pp_search_choose_under_jitter(search, false, &outcome->best, &outcome->ranking, err);
    if (!status)
        conclude_orders(search, outcome->best, &outcome->orders);
    return status;
}

/* Gives `part` the first part of the budget. The slice must outlive it. */
static void cut_budget(const pp_plan_request *request, double end, pp_budget_slice *slice,
                       pp_plan_request *part)
{
    pp_budget_slice_cut(slice, request, 0, end, part);
    if (request->max_simulations)
        part->max_simulations = 1 + (uint64_t)(end * (double)request->max_simulations);
}

/* Finds the fastest within the memory limit, with a part of the budget if another search may
 * follow. */
static pp_status search_whole(pp_search *search, const pp_plan_request *request,
                              pp_search_outcome *outcome, pp_err *err)
{
    pp_budget_slice slice;
    pp_budget_slice first;
    pp_plan_request part = *request;
    if (request->tie > 0 && request->headroom_bytes > 0)
        cut_budget(request, WHOLE_PART, &slice, &part);
    pp_plan_request named = part;
    const bool must = part.orders == PP_ORDERS_PLANNED;
    if (must)
        cut_budget(&part, NAMED_PART, &first, &named);
    pp_status status = pp_search_solve(search, &named, &outcome->best, err);
    if (!status && request->tie > 0 && outcome->best != SIZE_MAX)
        status = pp_simulate_within(
            search, score(&search->pool.candidate[outcome->best]) * (1 + request->tie), TIES_MOST,
            err);
    const bool stopped = search->progress.stopped;
    if (!status && must) {
        search->progress.stopped = false; /* free orders have the rest of the budget */
        status = pp_search_continue(search, &part, err);
    }
    if (!status)
        status = pp_search_plan_orders(search, &outcome->best, &outcome->orders, err);
    search->progress.stopped |= stopped;
    return status ? status : pp_search_continue(search, request, err);
}

/* The score up to which plans that leave the headroom are worth a search of their own; 0: none are.
 * A free order often needs all of the memory only because nothing stopped it. */
static double roomy_limit(const pp_search *search)
{
    const pp_candidate *best = &search->pool.candidate[fastest(search, false)];
    const double most = score(best) * (1 + search->problem->request->tie);
    const size_t i = fastest(search, true);
    const pp_candidate *roomy = i == SIZE_MAX ? NULL : &search->pool.candidate[i];
    if (search->problem->comfortable_bytes <= 0)
        return 0; /* nothing leaves more than there is */
    if (!roomy || score(roomy) > most)
        return most;
    return !pp_candidate_is_named(best) && score(roomy) > score(best) * (1 + PP_STEADY_PART)
               ? score(roomy)
               : 0;
}

pp_status pp_recommend(pp_search *search, const pp_plan_request *request,
                       pp_search_outcome *outcome_out, pp_err *err)
{
    pp_search_outcome outcome = { .best = SIZE_MAX };
    pp_status status = search_whole(search, request, &outcome, err);
    if (status)
        return status;
    if (!(request->tie > 0) || outcome.best == SIZE_MAX) {
        status = pp_search_choose_under_jitter(search, false, &outcome.best, &outcome.ranking, err);
    } else {
        const double most = roomy_limit(search);
        if (most > 0 && !pp_search_is_over(search))
            status = search_roomy(search, request, most, err);
        if (!status)
            status = request->fastest ? take_fastest(search, &outcome, err)
                                      : recommend(search, &outcome, err);
    }
    if (!status)
        *outcome_out = outcome;
    return status;
}
