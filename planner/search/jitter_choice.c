/* Ranks the fastest candidates by their step under jitter. It is the last stage of a single search,
 * over the candidates that this search has simulated, and begins no other search, so it is here and
 * not in planner/study/. The cost is one Monte Carlo study for each of a few candidates. Method:
 * docs/explanation/planning.md. */
#include "planner/search/jitter_choice.h"

#include "planner/candidate/evaluate.h"
#include "sim/analysis/step_tail.h"
#include "sim/base/alloc.h"
#include "sim/program/program_new.h"
#include "sim/schedule/registry.h"

#include <math.h>
#include <stdlib.h>

/* This many of the fastest candidates are studied, and the fastest of every schedule. */
#define FINALISTS 8

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

/* Lists all candidates that ran, the fastest first. */
static pp_status list_all(const pp_search *search, final *out, pp_err *err)
{
    out->row = pp_alloc_array(search->pool.count, sizeof *out->row);
    if (!out->row)
        return pp_err_nomem(err);
    for (size_t i = 0; i < search->pool.count; i++) {
        const pp_candidate *c = &search->pool.candidate[i];
        bool wanted = search->problem->request->orders != PP_ORDERS_PLANNED ||
                      pp_pool_planned(&search->pool, i);
        if (c->status == PP_CANDIDATE_OK && wanted)
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

/* One replica of a candidate that was run; the slowest one is studied. */
typedef struct replica {
    pp_program *program;
    pp_timeline *timeline;
    pp_ns step_ns;
    const pp_costs *costs;
} replica;

static void replica_free(replica *r)
{
    pp_program_free(&r->program);
    pp_timeline_free(&r->timeline);
}

static pp_status slowest_replica(const pp_search *search, const pp_candidate *c,
                                 const pp_cost_set *set, pp_order *const *order, uint32_t orders,
                                 replica *slowest, pp_err *err)
{
    pp_status status = PP_OK;
    for (uint32_t i = 0; i < set->count && !status; i++) {
        replica one PP_CLEANUP(replica_free) = { .costs = set->costs[i] };
        pp_report *report PP_CLEANUP(pp_report_free) = NULL;
        status = pp_candidate_run(search->problem, &search->pool.setup[c->setup], c,
                                  order[orders > 1 ? i : 0], one.costs, &one.program, &one.timeline,
                                  &report, err);
        one.step_ns = status ? 0 : report->step_ns;
        if (status || (slowest->program && one.step_ns <= slowest->step_ns))
            continue;
        replica swap = *slowest;
        *slowest = one;
        one = swap;
    }
    return status;
}

static pp_status study(pp_search *search, size_t index, pp_jitter_result *out, pp_err *err)
{
    const pp_plan_request *request = search->problem->request;
    pp_candidate *c = &search->pool.candidate[index];
    pp_planned *planned = pp_pool_planned(&search->pool, index);
    pp_cost_set set PP_CLEANUP(pp_cost_set_free) = { 0 };
    pp_order *named PP_CLEANUP(pp_order_free) = NULL;
    replica slowest PP_CLEANUP(replica_free) = { 0 };
    pp_status status = pp_pool_costs(&search->pool, &search->pool.setup[c->setup], &set, err);
    if (!status && !planned)
        status = pp_candidate_order(search->problem, c, set.costs[0], &named, err);
    if (!status)
        status = slowest_replica(search, c, &set, planned ? planned->order : &named,
                                 planned ? planned->count : 1, &slowest, err);
    if (status)
        return status;
    const pp_jitter_subject subject = {
        .program = slowest.program,
        .timeline = slowest.timeline,
        .costs = slowest.costs,
        .step_sync = !request->no_step_sync,
        .chained = request->no_step_sync && pp_step_tail_chained(search->problem->framework),
    };
    return pp_jitter_study(&subject, request->jitter, request->seed, request->threads, out, err);
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

pp_status pp_search_choose_under_jitter(pp_search *search, size_t *best,
                                        pp_jitter_ranking *ranking_out, pp_err *err)
{
    *ranking_out = (pp_jitter_ranking){ .verdict = PP_JITTER_NOT_RANKED };
    final f PP_CLEANUP(final_free) = { 0 };
    if (!search->problem->request->jitter || *best == SIZE_MAX)
        return PP_OK;
    pp_status status = list_all(search, &f, err);
    if (status)
        return status;
    keep_finalists(&search->pool, &f);
    const bool late = search->problem->request->rank_by_p95;
    for (size_t i = 0; i < f.count; i++) {
        finalist *row = &f.row[i];
        pp_candidate *c = &search->pool.candidate[row->index];
        if ((status = study(search, row->index, &row->result, err)))
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
