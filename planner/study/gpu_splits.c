/* Splits a given number of GPUs over pp, tp, cp, dp and ep: best-first branch and bound over the
 * splits, each of which is searched as far as it can beat the best one so far; then the best few
 * are searched for free orders. Method: docs/explanation/planning-frameworks.md. */
#include "planner/study/gpu_splits.h"

#include "planner/candidate/rules.h"
#include "planner/search/search.h"
#include "planner/search/space.h"
#include "planner/study/budget_slice.h"
#include "planner/study/packing_choice.h"
#include "sim/base/alloc.h"
#include "sim/base/field.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

typedef struct split {
    pp_parallel parallel;
    double least; /* lower bound of its score */
    double floor; /* lower bound of its score from the bounded setups; valid once it was examined */
    bool searched; /* it was searched for free orders */
    pp_candidate best;
} split;

/* The most splits that are searched for free orders. */
enum { SEARCHED_MOST = 3 };

typedef struct splits {
    const pp_plan_request *request;
    split *row;
    size_t count, capacity;
    pp_err refusal;    /* refusal of the first split that is not legal */
    size_t broke_rule; /* splits left out, since they break a rule */
    bool any;          /* also splits that break a rule of planner/candidate/rules.h */
} splits;

static void splits_free(splits *list)
{
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

/* Adds a split with its bound, that of its best point (planner/search/space.c). */
static pp_status add(splits *list, pp_parallel parallel, pp_err *err)
{
    pp_search search PP_CLEANUP(pp_search_close) = { 0 };
    pp_plan_request one = request_for(list->request, &parallel);
    pp_err why = pp_err_like(err);
    pp_rule_broken broken;
    if (!list->any && pp_rules_refuse(list->request, &parallel, &broken)) {
        list->broke_rule++;
        return PP_OK;
    }
    one.score_limit = DBL_MIN;
    one.stop = NULL;
    pp_status status = pp_search_open(&search, &one, &why);
    if (status || (status = pp_search_enumerate(&search, 0, &why)))
        return refuse(list, &why, err);
    void *grown = list->row;
    status = pp_grow(&grown, &list->capacity, list->count + 1, sizeof *list->row, err);
    if (status)
        return status;
    list->row = grown;
    list->row[list->count++] = (split){ .parallel = parallel, .least = search.space.least_score };
    return PP_OK;
}

/* True if the value is allowed. A requested 0 is free: any divisor of `whole` up to `most`. */
static bool takes(int64_t requested, int64_t value, int64_t whole, int64_t most)
{
    return requested ? value == requested : whole % value == 0 && value <= most;
}

/* Adds a split with each of its degrees of expert parallelism. */
static pp_status add_experts(splits *list, pp_parallel p, pp_err *err)
{
    const int64_t experts = list->request->model->experts;
    const int64_t requested = list->request->parallel.ep;
    pp_status status = PP_OK;
    if (requested || !experts) {
        p.ep = requested ? requested : 1;
        return add(list, p, err);
    }
    for (p.ep = 1; p.ep <= p.dp * p.cp && !status; p.ep++) {
        if (experts % p.ep == 0 && p.dp * p.cp % p.ep == 0)
            status = add(list, p, err);
    }
    return status;
}

static int64_t stages_most(const pp_plan_request *request)
{
    return request->model->layers + request->model->mtp_layers +
           (request->allow_empty_end_stages ? 2 : 0);
}

/* Lists all splits; unless `any`, without those that a rule refuses. */
static pp_status list_by(splits *list, bool any, pp_err *err)
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
                    status = add_experts(list, p, err);
            }
        }
    }
    return status;
}

static int compare_bounds(const void *left, const void *right)
{
    const split *a = left;
    const split *b = right;
    const int64_t x[] = { a->parallel.pp, a->parallel.tp, a->parallel.cp, a->parallel.ep };
    const int64_t y[] = { b->parallel.pp, b->parallel.tp, b->parallel.cp, b->parallel.ep };
    if (a->least != b->least)
        return a->least < b->least ? -1 : 1;
    for (size_t i = 0; i < sizeof x / sizeof *x; i++) {
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    }
    return 0;
}

/* Lists the splits that no rule refuses, best bound first; with `any`, or if there are none, all
 * legal ones. */
static pp_status list_splits(splits *list, bool any, pp_err *err)
{
    const pp_plan_request *request = list->request;
    pp_status status = list_by(list, any, err);
    if (!status && !list->count && !any)
        status = list_by(list, true, err);
    if (status)
        return status;
    qsort(list->row, list->count, sizeof *list->row, compare_bounds);
    if (list->count)
        return PP_OK;
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

/* Solves one split as far as it can beat `limit`. */
static pp_status look_at(const splits *list, split *row, double limit, size_t *simulated,
                         pp_err *err)
{
    pp_search search PP_CLEANUP(pp_search_close) = { 0 };
    pp_plan_request one = request_for(list->request, &row->parallel);
    pp_err why = pp_err_like(err);
    size_t found = SIZE_MAX;
    one.score_limit = limit;
    if (one.max_simulations) /* 0 would mean no limit */
        one.max_simulations =
            one.max_simulations > *simulated ? one.max_simulations - *simulated : 1;
    pp_status status = pp_search_solve(&search, &one, &found, &why);
    if (status == PP_NOMEM) {
        *err = why;
        return status;
    }
    *simulated += search.progress.simulated;
    row->floor = pp_pool_least(&search.pool);
    if (status) {
        row->best.status = PP_CANDIDATE_INFEASIBLE;
        row->best.reason = pp_reason_refused(&why);
        return PP_OK;
    }
    const pp_candidate *c = found == SIZE_MAX ? nearest(&search) : &search.pool.candidate[found];
    if (c)
        row->best = *c;
    else if (limit < HUGE_VAL) /* everything that may fit takes longer */
        row->best.least_step_ns = (pp_ns)(limit / (double)pp_parallel_gpus(&row->best.parallel));
    return PP_OK;
}

static double score_of(const split *row)
{
    return row->best.status == PP_CANDIDATE_OK && row->best.step_ns
               ? pp_candidate_score(&row->best, row->best.step_ns)
               : HUGE_VAL;
}

static bool is_over(const pp_plan_request *request, size_t simulated)
{
    return (request->max_simulations && simulated >= request->max_simulations) ||
           (request->stop && request->stop(request->context));
}

/* best_out: the split with the least score or, if none fits, the one that exceeds the memory limit
 * by the least. */
static pp_status look_at_all(splits *list, size_t *best_out, size_t *simulated, pp_err *err)
{
    size_t best = 0;
    for (size_t i = 0; i < list->count; i++) {
        split *row = &list->row[i];
        double limit = i ? score_of(&list->row[best]) : HUGE_VAL;
        bool over = limit < HUGE_VAL && is_over(list->request, *simulated);
        row->best =
            (pp_candidate){ .parallel = row->parallel, .status = PP_CANDIDATE_NOT_SIMULATED };
        row->best.reason.kind = over ? PP_REASON_UNSEEN : PP_REASON_SPLIT_SLOWER;
        row->best.parallel.vpp = 1;
        row->best.least_step_ns =
            (pp_ns)(row->least / (double)pp_parallel_gpus(&row->best.parallel));
        if (row->least > limit || over)
            continue;
        pp_status status = look_at(list, row, limit, simulated, err);
        if (status)
            return status;
        const split *now = &list->row[best];
        bool closer = score_of(now) == HUGE_VAL && row->best.legal &&
                      (!now->best.legal || row->best.short_bytes < now->best.short_bytes);
        if (score_of(row) < score_of(now) || (score_of(row) == HUGE_VAL && closer))
            best = i;
    }
    *best_out = best;
    return PP_OK;
}

/* Looks at the splits that no rule refuses and, if none of them fits, at all legal ones. */
static pp_status look_at_allowed(splits *list, size_t *best_out, size_t *simulated, pp_err *err)
{
    pp_status status = list_splits(list, false, err);
    if (!status)
        status = look_at_all(list, best_out, simulated, err);
    if (status || list->any || !list->broke_rule || score_of(&list->row[*best_out]) < HUGE_VAL ||
        is_over(list->request, *simulated))
        return status;
    status = list_splits(list, true, err);
    return status ? status : look_at_all(list, best_out, simulated, err);
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

static bool same_degrees(const pp_parallel *a, const pp_parallel *b)
{
    return a->pp == b->pp && a->tp == b->tp && a->cp == b->cp && a->dp == b->dp && a->ep == b->ep;
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

/* The best split that was not yet searched for free orders and whose bound allows these to make it
 * the best; NULL if there is none. */
static split *next_split(const splits *list, double best_score, size_t *worth_out)
{
    split *next = NULL;
    *worth_out = 0;
    for (size_t i = 0; i < list->count; i++) {
        split *row = &list->row[i];
        const double score = score_of(row);
        if (row->searched || score == HUGE_VAL ||
            (best_score < HUGE_VAL && !pp_is_worth(row->floor, row->floor, score, best_score)))
            continue;
        ++*worth_out;
        next = !next || score < score_of(next) ? row : next;
    }
    return next;
}

/* Searches one split in full, free orders included, with a part of the budget that is left. It
 * becomes the choice if it is better. */
static pp_status search_split(const splits *list, split *row, size_t parts, size_t *simulated,
                              pp_search_result **choice, pp_err *err)
{
    pp_search_result *now PP_CLEANUP(pp_search_result_free) = NULL;
    const pp_plan_request *request = list->request;
    pp_plan_request one = request_for(request, &row->parallel);
    pp_err why = pp_err_like(err);
    pp_budget_slice slice;
    (void)pp_budget_slice_take(&slice, request, parts, &one);
    if (one.max_simulations)
        one.max_simulations = (one.max_simulations - *simulated + parts - 1) / parts;
    row->searched = true;
    pp_status status = pp_plan_packings(&one, &now, &why);
    if (status && *choice && status != PP_NOMEM)
        return PP_OK; /* its part of the budget was too small */
    if (status) {
        *err = why;
        return status;
    }
    *simulated += now->simulated;
    row->best = now->candidate[0];
    if (*choice && ranked(&now->candidate[0]) >= ranked(&(*choice)->candidate[0]))
        return PP_OK;
    pp_search_result_free(choice);
    *choice = now;
    now = NULL; /* the caller's */
    return PP_OK;
}

/* Searches the split with the best named schedule, then others, as long as there is budget left and
 * one of them can win. */
static pp_status search_splits(splits *list, size_t best, size_t *simulated,
                               pp_search_result **choice_out, pp_err *err)
{
    size_t worth;
    pp_search_result *choice PP_CLEANUP(pp_search_result_free) = NULL;
    next_split(list, score_of(&list->row[best]), &worth);
    size_t parts = worth < SEARCHED_MOST ? worth : SEARCHED_MOST;
    pp_status status =
        search_split(list, &list->row[best], parts ? parts : 1, simulated, &choice, err);
    for (size_t n = 1; n < parts && !status && !is_over(list->request, *simulated); n++) {
        split *row = next_split(list, ranked(&choice->candidate[0]), &worth);
        if (!row)
            break;
        worth = worth < parts - n ? worth : parts - n;
        status = search_split(list, row, worth, simulated, &choice, err);
    }
    if (status)
        return status;
    *choice_out = choice;
    choice = NULL;
    return PP_OK;
}

static pp_status split_gpus(const pp_plan_request *request, pp_search_result **choice_out,
                            pp_err *err)
{
    splits list PP_CLEANUP(splits_free) = { .request = request };
    pp_search_result *choice PP_CLEANUP(pp_search_result_free) = NULL;
    size_t best = 0;
    size_t simulated = 0;
    pp_status status = look_at_allowed(&list, &best, &simulated, err);
    if (status)
        return status;
    const bool over = is_over(request, simulated);
    if (over) { /* the chosen split is searched once more, but not for free orders or optional
                   packings */
        pp_plan_request chosen = request_for(request, &list.row[best].parallel);
        chosen.stop = NULL;
        chosen.max_simulations = 0;
        chosen.orders = PP_ORDERS_NAMED;
        const bool packs =
            request->lengths && request->packings && request->packings[PP_PACKING_FIRST_FIT];
        status = packs ? pp_plan_first_fit(&chosen, &choice, err)
                       : pp_plan_packings(&chosen, &choice, err);
        simulated += choice ? choice->simulated : 0;
    } else {
        status = search_splits(&list, best, &simulated, &choice, err);
    }
    if (status || (status = hand_over(&list, choice, err)))
        return status;
    choice->stopped |= over;
    choice->simulated = simulated;
    *choice_out = choice;
    choice = NULL; /* the caller's now */
    return PP_OK;
}

pp_status pp_plan_splits(const pp_plan_request *request, pp_search_result **choice_out, pp_err *err)
{
    return request->gpus ? split_gpus(request, choice_out, err)
                         : pp_plan_packings(request, choice_out, err);
}
