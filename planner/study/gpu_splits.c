/* Splits a given number of GPUs over pp, tp, cp, dp and ep: best-first branch and bound over the
 * splits, each of which is searched as far as it can beat the best one so far, or tie with it; then
 * the best few are searched for free orders, and the rule of planner/search/choice.h takes one. A
 * plain pipeline that fits is found first, so that there is always something to beat. Splits are
 * searched in rounds, on several threads; all splits of a round are searched against the best of
 * the rounds before it, so the result does not depend on the number of threads. Method:
 * docs/explanation/planning-frameworks.md. */
#include "planner/study/gpu_splits.h"

#include "planner/candidate/budget.h"
#include "planner/candidate/rules.h"
#include "planner/search/first_fit.h"
#include "planner/search/search.h"
#include "planner/search/space.h"
#include "planner/study/budget_slice.h"
#include "planner/study/packing_choice.h"
#include "sim/base/alloc.h"
#include "sim/base/field.h"
#include "sim/base/for_each.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct split {
    pp_parallel parallel;
    bool bounded;  /* `least` is known */
    double least;  /* lower bound of its score */
    double floor;  /* lower bound of its score from the bounded setups; 0: not known */
    bool examined; /* to its end: `best` is what can beat the others, or shows that nothing can */
    bool searched; /* it was searched for free orders */
    pp_candidate best;
} split;

/* The most splits that are searched for free orders, without and with a tie in the request; the
 * number of splits of the first round, and the most of a round, since the number doubles from round
 * to round; the most splits that are tried for the plain pipeline; splits that cannot win are
 * searched, too, if they are among the OTHERS with the least bounds, or have no pipeline. */
enum {
    SEARCHED_MOST = 3,
    TIED_MOST = 5,
    FIRST_ROUND = 2,
    ROUND = 8,
    FIRST_FITS_MOST = 100,
    OTHERS = 4
};

typedef struct splits {
    const pp_plan_request *request;
    split *row;
    size_t count, capacity;
    pp_err refusal;      /* refusal of the first split that is not legal */
    size_t broke_rule;   /* splits left out, since they break a rule */
    bool any;            /* also splits that break a rule of planner/candidate/rules.h */
    pp_found *incumbent; /* the search with the best candidate so far; NULL: nothing fits */
    size_t incumbent_row;
    size_t simulated;
    double bounding; /* the effort of the bounds of all splits (planner/candidate/budget.h), */
    size_t counted;  /* and its iterations that are part of `simulated` */
} splits;

static void splits_free(splits *list)
{
    pp_found_free(&list->incumbent);
    free(list->row);
}

/* The request for one split. */
static pp_plan_request request_for(const pp_plan_request *request, const pp_parallel *parallel)
{
    pp_plan_request one = *request;
    one.parallel = *parallel;
    return one;
}

/* Remembers why a split is not legal; other failures are passed on. */
static pp_status refuse(splits *list, const pp_err *why, pp_err *err)
{
    if (why->status != PP_USAGE && why->status != PP_INPUT) {
        *err = *why;
        return why->status;
    }
    if (!list->refusal.status)
        list->refusal = *why;
    return PP_OK;
}

/* Adds a split that is not bounded. */
static pp_status add(splits *list, pp_parallel parallel, pp_err *err)
{
    pp_rule_broken broken;
    if (!list->any && pp_rules_refuse(list->request, &parallel, &broken)) {
        list->broke_rule++;
        return PP_OK;
    }
    void *grown = list->row;
    pp_status status = pp_grow(&grown, &list->capacity, list->count + 1, sizeof *list->row, err);
    if (status)
        return status;
    list->row = grown;
    list->row[list->count++] = (split){ .parallel = parallel };
    return PP_OK;
}

/* True if the value is allowed. A requested 0 is free: any divisor of `whole` up to `most`. */
static bool takes(int64_t requested, int64_t value, int64_t whole, int64_t most)
{
    return requested ? value == requested : whole % value == 0 && value <= most;
}

/* Adds a split with each degree of expert parallelism that divides the experts and the GPUs of a
 * stage, and that the framework has with this etp. */
static pp_status add_experts(splits *list, pp_parallel p, pp_err *err)
{
    const int64_t experts = list->request->model->experts;
    const int64_t requested = list->request->parallel.ep;
    pp_status status = PP_OK;
    const pp_experts rule = list->request->experts;
    if (requested || !experts) {
        p.ep = requested ? requested : 1;
        return !experts || pp_parallel_etp_of(&p, rule) == p.etp ? add(list, p, err) : PP_OK;
    }
    const int64_t gpus = pp_parallel_expert_gpus(&p);
    for (p.ep = 1; p.ep <= gpus && p.ep <= experts && !status; p.ep++) {
        if (experts % p.ep == 0 && gpus % p.ep == 0 && pp_parallel_etp_of(&p, rule) == p.etp)
            status = add(list, p, err);
    }
    return status;
}

/* Adds a split with experts that tensor parallelism divides, and with whole ones. Of the same ep
 * where both are legal, whole experts exchange less. */
static pp_status add_folded(splits *list, pp_parallel p, pp_err *err)
{
    const pp_plan_request *request = list->request;
    pp_status status = PP_OK;
    if (request->parallel.etp || !request->model->experts ||
        (!request->experts && (p.tp == 1 || !request->switches.stack->has.expert_parallel)))
        return add_experts(list, p, err);
    for (p.etp = 0; p.etp <= 1 && !status; p.etp++)
        status = add_experts(list, p, err);
    return status;
}

static int64_t stages_most(const pp_plan_request *request)
{
    return request->model->layers + request->model->mtp_layers +
           (pp_request_bare_ends(request) ? 2 : 0);
}

/* Lists all splits; unless `any`, without those that a rule refuses. */
static pp_status list_splits(splits *list, bool any, pp_err *err)
{
    const pp_plan_request *request = list->request;
    const pp_parallel *w = &request->parallel;
    const int64_t parts = stages_most(request);
    const int64_t gpus = request->gpus;
    pp_status status = PP_OK;
    pp_parallel p = *w;
    list->any = any;
    list->count = 0;
    for (p.pp = 1; p.pp <= gpus && !status; p.pp++) {
        if (gpus % p.pp || !takes(w->pp, p.pp, gpus, parts))
            continue;
        const int64_t stage = gpus / p.pp;
        for (p.tp = 1; p.tp <= stage && !status; p.tp++) {
            if (stage % p.tp || !takes(w->tp, p.tp, stage, request->hardware->gpus_per_node))
                continue;
            for (p.cp = 1; p.cp <= stage / p.tp && !status; p.cp++) {
                p.dp = stage / p.tp / p.cp;
                if (stage / p.tp % p.cp == 0 && takes(w->cp, p.cp, stage, stage) &&
                    takes(w->dp, p.dp, stage, stage))
                    status = add_folded(list, p, err);
            }
        }
    }
    return status;
}

/* Fails for a list in which no split is legal. */
static pp_status none_legal(const splits *list, pp_err *err)
{
    const pp_plan_request *request = list->request;
    if (list->refusal.status) {
        *err = list->refusal;
        return err->status;
    }
    return pp_err_set(
        err, PP_USAGE, pp_err_name(err, PP_FIELD_GPUS),
        "%" PRId64 " GPUs cannot be split with these degrees; pp x tp x cp x dp must "
        "equal that number, with pp up to %" PRId64 " and tp, unless given, up to %" PRId64,
        request->gpus, stages_most(request), (int64_t)request->hardware->gpus_per_node);
}

/* True if the parameters of a split may be sharded with so many copies and, kept > 0, stay divided
 * over so many GPUs after a forward: pp_cost_context_check. */
static bool shards(const splits *list, const pp_parallel *p, int64_t copies, int64_t kept)
{
    const int64_t dense = p->dp * p->cp / copies;
    const int64_t experts =
        list->request->model->experts > 0 ? pp_parallel_expert_gpus(p) / p->ep : p->dp * p->cp;
    if (p->pp == 1 || p->dp % copies != 0 || experts % copies != 0)
        return false;
    return kept <= 0 || (kept < dense && dense % kept == 0 && experts / copies % kept == 0);
}

/* Refuses a number of copies, or of GPUs that keep a parameter, that no split admits, and names
 * those that one does. */
static pp_status check_sharding(const splits *list, pp_err *err)
{
    const pp_switch_request *s = &list->request->switches;
    const int64_t copies = s->value.dp_replicate > 1 ? s->value.dp_replicate : 1;
    const int64_t kept = s->value.reshard_after_forward;
    char legal[200] = "";
    size_t bytes = 0;
    bool piped = false;
    bool copied = false;
    if (!s->given.zero || s->value.zero != 3 || (copies == 1 && kept <= 0))
        return PP_OK;
    for (size_t i = 0; i < list->count; i++) {
        if (shards(list, &list->row[i].parallel, copies, kept))
            return PP_OK;
        piped |= list->row[i].parallel.pp > 1;
        copied |= shards(list, &list->row[i].parallel, copies, 0);
    }
    if (!piped)
        return PP_OK; /* which another refusal says */
    for (int64_t n = 2; n <= list->request->gpus && bytes < sizeof legal - 24; n++) {
        size_t i = list->request->gpus % n ? list->count : 0;
        while (i < list->count &&
               !shards(list, &list->row[i].parallel, copied ? copies : n, copied ? n : 0))
            i++;
        if (i < list->count)
            bytes += (size_t)snprintf(legal + bytes, sizeof legal - bytes, ", %" PRId64, n);
    }
    return pp_err_set(err, PP_USAGE,
                      pp_err_name(err, copied ? PP_FIELD_RESHARD : PP_FIELD_DP_REPLICATE),
                      copied ? "%" PRId64 " GPUs cannot keep a copy of the parameters in any split "
                               "of %" PRId64 " GPUs; possible values: never, always%s"
                             : "%" PRId64 " copies of the parameters have no split of %" PRId64
                               " GPUs; possible values: 1%s",
                      copied ? kept : copies, list->request->gpus, legal);
}

/* The bounds of all splits, each on its own. */
typedef struct bounding {
    const splits *list;
    pp_err *why; /* [count]: why a split is not legal */
} bounding;

/* Bounds a split by its best point (planner/search/space.c). */
static void bound_split(void *context, size_t i)
{
    const bounding *b = context;
    split *row = &b->list->row[i];
    pp_search search PP_CLEANUP(pp_search_close) = { 0 };
    pp_plan_request one = request_for(b->list->request, &row->parallel);
    if (pp_budget_time_is_up(b->list->request))
        return;
    one.stop = NULL;
    if (pp_search_open(&search, &one, &b->why[i]))
        return;
    search.space.points_only = true;
    if (pp_search_enumerate(&search, &b->why[i]))
        return;
    row->bounded = true;
    row->least = search.space.least_score;
}

/* Bounds the splits and drops those that are not legal. */
static pp_status bound_splits(splits *list, pp_err *err)
{
    bounding b = { .list = list, .why = pp_alloc_array(list->count + 1, sizeof *b.why) };
    pp_status status = b.why ? PP_OK : pp_err_nomem(err);
    size_t kept = 0;
    for (size_t i = 0; b.why && i < list->count; i++)
        b.why[i] = pp_err_like(err);
    if (b.why)
        pp_for_each(list->request->threads, list->count, bound_split, &b);
    for (size_t i = 0; i < list->count && !status; i++) {
        if (b.why[i].status)
            status = refuse(list, &b.why[i], err);
        else
            list->row[kept++] = list->row[i];
    }
    free(b.why);
    list->count = kept;
    return status;
}

static int compare_bounds(const void *left, const void *right)
{
    const split *a = left;
    const split *b = right;
    if (a->bounded != b->bounded)
        return a->bounded ? -1 : 1;
    const int64_t x[] = { a->parallel.pp, a->parallel.tp, a->parallel.cp, a->parallel.ep,
                          a->parallel.etp };
    const int64_t y[] = { b->parallel.pp, b->parallel.tp, b->parallel.cp, b->parallel.ep,
                          b->parallel.etp };
    if (a->least != b->least)
        return a->least < b->least ? -1 : 1;
    for (size_t i = 0; i < sizeof x / sizeof *x; i++) {
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    }
    return 0;
}

/* The candidate that exceeds the memory limit by the least. NULL: one that fits may exist but be of
 * no use. */
static const pp_candidate *nearest(const pp_search *search)
{
    const pp_candidate *best = NULL;
    for (size_t i = 0; i < search->pool.count && !search->space.over_score_limit; i++) {
        const pp_candidate *c = &search->pool.candidate[i];
        if (c->status != PP_CANDIDATE_INFEASIBLE)
            return NULL;
        if (!best || (c->legal && (!best->legal || c->short_bytes < best->short_bytes)))
            best = c;
    }
    return best;
}

static double score_of(const split *row)
{
    return row->best.status == PP_CANDIDATE_OK && row->best.step_ns
               ? pp_candidate_score(&row->best, row->best.step_ns)
               : HUGE_VAL;
}

static bool is_over(const splits *list)
{
    const pp_plan_request *request = list->request;
    return (request->max_simulations && list->simulated >= request->max_simulations) ||
           pp_budget_time_is_up(request);
}

static bool same_degrees(const pp_parallel *a, const pp_parallel *b)
{
    return a->pp == b->pp && a->tp == b->tp && a->cp == b->cp && a->dp == b->dp && a->ep == b->ep &&
           a->etp == b->etp;
}

/* What is known of a split before it is examined. */
static void begin_row(split *row)
{
    if (row->best.status == PP_CANDIDATE_OK && row->best.step_ns)
        return; /* the plain pipeline */
    row->best = (pp_candidate){ .parallel = row->parallel, .status = PP_CANDIDATE_NOT_SIMULATED };
    row->best.reason.kind = row->bounded ? PP_REASON_SPLIT_SLOWER : PP_REASON_UNSEEN;
    row->best.parallel.vpp = 1;
    row->best.least_step_ns = (pp_ns)(row->least / (double)pp_parallel_gpus(&row->best.parallel));
}

/* Sorts the splits by their bounds; the incumbent remains the same. */
static void sort_rows(splits *list)
{
    if (list->count) /* qsort takes no null pointer */
        qsort(list->row, list->count, sizeof *list->row, compare_bounds);
    for (size_t i = 0; i < list->count; i++) {
        begin_row(&list->row[i]);
        if (list->incumbent &&
            same_degrees(&list->row[i].parallel, &list->incumbent->request.parallel))
            list->incumbent_row = i;
    }
}

/* Takes over what was found for a split, if it beats the incumbent; of equal ones the first split
 * in the list is taken. */
static void offer(splits *list, size_t index, pp_found **found)
{
    const pp_candidate *c = &(*found)->search.pool.candidate[(*found)->best];
    const double score = pp_candidate_score(c, c->step_ns);
    const double best = list->incumbent ? score_of(&list->row[list->incumbent_row]) : HUGE_VAL;
    split *row = &list->row[index];
    if (score > score_of(row) && index != list->incumbent_row)
        return;
    row->best = *c;
    if (score > best || (score == best && index > list->incumbent_row))
        return;
    pp_found_free(&list->incumbent);
    list->incumbent = *found;
    list->incumbent_row = index;
    *found = NULL;
    if (list->request->found && score < best)
        list->request->found(list->request->context, &row->best);
}

static double limit_of(const splits *list)
{
    return list->incumbent ? score_of(&list->row[list->incumbent_row]) : HUGE_VAL;
}

/* The larger tp comes first; that of more than a server comes last. */
static int64_t plainness_of_tp(int64_t tp)
{
    return tp <= PP_PLAIN_TP ? -tp : tp;
}

static int compare_plainness(const void *left, const void *right)
{
    const split *a = *(split *const *)left;
    const split *b = *(split *const *)right;
    const int64_t x[] = { plainness_of_tp(a->parallel.tp), a->parallel.cp, a->parallel.pp,
                          -a->parallel.ep, a->parallel.etp };
    const int64_t y[] = { plainness_of_tp(b->parallel.tp), b->parallel.cp, b->parallel.pp,
                          -b->parallel.ep, b->parallel.etp };
    for (size_t i = 0; i < sizeof x / sizeof *x; i++) {
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    }
    return 0;
}

/* Finds a plain pipeline that fits: as much tensor parallelism as a server has, no context
 * parallelism, as few pipeline ranks as possible. */
static pp_status find_first_fit(splits *list, pp_err *err)
{
    split **plain = pp_alloc_array(list->count + 1, sizeof *plain);
    pp_status status = plain ? PP_OK : pp_err_nomem(err);
    for (size_t i = 0; plain && i < list->count; i++)
        plain[i] = &list->row[i];
    if (plain)
        qsort(plain, list->count, sizeof *plain, compare_plainness);
    for (size_t i = 0; i < list->count && i < FIRST_FITS_MOST && !status && !list->incumbent; i++) {
        pp_found *found PP_CLEANUP(pp_found_free) = NULL;
        const pp_plan_request one = request_for(list->request, &plain[i]->parallel);
        if (pp_budget_time_is_up(list->request))
            break;
        status = pp_search_first_fit(&one, &found, &list->simulated, err);
        if (found)
            offer(list, (size_t)(plain[i] - list->row), &found);
    }
    free(plain);
    return status;
}

/* One split of a round. */
typedef struct look {
    size_t index;
    uint64_t most; /* simulations; 0: no limit */
    pp_found *found;
    pp_status status;
    pp_err why;
    size_t simulated;
} look;

typedef struct split_round {
    splits *list;
    double limit; /* scores above it are of no use */
    look look[ROUND];
    size_t count;
} split_round;

static void round_free(split_round *r)
{
    for (size_t i = 0; i < r->count; i++)
        pp_found_free(&r->look[i].found);
}

/* Finds the plain pipeline of one split, if it can beat the limit. */
static void look_plain(void *context, size_t i)
{
    split_round *r = context;
    look *at = &r->look[i];
    pp_plan_request one = request_for(r->list->request, &r->list->row[at->index].parallel);
    one.score_limit = r->limit;
    at->status = pp_search_first_fit(&one, &at->found, &at->simulated, &at->why);
}

/* Solves one split as far as it can beat the limit. */
static void look_at(void *context, size_t i)
{
    split_round *r = context;
    look *at = &r->look[i];
    pp_found_free(&at->found);
    pp_found *found = pp_alloc_array(1, sizeof *found);
    at->found = found;
    at->why = pp_err_like(&at->why);
    if (!found) {
        at->status = pp_err_nomem(&at->why);
        return;
    }
    found->request = request_for(r->list->request, &r->list->row[at->index].parallel);
    found->request.score_limit = r->limit;
    found->request.max_simulations = at->most;
    found->request.found = NULL; /* calls must not overlap */
    found->best = SIZE_MAX;
    at->status = pp_search_solve(&found->search, &found->request, &found->best, &at->why);
    at->simulated = found->search.progress.simulated;
}

/* Counts the bounds of one split. What is not counted in a single search is counted in many. */
static void count_bounds(splits *list, double effort)
{
    list->bounding += effort;
    list->counted += pp_budget_bounding(effort);
    const size_t all = pp_budget_bounding(list->bounding);
    if (all <= list->counted)
        return;
    list->simulated += all - list->counted;
    list->counted = all;
}

/* Takes over what is known of one split. */
static pp_status take(split_round *r, look *at, pp_err *err)
{
    splits *list = r->list;
    split *row = &list->row[at->index];
    list->simulated += at->simulated;
    if (at->found)
        count_bounds(list, at->found->search.progress.bounding);
    if (at->status == PP_NOMEM) {
        *err = at->why;
        return at->status;
    }
    const pp_search *search = &at->found->search;
    row->examined = !search->progress.stopped && !search->progress.unseen;
    row->floor = row->examined ? pp_pool_least(&search->pool) : row->least;
    if (at->status) {
        row->best.status = PP_CANDIDATE_INFEASIBLE;
        row->best.reason = pp_reason_refused(&at->why);
    } else if (at->found->best != SIZE_MAX) {
        offer(list, at->index, &at->found);
    } else if (!row->examined) {
        if (score_of(row) == HUGE_VAL)
            row->best.reason.kind = PP_REASON_UNSEEN;
    } else if (score_of(row) == HUGE_VAL) {
        const pp_candidate *c = nearest(search);
        if (c)
            row->best = *c;
        else if (r->limit < HUGE_VAL) /* everything that may fit takes longer */
            row->best.least_step_ns =
                (pp_ns)(r->limit / (double)pp_parallel_gpus(&row->best.parallel));
    }
    return PP_OK;
}

/* Searches the splits of a round at the same time or, if the simulations that are left might not
 * suffice for all, one after the other. */
static pp_status run_round(split_round *r, pp_err *err)
{
    splits *list = r->list;
    const uint64_t most = list->request->max_simulations;
    const uint64_t left = most ? most - list->simulated : 0;
    size_t simulated = 0;
    for (size_t i = 0; i < r->count; i++) {
        r->look[i].most = left;
        r->look[i].why = pp_err_like(err);
    }
    pp_for_each(list->request->threads, r->count, look_at, r);
    for (size_t i = 0; i < r->count; i++)
        simulated += r->look[i].simulated;
    pp_status status = PP_OK;
    for (size_t i = 0; i < r->count && !status; i++) {
        if (most && simulated > left && i) {
            if (list->simulated >= most) {
                list->row[r->look[i].index].best.reason.kind = PP_REASON_UNSEEN;
                continue;
            }
            r->look[i].most = most - list->simulated;
            look_at(r, i);
        }
        status = take(r, &r->look[i], err);
    }
    return status;
}

/* Scores above it neither win nor tie. */
static double tie_of(const splits *list)
{
    return limit_of(list) * (1 + list->request->tie);
}

/* Takes up to `most` splits that may beat the incumbent or tie with it, from *next on. */
static void fill_round(splits *list, size_t most, size_t *next, split_round *r)
{
    *r = (split_round){ .list = list, .limit = tie_of(list) };
    for (; *next < list->count && r->count < most; ++*next) {
        if (list->row[*next].bounded && list->row[*next].least <= r->limit)
            r->look[r->count++].index = *next;
    }
}

/* Finds the plain pipelines of all splits: the best of them leaves less to examine. */
static pp_status look_at_plain(splits *list, pp_err *err)
{
    pp_status status = PP_OK;
    for (size_t next = 0; next < list->count && !status && !is_over(list);) {
        split_round r PP_CLEANUP(round_free);
        fill_round(list, ROUND, &next, &r);
        for (size_t i = 0; i < r.count; i++)
            r.look[i].why = pp_err_like(err);
        pp_for_each(list->request->threads, r.count, look_plain, &r);
        for (size_t i = 0; i < r.count && !status; i++) {
            list->simulated += r.look[i].simulated;
            status = r.look[i].status;
            if (status)
                *err = r.look[i].why;
            if (r.look[i].found)
                offer(list, r.look[i].index, &r.look[i].found);
        }
    }
    return status;
}

/* Examines the splits, the least bound first. */
static pp_status look_at_all(splits *list, pp_err *err)
{
    pp_status status = PP_OK;
    size_t most = FIRST_ROUND;
    for (size_t next = 0; next < list->count && !status && !is_over(list);) {
        split_round r PP_CLEANUP(round_free);
        fill_round(list, most, &next, &r);
        status = run_round(&r, err);
        most = 2 * most < ROUND ? 2 * most : ROUND;
    }
    const double limit = tie_of(list);
    for (size_t i = 0; i < list->count; i++) {
        split *row = &list->row[i];
        if (!row->examined && row->best.status == PP_CANDIDATE_NOT_SIMULATED && row->least <= limit)
            row->best.reason.kind = PP_REASON_UNSEEN;
    }
    return status;
}

/* Examines some splits that can neither win nor tie, so that the table has their steps: those
 * without a pipeline, and those with the least bounds. */
static pp_status look_at_others(splits *list, pp_err *err)
{
    size_t others = 0;
    pp_status status = PP_OK;
    for (size_t next = 0; next < list->count && list->incumbent && !status && !is_over(list);) {
        split_round r PP_CLEANUP(round_free) = { .list = list, .limit = HUGE_VAL };
        for (; next < list->count && r.count < ROUND; next++) {
            const split *row = &list->row[next];
            if ((row->examined && row->best.step_ns) || !row->bounded ||
                row->best.status == PP_CANDIDATE_INFEASIBLE ||
                (row->parallel.pp > 1 && others == OTHERS))
                continue;
            others += row->parallel.pp > 1;
            r.look[r.count++].index = next;
        }
        status = run_round(&r, err);
    }
    return status;
}

/* The splits that may be better than the best one, or may fit, but were not examined. */
static size_t count_unseen(const splits *list)
{
    size_t unseen = 0;
    for (size_t i = 0; i < list->count; i++)
        unseen += !list->row[i].examined && list->row[i].least <= limit_of(list);
    return unseen;
}

/* The split with the best candidate or, if none fits, the one that exceeds the memory limit by the
 * least. */
static size_t best_row(const splits *list)
{
    size_t best = 0;
    if (list->incumbent)
        return list->incumbent_row;
    for (size_t i = 1; i < list->count; i++) {
        const pp_candidate *c = &list->row[i].best;
        const pp_candidate *b = &list->row[best].best;
        if (c->legal && (!b->legal || c->short_bytes < b->short_bytes))
            best = i;
    }
    return best;
}

static int compare_listed(const void *left, const void *right)
{
    const pp_candidate *a = left;
    const pp_candidate *b = right;
    if (a->status != b->status)
        return a->status < b->status ? -1 : 1;
    pp_ns x = a->step_ns ? a->step_ns : a->least_step_ns;
    pp_ns y = b->step_ns ? b->step_ns : b->least_step_ns;
    if (x != y)
        return x < y ? -1 : 1;
    return a->parallel.pp != b->parallel.pp ? (a->parallel.pp < b->parallel.pp ? -1 : 1)
                                            : (a->parallel.tp > b->parallel.tp ? -1 : 1);
}

/* Lists the chosen split first, and the others by what is known of their step. */
static pp_status hand_over(const splits *list, pp_search_result *choice, pp_err *err)
{
    choice->split = pp_alloc_array(list->count, sizeof *choice->split);
    if (!choice->split)
        return pp_err_nomem(err);
    choice->split[choice->splits++] = choice->candidate[0];
    for (size_t i = 0; i < list->count; i++) {
        if (!same_degrees(&list->row[i].parallel, &choice->plan->parallel))
            choice->split[choice->splits++] = list->row[i].best;
    }
    qsort(choice->split + 1, choice->splits - 1, sizeof *choice->split, compare_listed);
    return PP_OK;
}

/* The score by which a plan is compared. */
static double ranked(const pp_candidate *c)
{
    return pp_candidate_score(c, c->ranked_ns ? c->ranked_ns : c->step_ns);
}

/* The results of the splits that were searched in full. */
typedef struct results {
    pp_search_result *row[TIED_MOST];
    size_t count;
} results;

static void results_free(results *r)
{
    for (size_t i = 0; i < r->count; i++)
        pp_search_result_free(&r->row[i]);
}

/* The least score of any plan of these results, recommended or not. */
static double least_of(const results *r)
{
    double least = HUGE_VAL;
    for (size_t i = 0; i < r->count; i++) {
        const pp_candidate *fastest = &r->row[i]->recommendation.fastest;
        least = fmin(least, ranked(&r->row[i]->candidate[0]));
        if (r->row[i]->recommendation.tie > 0 && !r->row[i]->candidate[0].ranked_ns)
            least = fmin(least, ranked(fastest));
    }
    return least;
}

/* True if other packings are searched, to which the bounds of first fit do not apply. */
static bool packs(const splits *list)
{
    return list->request->lengths && list->request->packings;
}

/* What is compared to decide which split to search: a packing makes all replicas about equally
 * long. */
static double promise(const splits *list, const split *row)
{
    return packs(list) && row->best.mean_step_ns
               ? pp_candidate_score(&row->best, row->best.mean_step_ns)
               : score_of(row);
}

/* True if a plan of this split, free orders included, may win or tie. */
static bool may_be_taken(const splits *list, const split *row, double least)
{
    const double score = score_of(row);
    const double most = least * (1 + list->request->tie);
    return !row->searched && score < HUGE_VAL &&
           (least == HUGE_VAL || packs(list) || score <= most ||
            pp_is_worth(row->floor, score, most));
}

static size_t count_worth(const splits *list, double least)
{
    size_t worth = 0;
    for (size_t i = 0; i < list->count; i++)
        worth += may_be_taken(list, &list->row[i], least);
    return worth;
}

/* The split to search next: in turn the one with the best named schedule, and the one that would be
 * recommended by its named schedule. NULL: none is worth it. */
static split *next_split(const splits *list, bool recommended, double least, pp_err *err)
{
    const pp_candidate **tied PP_CLEANUP(pp_free_array) =
        pp_alloc_array(list->count + 1, sizeof *tied);
    size_t *index PP_CLEANUP(pp_free_array) = pp_alloc_array(list->count + 1, sizeof *index);
    split *next = NULL;
    size_t count = 0;
    if (!tied || !index) {
        (void)pp_err_nomem(err);
        return NULL;
    }
    for (size_t i = 0; i < list->count; i++) {
        split *row = &list->row[i];
        if (!may_be_taken(list, row, least))
            continue;
        next = !next || promise(list, row) < promise(list, next) ? row : next;
        if (!pp_is_within_tie(&row->best, least, list->request->tie))
            continue;
        index[count] = i;
        tied[count++] = &row->best;
    }
    return recommended && count
               ? &list->row[index[pp_choose(tied, count, least, list->request->tie)]]
               : next;
}

/* Searches one split in full, free orders included, with a part of the budget that is left. */
static pp_status search_split(splits *list, split *row, size_t parts, results *all, pp_err *err)
{
    pp_search_result *now = NULL;
    const pp_plan_request *request = list->request;
    pp_plan_request one = request_for(request, &row->parallel);
    pp_err why = pp_err_like(err);
    pp_budget_slice slice;
    (void)pp_budget_slice_take(&slice, request, parts, &one);
    if (one.max_simulations) { /* one at least, since 0 would mean no limit */
        const uint64_t most = one.max_simulations;
        const uint64_t left = most > list->simulated ? most - list->simulated : 1;
        one.max_simulations = (left + parts - 1) / parts;
    }
    row->searched = true;
    pp_status status = pp_plan_packings(&one, &now, &why);
    if (status && (all->count || (list->incumbent && status == PP_UNDECIDED)) && status != PP_NOMEM)
        return PP_OK; /* its part of the budget was too small */
    if (status) {
        *err = why;
        return status;
    }
    list->simulated += now->simulated;
    row->best = now->candidate[0];
    all->row[all->count++] = now;
    return PP_OK;
}

/* Takes the result that is recommended; with jitter, without a tie, or if the fastest is wanted,
 * the one with the least score. With jitter, one that the budget left no time to study is not
 * compared with those that were. */
static size_t take_result(const splits *list, const results *all)
{
    const pp_candidate *row[TIED_MOST];
    size_t best = 0;
    bool by_rank = !(list->request->tie > 0) || list->request->fastest;
    for (size_t i = 0; i < all->count; i++) {
        row[i] = &all->row[i]->candidate[0];
        by_rank = by_rank || row[i]->ranked_ns;
        const bool studied = row[i]->ranked_ns > 0, other = row[best]->ranked_ns > 0;
        if (studied != other ? studied : ranked(row[i]) < ranked(row[best]))
            best = i;
    }
    return by_rank ? best : pp_choose(row, all->count, least_of(all), list->request->tie);
}

/* Replaces the fastest plan that leaves the headroom by a faster one. */
static void offer_roomy(const pp_candidate *c, pp_candidate *best)
{
    if (c->status == PP_CANDIDATE_OK && c->step_ns && c->roomy &&
        (best->status != PP_CANDIDATE_OK || ranked(c) < ranked(best)))
        *best = *c;
}

/* Makes the recommendation of one result that of all of them. */
static void recommend(const splits *list, const results *all, pp_search_result *choice)
{
    pp_recommendation *r = &choice->recommendation;
    if (!(r->tie > 0))
        return;
    for (size_t i = 0; i < all->count; i++) {
        const pp_recommendation *other = &all->row[i]->recommendation;
        if (ranked(&other->fastest) < ranked(&r->fastest))
            r->fastest = other->fastest;
        offer_roomy(&other->roomy, &r->roomy);
    }
    for (size_t i = 0; i < list->count; i++)
        offer_roomy(&list->row[i].best, &r->roomy);
    r->reason = pp_choice_why(&choice->candidate[0], &r->fastest);
}

/* True if the answer must have a packing or an order that named schedules alone do not give. */
static bool needs_more(const pp_plan_request *request)
{
    return request->orders == PP_ORDERS_PLANNED ||
           (request->lengths && request->packings && !request->packings[PP_PACKING_FIRST_FIT]);
}

/* Makes the result of the incumbent as it is: it was not searched for free orders or packings. */
static pp_status keep_incumbent(splits *list, pp_search_result **choice_out, pp_err *err)
{
    pp_found *found = list->incumbent;
    const pp_plan_request *request = list->request;
    pp_search_outcome outcome = { .best = found->best,
                                  .ranking.unstudied = request->jitter != NULL };
    if (request->orders == PP_ORDERS_BETTER && !request->schedule && !request->only) {
        outcome.orders.verdict = PP_FREE_ORDERS_UNSEARCHED;
        outcome.orders.named = found->search.pool.candidate[found->best].schedule;
    }
    pp_status status = pp_search_result_new(&found->search, &outcome, choice_out, err);
    if (!status && request->lengths && request->packings)
        (*choice_out)->packing.verdict = PP_PACKING_UNSEARCHED;
    return status;
}

/* True if a split was searched with so little of the budget that the incumbent of the first looks
 * is better by more than a tie, or with --fastest at all. */
static bool is_behind(const splits *list, const pp_candidate *taken)
{
    const pp_plan_request *request = list->request;
    const double tie = request->fastest ? 0 : request->tie;
    if (!list->incumbent || request->jitter || needs_more(request) ||
        !pp_budget_is_limited(request))
        return false;
    const pp_found *found = list->incumbent;
    const pp_candidate *c = &found->search.pool.candidate[found->best];
    return pp_candidate_score(taken, taken->step_ns) >
           pp_candidate_score(c, c->step_ns) * (1 + tie);
}

/* Searches the split with the best named schedule, then others, as long as there is budget left and
 * one of them can win or tie. */
static pp_status search_splits(splits *list, pp_search_result **choice_out, pp_err *err)
{
    results all PP_CLEANUP(results_free) = { .count = 0 };
    const size_t best = best_row(list);
    const size_t most = list->request->tie > 0 ? TIED_MOST : SEARCHED_MOST;
    const size_t worth = count_worth(list, score_of(&list->row[best]));
    const size_t parts = worth < most ? worth : most;
    pp_err why = pp_err_like(err);
    pp_status status = search_split(list, &list->row[best], parts ? parts : 1, &all, err);
    for (size_t n = 1; n < parts && all.count && !status && !is_over(list); n++) {
        const double least = least_of(&all);
        split *row = next_split(list, n % 2 == 1, least, &why);
        const size_t left = count_worth(list, least);
        if (!row)
            break;
        status = search_split(list, row, left < parts - n ? left : parts - n, &all, err);
    }
    if (!status && why.status)
        *err = why;
    if (status || (status = why.status) || !all.count)
        return status;
    const size_t taken = take_result(list, &all);
    if (is_behind(list, &all.row[taken]->candidate[0]))
        return keep_incumbent(list, choice_out, err);
    recommend(list, &all, all.row[taken]);
    *choice_out = all.row[taken];
    all.row[taken] = NULL; /* the caller's */
    return PP_OK;
}

static pp_status undecided(const splits *list, pp_err *err)
{
    return pp_err_set(err, PP_UNDECIDED, pp_err_name(err, PP_FIELD_BUDGET),
                      "the budget ended after %zu iteration%s, before a plan that fits was found; "
                      "%zu of %zu splits of the GPUs were not looked at; increase it",
                      list->simulated, list->simulated == 1 ? "" : "s", count_unseen(list),
                      list->count);
}

/* The answer, once the splits were examined as far as the budget allows. */
static pp_status choose(splits *list, pp_search_result **choice_out, pp_err *err)
{
    pp_search_result *choice PP_CLEANUP(pp_search_result_free) = NULL;
    const bool over = is_over(list);
    const bool kept = list->incumbent && !needs_more(list->request);
    pp_status status = PP_OK;
    if (!list->incumbent && count_unseen(list))
        return undecided(list, err);
    if (!over || !kept)
        status = search_splits(list, &choice, err);
    if (!status && kept &&
        (!choice || (choice->stopped && pp_search_result_fastest(choice) >
                                            score_of(&list->row[list->incumbent_row])))) {
        pp_search_result_free(&choice);
        status = keep_incumbent(list, &choice, err);
        if (!status)
            choice->stopped = true;
    }
    if (!status && !choice)
        return undecided(list, err);
    if (status)
        return status;
    choice->stopped |= over || count_unseen(list) > 0;
    *choice_out = choice;
    choice = NULL;
    return PP_OK;
}

/* Examines all splits, or those that no rule refuses. */
static pp_status examine(splits *list, bool any, pp_err *err)
{
    pp_status status = list_splits(list, any, err);
    if (status || (status = check_sharding(list, err)) || (status = find_first_fit(list, err)) ||
        (status = bound_splits(list, err)))
        return status;
    sort_rows(list);
    status = look_at_plain(list, err);
    return status ? status : look_at_all(list, err);
}

/* The request with the part of its budget in which splits are examined. slice: must outlive it. */
static pp_plan_request examined(const pp_plan_request *request, pp_budget_slice *slice)
{
    pp_plan_request part = *request;
    if (!needs_more(request))
        return part;
    (void)pp_budget_slice_take(slice, request, 2, &part);
    if (part.max_simulations)
        part.max_simulations = (part.max_simulations + 1) / 2;
    return part;
}

static pp_status split_gpus(const pp_plan_request *request, pp_search_result **choice_out,
                            pp_err *err)
{
    pp_budget_slice slice;
    const pp_plan_request part = examined(request, &slice);
    splits list PP_CLEANUP(splits_free) = { .request = &part };
    pp_search_result *choice PP_CLEANUP(pp_search_result_free) = NULL;
    pp_status status = examine(&list, false, err);
    if (!status && !list.incumbent && list.broke_rule && !count_unseen(&list))
        status = examine(&list, true, err);
    list.request = request;
    if (!status && !list.count)
        status = none_legal(&list, err);
    if (status || (status = choose(&list, &choice, err)) || (status = look_at_others(&list, err)) ||
        (status = hand_over(&list, choice, err)))
        return status;
    choice->simulated = list.simulated;
    *choice_out = choice;
    choice = NULL; /* the caller's now */
    return PP_OK;
}

pp_status pp_plan_splits(const pp_plan_request *request, pp_search_result **choice_out, pp_err *err)
{
    return request->gpus ? split_gpus(request, choice_out, err)
                         : pp_plan_packings(request, choice_out, err);
}
