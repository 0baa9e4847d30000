/* Ranks the fastest candidates by their step under jitter. It is the last stage of a single search,
 * over the candidates that this search has simulated, and begins no other search, so it is here and
 * not in planner/study/. The cost is one Monte Carlo study for each of a few candidates. Method:
 * docs/explanation/planning.md. */
#include "planner/search/jitter_choice.h"

#include "planner/candidate/budget.h"
#include "planner/search/jitter_study.h"
#include "sim/base/alloc.h"
#include "sim/schedule/registry.h"

#include <math.h>
#include <stdlib.h>

/* This many of the fastest candidates are studied, and the fastest of every schedule. */
#define FINALISTS 8

/* With a budget: so many scenarios take as long as a simulation and its result. */
#define SCENARIOS_PER_RESULT 800.0

typedef struct finalist {
    double score; /* score without jitter; then that of the requested percentile */
    double error; /* error of the score, in the same unit */
    size_t index;
    pp_jitter_result result;
} finalist;

typedef struct final {
    finalist *row; /* [count], fastest first */
    size_t count;
} final;

static void final_free(final *f)
{
    free(f->row);
}

static int compare_scores(const void *left, const void *right)
{
    const finalist *a = left;
    const finalist *b = right;
    if (a->score != b->score)
        return a->score < b->score ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

/* Lists all candidates that ran, the fastest first. roomy: only those that leave the headroom. */
static pp_status list_all(const pp_search *search, bool roomy, final *out, pp_err *err)
{
    out->row = pp_alloc_array(search->pool.count, sizeof *out->row);
    if (!out->row)
        return pp_err_nomem(err);
    for (size_t i = 0; i < search->pool.count; i++) {
        const pp_candidate *c = &search->pool.candidate[i];
        bool wanted = search->problem->request->orders != PP_ORDERS_PLANNED ||
                      pp_pool_planned(&search->pool, i);
        if (c->status == PP_CANDIDATE_OK && wanted && (c->roomy || !roomy))
            out->row[out->count++] =
                (finalist){ .score = pp_candidate_score(c, c->step_ns), .index = i };
    }
    qsort(out->row, out->count, sizeof *out->row, compare_scores);
    return PP_OK;
}

static void keep_finalists(const pp_pool *pool, final *f)
{
    size_t kept = 0;
    for (size_t i = 0; i < f->count; i++) {
        const pp_schedule *schedule = pool->candidate[f->row[i].index].schedule;
        bool first = true;
        for (size_t k = 0; k < kept; k++)
            first = first && pool->candidate[f->row[k].index].schedule != schedule;
        if (i < FINALISTS || first)
            f->row[kept++] = f->row[i];
    }
    f->count = kept;
}

/* True if the budget suffices for a study. A scenario takes a small part of a simulation, since the
 * program is lowered once for all. */
static bool affords(const pp_search *search, const pp_candidate *c)
{
    const pp_plan_request *request = search->problem->request;
    const double scenarios = (double)request->jitter->scenarios;
    return !pp_budget_time_is_up(request) &&
           pp_budget_affords(request, pp_search_ops(search, c) * scenarios / SCENARIOS_PER_RESULT);
}

static bool is_tie(const finalist *a, const finalist *best)
{
    double least = best->score / PP_MEASURABLE_PART;
    return a->score - best->score <= fmax(least, hypot(a->error, best->error));
}

static pp_jitter_ranking ranking_of(const pp_candidate *c, int64_t scenarios, const finalist *best,
                                    const finalist *simple, const finalist *chosen, size_t ties)
{
    return (pp_jitter_ranking){
        .verdict = chosen != best ? PP_JITTER_SIMPLEST : PP_JITTER_BEST,
        .best = c[best->index].schedule,
        .simplest = simple ? c[simple->index].schedule : NULL,
        .simplest_longer = simple ? simple->score / best->score - 1 : 0,
        .ties = ties,
        .scenarios = scenarios,
        .chosen = chosen->result,
    };
}

pp_status pp_search_choose_under_jitter(pp_search *search, bool roomy, size_t *best,
                                        pp_jitter_ranking *ranking_out, pp_err *err)
{
    *ranking_out = (pp_jitter_ranking){ .verdict = PP_JITTER_NOT_RANKED };
    final f PP_CLEANUP(final_free) = { 0 };
    if (!search->problem->request->jitter || *best == SIZE_MAX)
        return PP_OK;
    pp_status status = list_all(search, roomy, &f, err);
    if (status)
        return status;
    keep_finalists(&search->pool, &f);
    const bool late = search->problem->request->rank_by_p95;
    for (size_t i = 0; i < f.count; i++) {
        finalist *row = &f.row[i];
        pp_candidate *c = &search->pool.candidate[row->index];
        if (i && !affords(search, c)) {
            search->progress.stopped = true;
            f.count = i;
            break;
        }
        status = pp_search_study(search, row->index, search->problem->request->jitter, &row->result,
                                 err);
        if (status)
            return status;
        c->p50_ns = row->result.p50_ns;
        c->p95_ns = row->result.p95_ns;
        c->ranked_ns = late ? c->p95_ns : c->p50_ns;
        row->score = pp_candidate_score(c, c->ranked_ns);
        row->error =
            pp_candidate_score(c, late ? row->result.p95_error_ns : row->result.p50_error_ns);
    }
    qsort(f.row, f.count, sizeof *f.row, compare_scores);
    const finalist *simple = NULL;
    size_t ties = 0;
    for (size_t i = 0; i < f.count; i++) {
        pp_candidate *c = &search->pool.candidate[f.row[i].index];
        c->tie = is_tie(&f.row[i], &f.row[0]);
        ties += i && c->tie;
        if (!simple && c->schedule == &pp_schedule_one_f_one_b)
            simple = &f.row[i];
    }
    bool taken = simple && is_tie(simple, &f.row[0]);
    const finalist *chosen = taken ? simple : &f.row[0];
    *ranking_out = ranking_of(search->pool.candidate, search->problem->request->jitter->scenarios,
                              &f.row[0], simple, chosen, ties);
    *best = chosen->index;
    return PP_OK;
}
