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

/* A study with fewer scenarios, since the budget ended it, says nothing about a p95. */
#define SCENARIOS_LEAST 20

/* A study may take this part of the time that is left, or more if fewer candidates are left. */
#define PARTS_MOST 4

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

/* The share of the time for one study. */
typedef struct share {
    const pp_plan_request *request;
    double ops; /* of the candidate, whose result must be made, too */
    double end; /* part of the time */
} share;

static bool is_over(void *context)
{
    const share *s = context;
    return pp_budget_is_over(s->request, s->ops) ||
           (s->request->spent && s->request->spent(s->request->context) >= s->end);
}

/* Studies a candidate in one of `parts` equal parts of the time that is left. Returns with no
 * scenarios if the time does not suffice for enough of them. */
static pp_status study(pp_search *search, size_t index, size_t parts, pp_jitter_result *out,
                       pp_err *err)
{
    const pp_plan_request *request = search->problem->request;
    const pp_jitter_spec *spec = request->jitter;
    const pp_candidate *c = &search->pool.candidate[index];
    const double spent = request->spent ? request->spent(request->context) : 0;
    share part = { .request = request,
                   .ops = pp_search_ops(search, c),
                   .end = spent + (1 - spent) / (double)parts };
    const pp_jitter_until until = { .is_over = is_over, .context = &part };
    out->spec.scenarios = 0;
    if (request->stop && (is_over(&part) || !pp_budget_affords(request, part.ops)))
        return PP_OK;
    pp_status status =
        pp_search_study(search, index, spec, request->stop ? &until : NULL, out, err);
    if (!status && out->spec.scenarios < spec->scenarios && out->spec.scenarios < SCENARIOS_LEAST)
        out->spec.scenarios = 0;
    return status;
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
    size_t studied = 0;
    for (size_t i = 0; i < f.count; i++) {
        finalist *row = &f.row[studied];
        *row = f.row[i];
        pp_candidate *c = &search->pool.candidate[row->index];
        status = study(search, row->index, f.count - i < PARTS_MOST ? f.count - i : PARTS_MOST,
                       &row->result, err);
        if (status)
            return status;
        search->progress.stopped |=
            row->result.spec.scenarios < search->problem->request->jitter->scenarios;
        if (!row->result.spec.scenarios)
            continue;
        studied++;
        c->p50_ns = row->result.p50_ns;
        c->p95_ns = row->result.p95_ns;
        c->ranked_ns = late ? c->p95_ns : c->p50_ns;
        row->score = pp_candidate_score(c, c->ranked_ns);
        row->error =
            pp_candidate_score(c, late ? row->result.p95_error_ns : row->result.p50_error_ns);
    }
    f.count = studied;
    ranking_out->unstudied = !studied;
    if (!studied)
        return PP_OK;
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
