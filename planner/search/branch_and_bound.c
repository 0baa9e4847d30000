/* Best-first branch and bound over the candidates of a search: they are simulated in the order of
 * their bounds, until no bound is at or below the best simulated step. The cost is that of the
 * simulations; the queue is sorted once. */
#include "planner/search/branch_and_bound.h"

#include "planner/candidate/evaluate.h"
#include "sim/base/alloc.h"
#include "sim/schedule/registry.h"

#include <stdlib.h>

/* At most this many candidates of a schedule are simulated if pruning left it without a result, so
 * that the runners-up name it. */
#define RUNNER_UP_TRIES 3

static size_t table_index(const pp_schedule *schedule)
{
    size_t k = 0;
    while (pp_schedule_at(k) != schedule)
        k++;
    return k;
}

/* Prefers, of two equally fast candidates, the one with fewer chunks, then the one with less
 * recomputation. */
static int prefer_simpler(const pp_candidate *a, const pp_candidate *b)
{
    if (a->parallel.vpp != b->parallel.vpp)
        return a->parallel.vpp < b->parallel.vpp ? -1 : 1;
    return (a->recompute > b->recompute) - (a->recompute < b->recompute);
}

/* Breaks the ties that remain between simulated candidates: less peak memory, then the order of
 * sim/schedules.def, then that of the setups. */
static int compare_results(const pp_candidate *a, const pp_candidate *b)
{
    size_t x = table_index(a->schedule);
    size_t y = table_index(b->schedule);
    if (a->peak_bytes != b->peak_bytes)
        return a->peak_bytes < b->peak_bytes ? -1 : 1;
    if (x != y)
        return x < y ? -1 : 1;
    return (a->setup > b->setup) - (a->setup < b->setup);
}

typedef struct entry {
    double score;
    const pp_candidate *candidate;
    size_t index;
} entry;

static int compare_entries(const entry *a, const entry *b)
{
    if (a->score != b->score)
        return a->score < b->score ? -1 : 1;
    return prefer_simpler(a->candidate, b->candidate);
}

static int compare_queued(const void *left, const void *right)
{
    const entry *a = left;
    const entry *b = right;
    int order = compare_entries(a, b);
    return order ? order : (a->index > b->index) - (a->index < b->index);
}

static bool better(const entry *now, const entry *incumbent)
{
    if (!incumbent->candidate)
        return true;
    int order = compare_entries(now, incumbent);
    return order ? order < 0 : compare_results(now->candidate, incumbent->candidate) < 0;
}

/* Simulates candidates, the best bound first, until no bound is at or below the best step. */
static pp_status simulate_best_first(pp_search *search, const entry *queue, size_t count,
                                     size_t *best, pp_err *err)
{
    entry incumbent = { 0 };
    for (size_t k = 0; k < count; k++) {
        const double limit = search->problem->request->score_limit;
        if ((incumbent.candidate && compare_entries(&queue[k], &incumbent) > 0) ||
            (limit > 0 && queue[k].score > limit))
            break; /* the queue is sorted */
        if (pp_search_is_over(search)) {
            search->progress.stopped = true;
            break;
        }
        pp_candidate *c = &search->pool.candidate[queue[k].index];
        if (!pp_search_affords(search, c)) {
            search->progress.stopped = true;
            continue;
        }
        pp_status status = pp_candidate_try(search, c, err);
        if (status)
            return status;
        entry now = { pp_candidate_score(c, c->step_ns), c, queue[k].index };
        if (c->status == PP_CANDIDATE_OK && better(&now, &incumbent)) {
            incumbent = now;
            *best = now.index;
            if (search->problem->request->found)
                search->problem->request->found(search->problem->request->context, c);
        }
    }
    return PP_OK;
}

/* Simulates further candidates, so that every schedule of the table has a result among the
 * runners-up if it can have one. */
static pp_status try_others(pp_search *search, const entry *queue, size_t count, pp_err *err)
{
    for (size_t k = 0; k < pp_schedule_count(); k++) {
        const pp_schedule *schedule = pp_schedule_at(k);
        bool done = false;
        for (size_t i = 0; i < count; i++)
            done = done || (queue[i].candidate->schedule == schedule &&
                            queue[i].candidate->status == PP_CANDIDATE_OK);
        for (size_t i = 0, tries = 0; i < count && !done && tries < RUNNER_UP_TRIES; i++) {
            pp_candidate *c = &search->pool.candidate[queue[i].index];
            if (c->schedule != schedule || c->status != PP_CANDIDATE_NOT_SIMULATED ||
                !pp_search_affords(search, c))
                continue;
            if (pp_search_is_over(search))
                return PP_OK;
            pp_status status = pp_candidate_try(search, c, err);
            if (status)
                return status;
            done = c->status == PP_CANDIDATE_OK;
            tries++;
        }
    }
    return PP_OK;
}

/* Lists what may still be simulated, the best bound first. The caller frees queue_out. */
static pp_status list_queue(const pp_search *search, entry **queue_out, size_t *count_out,
                            pp_err *err)
{
    entry *queue = pp_alloc_array(search->pool.count, sizeof *queue);
    if (!queue)
        return pp_err_nomem(err);
    size_t count = 0;
    for (size_t i = 0; i < search->pool.count; i++) {
        const pp_candidate *c = &search->pool.candidate[i];
        const pp_setup *setup = &search->pool.setup[c->setup];
        if (c->status == PP_CANDIDATE_NOT_SIMULATED && setup->bound.fits && !setup->unseen)
            queue[count++] = (entry){ pp_candidate_score(c, setup->least_step_ns), c, i };
    }
    qsort(queue, count, sizeof *queue, compare_queued);
    *queue_out = queue;
    *count_out = count;
    return PP_OK;
}

pp_status pp_branch_and_bound(pp_search *search, size_t *best_out, pp_err *err)
{
    entry *queue;
    size_t count;
    size_t best = SIZE_MAX;
    pp_status status = list_queue(search, &queue, &count, err);
    if (status)
        return status;
    status = simulate_best_first(search, queue, count, &best, err);
    if (!status && best != SIZE_MAX && !(search->problem->request->score_limit > 0))
        status = try_others(search, queue, count, err);
    pp_search_drop_costs(search);
    free(queue);
    *best_out = best;
    return status;
}

pp_status pp_simulate_within(pp_search *search, double score, size_t most, pp_err *err)
{
    entry *queue;
    size_t count;
    pp_status status = list_queue(search, &queue, &count, err);
    if (status)
        return status;
    for (size_t k = 0; k < count && k < most && queue[k].score <= score && !status; k++) {
        if (pp_search_is_over(search) ||
            !pp_search_affords(search, &search->pool.candidate[queue[k].index]))
            break;
        status = pp_candidate_try(search, &search->pool.candidate[queue[k].index], err);
    }
    pp_search_drop_costs(search);
    free(queue);
    return status;
}
